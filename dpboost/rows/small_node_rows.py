"""The rows of one tree that are all in one place, and few: scored where they lie in caches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import small_tree_gain
from dpboost.privacy.score_runs import ScoreRuns
from dpboost.trees.bin_layout import Layout
from dpboost.trees.gain import SCORE_LIMIT, GradientGain
from dpboost.trees.workspace import Workspace

# With more rows than this, histograms that are kept for the siblings of the next level pay.
MOST_ROWS = 24_000


class FewRows:
    """Private rows of one tree, as `NodeRows`, which keep no histogram.

    Parameters
    ----------
    bins : ndarray of shape (n_features, n_rows), uint8
        Bins of the tree's rows, by column.
    packed : ndarray of shape (n_rows,), int64
        Packed gradient and count of each row; zero for a row that the filter drops.
    layout : Layout
        Public positions of cells and candidates.
    n_threads : int
        Threads of the kernels; results do not depend on it.
    workspace : Workspace, optional
        Where large arrays come from.

    Privacy
    -------
    All that it returns is private. Scores, totals and splits are those of `NodeRows`; only time
    and memory tell the two apart.
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
