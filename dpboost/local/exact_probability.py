"""Exact probabilities of local reports, in units of 2^-64, rounded towards privacy.

Proof: docs/proofs/local-reports.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dpboost._utils.validation import check_real
from dpboost.privacy.exact_arithmetic import Epsilon, as_fraction, epsilon_of

#: A probability of 1.
ONE = 1 << 64

#: Beyond it e^epsilon does not fit in units of 2^-64; reports tell all but the rarest lies.
LARGEST_EPSILON = 40

#: Below it the units are too coarse for the difference between the two probabilities.
LEAST_EPSILON = 1e-6

_SERIES_BITS = 192


def check_epsilon(owner: str, epsilon: Any) -> Epsilon:
    """Return the epsilon of a report as a fraction, or infinity.

    A float is taken for the decimal that it prints as.
    """
    if isinstance(epsilon, float) and epsilon == math.inf:
        return epsilon_of(math.inf)
    check_real("epsilon", owner, epsilon, low=LEAST_EPSILON, high=LARGEST_EPSILON)
    return epsilon_of(as_fraction("epsilon", owner, epsilon))


@lru_cache(maxsize=64)
def exp_below(exponent: Fraction) -> Fraction:
    """Return a number just below e^exponent: at most 2^-180 of it is missing.

    The exponent is in [0, 40]. Every term of the power series is positive and is rounded down, so
    the sum is too small.
    """
    term = total = 1 << _SERIES_BITS
    position = 1
    while term:
        term = term * exponent.numerator // (exponent.denominator * position)
        total += term
        position += 1
    return Fraction(total, 1 << _SERIES_BITS)


def share_above(odds: Fraction) -> int:
    """Return the least number of units of 2^-64 that is at least ``1 / (1 + odds)``."""
    return math.ceil(ONE / (1 + odds))
