"""Base class of losses on an integer grid, with one kernel per loss.

Proof that a row decides its own numbers alone: docs/proofs/integers.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpboost._kernels import newton, training_pass
from dpboost._utils.integer_units import to_integer_units
from dpboost._utils.validation import check_real

L = TypeVar("L", bound="NewtonLoss")


@dataclass(frozen=True, kw_only=True, eq=False)
class NewtonLoss:
    """Base class of losses, with one kernel for some rows and one for a pass over all rows.

    Privacy
    -------
    One row decides its own numbers, by public numbers only.
    """

    #: Name of both kernels, in ``newton`` and ``rounds``.
    kernel: ClassVar[str]

    if TYPE_CHECKING:
        # What a subclass has as a field, a property or a constant of the class, such as
        # `n_outputs`, the raw scores of a row, and `units_per_one`, score units in a leaf value of
        # one.
        def __getattr__(self, name: str) -> Any:
            """Return the attribute of the subclass."""

    @property
    def start(self) -> float:
        """Start value of the raw scores of a loss with one output."""
        return float(self.start_units * self.unit)

    def starting_from(self: L, units: tuple[int, ...]) -> L:
        """Return this loss with given starts, a number of units for each output."""
        start = units[0] if self.n_outputs == 1 else units
        return replace(self, start_units=start)  # type: ignore[call-arg]  # a subclass has it

    def kernel_numbers(self, gradient_limit: float) -> tuple[Any, ...]:
        """Return the public numbers and tables that the kernels take, in their order."""
        raise NotImplementedError

    def packed_newton(
        self,
        scores: NDArray[np.int64],
        labels: NDArray[np.int64],
        rows: NDArray[np.int32],
        *,
        gradient_limit: float,
        n_threads: int = 1,
    ) -> NDArray[np.int64]:
        """Packed clipped gradients and hessians of some rows.

        Parameters
        ----------
        scores : ndarray of shape (n_outputs, n_rows), int64
            In units of ``unit``.
        labels : ndarray of shape (n_rows,), int64
            From ``encode_labels``.
        rows : ndarray of shape (n_selected,), int32
        gradient_limit : float
            Part of the gradient's bound that is kept, at most 1.

        Returns
        -------
        ndarray of shape (n_outputs, n_selected), int64
            ``(gradient << 32) + hessian``, gradients in units of 2^-16 of their bound and
            hessians in units of ``hessian_unit``, within ``gradient_reach`` and
            ``hessian_reach``.
        """
        packed = np.empty((self.n_outputs, len(rows)), dtype=np.int64)
        one = self.n_outputs == 1
        getattr(newton, self.kernel)(
            scores[0] if one else scores,
            labels,
            rows,
            *self.kernel_numbers(gradient_limit),
            packed[0] if one else packed,
            n_threads,
        )
        return packed

    def pass_over(self, arrays: PassArrays, *, gradient_limit: float, n_threads: int) -> None:
        """Bring scores up to date, find leaves and sum, in one pass over all rows.

        The same as :meth:`packed_newton`, without a table of them.
        """
        numbers = self.kernel_numbers(gradient_limit)
        getattr(training_pass, self.kernel)(*arrays, n_threads, *numbers)

    @property
    def squared_step(self) -> float:
        """Square of the raw score of a step of one, at most 1e300: what gains are counted in."""
        score = self.units_per_one * self.unit
        return float(min(score * score, 1e300))

    def to_score_units(
        self, value_units: ArrayLike, value_unit: float, learning_rate: float
    ) -> NDArray[np.int64]:
        """Turn released leaf values into score units, learning rate included.

        One ``value_unit`` is in steps of one: scaled labels, or log-odds. Values are rounded to
        nearest and saturate at +-2^40 units.
        """
        values = np.asarray(value_units, dtype=np.float64)
        scaled = values * (value_unit * learning_rate * self.units_per_one)
        return to_integer_units(scaled, -LEAF_LIMIT, LEAF_LIMIT)


GRADIENT_ONE = 1 << 16
"""Gradient 1 in integer units of the gradient grid."""

GRADIENT_UNIT = 2.0**-16
"""One unit of the gradient grid."""

SCORE_BITS = 20  # a leaf value of 1 is 2^20 to 2^21 score units
LEAF_LIMIT = 1 << 40  # released leaf values saturate there, in score units
HESSIAN_UNIT = 2.0**-16
"""One unit of the hessian grid of losses whose hessian varies."""

COUNT_UNIT = 2.0**-12
"""One unit of the hessian grid of losses whose hessian is one."""

_A: TypeAlias = NDArray[Any]
Lookup: TypeAlias = tuple[_A, _A, _A, _A]
"""How the kernels find leaves: bins, features, steps, table."""

PassArrays: TypeAlias = tuple[_A, _A, _A, _A, _A, _A, _A, _A, _A, _A, _A]
"""What the kernels of ``rounds`` take before ``n_threads``, in their order."""


def filter_units(filter_limit: float | None, units_per_one: int) -> int:
    """Largest ``|gradient|`` that passes the filter, in integer units; -1 for no filter."""
    if filter_limit is None:
        return -1
    limit = check_real("filter_limit", "packed_gradients", filter_limit, low=0.0, high=1e9)
    return math.floor(Fraction(limit) * units_per_one)


@lru_cache(maxsize=256, typed=True)
def gradient_units(gradient_limit: float) -> int:
    """Clip of gradients in units of 2^-16."""
    limit = check_real("gradient_limit", "packed_gradients", gradient_limit, low=0.0, high=1.0)
    return math.floor(limit * GRADIENT_ONE)
