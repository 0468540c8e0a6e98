"""The bins of the rows of each round of an ensemble, in compact columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import row_assignment
from dpboost.data.sparse import BinnedRows, SparseBins

# Part of the rows whose bins are copied at a time, unless one round has more.
_PART = 8


class RoundColumns:
    """Compact columns of the rounds of an ensemble, copied for several rounds at a time.

    The rows of one round are scattered over a dense table: reading their bins takes a pass over all
    columns, which serves several rounds.

    Parameters
    ----------
    bins : ndarray of shape (n_features, n_rows), uint8, or SparseBins
        Of all rows.
    order : ndarray of int32
        Rows by round.
    starts : ndarray of shape (n_rounds + 1,), intp
        Where the rows of each round begin in ``order``.

    Privacy
    -------
    Private, the sizes of rounds included: how many rounds are copied at a time shows in nothing
    but memory and time.
    """

    def __init__(
        self,
        bins: BinnedRows,
        order: NDArray[np.int32],
        starts: NDArray[np.intp],
        n_threads: int,
    ) -> None:
        self.order = order
        self._bins = bins
        self._starts = starts
        self._n_threads = n_threads
        self._first = self._last = 0
        self._room = np.empty(0, dtype=np.uint8)

    def take(self, index: int) -> BinnedRows:
        """Return the bins of the rows of one round, which count from 0 in their order.

        They are best asked for round by round. The shape is (n_features, n_rows_of_round).
        """
        starts = self._starts
        if isinstance(self._bins, SparseBins):
            return self._bins.take(self.order[starts[index] : starts[index + 1]])
        if not self._first <= index < self._last:
            self._copy(self._bins, index)
        begin, end = starts[index : index + 2] - starts[self._first]
        n_features = len(self._bins)
        return self._room[n_features * begin : n_features * end].reshape(n_features, -1)

    def _copy(self, bins: NDArray[np.uint8], index: int) -> None:
        """Copy the bins of this round and of the next ones."""
        starts = self._starts
        limit = starts[index] + bins.shape[1] // _PART
        last = int(np.searchsorted(starts, limit, side="right")) - 1
        self._first, self._last = index, max(last, index + 1)
        part = starts[self._first : self._last + 1]
        n_cells = len(bins) * (part[-1] - part[0])
        if len(self._room) < n_cells:
            self._room = np.empty(0, dtype=np.uint8)  # free before there is more
            self._room = np.empty(max(n_cells, bins.size // _PART), dtype=np.uint8)
        row_assignment.gather_rounds(bins, self.order, part, self._room[:n_cells], self._n_threads)
