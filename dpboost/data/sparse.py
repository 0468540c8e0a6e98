"""Sparse tables: their stored cells, as numbers and as bins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import binning, csr_to_columns, histogram

# One thread more for every so many values: starting a thread costs about as much as these.
VALUES_A_THREAD = 1 << 15


class RowIndex:
    """The columns of the stored cells by row.

    Parameters
    ----------
    csr : scipy sparse matrix
        Canonical; its indices are not copied.

    Privacy
    -------
    Private, the number of cells included.
    """

    def __init__(self, csr: Any) -> None:
        self._n_features = csr.shape[1]
        self._row_start = csr.indptr.astype(np.intp, casting="same_kind", copy=False)
        self._columns = csr.indices.astype(np.int32, casting="same_kind", copy=False)

    @cached_property
    def column_start(self) -> NDArray[np.intp]:
        """Where each column begins among the cells sorted by column, and where the last ends."""
        starts = np.empty(self._n_features + 1, dtype=np.intp)
        csr_to_columns.column_starts(self._columns, starts)
        return starts

    def values_by_column(
        self, values: NDArray[Any], first: int = 0, last: int | None = None
    ) -> NDArray[Any]:
        """Return values of the cells of columns ``first:last``, sorted by column and row."""
        last = self._n_features if last is None else last
        begin, end = self.column_start[[first, last]]
        out = np.empty(end - begin, dtype=values.dtype)
        position = self.column_start[:-1] - begin
        csr_to_columns.values_by_column(self._columns, values, first, last, position, out)
        return out

    def rows_by_column(self) -> NDArray[np.int32]:
        """Return the rows of the cells, sorted by column and row."""
        rows = np.empty(len(self._columns), dtype=np.int32)
        csr_to_columns.rows_by_column(
            self._row_start, self._columns, self.column_start[:-1].copy(), rows
        )
        return rows

    def bins_by_row(self, bins: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the bins of the cells by row, given by column."""
        out = np.empty_like(bins)
        csr_to_columns.bins_by_row(self._columns, bins, self.column_start[:-1].copy(), out)
        return out

    def take(
        self, bins: NDArray[np.uint8], rows: NDArray[np.int32]
    ) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.uint8]]:
        """Return the cells of some rows, which count from 0 in their order, sorted by column.

        Parameters
        ----------
        bins : ndarray of shape (n_stored,), uint8
            Of all cells, by row.
        rows : ndarray of int32

        Returns
        -------
        column_start : ndarray of shape (n_features + 1,), intp
        rows : ndarray of shape (n_taken,), int32
        bins : ndarray of shape (n_taken,), uint8
        """
        starts = np.empty(self._n_features + 1, dtype=np.intp)
        csr_to_columns.count_rows(self._row_start, self._columns, rows, starts)
        taken = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1], dtype=np.uint8)
        csr_to_columns.take_rows(
            self._row_start, self._columns, bins, rows, starts[:-1].copy(), *taken
        )
        return starts, *taken


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StoredColumns:
    """The stored cells of a sparse table, and the value of all others.

    Privacy
    -------
    Private, their number included.
    """

    n_rows: int
    #: Of shape (n_features + 1,). Cells of feature ``f`` are
    #: ``column_start[f]:column_start[f + 1]``.
    column_start: NDArray[np.intp]
    #: Of shape (n_stored,). Each row at most once in a column.
    rows: NDArray[np.int32]
    #: Ndarray of shape (n_stored,), float32 or float64.
    values: NDArray[Any]
    #: Of shape (n_features,). Value of the cells that a column does not store.
    fill: NDArray[np.float64]

    @classmethod
    def of_matrix(cls, csc: Any) -> StoredColumns:
        """Take a canonical CSC matrix of floats, without a copy of its values."""
        return cls(
            n_rows=csc.shape[0],
            column_start=csc.indptr.astype(np.intp, casting="same_kind", copy=False),
            rows=csc.indices.astype(np.int32, casting="same_kind", copy=False),
            values=csc.data,
            fill=np.zeros(csc.shape[1]),
        )

    @classmethod
    def of_columns(
        cls,
        n_rows: int,
        columns: Sequence[tuple[NDArray[np.integer] | None, NDArray[Any], float]],
    ) -> StoredColumns:
        """Join columns given by rows (None for all), values there, and the value elsewhere."""
        every = np.arange(n_rows, dtype=np.int32)
        sizes = [len(values) for _, values, _ in columns]
        return cls(
            n_rows=n_rows,
            column_start=np.append(0, np.cumsum(sizes, dtype=np.intp)),
            rows=np.concatenate(
                [
                    every if rows is None else rows.astype(np.int32, casting="same_kind")
                    for rows, _, _ in columns
                ]
            ),
            values=np.concatenate(
                [values.astype(np.float64, copy=False) for _, values, _ in columns]
            ),
            fill=np.array([fill for _, _, fill in columns], dtype=np.float64),
        )

    @property
    def starts(self) -> NDArray[np.intp]:
        """Where the cells of each column begin, and where the last ones end."""
        return self.column_start

    def pieces(self) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """Go through the columns as `StoredRows.pieces` does: all at a time."""
        yield 0, len(self.fill), self.values

    @property
    def positions(self) -> NDArray[np.int32]:
        """The rows of all cells."""
        return self.rows

    def column(self, feature: int) -> NDArray[np.float64]:
        """Return one column with all its cells."""
        result = np.full(self.n_rows, self.fill[feature])
        part = slice(self.column_start[feature], self.column_start[feature + 1])
        result[self.rows[part]] = self.values[part]
        return result

    def largest(self, features: Sequence[int]) -> NDArray[np.float64]:
        """Return the largest absolute value of every row among some columns, NaN for none."""
        chosen = np.zeros(len(self.fill), dtype=bool)
        chosen[list(features)] = True
        stored = np.repeat(chosen, np.diff(self.column_start))
        result = np.full(self.n_rows, np.nan)
        np.fmax.at(result, self.rows[stored], np.abs(self.values[stored]).astype(np.float64))
        fills = np.abs(self.fill[chosen])
        # Only a cell that is not stored has the value of all others.
        for fill in np.unique(fills[~np.isnan(fills)]):
            same = chosen & (np.abs(self.fill) == fill)
            held = self.rows[np.repeat(same, np.diff(self.column_start))]
            lacking = np.bincount(held, minlength=self.n_rows) < same.sum()
            result[lacking] = np.fmax(result[lacking], fill)
        return result

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("stored cells are private rows and cannot be pickled or copied")


