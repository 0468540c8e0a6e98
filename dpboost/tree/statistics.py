"""The rows of one tree, seen as integer sums per node. Everything it hands out is Sensitive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import histogram
from dpboost.privacy.relation import Neighbours
from dpboost.privacy.sensitive import Sensitive
from dpboost.privacy.source import Source
from dpboost.tree.criteria import GradientGain
from dpboost.tree.layout import Layout
from dpboost.tree.leaves import ClippedLeaf
from dpboost.tree.node_questions import NodeHistograms, NodeTotals, SparseScores, SplitNodes


class NodeStatistics:
    """Histograms and totals of the current level of one tree.

    The grower sees rows only through this object: it asks for scores or leaf values, which come
    back Sensitive, and sends rows on by released splits.

    Parameters
    ----------
    source : Source
        Of the tree's rows, which have ``nodes``.
    layout : Layout
        Public positions of cells and candidates.
    neighbours : Neighbours
        The relation whose constants go with each value.
    sparse : bool, default=False
        Whether bins are sparse; a public fact of the kind of table.
    n_threads : int
        Threads of the kernels; results do not depend on it.

    Privacy
    -------
    Holds integer sums of private rows. Routing uses released splits only.
    """

    __slots__ = (
        "_built",
        "_layout",
        "_n_nodes",
        "_n_threads",
        "_neighbours",
        "_source",
        "_sparse",
    )

    def __init__(
        self,
        source: Source,
        layout: Layout,
        neighbours: Neighbours,
        *,
        sparse: bool = False,
        n_threads: int = 1,
    ) -> None:
        self._source = source
        self._layout = layout
        self._neighbours = neighbours
        self._sparse = sparse
        self._n_threads = n_threads
        self._n_nodes = 1
        self._built: NDArray[np.int64] | None = None

    @property
    def n_nodes(self) -> int:
        """Nodes of the current level (a function of released splits)."""
        return self._n_nodes

    @property
    def layout(self) -> Layout:
        """Public positions of cells and candidates."""
        return self._layout

    def split_scores(self, criterion: GradientGain) -> Sensitive:
        """Score every candidate of the nodes of the level.

        Parameters
        ----------
        criterion : GradientGain
            Scores of the candidates.

        Returns
        -------
        Sensitive of shape (n_nodes, n_candidates)
        """
        if self._sparse:
            question = SparseScores(
                criterion=criterion,
                n_nodes=self.n_nodes,
                n_candidates=self._layout.n_candidates,
            )
            scores = self._source.exact(question)
        else:
            self._built = self._histograms()
            scores = criterion.scores(self._built[0], self._built[1], self._layout)
        return Sensitive(scores, (criterion.bound(self._neighbours),))

    def leaf_values(self, leaf: ClippedLeaf) -> Sensitive:
        """Clipped leaf values of the nodes of the level, in units of the leaf's grid."""
        sums, counts = self._source.exact(NodeTotals(n_nodes=self.n_nodes))
        return Sensitive(leaf.values(sums, counts), (leaf.bound(self._neighbours),), unit=leaf.unit)

    def split(self, feature: NDArray[np.int32], split_bin: NDArray[np.uint8]) -> None:
        """Send the rows of node ``k`` on to nodes ``2 k`` and ``2 k + 1`` of the next level.

        Parameters
        ----------
        feature : ndarray of shape (n_nodes,), int32
        split_bin : ndarray of shape (n_nodes,), uint8
            Released splits, one a node.
        """
        self._source.tell(SplitNodes(feature=feature, split_bin=split_bin))
        self._n_nodes *= 2

    def _histograms(self) -> NDArray[np.int64]:
        """Return sums and counts of every cell of every node of the level.

        Below the root only left children are built from rows; their siblings are the parents
        minus them. Always the left child, never the smaller one: no choice hangs on a size.
        """
        n_nodes, n_cells = self.n_nodes, self._layout.n_cells
        parents = self._built
        if parents is None or 2 * parents.shape[1] != n_nodes:
            return self._source.exact(NodeHistograms(n_nodes=n_nodes, n_cells=n_cells))
        question = NodeHistograms(n_nodes=n_nodes // 2, n_cells=n_cells, step=2)
        left = self._source.exact(question)
        built = np.empty((2, n_nodes, n_cells), dtype=np.int64)
        for which in range(2):
            histogram.children(parents[which], left[which], built[which], self._n_threads)
        return built
