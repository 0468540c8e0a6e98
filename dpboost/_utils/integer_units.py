"""Conversion of private floats to the integers that are summed and released.

Proof: docs/proofs/integers.md.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Bounds of the result are at most this in absolute value: they are exact doubles.
LARGEST_UNITS = 2**53


def to_integer_units(
    values: ArrayLike,
    low: int,
    high: int,
    *,
    dtype: type[np.integer[Any]] = np.int64,
    toward_zero: bool = False,
) -> NDArray[Any]:
    """Return numbers as integers between two public bounds, whatever the numbers are.

    ``values`` are in units; NaN and infinities are included. The public bounds ``low <= high`` are
    within +-2^53 and within the range of ``dtype``. With ``toward_zero`` fractions are dropped; by
    default numbers are rounded to the nearest integer, ties to even. The result has the shape of
    ``values`` and is in ``low..high``; NaN becomes the integer of this range that is nearest to
    zero. ValueError for bounds that are not as above: they are public, so the error reveals
    nothing.

    Privacy
    -------
    A map of each number by itself, with public bounds. It raises no error, gives no warning and
    takes no branch that depends on a number.
    """
    least, most = _range_of(dtype.__name__)
    if not least <= low <= high <= most:
        raise ValueError(f"The bounds ({low}, {high}) of units are not within ({least}, {most}).")
    numbers = np.asarray(values, dtype=np.float64)
    # The bounds are whole numbers: clipped before rounding, a number is inside them after it. Two
    # plain operations: a round's few leaves take a third of the time that np.clip needs.
    units = np.maximum(numbers, low, out=np.empty(numbers.shape))
    np.minimum(units, high, out=units)
    np.copyto(units, min(max(0, low), high), where=np.isnan(units))
    (np.trunc if toward_zero else np.rint)(units, out=units)
    return units.astype(dtype)


@cache
def _range_of(dtype_name: str) -> tuple[int, int]:
    """Return the integers that a type and a double both hold exactly."""
    kinds = np.iinfo(np.dtype(dtype_name))
    return max(-LARGEST_UNITS, int(kinds.min)), min(LARGEST_UNITS, int(kinds.max))
