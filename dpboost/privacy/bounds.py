"""Learning the bounds of private numbers, where nobody declared them.

Noisy counts over about 2,100 cells that are the same for every table: zero, and the intervals
between neighbouring powers of two of either sign. A bound is the edge of a cell that holds enough
rows, never a value of the table.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.accounting import SMALLEST_SIGMA
from dpboost.privacy.arithmetic import Budget
from dpboost.privacy.constants import counts
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.sensitive import Sensitive

#: Cell of exponent e holds 2**(e - 1) <= abs(x) < 2**e; magnitudes out of range belong to the
#: first and the last cell. The square of the distance between any two edges is finite.
SMALLEST_EXPONENT = -539
LARGEST_EXPONENT = 510

_PER_SIGN = LARGEST_EXPONENT - SMALLEST_EXPONENT + 1

#: Number of cells: negative numbers from large to small, zero, positive numbers.
N_CELLS = 2 * _PER_SIGN + 1

#: Probability, at most, that any empty cell is taken for an occupied one.
FALSE_ALARM = Fraction(1, 1000)


def magnitude_cells(values: NDArray[np.floating]) -> NDArray[np.intp]:
    """Return the cell of each number; NaN gets the cell number ``N_CELLS``, which nobody counts.

    Parameters
    ----------
    values : ndarray of shape (n_rows,), float64 or float32
        Any floats, infinities and denormals included. Each cell depends on its own row alone.

    Returns
    -------
    ndarray of shape (n_rows,), intp
        Cells in ascending order of the numbers they hold.
    """
    exponents = np.frexp(values)[1].astype(np.intp)
    exponents[np.isinf(values)] = LARGEST_EXPONENT
    steps = np.clip(exponents, SMALLEST_EXPONENT, LARGEST_EXPONENT) - SMALLEST_EXPONENT + 1
    missing = np.isnan(values)
    signs = np.sign(np.where(missing, 0, values)).astype(np.intp)
    return np.where(missing, N_CELLS, _PER_SIGN + signs * steps)


def cell_edges(cell: int) -> tuple[float, float]:
    """Return the two edges of a cell, the lower one first."""
    step = abs(cell - _PER_SIGN)
    if step == 0:
        return 0.0, 0.0
    exponent = SMALLEST_EXPONENT + step - 1
    inner = 0.0 if step == 1 else 2.0 ** (exponent - 1)
    outer = 2.0**exponent
    return (inner, outer) if cell > _PER_SIGN else (-outer, -inner)


def release_bounds(
    ledger: Ledger, values: NDArray[np.floating], *, budget: Budget, label: str
) -> tuple[float, float] | None:
    """Release bounds that hold nearly all of the numbers of a column.

    Parameters
    ----------
    ledger : Ledger
        Charged once.
    values : ndarray of shape (n_rows,), float64 or float32
        The private column. NaN is missing.
    budget : Fraction or inf
        In the currency of the ledger's accountant.
    label : str
        Kind of release, for the report.

    Returns
    -------
    low, high : float
        Outer edges of the outermost cells that pass; ``(0.0, 0.0)`` for a column of zeros.
        Numbers outside are for the caller to clip. None when no cell passes: the rows or the
        budget are too few, and the caller falls back on a public transform of the whole line.

    Raises
    ------
    BudgetExceededError
        If the budget is not covered.

    Privacy
    -------
    Releases noisy counts of disjoint cells that do not depend on the table: a row moves one of
    them by one, or two when it is replaced. A cell passes when its noisy count exceeds what the
    noise alone reaches in any of the cells with probability 1/1000; this is post-processing.
    """
    occupied = _occupied_cells(ledger, values, budget, label)
    if occupied.size == 0:
        return None
    return cell_edges(int(occupied[0]))[0], cell_edges(int(occupied[-1]))[1]


def release_magnitude(
    ledger: Ledger, values: NDArray[np.floating], *, budget: Budget, label: str
) -> float | None:
    """Release one bound of the absolute value of nearly all numbers of a table.

    For tables of so many columns that bounds for each of them would cost too much.

    Parameters
    ----------
    ledger, budget, label
        As in :func:`release_bounds`.
    values : ndarray of shape (n_rows, n_columns), float64 or float32
        The private table. NaN is missing.

    Returns
    -------
    float or None
        Upper edge of the outermost cell that holds enough rows' largest absolute value; None when
        no cell passes.

    Raises
    ------
    BudgetExceededError
        If the budget is not covered.

    Privacy
    -------
    A row counts once, in the cell of its largest absolute value; else as
    :func:`release_bounds`.
    """
    largest = np.fmax(np.fmax.reduce(values, axis=1), -np.fmin.reduce(values, axis=1))
    occupied = _occupied_cells(ledger, largest, budget, label)
    return cell_edges(int(occupied[-1]))[1] if occupied.size else None


def _occupied_cells(
    ledger: Ledger, values: NDArray[np.floating], budget: Budget, label: str
) -> NDArray[np.intp]:
    noise = ledger.accountant.noise(budget)
    units = SMALLEST_SIGMA if noise.needs == "l2" else 1
    histogram = np.bincount(magnitude_cells(values), minlength=N_CELLS + 1)[:N_CELLS]
    sensitive = Sensitive(
        histogram.astype(np.int64) * units,
        bounds=counts(ledger.neighbours, units),
        unit=1 / units,
    )
    threshold = noise.tail(sensitive.bound(noise.needs), FALSE_ALARM / N_CELLS)
    return np.flatnonzero(ledger.release(noise, sensitive, label=label) >= threshold)
