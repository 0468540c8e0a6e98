"""Integer sums of the rows of one tree by node; all results are Sensitive."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.queries import RowHandle, Sensitive, store_of
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity
from dpboost.rows.boosting_queries import LevelScores, NodeHistograms, NodeTotals
from dpboost.rows.level_histograms import LevelHistograms
from dpboost.trees.bin_layout import Layout
from dpboost.trees.gain import GradientGain


class LeafFormula(Protocol):
    """The formula of a leaf value and its sensitivity."""

    @property
    def unit(self) -> float:
        """Grid of the values."""

    def values(self, sums: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the values of all leaves in units of the grid."""

    def bound(self, neighbors: Neighbors) -> Sensitivity:
        """Return the sensitivity of all values together."""


class NodeStatistics:
    """Histograms and totals of the current level of one tree.

    The grower accesses rows only through this object: it queries scores or leaf values, which are
    Sensitive, and moves rows by released splits.

    Parameters
    ----------
    source : RowHandle
        Of the tree's rows, which have ``nodes``.
    neighbors : Neighbors
        The relation whose constants go with each value.
    whole : bool, default=False
        Whether all rows are in one place, which then computes scores by itself.

    Privacy
    -------
    Holds integer sums of private rows. Routing uses released splits only.
    """

    __slots__ = (
        "_layout",
        "_levels",
        "_n_nodes",
        "_neighbors",
        "_row_store",
        "_whole",
    )

    def __init__(
        self,
        source: RowHandle,
        layout: Layout,
        neighbors: Neighbors,
        *,
        whole: bool = False,
        n_threads: int = 1,
    ) -> None:
        self._row_store = store_of(source)
        self._layout = layout
        self._neighbors = neighbors
        self._whole = whole
        self._n_nodes = 1
        self._levels = LevelHistograms(n_threads)

    @property
    def n_nodes(self) -> int:
        """Nodes of the current level (a function of released splits)."""
        return self._n_nodes

    @property
    def layout(self) -> Layout:
        """Public positions of cells and candidates."""
        return self._layout

    def split_scores(self, criterion: GradientGain) -> Sensitive:
        """Return scores of the nodes of the level; shape (n_nodes, n_candidates)."""
        if self._whole:
            query = LevelScores(
                criterion=criterion,
                n_nodes=self._n_nodes,
                n_candidates=self._layout.n_candidates,
            )
            scores = self._row_store.exact(query)
        else:
            # Rows in several places: sums add up over them and scores do not, so that scores are
            # computed here, on the private side, and wrapped in the same breath.
            sums, counts = self._levels.of(self._n_nodes, self._histograms)
            scores = criterion.scores(sums, counts, self._layout)
        return Sensitive(scores, (criterion.bound(self._neighbors),))

    def leaf_values(self, leaf: LeafFormula) -> Sensitive:
        """Clipped leaf values of the nodes of the level, in units of the leaf's grid."""
        sums, counts = self._row_store.exact(NodeTotals(n_nodes=self.n_nodes))
        return Sensitive(leaf.values(sums, counts), (leaf.bound(self._neighbors),), unit=leaf.unit)

    def split(self, feature: NDArray[np.int32], split_bin: NDArray[np.uint8]) -> None:
        """Send the rows of node ``k`` on to nodes ``2 k`` and ``2 k + 1`` of the next level.

        Splits are released, one a node.
        """
        self._row_store.apply("split", feature=feature, split_bin=split_bin)
        self._n_nodes *= 2

    def _histograms(self, n_asked: int, step: int) -> NDArray[np.int64]:
        """Add up the histograms of every ``step``-th node over all sites."""
        query = NodeHistograms(n_nodes=n_asked, n_cells=self._layout.n_cells, step=step)
        return self._row_store.exact(query)
