"""Queries of boosting, and the division of a release between gradient and hessian sums.

Proofs: docs/proofs/integers.md and docs/proofs/leaf-sums.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.losses import Loss, QuantilesLoss
from dpboost.losses.newton_loss import GRADIENT_ONE
from dpboost.privacy.sensitivity.bound import ContributionBound, Neighbors, Sensitivity
from dpboost.privacy.sensitivity.constants import newton_sums
from dpboost.rows.boosting_state import BoostingState
from dpboost.rows.node_rows import NodeRows
from dpboost.trees.gain import GradientGain
from dpboost.trees.random_partition import Partition


@dataclass(frozen=True, kw_only=True, eq=False)
class LeafSums:
    """Gradient and hessian sums of the leaves of a public partition, for every output."""

    partition: Partition
    scale: SumScale
    n_outputs: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""
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
    """Gradient sums and counts in the cells of every ``step``-th node of a level."""

    n_nodes: int
    #: Cells of a node.
    n_cells: int
    #: 1 for all nodes, 2 for left children.
    step: int = 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""
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
        """Public shape of the result."""
        return (2, self.n_nodes)

    def evaluate(self, rows: BoostingState) -> NDArray[np.int64]:
        """Return the totals for the rows of one place."""
        return rows.nodes.totals()


@dataclass(frozen=True, kw_only=True, eq=False)
class LevelScores:
    """Scores of all candidates of all nodes of a level.

    Not a sum: only a row store with all rows in one place can answer. It may return scores as an
    array or in runs.
    """

    criterion: GradientGain
    n_nodes: int
    n_candidates: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""
        return (self.n_nodes, self.n_candidates)

    def evaluate(self, rows: BoostingState) -> Any:
        """Return the scores for all rows, an array or `ScoreRuns`."""
        return rows.nodes.scores(self.criterion)


# Gradients are multiplied by this before the release, so that the smaller factor of the
# hessians, which sets their share of the budget, is still a good integer.
GRADIENT_FACTOR = 16


@dataclass(frozen=True, kw_only=True)
class SumScale:
    """Integer factors that divide one release between gradient and hessian sums."""

    #: Public clip of a row's gradient, as the loss takes it.
    gradient_limit: float
    #: Contribution bound of the clipped gradients of a row, in units of 2^-16.
    gradient_reach: ContributionBound
    #: Contribution bound of the hessians of a row, in units of ``hessian_unit``.
    hessian_reach: ContributionBound
    #: Unit of the hessian grid.
    hessian_unit: float
    #: Fraction of the release's budget for hessians.
    hessian_share: float
    #: One of "l1", "l2". Norm of the noise: discrete Laplace or discrete Gaussian.
    norm: str
    #: Whether a row has the same hessian for every output, so that the released hessian sums of a
    #: leaf are as many measurements of one number.
    one_hessian: bool = False

    @classmethod
    def of(cls, loss: Loss, *, gradient_limit: float, hessian_share: float, norm: str) -> SumScale:
        """Return the scale of sums of a loss, from its contribution bounds."""
        return cls(
            gradient_limit=gradient_limit,
            gradient_reach=loss.gradient_reach(gradient_limit),
            hessian_reach=loss.hessian_reach,
            hessian_unit=loss.hessian_unit,
            hessian_share=hessian_share,
            norm=norm,
            one_hessian=isinstance(loss, QuantilesLoss),
        )

    @cached_property
    def hessian_factor(self) -> int:
        """Factor of the hessians: it gives them their share of the squared (or plain) norm."""
        odds = self.hessian_share / (1 - self.hessian_share)
        gradient, hessian = self.gradient_reach, self.hessian_reach
        if self.norm == "l1":
            factor = odds * gradient.l1 / hessian.l1
        else:
            factor = math.sqrt(odds * gradient.squares / hessian.squares)
        # Rounded, not exact: the share of the budget is a wish, and the bounds are computed from
        # the factor that is used.
        return max(1, round(GRADIENT_FACTOR * factor))

    @property
    def gradient_unit_value(self) -> float:
        """Value of one released unit of a gradient sum."""
        return 1 / (GRADIENT_FACTOR * GRADIENT_ONE)

    @property
    def hessian_unit_value(self) -> float:
        """Value of one released unit of a hessian sum."""
        return self.hessian_unit / self.hessian_factor

    def weight_noise(self, gradient_noise: float, n_outputs: int) -> float:
        """Return the standard deviation of the noise of a leaf's mean hessian sum.

        The mean is of ``n_outputs`` sums, each with noise of its own; ``gradient_noise`` is the
        standard deviation of the noise of a gradient sum.
        """
        units = gradient_noise / self.gradient_unit_value
        return units * self.hessian_unit_value / math.sqrt(n_outputs)

    def scaled(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """Multiply gradient and hessian sums, of shape (2, n_outputs, n_leaves), in place."""
        # Integer factors keep the sums exact; a row is at most 2^16 units, and fewer than 2^31 rows
        # leave 16 bits for a factor.
        sums[0] *= GRADIENT_FACTOR
        sums[1] *= self.hessian_factor
        return sums

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, Sensitivity]:
        """Return the L1 and L2 sensitivity of the vector."""
        return newton_sums(*self._reaches, neighbors)

    @cached_property
    def _reaches(self) -> tuple[ContributionBound, ContributionBound]:
        """Contribution bounds of a row in units of the released vector."""
        return (
            self.gradient_reach.scaled(GRADIENT_FACTOR),
            self.hessian_reach.scaled(self.hessian_factor),
        )
