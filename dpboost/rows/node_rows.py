"""The rows of one tree in one row store, grouped by the nodes of its current level."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import histogram, partition, small_tree_gain, sparsegain
from dpboost.data.sparse import BinnedRows, SparseBins, dense_columns
from dpboost.privacy.score_runs import ScoreRuns
from dpboost.rows.level_histograms import LevelHistograms
from dpboost.trees.bin_layout import Layout, Workspace
from dpboost.trees.gain import SCORE_LIMIT, GradientGain

# With more rows than this, histograms that are kept for the siblings of the next level pay.
MOST_ROWS = 24_000


class NodeRows:
    """Private rows of one tree, which released splits move from node to node.

    Parameters
    ----------
    bins : ndarray of shape (n_features, n_rows), uint8, or SparseBins
        Bins of the tree's rows, by column.
    packed : ndarray of shape (n_rows,), int64
        Packed gradient and count of each row; zero for a row that the filter drops.
    workspace : Workspace, optional
        Where large arrays come from.

    Privacy
    -------
    All that it returns is private.
    """

    __slots__ = (
        "_bins",
        "_layout",
        "_levels",
        "_n_threads",
        "_order",
        "_starts",
        "_packed",
        "_workspace",
    )

    def __init__(
        self,
        bins: BinnedRows,
        packed: NDArray[np.int64],
        layout: Layout,
        n_threads: int,
        workspace: Workspace | None = None,
    ) -> None:
        n_rows = bins.shape[1]
        self._bins = bins
        self._packed = packed
        self._layout = layout
        self._n_threads = n_threads
        self._order = np.arange(n_rows, dtype=np.int32)
        self._starts = np.array([0, n_rows], dtype=np.int32)
        self._levels: LevelHistograms | None = None
        self._workspace = workspace or Workspace()

    def histograms(self, step: int) -> NDArray[np.int64]:
        """Return sums and counts in the cells of every ``step``-th node of the level.

        Returns
        -------
        ndarray of shape (2, n_asked, n_cells), int64
        """
        bins, n_nodes = self._bins, len(self._starts) - 1
        assert not isinstance(bins, SparseBins)
        asked = np.arange(0, n_nodes, step, dtype=np.int32)
        built = self._workspace.empty((2, len(asked), self._layout.n_cells))
        histogram.build(
            bins,
            self._order,
            self._starts,
            asked,
            self._packed,
            self._layout.cell_offsets,
            built[0],
            built[1],
            self._n_threads,
        )
        return built

    def totals(self) -> NDArray[np.int64]:
        """Return sums and counts of the nodes of the level; shape (2, n_nodes)."""
        self._levels = None  # leaves come last
        totals = np.empty((2, len(self._starts) - 1), dtype=np.int64)
        histogram.node_totals(
            self._order, self._starts, self._packed, totals[0], totals[1], self._n_threads
        )
        return totals

    def scores(self, criterion: GradientGain) -> NDArray[np.int64] | ScoreRuns:
        """Return scores of all candidates of the nodes of the level.

        Returns
        -------
        ndarray of shape (n_nodes, n_candidates), int64, or ScoreRuns
        """
        if isinstance(self._bins, SparseBins):
            return self._sparse_scores(self._bins, criterion)
        if self._levels is None:
            self._levels = LevelHistograms(self._n_threads, self._workspace)
        n_nodes = len(self._starts) - 1
        built = self._levels.of(n_nodes, lambda _n_asked, step: self.histograms(step))
        return criterion.scores(built[0], built[1], self._layout, self._workspace)

    def _sparse_scores(self, bins: SparseBins, criterion: GradientGain) -> ScoreRuns:
        """Return the scores as runs of neighbors with one score; only stored cells are touched."""
        node_of_row = np.empty(len(self._order), dtype=np.int32)
        # A stored cell knows its row and not its node: stored columns are read in their own order,
        # not in that of the nodes.
        numbers = np.arange(len(self._starts) - 1, dtype=np.int32)
        node_of_row[self._order] = np.repeat(numbers, np.diff(self._starts))
        totals = self.totals()
        layout = self._layout
        scores, starts, node_start = sparsegain.runs(
            bins.column_start,
            bins.rows,
            bins.bins,
            bins.fill,
            node_of_row,
            self._packed,
            totals[0],
            totals[1],
            layout.cell_offsets,
            layout.candidate_offsets,
            layout.is_categorical,
            criterion.hessian,
            criterion.reg_lambda,
            criterion.scale,
            SCORE_LIMIT,
            self._n_threads,
        )
        return ScoreRuns(
            scores=scores, starts=starts, node_start=node_start, n_candidates=layout.n_candidates
        )

    def split(self, feature: NDArray[np.int32], split_bin: NDArray[np.uint8]) -> None:
        """Send the rows of node ``k`` on to nodes ``2 k`` and ``2 k + 1`` of the next level."""
        order = np.empty_like(self._order)
        starts = np.empty(2 * len(self._starts) - 1, dtype=np.int32)
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


class FewRows:
    """Few private rows of one tree, which fit into caches.

    No histogram is kept; parameters are those of `NodeRows`, with dense bins.

    Privacy
    -------
    All results are private. Scores, totals and splits are those of `NodeRows`; only time and
    memory differ.
    """

    __slots__ = ("_layout", "_n_nodes", "_rows", "_workspace")

    def __init__(
        self,
        bins: NDArray[np.uint8],
        packed: NDArray[np.int64],
        layout: Layout,
        n_threads: int,
        workspace: Workspace | None = None,
    ) -> None:
        self._layout = layout
        self._n_nodes = 1
        self._workspace = workspace or Workspace()
        self._rows = small_tree_gain.FewRows(
            bins,
            packed,
            layout.cell_offsets,
            layout.candidate_offsets,
            layout.is_categorical,
            n_threads,
        )

    def scores(self, criterion: GradientGain) -> ScoreRuns:
        """Return scores of all candidates of the nodes of the level, in runs."""
        room = (self._n_nodes * self._layout.n_candidates,)
        scores = self._workspace.empty(room)
        starts = self._workspace.empty(room, np.int32)
        node_start = self._rows.runs(
            criterion.hessian, criterion.reg_lambda, criterion.scale, SCORE_LIMIT, scores, starts
        )
        return ScoreRuns(
            scores=scores[: node_start[-1]],
            starts=starts[: node_start[-1]],
            node_start=node_start,
            n_candidates=self._layout.n_candidates,
        )

    def totals(self) -> NDArray[np.int64]:
        """Return sums and counts of the nodes of the level; shape (2, n_nodes)."""
        return self._rows.totals()

    def split(self, feature: NDArray[np.int32], split_bin: NDArray[np.uint8]) -> None:
        """Send the rows of node ``k`` on to nodes ``2 k`` and ``2 k + 1`` of the next level."""
        self._rows.split(feature, split_bin)
        self._n_nodes *= 2


def whole_rows(
    bins: BinnedRows,
    packed: NDArray[np.int64],
    layout: Layout,
    n_threads: int,
    workspace: Workspace | None = None,
) -> NodeRows | FewRows:
    """Return the rows of one tree that are all in one place; parameters of both classes.

    Privacy
    -------
    The choice depends on the private number of rows. Both give the same scores and totals; only
    time and memory differ.
    """
    if isinstance(bins, SparseBins) or bins.shape[1] > MOST_ROWS:
        return NodeRows(bins, packed, layout, n_threads, workspace)
    return FewRows(bins, packed, layout, n_threads, workspace)
