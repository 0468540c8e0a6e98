"""Joint loss of several quantiles: one score for each, with common tree structures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpboost.losses.newton_loss import HESSIAN_UNIT, NewtonLoss, PassArrays
from dpboost.losses.robust import RobustLoss
from dpboost.losses.squared import SquaredLoss
from dpboost.privacy.sensitivity.bound import ContributionBound

# Typical deviation of labels around predictions, in half-widths of the range where they lie.
START_SPREAD = 0.2


@dataclass(frozen=True, kw_only=True, eq=False)
class QuantilesLoss(NewtonLoss):
    """The losses of several quantiles of one label, one output each.

    Gradient and score of each output are those of :meth:`RobustLoss.quantile`. The hessian is 1 for
    every row and output, so that the released hessian sums of a leaf are so many measurements of
    one number, and their mean is taken.

    Parameters
    ----------
    parts : tuple of RobustLoss
        Of the quantiles in ascending order, on one grid of labels and scores.
    alphas : tuple of float
        Their levels.

    Notes
    -----
    Outputs may cross in training, for each goes its own way. A row's gradients are then on any
    side, whatever the others are: the norms of its vector are those of the largest gradients of
    all outputs together, ``sum(b_k)`` and ``sqrt(sum(b_k**2))``.

    Privacy
    -------
    Releases nothing. ``packed_newton`` is a row-wise map that uses public numbers only. The trees
    of a round look at the same rows: their sums are one vector and one release.
    """

    parts: tuple[RobustLoss, ...]
    alphas: tuple[float, ...]

    name: ClassVar[str] = "quantile"
    objective: ClassVar[str] = "quantile"
    gradient_bound: ClassVar[float] = 1.0
    hessian_unit: ClassVar[float] = HESSIAN_UNIT

    @classmethod
    def of(cls, labels: SquaredLoss, alphas: tuple[float, ...]) -> QuantilesLoss:
        """Return the loss of some quantiles in ascending order."""
        parts = tuple(RobustLoss.quantile(labels, alpha) for alpha in alphas)
        return cls(parts=parts, alphas=alphas)

    @property
    def n_outputs(self) -> int:
        """Quantiles."""
        return len(self.parts)

    @property
    def unit(self) -> float:
        """Unit of the score grid."""
        return self.parts[0].unit

    @property
    def units_per_one(self) -> int:
        """Score units in a step of one."""
        return self.parts[0].units_per_one

    @property
    def start_units(self) -> tuple[int, ...]:
        """Start value of each output."""
        return tuple(part.start_units for part in self.parts)

    @property
    def rules(self) -> dict[str, Any]:
        """Hyper-parameters that suit the loss."""
        return self.parts[0].rules

    @cached_property
    def hessian_reach(self) -> ContributionBound:
        """How far the hessians of a row go, in units of 2^-16."""
        one = round(1 / HESSIAN_UNIT)
        return self._reach([one] * self.n_outputs, [one] * self.n_outputs)

    def gradient_reach(self, gradient_limit: float) -> ContributionBound:
        """Return how far the clipped gradients of a row go, in units of 2^-16."""
        limits = [part.surface.limits(gradient_limit) for part in self.parts]
        return self._reach(
            [max(-low, high) for low, high in limits], [high - low for low, high in limits]
        )

    def _reach(self, bounds: list[int], spans: list[int]) -> ContributionBound:
        return ContributionBound(
            l1=sum(bounds),
            squares=sum(bound * bound for bound in bounds),
            entries=len(bounds),
            difference=sum(span * span for span in spans),
        )

    def packed_newton(
        self,
        scores: NDArray[np.int64],
        labels: NDArray[np.int64],
        rows: NDArray[np.int32],
        *,
        gradient_limit: float,
        n_threads: int = 1,
    ) -> NDArray[np.int64]:
        """Packed clipped gradients and hessians of some rows, as those of every part."""
        packed = np.empty((self.n_outputs, len(rows)), dtype=np.int64)
        for output, part in enumerate(self.parts):
            own = slice(output, output + 1)
            packed[own] = part.packed_newton(
                scores[own], labels, rows, gradient_limit=gradient_limit, n_threads=n_threads
            )
        return packed

    def pass_over(self, arrays: PassArrays, *, gradient_limit: float, n_threads: int) -> None:
        """Bring scores up to date, find leaves and sum: one pass for each output."""
        scores, labels, present, weights, pending, leaves, *_, sums = arrays
        bins, features, steps, table = arrays[6:10]
        before = leaves.copy()
        for output, part in enumerate(self.parts):
            own = slice(output, output + 1)
            leaves[:] = before
            found = np.empty((2, 1, sums.shape[2]), dtype=np.int64)
            given = (scores[own], labels, present, weights, pending[own], leaves)
            part.pass_over(
                (*given, bins, features, steps, table, found),
                gradient_limit=gradient_limit,
                n_threads=n_threads,
            )
            sums[:, own] = found

    def encode_labels(self, y: ArrayLike) -> NDArray[np.int64]:
        """Clip labels to the bounds and round them to the score grid."""
        return self.parts[0].encode_labels(y)

    def scaled_labels(self, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Labels scaled to [-1, 1]."""
        return self.parts[0].scaled_labels(labels)

    def starting_from(self, units: tuple[int, ...]) -> QuantilesLoss:
        """Return this loss with given starts, a number of units for each quantile."""
        pairs = zip(self.parts, units, strict=True)
        return replace(self, parts=tuple(replace(part, start_units=own) for part, own in pairs))

    def starting_at(self, mean: float) -> QuantilesLoss:
        """Return this loss with starts around a released mean of the scaled labels.

        They are as far apart as the quantiles of a normal law are: many small steps are spared.
        """
        middle = self.parts[0].starting_at(mean).start_units
        reach = START_SPREAD * self.parts[0].labels.half_units
        normal = NormalDist()
        return self.starting_from(
            tuple(middle + round(reach * normal.inv_cdf(alpha)) for alpha in self.alphas)
        )
