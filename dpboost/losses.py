"""Losses: the map from a row's score and label to its integer gradient, and its public bound.

Scores live on a grid of public powers of two (``unit``), gradients on a grid of 2^-16. A loss
knows no noise and no budget; it says how large one row's gradient can be, and that is what the
mechanisms are told.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpboost._kernels import gradient, predict
from dpboost._validation import InvalidParameterError, check_real, refuse

GRADIENT_ONE = 1 << 16
"""Gradient 1 in integer units of the gradient grid."""

GRADIENT_UNIT = 2.0**-16
"""One unit of the gradient grid."""

SCORE_BITS = 20  # a leaf value of 1 is 2^20 to 2^21 score units
MAGNITUDE_BITS = 50  # no label is further than 2^51 units from zero: sums are exact doubles
LEAST_BITS = 10  # half-widths of fewer than 2^10 units are refused
LEAST_EXPONENT = -1000  # units stay normal doubles
LARGEST_LABEL = 1e300
LEAF_LIMIT = 1 << 40  # released leaf values saturate there, in score units

TABLE_SHIFT = 13  # a step of the logistic table is 2^-7
TABLE_RANGE = 12 << SCORE_BITS  # further out the probability rounds to 0 or 1 on its grid
TABLE_BITS = 30


@dataclass(frozen=True, kw_only=True)
class SquaredLoss:
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
        Middle of the range in units, the start value.
    half_units : int
        Half-width of the range in units, rounded up, so that every encoded label is within
        ``half_units`` of the middle and every label's scaled value within [-1, 1].

    Privacy
    -------
    Releases nothing. ``words`` is a row-wise map that uses public numbers only: one row decides
    one word, and a word's gradient is at most ``gradient_limit`` in absolute value. The label
    bounds are assumed public; they must not be computed from the labels without a charge.
    """

    lower: float
    upper: float
    unit: float
    start_units: int
    half_units: int

    name: ClassVar[str] = "squared"
    objective: ClassVar[str] = "regression"
    hessian: ClassVar[float] = 1.0
    gradient_bound: ClassVar[float] = 1.0

    @classmethod
    def from_label_bounds(cls, lower: float, upper: float) -> SquaredLoss:
        """Choose the score grid for public label bounds.

        The unit is about 2^-20 of the half-width, and coarser for bounds far from zero: no label
        is beyond 2^51 units. Equal bounds are allowed, the label is then a public constant and
        gets a half-width of 2^10 of the finest units there.

        Parameters
        ----------
        lower, upper : float
            Finite, ``lower <= upper``, at most 1e300 in absolute value.

        Returns
        -------
        SquaredLoss

        Raises
        ------
        InvalidParameterError
            If the bounds are no such numbers, or less than about 2^-40 of their magnitude (or
            than 1e-298) apart, but not equal.
        """
        low = check_real(
            "label_bounds", cls.__name__, lower, low=-LARGEST_LABEL, high=LARGEST_LABEL
        )
        high = check_real(
            "label_bounds", cls.__name__, upper, low=-LARGEST_LABEL, high=LARGEST_LABEL
        )
        if low > high:
            raise refuse("label_bounds", cls.__name__, "(lower, upper) in this order", (low, high))
        width = (Fraction(high) - Fraction(low)) / 2
        exponents = [LEAST_EXPONENT]
        if low != 0 or high != 0:
            exponents.append(_exponent(max(abs(low), abs(high))) - MAGNITUDE_BITS)
        if width > 0:
            exponents.append(_exponent(float(width)) - SCORE_BITS)
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
                "label_bounds",
                cls.__name__,
                "equal, or further apart compared with their magnitude (subtract a public "
                "constant from the labels, or multiply them by one)",
                (low, high),
            )
        return cls(
            lower=low,
            upper=high,
            unit=float(unit),
            start_units=start_units,
            half_units=half_units,
        )

    @property
    def start(self) -> float:
        """Start value: the middle of the label range, a multiple of ``unit``."""
        return self.start_units * self.unit

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
        return np.rint(labels / self.unit).astype(np.int64)

    def words(
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
        n_threads : int

        Returns
        -------
        ndarray of shape (n_selected,), int64
            ``(gradient << 32) + 1`` with the gradient in units of 2^-16, or 0.
        """
        words = np.empty(len(rows), dtype=np.int64)
        gradient.squared(
            scores,
            labels,
            rows,
            GRADIENT_ONE / self.half_units,
            _filter_units(filter_limit, self.half_units),
            _gradient_units(gradient_limit),
            words,
            n_threads,
        )
        return words

    def to_score_units(
        self, value_units: ArrayLike, value_unit: float, learning_rate: float
    ) -> NDArray[np.int64]:
        """Turn released leaf values into score units, learning rate included.

        Parameters
        ----------
        value_units : array-like of int64
            Released leaf values, counted in ``value_unit``.
        value_unit : float
            One such unit, in scaled labels ([-1, 1]).
        learning_rate : float

        Returns
        -------
        ndarray of int64
            Rounded to nearest, saturated at +-2^40 units.
        """
        return _to_score_units(value_units, value_unit, learning_rate, self.half_units)

    def inverse_link(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        """Predictions from raw scores: the scores themselves."""
        return raw


@dataclass(frozen=True, kw_only=True)
class LogisticLoss:
    """Logistic loss of two classes.

    The gradient is ``probability - label`` and the hessian the constant 1/4 that dominates
    ``p (1 - p)`` (Boehning 1992, the quadratic lower bound of the log-likelihood): a public
    number, so that gains and leaves have the constants of the squared loss. The probability comes
    from an integer table of the logistic function with linear interpolation, error below 2^-20
    before it is rounded to 2^-16; no floating-point function runs on a row.

    Privacy
    -------
    Releases nothing. ``words`` is a row-wise map that uses public numbers only: one row decides
    one word, and a word's gradient is at most ``gradient_limit`` in absolute value. The two
    classes are assumed public.
    """

    name: ClassVar[str] = "logistic"
    objective: ClassVar[str] = "binary sigmoid:1"
    hessian: ClassVar[float] = 0.25
    gradient_bound: ClassVar[float] = 1.0
    unit: ClassVar[float] = 2.0**-SCORE_BITS
    start: ClassVar[float] = 0.0
    start_units: ClassVar[int] = 0
    units_per_one: ClassVar[int] = 1 << SCORE_BITS

    def encode_labels(self, y: ArrayLike) -> NDArray[np.int64]:
        """Check that class indices are 0 or 1.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            Index of each row's class in the public list of two classes.

        Returns
        -------
        ndarray of shape (n_rows,), int64

        Raises
        ------
        InvalidParameterError
            If there is any other index.
        """
        labels = np.asarray(y)
        if not np.isin(labels, (0, 1)).all():
            raise InvalidParameterError(
                "The 'y' parameter of LogisticLoss must hold class indices 0 and 1 only."
            )
        return labels.astype(np.int64)

    def words(
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
        scores : ndarray of shape (n_rows,), int64
            In units of 2^-20.
        labels : ndarray of shape (n_rows,), int64
            0 or 1.
        rows : ndarray of shape (n_selected,), int32
        filter_limit : float, optional
            Rows with ``|gradient|`` above it get word 0. None drops no row.
        gradient_limit : float, default=1.0
            Gradients are clipped to +- this, at most 1.
        n_threads : int

        Returns
        -------
        ndarray of shape (n_selected,), int64
            ``(gradient << 32) + 1`` with the gradient in units of 2^-16, or 0.
        """
        words = np.empty(len(rows), dtype=np.int64)
        gradient.logistic(
            scores,
            labels,
            rows,
            logistic_table(),
            TABLE_SHIFT,
            TABLE_RANGE,
            _filter_units(filter_limit, GRADIENT_ONE),
            _gradient_units(gradient_limit),
            words,
            n_threads,
        )
        return words

    def to_score_units(
        self, value_units: ArrayLike, value_unit: float, learning_rate: float
    ) -> NDArray[np.int64]:
        """Turn released leaf values into score units, learning rate included.

        Parameters
        ----------
        value_units : array-like of int64
            Released leaf values, counted in ``value_unit``.
        value_unit : float
            One such unit, in log-odds.
        learning_rate : float

        Returns
        -------
        ndarray of int64
            Rounded to nearest, saturated at +-2^40 units.
        """
        return _to_score_units(value_units, value_unit, learning_rate, self.units_per_one)

    def inverse_link(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probability of class 1 from raw scores, the same doubles as LightGBM's."""
        out = np.empty(np.shape(raw), dtype=np.float64)
        predict.logistic(np.ascontiguousarray(raw, dtype=np.float64).ravel(), out.ravel())
        return out


Loss = SquaredLoss | LogisticLoss


@lru_cache(maxsize=1)
def logistic_table() -> NDArray[np.int64]:
    """Integer table of the logistic function, the same on every machine.

    Returns
    -------
    ndarray of shape (1537,), int64
        Entry ``i`` is ``(value << 32) + rise``: the function at ``i * 2^-7``, correctly rounded to
        2^-30 in decimal arithmetic, and its rise up to the next entry. Linear interpolation is
        off by at most step^2/8 max|f''| = 2^-17 / (6 sqrt 3) < 2^-20.
    """
    context = Context(prec=40, rounding=ROUND_HALF_EVEN)
    step = Decimal(2) ** (TABLE_SHIFT - SCORE_BITS)
    values = []
    for i in range((TABLE_RANGE >> TABLE_SHIFT) + 1):
        odds = context.exp(-i * step)
        value = context.divide(Decimal(1 << TABLE_BITS), 1 + odds)
        values.append(int(value.to_integral_value(rounding=ROUND_HALF_EVEN)))
    heights = np.array(values, dtype=np.int64)
    table = (heights << 32) + np.diff(heights, append=heights[-1])
    table.setflags(write=False)
    return table


def _exponent(value: float) -> int:
    """``floor(log2(value))`` of a positive double."""
    return math.frexp(value)[1] - 1


def _filter_units(filter_limit: float | None, units_per_one: int) -> int:
    """Largest ``|gradient|`` that passes the filter, in integer units; -1 for no filter."""
    if filter_limit is None:
        return -1
    limit = check_real("filter_limit", "words", filter_limit, low=0.0, high=1e9)
    return math.floor(Fraction(limit) * units_per_one)


def _gradient_units(gradient_limit: float) -> int:
    """Clip of gradients in units of 2^-16."""
    limit = check_real("gradient_limit", "words", gradient_limit, low=0.0, high=1.0)
    return math.floor(limit * GRADIENT_ONE)


def _to_score_units(
    value_units: Any, value_unit: float, learning_rate: float, units_per_one: int
) -> NDArray[np.int64]:
    values = np.asarray(value_units, dtype=np.float64)
    scaled = values * (value_unit * learning_rate * units_per_one)
    return np.rint(np.clip(scaled, -LEAF_LIMIT, LEAF_LIMIT)).astype(np.int64)
