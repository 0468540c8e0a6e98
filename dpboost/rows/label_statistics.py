"""Label statistics of a single regression tree; all results are Sensitive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpboost.losses.newton_loss import GRADIENT_UNIT
from dpboost.privacy.queries import Sensitive
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity
from dpboost.rows.boosting_queries import SumScale
from dpboost.rows.class_queries import check_nodes
from dpboost.rows.label_node_rows import LabelRows
from dpboost.rows.tree_statistics import TreeStatistics
from dpboost.trees.bin_layout import Layout
from dpboost.trees.gain import GradientGain

# Sums that are held at once while scores are computed: 128 MiB.
_MOST_SUMS = 1 << 24


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelHistograms:
    """Sums of labels and of weights in the cells of some nodes; for scores alone."""

    #: Of shape (n_nodes,).
    nodes: NDArray[np.int32]
    #: Of shape (n_features + 1,).
    cell_offsets: NDArray[np.int32]

    @property
    def shape(self) -> tuple[int, ...]:
        """Two numbers for each node and cell."""
        return (2, len(self.nodes), int(self.cell_offsets[-1]))

    def evaluate(self, rows: LabelRows) -> NDArray[np.int64]:
        """Add up the rows of one place."""
        rows.check_cells(self.cell_offsets)
        return rows.histograms(self.nodes)


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelTotals:
    """Sums of labels and of weights of some disjoint nodes, as one vector.

    Proof: docs/proofs/leaf-sums.md.
    """

    #: Of shape (n_nodes,).
    nodes: NDArray[np.int32]
    #: Factors that divide the release between the two.
    scale: SumScale

    unit: ClassVar[float] = GRADIENT_UNIT

    @property
    def shape(self) -> tuple[int, ...]:
        """Two numbers a node."""
        return (2, len(self.nodes))

    def evaluate(self, rows: LabelRows) -> NDArray[np.int64]:
        """Add up the rows of one place."""
        return self.scale.scaled(rows.totals(self.nodes))

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the bounds: a row adds one label and one weight to one node."""
        check_nodes(self.nodes)
        return self.scale.bounds(neighbors)


class LabelStatistics(TreeStatistics):
    """Sums of labels and weights of the nodes of one growing tree.

    Privacy
    -------
    Hands out Sensitive values with their bounds. Rows are routed by released splits only.
    """

    def scores(self, nodes: NDArray[np.int32], criterion: GradientGain) -> Sensitive:
        """Return scores of shape (n_nodes, n_candidates)."""
        candidates = self.candidates
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
        return Sensitive(scores, (criterion.bound(self.neighbors),))

    def totals(self, nodes: NDArray[np.int32], scale: SumScale) -> Sensitive:
        """Return sums of labels and weights of some nodes, which are disjoint; shape (2, n)."""
        return self.ask(LabelTotals(nodes=nodes, scale=scale))
