"""Histograms of successive levels, half of them by subtraction."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import histogram
from dpboost.trees.bin_layout import Workspace


class LevelHistograms:
    """Sums and counts of the cells of every node of a level.

    Parameters
    ----------
    workspace : Workspace, optional
        Where large arrays come from.

    Privacy
    -------
    What it holds and returns is private.
    """

    __slots__ = ("_built", "_n_threads", "_workspace")

    def __init__(self, n_threads: int, workspace: Workspace | None = None) -> None:
        self._n_threads = n_threads
        self._workspace = workspace or Workspace()
        self._built: NDArray[np.int64] | None = None

    def of(self, n_nodes: int, build: Callable[[int, int], NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return the histograms of a level, of shape (2, n_nodes, n_cells).

        Below the root only left children are built from rows; their siblings are the parents, of
        the level right above, minus them. Always the left child, never the smaller one: no choice
        depends on a size. ``build(n_asked, step)`` adds up the rows of every ``step``-th node of
        the level, and returns an int64 array of shape (2, n_asked, n_cells).
        """
        parents = self._built
        if parents is None or 2 * parents.shape[1] != n_nodes:
            self._built = build(n_nodes, 1)
            return self._built
        left = build(n_nodes // 2, 2)
        built = self._workspace.empty((2, n_nodes, left.shape[2]))
        for which in range(2):
            histogram.children(parents[which], left[which], built[which], self._n_threads)
        self._built = built
        return built
