"""Private estimation of undeclared bounds.

Noisy counts over 257 cells that are the same for every table: zero, and the intervals between
neighboring powers of two of either sign, 2^-64 to 2^64. A bound is the edge of a cell with enough
rows, never a value of the table. `dpboost.training.label_range` estimates the range of labels
inside such bounds, or inside declared ones. Proof: docs/proofs/learned-bounds.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.accounting import SMALLEST_SIGMA
from dpboost.privacy.exact_arithmetic import PrivacyCost, number_of
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import RowHandle
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity
from dpboost.privacy.sensitivity.constants import counts

#: Cell of exponent e holds 2**(e - 1) <= abs(x) < 2**e; magnitudes out of this public range belong
#: to the first and the last cell.
SMALLEST_EXPONENT = -63
LARGEST_EXPONENT = 64

_PER_SIGN = LARGEST_EXPONENT - SMALLEST_EXPONENT + 1

#: Number of cells: negative numbers from large to small, zero, positive numbers.
N_CELLS = 2 * _PER_SIGN + 1

#: Probability, at most, that any empty cell is taken for an occupied one: in one column.
FALSE_ALARM = Fraction(1, 10**6)

#: Where no cell of a column is occupied, so many neighboring ones may be together.
CELLS_TOGETHER = (2, 4, 8)

#: Beside occupied cells, those of either sign of at most four times the magnitude pass
#: more easily: any empty one of them with this probability at most.
STRAY_NEIGHBOR = Fraction(1, 20)
NEIGHBORS_ABOVE = 2
NEIGHBORS_BELOW = 7

#: Equal cells of a range, and how often the width of cells that begin at zero is halved.
CELL_NUMBERS = (8, 16, 32, 64)
RANGE_CELLS = CELL_NUMBERS[-1]
HALVINGS = 20


def magnitude_cells(values: NDArray[np.floating]) -> NDArray[np.intp]:
    """Return the cell of each number; NaN gets the cell number ``N_CELLS``, which no one counts.

    Parameters
    ----------
    values : ndarray of shape (n_rows,), float64 or float32
        Any floats, infinities and denormals included. Each cell depends on its own row alone.

    Returns
    -------
    ndarray of shape (n_rows,), intp
        Cells in ascending order of the numbers they hold.
    """
    exponents = np.frexp(values)[1].astype(np.intp, casting="safe")
    exponents[np.isinf(values)] = LARGEST_EXPONENT
    steps = np.clip(exponents, SMALLEST_EXPONENT, LARGEST_EXPONENT) - SMALLEST_EXPONENT + 1
    missing = np.isnan(values)
    signs = (values > 0).astype(np.intp, casting="safe")
    signs -= values < 0
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
    """Private rows with readable columns."""

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
        """Value of one unit in rows."""
        return 1 / self.units

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""
        return (N_CELLS,)

    def evaluate(self, rows: HasColumns) -> NDArray[np.int64]:
        """Count the rows of one site; NaN is in no cell."""
        if self.columns is None:
            values = rows.labels
        elif isinstance(self.columns, int):
            values = rows.column(self.columns)
        else:
            values = rows.largest(self.columns)
        histogram = np.bincount(magnitude_cells(values), minlength=N_CELLS + 1)[:N_CELLS]
        return histogram.astype(np.int64, casting="safe") * self.units

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the sensitivity: a row is in one cell at most."""
        return counts(neighbors, self.units)


def magnitudes(
    ledger: Ledger, columns: int | tuple[int, ...] | None, budget: PrivacyCost
) -> Magnitudes:
    """Return the query of `release_bounds` or `release_magnitude`, for sources to prefetch."""
    return Magnitudes(columns=columns, units=row_units(ledger, budget))


def release_bounds(
    ledger: Ledger, source: RowHandle, column: int | None, *, budget: PrivacyCost, label: str
) -> tuple[float, float] | None:
    """Release bounds that hold nearly all of the numbers of a column.

    Parameters
    ----------
    ledger : Ledger
        Charged once.
    source : RowHandle
        Of rows with columns and labels. NaN is missing.
    column : int or None
        The private column; None for the labels.
    budget : Fraction or inf
        In the unit of the ledger's accountant.
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
    them by one, or two when it is replaced. A cell passes when its noisy count reaches a threshold
    t; this is post-processing. With m = 257 cells, t is such that the noise of one cell reaches it
    with probability 1e-6 / m at most: by the law of discrete Laplace noise, or the bound
    exp(-t^2 / (2 sigma^2)) of discrete Gaussian noise. So all the empty cells of a column together
    raise a false alarm with probability at most 1e-6. Where no cell of a column passes, 2, 4 or 8
    neighboring ones may pass together, with as small a probability each. Beside a cell that has
    passed, cells of like magnitude of either sign, from 1/128 to 4 times that of the outermost one,
    pass at a lower threshold, which noise reaches in any of them with probability 1/20: a few rows
    at the ends of a range are then not left out, and whatever noise adds is near.
    """
    occupied = _occupied_cells(ledger, source, column, budget, label)
    if occupied.size == 0:
        return None
    return cell_edges(int(occupied[0]))[0], cell_edges(int(occupied[-1]))[1]


