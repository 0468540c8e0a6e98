"""A sparse table that comes by row: what is stored of it, where it lies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpboost.data.row_index import RowIndex
from dpboost.data.sparse import StoredColumns

# Parts in which values are sorted by column; each takes a pass over all cells.
_PIECES = 4


class StoredRows:
    """The stored cells of a sparse table by row; all others are zero.

    Nothing is copied before it is asked for.

    Parameters
    ----------
    csr : scipy sparse matrix
        Canonical and of floats, as `dpboost.data.arrays.canonical` returns it.

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
