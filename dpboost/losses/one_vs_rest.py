"""One-vs-rest logistic loss of several classes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpboost.losses.link_table import two_sided_table
from dpboost.losses.newton_loss import HESSIAN_UNIT, gradient_units
from dpboost.losses.softmax import LossOfClasses
from dpboost.privacy.sensitivity.bound import ContributionBound


@dataclass(frozen=True, kw_only=True)
class OneVsRestLoss(LossOfClasses):
    r"""LightGBM's ``multiclassova``: a logistic loss of each of :math:`K` classes against the rest.

    Notes
    -----
    The entries of a row's gradient vector are :math:`p_k - [y = k]` without a common
    constraint: clipped to :math:`\pm c` each, as those of `LogisticLoss`, its L1 norm is at most
    :math:`K c` and its L2 norm at most :math:`\sqrt K c`. Each hessian :math:`p_k (1 - p_k)` is at
    most 1/4. Gradients are negative for a row's own class and positive for the others: two rows
    differ by at most :math:`2 c` in the entries of their own classes and by :math:`c` in the other
    ones, so that the squared norm of their difference is at most :math:`(K + 6) c^2`.

    Privacy
    -------
    Releases nothing. ``packed_newton`` is a row-wise map that uses public numbers only. The trees
    of a round look at the same rows: their sums are one vector and one release.
    """

    name: ClassVar[str] = "one against the rest"
    kernel: ClassVar[str] = "separate"

    @property
    def objective(self) -> str:
        """LightGBM's name of the loss."""
        return f"multiclassova num_class:{self.n_outputs} sigmoid:1"

    @property
    def hessian_reach(self) -> ContributionBound:
        """How far the hessians of a row go, in units of 2^-16."""
        bound = round(0.25 / HESSIAN_UNIT)
        return self._reach(bound, self.n_outputs * bound * bound)

    def kernel_numbers(self, gradient_limit: float) -> tuple[Any, ...]:
        """Return tables and numbers that the kernels take, in their order."""
        limit = gradient_units(gradient_limit)
        return two_sided_table(limit), limit

    def gradient_reach(self, gradient_limit: float) -> ContributionBound:
        """Return how far the clipped gradient of a row goes, in units of 2^-16."""
        bound = gradient_units(gradient_limit)
        return self._reach(bound, (self.n_outputs + 6) * bound * bound)

    def _reach(self, bound: int, difference: int | None = None) -> ContributionBound:
        k = self.n_outputs
        return ContributionBound(
            l1=k * bound, squares=k * bound * bound, entries=k, difference=difference
        )

    def starting_at(self, shares: NDArray[np.float64]) -> OneVsRestLoss:
        """Return this loss with the log-odds of released class shares, within [0.0001, 0.99]."""
        odds = [math.log(share / (1 - share)) for share in np.clip(shares, 1e-4, 0.99).tolist()]
        return replace(self, start_units=tuple(round(value / self.unit) for value in odds))
