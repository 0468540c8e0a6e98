"""What boosting asks of rows. Proof: docs/proofs/leaf-sums.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.neighbors import Neighbors
from dpboost.privacy.sensitivity.bound import Sensitivity
from dpboost.rows.boosting_state import BoostingState
from dpboost.rows.newton_sums import SumScale
from dpboost.rows.node_rows import NodeRows
from dpboost.trees.gain import GradientGain
from dpboost.trees.random_partition import Partition


@dataclass(frozen=True, kw_only=True, eq=False)
class LeafSums:
    """Gradient and hessian sums of the leaves of a public partition, for every output.

    Parameters
    ----------
    partition : Partition
        Public tree.
    scale : SumScale
        Clips and factors.
    """

    partition: Partition
    scale: SumScale
    n_outputs: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the answer."""
        return (2, self.n_outputs, self.partition.n_leaves)

    @property
    def unit(self) -> float:
        """Worth of one unit of a gradient sum."""
        return self.scale.gradient_unit_value

    def evaluate(self, rows: BoostingState) -> NDArray[np.int64]:
        """Return the scaled sums for the rows of one place."""
        sums = rows.leaf_sums(self.partition, self.scale.gradient_limit)
        return self.scale.scaled(sums)

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the L1 and L2 sensitivity of the vector."""
        return self.scale.bounds(neighbors)


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

    def evaluate(self, rows: BoostingState) -> NDArray[np.int64]:
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

    def evaluate(self, rows: BoostingState) -> NDArray[np.int64]:
        """Return the totals for the rows of one place."""
        return rows.nodes.totals()


@dataclass(frozen=True, kw_only=True, eq=False)
class LevelScores:
    """Scores of all candidates of all nodes of a level.

    No sum: only a source whose rows are all in one place can answer. How it comes to the scores,
    and whether it writes them out or in runs, is its own affair.
    """

    criterion: GradientGain
    n_nodes: int
    n_candidates: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the answer."""
        return (self.n_nodes, self.n_candidates)

    def evaluate(self, rows: BoostingState) -> Any:
        """Return the scores for all rows, an array or `ScoreRuns`."""
        return rows.nodes.scores(self.criterion)
