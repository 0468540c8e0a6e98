"""The logistic and exponential functions as public integer tables, the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpboost.losses.grid import SCORE_BITS

TABLE_SHIFT = 13  # a step of the logistic table is 2^-7
TABLE_RANGE = 12 << SCORE_BITS  # further out the probability rounds to 0 or 1 on its grid
TABLE_BITS = 30
# Products of up to 2^11 factors are off by less than 10^-55: 40 digits more than rounding needs.
_CONTEXT = Context(prec=60, rounding=ROUND_HALF_EVEN)


def _powers(n: int) -> Iterator[Decimal]:
    """Go through ``exp(-i * 2^-7)`` for ``i`` below n; one exponential, then products."""
    factor = _CONTEXT.exp(-(Decimal(2) ** (TABLE_SHIFT - SCORE_BITS)))
    power = Decimal(1)
    for _ in range(n):
        yield power
        power = _CONTEXT.multiply(power, factor)


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
    one = Decimal(1 << TABLE_BITS)
    values = [
        _CONTEXT.divide(one, _CONTEXT.add(1, odds)).to_integral_value(ROUND_HALF_EVEN)
        for odds in _powers((TABLE_RANGE >> TABLE_SHIFT) + 1)
    ]
    heights = np.array([*map(int, values)], dtype=np.int64)
    table = (heights << 32) + np.diff(heights, append=heights[-1])
    table.setflags(write=False)
    return table


@lru_cache(maxsize=1)
def two_sided_table() -> NDArray[np.int64]:
    """Integer table of the logistic function from -12 to 12, without a sign to look at.

    Returns
    -------
    ndarray of shape (3072,), int64
        Entry ``i`` is ``(value << 32) + rise``: the function at ``i * 2^-7 - 12`` on the 2^-30 grid
        and its rise up to the next entry, by the symmetry of `logistic_table`.
    """
    above = logistic_table() >> 32
    heights = np.concatenate(((1 << TABLE_BITS) - above[:0:-1], above))
    table = (heights[:-1] << 32) + np.diff(heights)
    table.setflags(write=False)
    return table


@lru_cache(maxsize=1)
def exponential_table() -> NDArray[np.int64]:
    """Integer table of ``exp(-x)``, the same on every machine.

    Returns
    -------
    ndarray of shape (1536,), int64
        Entry ``i`` is ``(value << 32) + fall``: the function at ``i * 2^-7``, correctly rounded
        to 2^-30 in decimal arithmetic, and its fall to the next entry, the last one's to zero.
        Linear interpolation is off by at most step^2/8 = 2^-17.
    """
    one = Decimal(1 << TABLE_BITS)
    values = [
        _CONTEXT.multiply(power, one).to_integral_value(ROUND_HALF_EVEN)
        for power in _powers(TABLE_RANGE >> TABLE_SHIFT)
    ]
    heights = np.array([*map(int, values)], dtype=np.int64)
    table = (heights << 32) - np.diff(heights, append=0)
    table.setflags(write=False)
    return table