class SparseBins:
    """Bins of a sparse table: those of the stored cells, and one for all others of a column.

    Parameters
    ----------
    column_start : ndarray of shape (n_features + 1,), intp
        As in `StoredColumns`.
    rows : ndarray of shape (n_stored,), int32, or RowIndex
        As in `StoredColumns`. Those of a table that comes by row are sorted by column when a
        column is asked for; until then some rows are found where they lie.
    bins : ndarray of shape (n_stored,), uint8
    fill : ndarray of shape (n_features,), uint8
        Bin of the cells that a column does not store.

    Attributes
    ----------
    shape : tuple of int
        ``(n_features, n_rows)``, as that of a dense matrix of bins.

    Privacy
    -------
    Private. What is computed from it is the same as from the dense matrix, bit for bit.
    """

    __slots__ = ("_bins", "_by_row", "_rows", "column_start", "fill", "shape")

    def __init__(
        self,
        *,
        n_rows: int,
        column_start: NDArray[np.intp],
        rows: NDArray[np.int32] | RowIndex,
        bins: NDArray[np.uint8],
        fill: NDArray[np.uint8],
    ) -> None:
        self.shape = (len(fill), n_rows)
        self.column_start = column_start
        self.fill = fill
        self._rows = rows
        self._bins = bins
        self._by_row = False

    @property
    def rows(self) -> NDArray[np.int32]:
        """Rows of the stored cells, column by column."""
        if isinstance(self._rows, RowIndex):
            self._bins = self.bins
            self._rows, self._by_row = self._rows.rows_by_column(), False
        return self._rows

    @property
    def bins(self) -> NDArray[np.uint8]:
        """Bins of the stored cells, column by column."""
        if isinstance(self._rows, RowIndex) and self._by_row:
            return self._rows.values_by_column(self._bins)
        return self._bins

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<SparseBins with {self.shape[0]} features>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("SparseBins hold private rows and cannot be pickled or copied")

    def columns(self, features: NDArray[np.integer]) -> NDArray[np.uint8]:
        """Return the bins of some features with all their cells.

        Returns
        -------
        ndarray of shape (len(features), n_rows), uint8
        """
        out = np.repeat(self.fill[features], self.shape[1]).reshape(len(features), self.shape[1])
        starts = self.column_start[features]
        sizes = self.column_start[np.asarray(features) + 1] - starts
        stored = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
        out[np.repeat(np.arange(len(features)), sizes), self.rows[stored]] = self.bins[stored]
        return out

    def take(self, rows: NDArray[np.int32]) -> SparseBins:
        """Return the bins of some rows, each listed once, which count from 0 again."""
        if isinstance(self._rows, RowIndex):
            if not self._by_row:
                self._bins, self._by_row = self._rows.bins_by_row(self._bins), True
            starts, taken, bins = self._rows.take(self._bins, rows)
            return SparseBins(
                n_rows=len(rows), column_start=starts, rows=taken, bins=bins, fill=self.fill
            )
        position = np.full(self.shape[1], -1, dtype=np.int32)
        position[rows] = np.arange(len(rows), dtype=np.int32)
        column_start = np.empty_like(self.column_start)
        # Room for all; what is not written to takes no memory, and is given back.
        stored_rows = np.empty(len(self.rows), dtype=np.int32)
        bins = np.empty(len(self.rows), dtype=np.uint8)
        histogram.gather_stored(
            self.column_start, self.rows, self.bins, position, column_start, stored_rows, bins
        )
        stored_rows.resize(column_start[-1], refcheck=False)
        bins.resize(column_start[-1], refcheck=False)
        return SparseBins(
            n_rows=len(rows),
            column_start=column_start,
            rows=stored_rows,
            bins=bins,
            fill=self.fill,
        )


