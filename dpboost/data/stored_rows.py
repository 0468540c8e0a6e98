"""A sparse table that comes by row: what is stored of it, where it lies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import bycolumn
from dpboost.data.sparse import StoredColumns


class StoredRows:
    """The stored cells of a sparse table by row; all others are zero.

    Nothing is copied but what is asked for, so that bins are made of a table with room for its
    values alone or for its rows alone.

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

    Privacy
    -------
    Private, the number of cells included.
    """

    def __init__(self, csr: Any) -> None:
        self.n_rows = csr.shape[0]
        self.values = csr.data
        self.fill = np.zeros(csr.shape[1])
        self._csr = csr
        self._columns = csr.indices.astype(np.int32, copy=False)

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """Where the cells of each column begin, and where the last ones end."""
        starts = np.empty(len(self.fill) + 1, dtype=np.intp)
        bycolumn.column_starts(self._columns, starts)
        return starts

    def values_by_column(self) -> NDArray[Any]:
        """Return the values of all cells, sorted by column and row."""
        values = np.empty_like(self.values)
        bycolumn.values_by_column(self._columns, self.values, self.starts[:-1].copy(), values)
        return values

    def rows_by_column(self) -> NDArray[np.int32]:
        """Return the rows of all cells, sorted by column and row."""
        rows = np.empty(len(self.values), dtype=np.int32)
        row_start = self._csr.indptr.astype(np.intp, copy=False)
        bycolumn.rows_by_column(row_start, self._columns, self.starts[:-1].copy(), rows)
        return rows

    @cached_property
    def _by_column(self) -> StoredColumns:
        return StoredColumns(
            n_rows=self.n_rows,
            column_start=self.starts,
            rows=self.rows_by_column(),
            values=self.values_by_column(),
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
