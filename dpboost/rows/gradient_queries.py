"""What is asked of the rows of a level, and what they are told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.rows.node_rows import HasNodes, NodeRows
from dpboost.trees.gain import GradientGain


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeHistograms:
    """Gradient sums and counts in the cells of every ``step``-th node of a level.

    Parameters
    ----------
    n_nodes : int
        Nodes that are asked for.
    n_cells : int
        Cells of a node.
    step : {1, 2}
        All nodes, or left children.
    """

    n_nodes: int
    n_cells: int
    step: int = 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the answer."""
        return (2, self.n_nodes, self.n_cells)

    def evaluate(self, rows: HasNodes) -> NDArray[np.int64]:
        """Return the histograms for the rows of one place."""
        assert isinstance(rows.nodes, NodeRows)
        return rows.nodes.histograms(self.step)


@dataclass(frozen=True, kw_only=True, eq=False)
class NodeTotals:
    """Gradient sums and counts of the nodes of a level."""

    n_nodes: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the answer."""
        return (2, self.n_nodes)

    def evaluate(self, rows: HasNodes) -> NDArray[np.int64]:
        """Return the totals for the rows of one place."""
        return rows.nodes.totals()


@dataclass(frozen=True, kw_only=True, eq=False)
class LevelScores:
    """Scores of all candidates of all nodes of a level.

    No sum: only a source whose rows are all in one place can answer. How it comes to the scores,
    and whether it writes them out or in runs, is its own affair.

    Parameters
    ----------
    criterion : GradientGain
    n_nodes : int
    n_candidates : int
    """

    criterion: GradientGain
    n_nodes: int
    n_candidates: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the answer."""
        return (self.n_nodes, self.n_candidates)

    def evaluate(self, rows: HasNodes) -> Any:
        """Return the scores for all rows, an array or `ScoreRuns`."""
        return rows.nodes.scores(self.criterion)


@dataclass(frozen=True, kw_only=True, eq=False)
class SplitNodes:
    """Rows go on to the children of released splits, one a node.

    Parameters
    ----------
    feature : ndarray of shape (n_nodes,), int32
    split_bin : ndarray of shape (n_nodes,), uint8
    """

    feature: NDArray[np.int32]
    split_bin: NDArray[np.uint8]

    def execute(self, rows: HasNodes) -> HasNodes:
        """Send the rows of one site on."""
        rows.split(self.feature, self.split_bin)
        return rows