def release_magnitude(
    ledger: Ledger, source: RowHandle, columns: Sequence[int], *, budget: PrivacyCost, label: str
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


@dataclass(frozen=True, kw_only=True)
class RangeCounts:
    """Counts of labels in cells of a range; the outermost cells include values outside.

    Proof: docs/proofs/label-range.md.

    Parameters
    ----------
    low, high : float
        The range, ``low < high``.
    units : int
        Units that a row is worth.
    n_cells : int or None, default=64
        Equal cells; with 1, rows are counted. None for cells around the number of the range that
        is nearest to zero: their edges are at the width of the range times powers of two from it,
        1 to 2^-20.
    """

    low: float
    high: float
    units: int
    n_cells: int | None = RANGE_CELLS

    @property
    def unit(self) -> float:
        """Value of one unit in rows."""
        return 1 / self.units

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""
        return (len(self.edges) - 1,)

    @property
    def edges(self) -> NDArray[np.float64]:
        """Edges of the cells in ascending order, one more than there are cells."""
        if self.n_cells is not None:
            parts = np.arange(self.n_cells + 1) / self.n_cells
            return self.low * (1 - parts) + self.high * parts
        middle = min(max(0.0, self.low), self.high)
        # Halves: the distance of two doubles may not be one.
        steps = (self.high / 2 - self.low / 2) * 2.0 ** (1.0 - np.arange(HALVINGS + 1))
        edges = np.concatenate([[self.low, middle, self.high], middle - steps, middle + steps])
        return np.unique(edges[(edges >= self.low) & (edges <= self.high)])

    def evaluate(self, rows: HasColumns) -> NDArray[np.int64]:
        """Count the rows of one site; each cell depends on its own row alone."""
        labels = np.asarray(rows.labels, dtype=np.float64)
        positions = np.searchsorted(self.edges[1:-1], labels, side="right")
        histogram = np.bincount(positions, minlength=self.shape[0])
        return histogram.astype(np.int64, casting="safe") * self.units

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the sensitivity: a row is in one cell."""
        return counts(neighbors, self.units)


def row_units(ledger: Ledger, budget: PrivacyCost) -> int:
    """Return how many units a row is worth: Gaussian noise wants a fine lattice."""
    if ledger.accountant.noise(budget).needs == "l1":
        return 1
    # A larger budget buys less noise than a row, which then has to be more units.
    return SMALLEST_SIGMA * (
        1 if budget == math.inf else math.ceil(math.sqrt(max(number_of(budget), 1)))
    )


def _occupied_cells(
    ledger: Ledger,
    source: RowHandle,
    columns: int | tuple[int, ...] | None,
    budget: PrivacyCost,
    label: str,
) -> NDArray[np.intp]:
    noise = ledger.accountant.noise(budget)
    sensitive = source.ask(magnitudes(ledger, columns, budget), ledger.neighbors)
    bound = sensitive.bound(noise.needs)
    released = ledger.release(noise, sensitive, label=label)
    threshold = noise.tail(bound, FALSE_ALARM / N_CELLS)
    occupied = np.flatnonzero(released >= threshold)
    if columns is not None and occupied.size == 0:
        occupied = _together(released, threshold, sensitive.noise_stddev(noise))
    if occupied.size == 0:
        return occupied
    easily = noise.tail(bound, STRAY_NEIGHBOR / (2 * (NEIGHBORS_BELOW + NEIGHBORS_ABOVE + 1)))
    return np.union1d(occupied, np.flatnonzero(_beside(occupied) & (released >= easily)))


def _together(
    released: NDArray[np.int64], threshold: float, noise_stddev: float
) -> NDArray[np.intp]:
    """Return neighboring cells that hold enough rows together where none does alone.

    The noise of k cells reaches root k times the threshold with a smaller probability than that
    of one cell reaches it.
    """
    for size in CELLS_TOGETHER:
        sums = np.lib.stride_tricks.sliding_window_view(released, size).sum(axis=1)
        first = int(np.argmax(sums))
        if sums[first] >= threshold * math.sqrt(size):
            cells = np.arange(first, first + size)
            clear = cells[released[cells] > noise_stddev]
            return clear if clear.size else cells
    return np.empty(0, dtype=np.intp)


def _beside(occupied: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which cells are near to the outermost occupied one, or to its mirror image."""
    steps = np.abs(np.arange(N_CELLS) - _PER_SIGN)
    outermost = steps[occupied].max()
    near = (steps >= outermost - NEIGHBORS_BELOW) & (steps <= outermost + NEIGHBORS_ABOVE)
    return np.asarray(near & (steps > 0))
