"""The integer grids of gradients and scores that all losses share."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.integer_units import to_integer_units
from dpboost._utils.validation import check_real

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


def gradient_units(gradient_limit: float) -> int:
    """Clip of gradients in units of 2^-16."""
    limit = check_real("gradient_limit", "packed_gradients", gradient_limit, low=0.0, high=1.0)
    return math.floor(limit * GRADIENT_ONE)


def to_score_units(
    value_units: Any, value_unit: float, learning_rate: float, units_per_one: int
) -> NDArray[np.int64]:
    """Turn leaf values into score units, learning rate included, saturated at +-2^40."""
    values = np.asarray(value_units, dtype=np.float64)
    scaled = values * (value_unit * learning_rate * units_per_one)
    return to_integer_units(scaled, -LEAF_LIMIT, LEAF_LIMIT)
