"""What a single tree of numbers may know of its rows. All it hands out is Sensitive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.sensitive import Sensitive
from dpboost.rows.label_queries import LabelHistograms, LabelTotals
from dpboost.rows.newton_sums import SumScale
from dpboost.rows.tree_statistics import TreeStatistics
from dpboost.trees.bin_layout import Layout
from dpboost.trees.gain import GradientGain

# Sums that are held at once while scores are computed: 128 MiB.
_MOST_SUMS = 1 << 24


class LabelStatistics(TreeStatistics):
    """Sums of labels and weights of the nodes of one growing tree.

    Privacy
    -------
    Hands out Sensitive values with their bounds. Rows are routed by released splits only.
    """

    def scores(self, nodes: NDArray[np.int32], criterion: GradientGain) -> Sensitive:
        """Score every candidate of some nodes.

        Parameters
        ----------
        nodes : ndarray of shape (n_nodes,), int32
        criterion : GradientGain

        Returns
        -------
        Sensitive of shape (n_nodes, n_candidates)
        """
        candidates = self._candidates
        layout = Layout(
            cell_offsets=self._cells,
            candidate_offsets=candidates.candidate_offsets,
            is_categorical=candidates.is_categorical,
        )
        scores = np.empty((len(nodes), candidates.n_candidates), dtype=np.int64)
        step = max(1, _MOST_SUMS // max(1, 2 * candidates.n_cells))
        for first in range(0, len(nodes), step):
            part = slice(first, first + step)
            query = LabelHistograms(nodes=nodes[part], cell_offsets=self._cells)
            labels, weights = self._exact(query)
            scores[part] = criterion.scores(labels, weights, layout)
        return Sensitive(scores, (criterion.bound(self._neighbours),))

    def totals(self, nodes: NDArray[np.int32], scale: SumScale) -> Sensitive:
        """Return sums of labels and weights of some nodes, which are disjoint; shape (2, n)."""
        return self.ask(LabelTotals(nodes=nodes, scale=scale))
