"""Sums that replace private choices for rows of several parties.

Proofs: docs/proofs/level-histograms.md and docs/proofs/leaf-sums.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.losses import GRADIENT_UNIT
from dpboost.privacy.sensitivity.bound import ContributionBound, Neighbors, Sensitivity
from dpboost.privacy.sensitivity.constants import newton_sums
from dpboost.privacy.sensitivity.histograms import level_sums
from dpboost.rows.boosting_state import BoostingState
from dpboost.rows.node_rows import NodeRows
from dpboost.trees.bin_layout import Layout


@dataclass(frozen=True, kw_only=True, eq=False)
class LeafTotals:
    """Gradient sums and counts of the nodes of a level, as one vector.

    Rows with a larger absolute gradient than the bound were dropped.
    """

    n_nodes: int
    gradient_bound: float

    @property
    def count_units(self) -> int:
        """Units that a row is worth in a count: as many as the largest gradient in a sum."""
        return round(self.gradient_bound / GRADIENT_UNIT)

    @property
    def unit(self) -> float:
        """Worth of one unit of a gradient sum."""
        return GRADIENT_UNIT

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""
        return (2, self.n_nodes)

    def evaluate(self, rows: BoostingState) -> NDArray[np.int64]:
        """Return the totals of the rows of one party."""
        totals = rows.nodes.totals()
        totals[1] *= self.count_units
        return totals

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the sensitivities: a row is in one node."""
        reach = ContributionBound.single(self.count_units)
        return newton_sums(reach, reach, neighbors)


@dataclass(frozen=True, kw_only=True, eq=False)
class LevelSums(LeafTotals):
    """The same for all cells of all features in each node."""

    layout: Layout

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""
        return (2, self.n_nodes, self.layout.n_cells)

    def evaluate(self, rows: BoostingState) -> NDArray[np.int64]:
        """Return the histograms of the rows of one party."""
        assert isinstance(rows.nodes, NodeRows)
        built = np.ascontiguousarray(rows.nodes.histograms(1))
        built[1] *= self.count_units
        return built

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the L1 sensitivity, over all features."""
        n_features = len(self.layout.cell_offsets) - 1
        return (level_sums(n_features, self.count_units, neighbors),)
