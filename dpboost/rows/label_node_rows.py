"""The rows of one row store with numeric labels, sorted by the nodes of a single tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.integer_units import to_integer_units
from dpboost._utils.threads import Threads
from dpboost.data.sparse import BinnedRows
from dpboost.losses.newton_loss import GRADIENT_ONE
from dpboost.rows.row_attributes import WEIGHT_ONE
from dpboost.rows.sorted_rows import SortedRows
from dpboost.trees.split_candidates import Candidates


class LabelRows(SortedRows):
    """Bins, labels and weights of rows, sorted by node.

    Parameters
    ----------
    bins : ndarray of shape (n_features, n_rows), uint8, or SparseBins
    labels : ndarray of shape (n_rows,), float64
        Scaled to [-1, 1].
    weights : ndarray of shape (n_rows,), int32, optional
        Of each row in units of 2^-16 of the largest one, 0 to 65536; all the largest one without.

    Privacy
    -------
    Holds private rows, and returns exact sums of them: for the queries of
    ``dpboost.rows.label_statistics`` only. A row adds its label times its weight, rounded towards
    zero to units of 2^-16: never more than its weight.
    """

    def __init__(
        self,
        bins: BinnedRows,
        labels: NDArray[np.float64],
        *,
        candidates: Candidates,
        threads: Threads,
        weights: NDArray[np.int32] | None = None,
    ) -> None:
        n_rows = len(labels)
        present = np.ones(n_rows, dtype=bool)
        super().__init__(bins, present, candidates=candidates, threads=threads)
        self._weights = np.full(n_rows, WEIGHT_ONE, dtype=np.int32) if weights is None else weights
        # The unit of labels is that of weights.
        assert WEIGHT_ONE == GRADIENT_ONE
        # Clipped before it is weighed: a label outside the public range then moves a sum by the
        # weight of its row, like any other.
        units = np.clip(labels, -1.0, 1.0) * self._weights
        self._labels = to_integer_units(
            units, -WEIGHT_ONE, WEIGHT_ONE, dtype=np.int32, toward_zero=True
        )
        self._one_group = np.zeros(n_rows, dtype=np.uint8)

    def totals(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Add up labels and weights of the rows of some nodes; shape (2, n_nodes)."""
        return np.stack(
            [
                self._totals(nodes, self._one_group, 1, amounts)[:, 0]
                for amounts in (self._labels, self._weights)
            ]
        )

    def histograms(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Do the same for every cell; shape (2, n_nodes, n_cells)."""
        return np.stack(
            [
                self._histograms(nodes, self._one_group, 1, amounts)[:, :, 0]
                for amounts in (self._labels, self._weights)
            ]
        )
