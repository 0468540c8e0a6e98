"""Private estimation of undeclared bounds.

A bound is the edge of a cell with enough rows, never a value of the table. `label_range` estimates
the range of labels inside such bounds, or inside declared ones. Proof:
docs/proofs/learned-bounds.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.accounting import SMALLEST_SIGMA
from dpboost.privacy.exact_arithmetic import PrivacyCost, number_of
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import RowHandle
from dpboost.rows.cell_counts import N_CELLS, Magnitudes, cell_edges

#: Probability, at most, that any empty cell is taken for an occupied one: in one column.
FALSE_ALARM = Fraction(1, 10**6)

#: Where no cell of a column is occupied, so many neighboring ones may be together.
CELLS_TOGETHER = (2, 4, 8)

#: Beside occupied cells, those of either sign of at most four times the magnitude pass
#: more easily: any empty one of them with this probability at most.
STRAY_NEIGHBOR = Fraction(1, 20)
NEIGHBORS_ABOVE = 2
NEIGHBORS_BELOW = 7


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

    Returns
    -------
    low, high : float
        Outer edges of the outermost cells that pass; ``(0.0, 0.0)`` for a column of zeros.
        Numbers outside are for the caller to clip. None when no cell passes: the rows or the
        budget are too few, and the caller falls back on a public transform of the whole line.

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

    Returns
    -------
    float or None
        Upper edge of the outermost cell that holds enough rows' largest absolute value; None when
        no cell passes.

    Privacy
    -------
    A row counts once, in the cell of its largest absolute value; else as
    :func:`release_bounds`.
    """
    occupied = _occupied_cells(ledger, source, tuple(columns), budget, label)
    return cell_edges(int(occupied[-1]))[1] if occupied.size else None


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
    steps = np.abs(np.arange(N_CELLS) - N_CELLS // 2)
    outermost = steps[occupied].max()
    near = (steps >= outermost - NEIGHBORS_BELOW) & (steps <= outermost + NEIGHBORS_ABOVE)
    return np.asarray(near & (steps > 0))
