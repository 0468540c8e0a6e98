"""The logistic and exponential functions as public integer tables, the same on every machine."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.integer_units import to_integer_units
from dpboost.losses.newton_loss import GRADIENT_ONE, SCORE_BITS

TABLE_SHIFT = 13  # a step of the logistic table is 2^-7
TABLE_RANGE = 12 << SCORE_BITS  # further out the probability rounds to 0 or 1 on its grid
TABLE_BITS = 30
ONE = 1 << TABLE_BITS
STEP = Decimal(2) ** (TABLE_SHIFT - SCORE_BITS)
# An entry as a double is off by less than 2^-20 of its unit: only where it is this close to the
# middle between two integers could it be rounded to the wrong one.
DOUBT = 2.0**-10
_EXACT = Context(prec=60, rounding=ROUND_HALF_EVEN)


def _rounded(
    heights: NDArray[np.float64], exact: Callable[[Decimal], Decimal]
) -> NDArray[np.int64]:
    """Round the entries of a table to nearest; decimal arithmetic decides where doubles cannot.

    Entry ``i`` of ``heights`` is the function at ``i * 2^-7``, in units of 2^-30, as a double;
    ``exact`` gives the same of ``exp(-i * 2^-7)``, as decimals.
    """
    units = np.rint(heights)
    for position in np.flatnonzero(np.abs(heights - units) > 0.5 - DOUBT).tolist():
        odds = _EXACT.exp(-position * STEP)
        units[position] = int(exact(odds).to_integral_value(ROUND_HALF_EVEN))
    return to_integer_units(units, 0, 1 << TABLE_BITS)


@lru_cache(maxsize=1)
def logistic_table() -> NDArray[np.int64]:
    """Integer table of the logistic function, the same on every machine.

    Returns
    -------
    ndarray of shape (1537,), int64
        Entry ``i`` is ``(value << 32) + rise``: the function at ``i * 2^-7``, correctly rounded to
        2^-30, and its rise up to the next entry. Linear interpolation is
        off by at most step^2/8 max|f''| = 2^-17 / (6 sqrt 3) < 2^-20.
    """
    odds = np.exp(-float(STEP) * np.arange((TABLE_RANGE >> TABLE_SHIFT) + 1))
    heights = _rounded(ONE / (1 + odds), lambda odds: _EXACT.divide(ONE, _EXACT.add(1, odds)))
    table = (heights << 32) + np.diff(heights, append=heights[-1])
    table.setflags(write=False)
    return table


@lru_cache(maxsize=16)
def two_sided_table(limit_units: int = GRADIENT_ONE) -> NDArray[np.int64]:
    """Integer table from -12 to 12 of what to compare labels with where differences are clipped.

    A clip at ``c`` cuts what is left of ``p - label`` unequally: with the logistic function as
    ``p``, the rows of a leaf are at rest where their odds are off by a factor of ``1 / c``, the
    rarer class too rare. Here ``p`` is the number for which they rest at the odds ``exp(score)``:
    ``min(p, c) / min(1 - p, c) = exp(score)``. It is ``c exp(score)`` where that is the least,
    by symmetry on the other side, and the logistic function between, if there is a between.

    Parameters
    ----------
    limit_units : int
        The clip ``c`` in units of 2^-16, from 1 to 65536, which clips nothing.

    Returns
    -------
    ndarray of shape (3072,), int64
        Entry ``i`` is ``(value << 32) + rise``: the function at ``i * 2^-7 - 12`` on the 2^-30 grid
        and its rise up to the next entry.
    """
    above = logistic_table() >> 32
    if limit_units < GRADIENT_ONE:
        limit = limit_units * (ONE // GRADIENT_ONE)
        odds = np.exp(-float(STEP) * np.arange(len(above)))
        clipped = ONE - _rounded(limit * odds, lambda odds: _EXACT.multiply(limit, odds))
        above = np.maximum(above, clipped)
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
        to 2^-30, and its fall to the next entry, the last one's to zero.
        Linear interpolation is off by at most step^2/8 = 2^-17.
    """
    power = np.exp(-float(STEP) * np.arange(TABLE_RANGE >> TABLE_SHIFT))
    heights = _rounded(ONE * power, lambda power: _EXACT.multiply(ONE, power))
    table = (heights << 32) - np.diff(heights, append=0)
    table.setflags(write=False)
    return table
