"""Softmax loss of two and more classes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpboost._utils.integer_units import to_integer_units
from dpboost._utils.validation import InvalidParameterError, check_integer
from dpboost.losses.link_table import exponential_table
from dpboost.losses.newton_loss import HESSIAN_UNIT, SCORE_BITS, NewtonLoss, gradient_units
from dpboost.privacy.sensitivity.bound import ContributionBound

# A released share of a class is never taken for less, so that every start value is finite.
LEAST_SHARE = 1e-4
# Scores and sums are kept for every class: beyond, a fit asks for a table of another kind.
MOST_CLASSES = 1000


@dataclass(frozen=True, kw_only=True)
class LossOfClasses(NewtonLoss):
    """A loss of several classes: one raw score and one tree a round for each of them."""

    #: Number of classes, from 2 to 1000.
    n_outputs: int
    #: Start value of each class, in units of 2^-20; empty for zeros.
    start_units: tuple[int, ...] = ()

    rules: ClassVar[dict[str, Any]] = {}
    gradient_bound: ClassVar[float] = 1.0
    hessian_unit: ClassVar[float] = HESSIAN_UNIT
    unit: ClassVar[float] = 2.0**-SCORE_BITS
    units_per_one: ClassVar[int] = 1 << SCORE_BITS

    def __post_init__(self) -> None:
        owner = type(self).__name__
        check_integer("n_outputs", owner, self.n_outputs, low=2, high=MOST_CLASSES)
        if not self.start_units:
            object.__setattr__(self, "start_units", (0,) * self.n_outputs)

    def encode_labels(self, y: ArrayLike) -> NDArray[np.int64]:
        """Check that indices of classes are 0 to ``n_outputs - 1``, or raise."""
        labels = np.asarray(y)
        if not np.isin(labels, np.arange(self.n_outputs)).all():
            raise InvalidParameterError(
                f"The 'y' parameter of {type(self).__name__} must hold class indices from 0 to "
                "one less than the number of classes."
            )
        return to_integer_units(labels, 0, self.n_outputs - 1)


@dataclass(frozen=True, kw_only=True)
class SoftmaxLoss(LossOfClasses):
    r"""Multinomial log-likelihood.

    The gradient of class :math:`k` is :math:`p_k - [y = k]` and its hessian
    :math:`p_k (1 - p_k)`. Probabilities come from an integer table of the exponential function
    and one integer division a row, rounded down to 2^-16.

    Notes
    -----
    A row's own entry is :math:`-a` with :math:`a = 1 - p_y`, and the other entries are positive
    and sum to :math:`a`. Clipping scales the whole vector down to :math:`a \le c`: its L1 norm
    is then at most :math:`2 c` and its squared L2 norm at most :math:`2 c^2`. Hessians sum to at
    most :math:`1 - 1 / K`; the sum of their squares is at most 1/8 for two classes and 4/27, the
    value at three equal probabilities, for more.

    Privacy
    -------
    Releases nothing. ``packed_newton`` is a row-wise map that uses public numbers only. The trees
    of a round look at the same rows: their sums are one vector and one release.
    """

    name: ClassVar[str] = "softmax"
    kernel: ClassVar[str] = "softmax"

    @property
    def objective(self) -> str:
        """LightGBM's name of the loss."""
        return f"multiclass num_class:{self.n_outputs}"

    @property
    def hessian_reach(self) -> ContributionBound:
        """How far the hessians of a row go, in units of 2^-16."""
        one = round(1 / HESSIAN_UNIT)
        squares = one * one // 8 if self.n_outputs == 2 else -(-4 * one * one // 27)
        return ContributionBound(
            l1=one * (self.n_outputs - 1) // self.n_outputs, squares=squares, entries=self.n_outputs
        )

    def kernel_numbers(self, gradient_limit: float) -> tuple[Any, ...]:
        """Return tables and numbers that the kernels take, in their order."""
        return exponential_table(), gradient_units(gradient_limit)

    def gradient_reach(self, gradient_limit: float) -> ContributionBound:
        """Return how far the clipped gradient of a row goes, in units of 2^-16."""
        limit = gradient_units(gradient_limit)
        return ContributionBound(l1=2 * limit, squares=2 * limit * limit, entries=self.n_outputs)

    def starting_at(self, shares: NDArray[np.float64]) -> SoftmaxLoss:
        """Return this loss with the logarithms of released class shares as its start.

        Parameters
        ----------
        shares : ndarray of shape (n_outputs,)
            Clipped to at least 0.0001.
        """
        logs = [math.log(max(share, LEAST_SHARE)) for share in shares.tolist()]
        return replace(self, start_units=tuple(round(value / self.unit) for value in logs))