BinnedRows: TypeAlias = "NDArray[np.uint8] | SparseBins"
"""Bins of private rows by column: a matrix of shape (n_features, n_rows), or a sparse one."""


def dense_columns(
    bins: BinnedRows, features: NDArray[np.integer]
) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Return a matrix that holds the bins of some features, and the line of each in it.

    Parameters
    ----------
    bins : ndarray or SparseBins of shape (n_features, n_rows)
        A dense matrix comes back as it is.
    features : ndarray of int
        Repeats allowed.

    Returns
    -------
    matrix : ndarray of shape (n, n_rows), uint8
    lines : ndarray of the shape of ``features``, int32
    """
    if not isinstance(bins, SparseBins):
        return bins, features.astype(np.int32, casting="same_kind", copy=False)
    distinct, lines = np.unique(features, return_inverse=True)
    return bins.columns(distinct), lines.astype(np.int32, casting="same_kind")


def dense_matrix(bins: BinnedRows) -> NDArray[np.uint8]:
    """Return the bins of all features as one dense matrix, for trees that read them all."""
    return bins.columns(np.arange(len(bins))) if isinstance(bins, SparseBins) else bins


# Parts in which values are sorted by column; each takes a pass over all cells.
_PIECES = 4


class StoredRows:
    """The stored cells of a sparse table by row; all others are zero.

    Data is copied on first access.

    Parameters
    ----------
    csr : scipy sparse matrix
        Canonical and of floats, as `dpboost.data.containers.canonical` returns it.

    Attributes
    ----------
    n_rows : int
    values : ndarray of shape (n_stored,), float32 or float64
        By row.
    fill : ndarray of shape (n_features,), float64
        Value of the cells that are not stored.
    positions : RowIndex
        Columns of the stored cells.

    Privacy
    -------
    Private, the number of cells included.
    """

    def __init__(self, csr: Any) -> None:
        self.n_rows = csr.shape[0]
        self.values = csr.data
        self.fill = np.zeros(csr.shape[1])
        self.positions = RowIndex(csr)

    @property
    def starts(self) -> NDArray[np.intp]:
        """Where each column begins among the sorted cells, and where the last one ends."""
        return self.positions.column_start

    def pieces(self) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """Go through the columns, some at a time, so that few values are held twice.

        Yields
        ------
        first, last : int
            Columns ``first`` to ``last - 1``.
        values : ndarray, float32 or float64
            Of their cells, sorted by column and row.
        """
        targets = np.arange(1, _PIECES) * self.starts[-1] // _PIECES
        borders = [0, *np.searchsorted(self.starts, targets).tolist(), len(self.fill)]
        for first, last in pairwise(borders):
            yield first, last, self.positions.values_by_column(self.values, first, last)

    @cached_property
    def _by_column(self) -> StoredColumns:
        return StoredColumns(
            n_rows=self.n_rows,
            column_start=self.starts,
            rows=self.positions.rows_by_column(),
            values=self.positions.values_by_column(self.values),
            fill=self.fill,
        )

    def column(self, feature: int) -> NDArray[np.float64]:
        """Return one column with all its cells."""
        return self._by_column.column(feature)

    def largest(self, features: Sequence[int]) -> NDArray[np.float64]:
        """Return the largest absolute value of every row among some columns, NaN for none."""
        return self._by_column.largest(features)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("stored cells are private rows and cannot be pickled or copied")


def stored_bins(
    stored: StoredColumns | StoredRows, maps: Callable[[int, int], dict[str, Any]], n_threads: int
) -> SparseBins:
    """Bin the stored cells of a sparse table, and the value of all others of a column.

    ``maps(first, last)`` returns the kernel's arguments for features ``first`` to ``last - 1``.
    """
    n_features = len(stored.fill)
    fill = np.empty((n_features, 1), dtype=np.uint8)
    every = maps(0, n_features)
    binning.bin_dense(stored.fill[np.newaxis], **every, out=fill, first_row=0, n_threads=1)
    bins = np.empty(len(stored.values), dtype=np.uint8)
    useful = min(n_threads, 1 + len(bins) // VALUES_A_THREAD)
    for first, last, values in stored.pieces():
        starts = stored.starts[first : last + 1]
        here = bins[starts[0] : starts[-1]]
        own = maps(first, last)
        binning.bin_stored(values, starts - starts[0], **own, out=here, n_threads=useful)
    return SparseBins(
        n_rows=stored.n_rows,
        column_start=stored.starts,
        rows=stored.positions,
        bins=bins,
        fill=fill[:, 0].copy(),
    )
