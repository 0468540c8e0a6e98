"""The rows of one tree, seen as integer sums per node. Everything it hands out is Sensitive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import histogram, partition
from dpboost.data.sparse import BinnedRows, SparseBins, dense_columns
from dpboost.privacy.relation import Neighbours
from dpboost.privacy.sensitive import Sensitive
from dpboost.tree.criteria import GradientGain
from dpboost.tree.layout import Layout
from dpboost.tree.leaves import ClippedLeaf
from dpboost.tree.sparse_scores import node_groups, sparse_scores


class NodeStatistics:
    """Histograms and totals of the current level of one tree.

    The grower sees rows only through this object: it asks for scores or leaf values, which come
    back Sensitive, and sends rows on by released splits. Another source of statistics (parties,
    partitions on other machines) needs only the same three methods.

    Parameters
    ----------
    bins : ndarray of shape (n_features, n_rows), uint8, or SparseBins
        Bins of the tree's rows, by column.
    words : ndarray of shape (n_rows,), int64
        Packed gradient and count of each row; zero for a row that the filter drops.
    layout : Layout
        Public positions of cells and candidates.
    neighbours : Neighbours
        The relation whose constants go with each value.
    n_threads : int
        Threads of the kernels; results do not depend on it.

    Privacy
    -------
    Holds private rows and integer sums of them. Routing uses released splits only.
    """

    __slots__ = (
        "_bins",
        "_built",
        "_layout",
        "_n_threads",
        "_neighbours",
        "_order",
        "_starts",
        "_words",
    )

    def __init__(
        self,
        bins: BinnedRows,
        words: NDArray[np.int64],
        layout: Layout,
        neighbours: Neighbours,
        n_threads: int,
    ) -> None:
        n_rows = bins.shape[1]
        self._bins = bins
        self._words = words
        self._layout = layout
        self._neighbours = neighbours
        self._n_threads = n_threads
        self._order = np.arange(n_rows, dtype=np.int32)
        self._starts = np.array([0, n_rows], dtype=np.int32)
        self._built: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None

    @property
    def n_nodes(self) -> int:
        """Nodes of the current level (a function of released splits)."""
        return len(self._starts) - 1

    @property
    def layout(self) -> Layout:
        """Public positions of cells and candidates."""
        return self._layout

    def groups(self) -> list[slice]:
        """Nodes whose scores are to be released together, so that they fit in memory.

        All of a level where bins are dense. A function of public numbers.
        """
        return node_groups(self._bins, self._layout, self.n_nodes)

    def split_scores(self, criterion: GradientGain, nodes: slice | None = None) -> Sensitive:
        """Score every candidate of the nodes of the level, or of one of their `groups`.

        Parameters
        ----------
        criterion : GradientGain
            Scores of the candidates.
        nodes : slice, optional
            One of `groups`; by default all nodes.

        Returns
        -------
        Sensitive of shape (n_nodes, n_candidates)
        """
        if isinstance(self._bins, SparseBins):
            scores = self._sparse_scores(self._bins, criterion, nodes or slice(0, self.n_nodes))
        else:
            self._built = self._histograms(self._bins)
            scores = criterion.scores(*self._built, self._layout)
        return Sensitive(scores, (criterion.bound(self._neighbours),))

    def leaf_values(self, leaf: ClippedLeaf) -> Sensitive:
        """Clipped leaf values of the nodes of the level, in units of the leaf's grid."""
        sums, counts = self._totals(slice(0, self.n_nodes))
        return Sensitive(leaf.values(sums, counts), (leaf.bound(self._neighbours),), unit=leaf.unit)

    def split(self, feature: NDArray[np.int32], split_bin: NDArray[np.uint8]) -> None:
        """Send the rows of node ``k`` on to nodes ``2 k`` and ``2 k + 1`` of the next level.

        Parameters
        ----------
        feature : ndarray of shape (n_nodes,), int32
        split_bin : ndarray of shape (n_nodes,), uint8
            Released splits, one a node.
        """
        order = np.empty_like(self._order)
        starts = np.empty(2 * self.n_nodes + 1, dtype=np.int32)
        columns, lines = dense_columns(self._bins, feature)
        is_categorical = np.zeros(len(columns), dtype=np.uint8)
        is_categorical[lines] = self._layout.is_categorical[feature]
        partition.split_rows(
            columns,
            self._order,
            self._starts,
            lines,
            split_bin,
            is_categorical,
            order,
            starts,
            self._n_threads,
        )
        self._order, self._starts = order, starts

    def _totals(self, nodes: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Gradient sums and counts of some nodes of the level."""
        sums = np.empty(nodes.stop - nodes.start, dtype=np.int64)
        counts = np.empty_like(sums)
        starts = self._starts[nodes.start : nodes.stop + 1]
        histogram.node_totals(self._order, starts, self._words, sums, counts, self._n_threads)
        return sums, counts

    def _sparse_scores(
        self, bins: SparseBins, criterion: GradientGain, nodes: slice
    ) -> NDArray[np.int64]:
        """Scores of some nodes of the level, without the histograms of a level in memory."""
        starts = self._starts[nodes.start : nodes.stop + 1]
        members = self._order[starts[0] : starts[-1]]
        numbers = np.arange(len(starts) - 1, dtype=np.int32)
        return sparse_scores(
            bins.take(members),
            np.repeat(numbers, np.diff(starts)),
            self._words[members],
            self._totals(nodes),
            criterion,
            self._layout,
            self._n_threads,
        )

    def _histograms(self, bins: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Compute sums and counts of every cell of every node of the level.

        Below the root only left children are built from rows; their siblings are the parents
        minus them. Always the left child, never the smaller one: no choice hangs on a size.
        """
        n_nodes = self.n_nodes
        sums = np.empty((n_nodes, self._layout.n_cells), dtype=np.int64)
        counts = np.empty_like(sums)
        parents = self._built
        subtract = parents is not None and 2 * len(parents[0]) == n_nodes
        nodes = np.arange(0, n_nodes, 2 if subtract else 1, dtype=np.int32)
        histogram.build(
            bins,
            self._order,
            self._starts,
            nodes,
            self._words,
            self._layout.cell_offsets,
            sums,
            counts,
            self._n_threads,
        )
        if subtract:
            assert parents is not None
            histogram.subtract(
                *parents,
                np.arange(n_nodes // 2, dtype=np.int32),
                nodes,
                nodes + np.int32(1),
                sums,
                counts,
                self._n_threads,
            )
        return sums, counts
