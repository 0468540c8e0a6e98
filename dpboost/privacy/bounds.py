"""Learning the bounds of private numbers, where nobody declared them.

Noisy counts over about 2,100 cells that are the same for every table: zero, and the intervals
between neighbouring powers of two of either sign. A bound is the edge of a cell that holds enough
rows, never a value of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.accounting import SMALLEST_SIGMA
from dpboost.privacy.arithmetic import Budget
from dpboost.privacy.constants import counts
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.relation import Neighbours
from dpboost.privacy.sensitive import Bound
from dpboost.privacy.source import Source

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


class HasColumns(Protocol):
    """The state of a place of rows whose columns can be read."""

    @property
    def labels(self) -> NDArray[Any]:
        """Labels of the rows."""

    def column(self, feature: int) -> NDArray[np.floating]:
        """Return a column of numbers."""

    def largest(self, features: Sequence[int]) -> NDArray[np.floating]:
        """Return the largest absolute value of every row among some columns."""


@dataclass(frozen=True, kw_only=True)
class Magnitudes:
    """Rows in every cell: of one column, of the labels, or of each row's largest number.

    Parameters
    ----------
    columns : int, tuple of int, or None
        One column; several, of which a row's largest absolute value counts; None for labels.
    units : int
        Units that a row is worth.
    """

    columns: int | tuple[int, ...] | None
    units: int

    @property
    def unit(self) -> float:
        """Worth of one unit in rows."""
        return 1 / self.units

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the answer."""
        return (N_CELLS,)

    def answer(self, rows: HasColumns) -> NDArray[np.int64]:
        """Count the rows of one place; NaN is in no cell."""
        if self.columns is None:
            values = rows.labels
        elif isinstance(self.columns, int):
            values = rows.column(self.columns)
        else:
            values = rows.largest(self.columns)
        histogram = np.bincount(magnitude_cells(values), minlength=N_CELLS + 1)[:N_CELLS]
        return histogram.astype(np.int64) * self.units

    def bounds(self, neighbours: Neighbours) -> tuple[Bound, ...]:
        """Return the sensitivity: a row is in one cell at most."""
        return counts(neighbours, self.units)


def magnitudes(ledger: Ledger, columns: int | tuple[int, ...] | None, budget: Budget) -> Magnitudes:
    """Return the question of `release_bounds` or `release_magnitude`, for sources to foresee."""
    needs = ledger.accountant.noise(budget).needs
    return Magnitudes(columns=columns, units=SMALLEST_SIGMA if needs == "l2" else 1)


def release_bounds(
    ledger: Ledger, source: Source, column: int | None, *, budget: Budget, label: str
) -> tuple[float, float] | None:
    """Release bounds that hold nearly all of the numbers of a column.

    Parameters
    ----------
    ledger : Ledger
        Charged once.
    source : Source
        Of rows with columns and labels. NaN is missing.
    column : int or None
        The private column; None for the labels.
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
    occupied = _occupied_cells(ledger, source, column, budget, label)
    if occupied.size == 0:
        return None
    return cell_edges(int(occupied[0]))[0], cell_edges(int(occupied[-1]))[1]


def release_magnitude(
    ledger: Ledger, source: Source, columns: Sequence[int], *, budget: Budget, label: str
) -> float | None:
    """Release one bound of the absolute value of nearly all numbers of some columns.

    For tables of so many columns that bounds for each of them would cost too much.

    Parameters
    ----------
    ledger, source, budget, label
        As in :func:`release_bounds`.
    columns : sequence of int

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
    occupied = _occupied_cells(ledger, source, tuple(columns), budget, label)
    return cell_edges(int(occupied[-1]))[1] if occupied.size else None


def _occupied_cells(
    ledger: Ledger,
    source: Source,
    columns: int | tuple[int, ...] | None,
    budget: Budget,
    label: str,
) -> NDArray[np.intp]:
    noise = ledger.accountant.noise(budget)
    sensitive = source.sensitive(magnitudes(ledger, columns, budget), ledger.neighbours)
    threshold = noise.tail(sensitive.bound(noise.needs), FALSE_ALARM / N_CELLS)
    return np.flatnonzero(ledger.release(noise, sensitive, label=label) >= threshold)
