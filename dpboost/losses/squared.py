"""Squared loss on labels scaled by public bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpboost._kernels import gradient
from dpboost._utils.integer_units import to_integer_units
from dpboost._utils.validation import check_real, refuse
from dpboost.losses.newton_loss import (
    COUNT_UNIT,
    GRADIENT_ONE,
    SCORE_BITS,
    NewtonLoss,
    filter_units,
    gradient_units,
)
from dpboost.privacy.sensitivity.bound import ContributionBound

MAGNITUDE_BITS = 50  # no label is further than 2^51 units from zero: sums are exact doubles
LEAST_BITS = 10  # half-widths of fewer than 2^10 units are refused
LEAST_EXPONENT = -1000  # units stay normal doubles
LARGEST_LABEL = 1e300


@dataclass(frozen=True, kw_only=True)
class SquaredLoss(NewtonLoss):
    """Half the squared error of labels scaled to [-1, 1] by public bounds.

    The gradient is ``(score - label) / half_width`` and the hessian 1. A raw score is an integer
    multiple of ``unit``, a power of two, with at most 2^53 units: it is an exact double however
    its trees are summed. Build it with :meth:`from_label_bounds`.

    Parameters
    ----------
    lower, upper : float
        Public bounds; labels outside are clipped to them.
    unit : float
        Unit of the score grid, a power of two.
    start_units : int
        Start value in units; the middle of the range unless one was released.
    half_units : int
        Half-width of the range in units, rounded up, so that every encoded label is within
        ``half_units`` of the middle and every label's scaled value within [-1, 1].
    spread : float, optional
        Released distance of the 1 and 99 % points of the labels in half-widths, for rules.

    Privacy
    -------
    Releases nothing. ``packed_gradients`` is a row-wise map by public numbers only: one row decides
    one word, and a word's gradient is at most ``gradient_limit`` in absolute value. The label
    bounds are assumed public; they must not be computed from the labels without a charge.
    """

    lower: float
    upper: float
    unit: float
    start_units: int
    half_units: int
    spread: float | None = None

    name: ClassVar[str] = "squared"
    kernel: ClassVar[str] = "squared"
    rules: ClassVar[dict[str, Any]] = {}
    objective: ClassVar[str] = "regression"
    hessian: ClassVar[float] = 1.0
    n_outputs: ClassVar[int] = 1
    gradient_bound: ClassVar[float] = 1.0
    hessian_unit: ClassVar[float] = COUNT_UNIT
    hessian_reach: ClassVar[ContributionBound] = ContributionBound.single(round(1 / COUNT_UNIT))

    @classmethod
    def from_label_bounds(
        cls,
        lower: float,
        upper: float,
        *,
        name: str = "label_bounds",
        owner: str = "Schema",
    ) -> SquaredLoss:
        """Choose the score grid for public label bounds.

        The unit is about 2^-20 of the half-width, and coarser for bounds far from zero: no label
        is beyond 2^51 units. Equal bounds are allowed, the label is then a public constant and
        gets a half-width of 2^10 of the finest units there.

        Parameters
        ----------
        lower, upper : float
            Finite, ``lower <= upper``, at most 1e300 in absolute value.
        name, owner : str
            Whose parameter they are, for messages.

        Raises
        ------
        InvalidParameterError
            If the bounds are no such numbers, or less than about 2^-40 of their magnitude (or
            than 1e-298) apart, but not equal.
        """
        low = check_real(name, owner, lower, low=-LARGEST_LABEL, high=LARGEST_LABEL)
        high = check_real(name, owner, upper, low=-LARGEST_LABEL, high=LARGEST_LABEL)
        if low > high:
            raise refuse(name, owner, "(lower, upper) in this order", (low, high))
        width = (Fraction(high) - Fraction(low)) / 2
        exponents = [LEAST_EXPONENT]
        if low != 0 or high != 0:
            exponents.append(binary_exponent(max(abs(low), abs(high))) - MAGNITUDE_BITS)
        if width > 0:
            exponents.append(binary_exponent(float(width)) - SCORE_BITS)
        exponent = max(exponents)
        unit = Fraction(2) ** exponent
        start_units = round((Fraction(low) + Fraction(high)) / 2 / unit)
        half_units = max(
            math.ceil(Fraction(high) / unit) - start_units,
            start_units - math.floor(Fraction(low) / unit),
        )
        if width == 0:
            half_units = 1 << LEAST_BITS
        elif half_units < 1 << LEAST_BITS:
            raise refuse(
                name,
                owner,
                "further apart compared with their magnitude (subtract a public constant from the "
                "labels, or multiply them by one)",
                (low, high),
            )
        return cls(
            lower=low,
            upper=high,
            unit=float(unit),
            start_units=start_units,
            half_units=half_units,
        )

    def starting_at(self, mean: float) -> SquaredLoss:
        """Return this loss with a released mean of the scaled labels as its start.

        Parameters
        ----------
        mean : float
            Of ``scaled_labels``; clipped to [-1, 1].
        """
        step = round(min(max(mean, -1.0), 1.0) * self.half_units)
        return replace(self, start_units=self.middle_units + step)

    def scaled_labels(self, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Labels whose mean is the start, scaled to [-1, 1]."""
        return (labels - self.middle_units) / self.half_units

    @property
    def middle_units(self) -> int:
        """Middle of the label range in units."""
        return round((Fraction(self.lower) + Fraction(self.upper)) / 2 / Fraction(self.unit))

    @property
    def half_width(self) -> float:
        """What a scaled leaf value of 1 adds to a raw score."""
        return self.half_units * self.unit

    @property
    def units_per_one(self) -> int:
        """Score units in a scaled leaf value of 1."""
        return self.half_units

    def encode_labels(self, y: ArrayLike) -> NDArray[np.int64]:
        """Clip labels to the bounds and round them to the score grid.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            Finite numbers.

        Returns
        -------
        ndarray of shape (n_rows,), int64
            In units, within ``half_units`` of ``start_units``.

        Privacy
        -------
        A row-wise map with public bounds. NaN and infinite labels must be refused before.
        """
        labels = np.clip(np.asarray(y, dtype=np.float64), self.lower, self.upper)
        middle, half = self.middle_units, self.half_units
        return to_integer_units(labels / self.unit, middle - half, middle + half)

    def packed_gradients(
        self,
        scores: NDArray[np.int64],
        labels: NDArray[np.int64],
        rows: NDArray[np.int32],
        *,
        filter_limit: float | None = None,
        gradient_limit: float = 1.0,
        n_threads: int = 1,
    ) -> NDArray[np.int64]:
        """Packed gradients and counts of some rows.

        Parameters
        ----------
        scores, labels : ndarray of shape (n_rows,), int64
            On the score grid.
        rows : ndarray of shape (n_selected,), int32
        filter_limit : float, optional
            Rows with ``|score - label| / half_width`` above it get word 0 (gradient-based data
            filtering; a predicate of the row and of public numbers). None drops no row.
        gradient_limit : float, default=1.0
            Gradients are clipped to +- this, at most 1.

        Returns
        -------
        ndarray of shape (n_selected,), int64
            ``(gradient << 32) + 1`` with the gradient in units of 2^-16, or 0.
        """
        packed = np.empty(len(rows), dtype=np.int64)
        gradient.squared(
            scores,
            labels,
            rows,
            GRADIENT_ONE / self.half_units,
            filter_units(filter_limit, self.half_units),
            gradient_units(gradient_limit),
            packed,
            n_threads,
        )
        return packed

    def kernel_numbers(self, gradient_limit: float) -> tuple[Any, ...]:
        """Return tables and numbers that the kernels take, in their order."""
        return GRADIENT_ONE / self.half_units, gradient_units(gradient_limit)

    def gradient_reach(self, gradient_limit: float) -> ContributionBound:
        """Return how far the clipped gradient of a row goes, in units of 2^-16."""
        return ContributionBound.single(gradient_units(gradient_limit))


def binary_exponent(value: float) -> int:
    """``floor(log2(value))`` of a positive double."""
    return math.frexp(value)[1] - 1
