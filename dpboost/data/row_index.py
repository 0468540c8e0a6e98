"""Where the stored cells of a sparse table lie that comes by row."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import csr_to_columns


class RowIndex:
    """The columns of the stored cells, row by row.

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
