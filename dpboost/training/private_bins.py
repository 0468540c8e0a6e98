"""Bins of numeric features from noisy fine histograms.

Proof: docs/proofs/fine-histograms.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import bin_merging, binning
from dpboost.data.binner import Binner
from dpboost.data.feature_bins import N_CELLS, AffineBins, Zoom, fine_cells, zoom_of
from dpboost.data.table import Table
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import RowHandle
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity
from dpboost.privacy.sensitivity.constants import counts

# One row in units of histograms with Gaussian noise, which wants a fine lattice. Laplace noise is
# exact on whole rows.
ROW_UNITS = 2**18
# More features than this keep equal bins: the histograms would outgrow the rows.
MOST_FEATURES = 4096
# Histograms of this many features are merged at once, so that little memory is taken.
FEATURES_AT_ONCE = 64
# A difference or a count stands out from the noise beyond this many deviations, and a little
# more where many are looked at.
THRESHOLD = 1.5
# A cell gets at least this part of one cell's noise as a share of the rows, on average.
FLOOR = 0.2
# Of what cells get in any case, the part that follows the logarithm of a number; the rest is even.
NEAR_ZERO = 0.3
# Halvings in the search for the mass of a bin.
HALVINGS = 12
# Part of the budget for cells between the bounds; the rest is for finer ones, or for the trees.
FIRST_SHARE = Fraction(3, 5)
# Features of fewer bins have none to spare for what is outside of the finer cells.
LEAST_BINS_TO_ZOOM = 16


class HasTable(Protocol):
    """Private rows with a table."""

    @property
    def table(self) -> Table | None:
        """The private table."""

    @property
    def n_threads(self) -> int:
        """Threads of the kernels."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FineCounts:
    """Counts of rows in every fine cell of some features, without missing values.

    The cells are those of the kernel that bins the rows later.

    Parameters
    ----------
    fine : dict of int to AffineBins
        Cells of each feature.
    units : int
        Units that a row is worth.
    """

    fine: Mapping[int, AffineBins]
    zero_as_missing: bool
    units: int

    @property
    def unit(self) -> float:
        """Value of one unit in rows."""
        return 1 / self.units

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""
        return (len(self.fine), N_CELLS)

    def evaluate(self, rows: HasTable) -> NDArray[np.int64]:
        """Count the rows of one place."""
        assert rows.table is not None
        positions = np.array(list(self.fine), dtype=np.int32)
        lower = np.array([bins.lower for bins in self.fine.values()])
        scale = np.array([bins.scale for bins in self.fine.values()])
        zero = np.full(len(positions), np.nan if self.zero_as_missing else 0.0)
        counted = np.zeros((len(positions), N_CELLS + 1), dtype=np.intp)
        for first, values in _pieces(rows.table, positions):
            here = slice(*np.searchsorted(positions, [first, first + values.shape[1]]))
            columns = positions[here] - np.int32(first)
            binning.count_cells(
                values,
                columns,
                lower[here],
                scale[here],
                zero[here],
                counted[here],
                rows.n_threads,
            )
        return np.multiply(counted[:, :N_CELLS], self.units, dtype=np.int64)

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the sensitivity: a row is in at most one cell of each feature."""
        return counts(neighbors, self.units, histograms=len(self.fine))


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedBins:
    """Bins and their released histograms; public.

    Parameters
    ----------
    binner : Binner
    masses : dict of int to ndarray of shape (n_bins + 1,)
        Released rows in each bin of the features whose bins were released, not below zero. What
        is missing to the released number of rows is in the missing bin, where it stands out.
    ends : dict of int to (float, float)
        Released rows in the first and in the last of the fine cells, which hold what is clipped to
        the bounds.
    noise_stddev : float
        Standard deviation of the noise of a cell.
    """

    binner: Binner
    masses: Mapping[int, NDArray[np.float64]] = field(default_factory=dict)
    ends: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    noise_stddev: float = 0.0


def release_bins(
    binner: Binner,
    source: RowHandle,
    *,
    integer: Set[int] = frozenset(),
    n_bins: int,
    n_rows: float,
    budget: PrivacyCost,
    ledger: Ledger,
) -> tuple[ReleasedBins, PrivacyCost]:
    """Merge fine cells into bins by the square root of their noisy mass.

    Parameters
    ----------
    binner : Binner
        Public bins; those of features with bounds are replaced.
    source : RowHandle
        Of rows with a ``table``.
    integer : set of int
        Features of whole numbers, whose bins are those of `whole_bins`.
    n_bins : int
        Bins of a feature, 2 to 255.
    n_rows : float
        Released number of rows.
    budget : Fraction or inf
        In the unit of the ledger's accountant.
    ledger : Ledger
        The gate.

    Returns
    -------
    bins : ReleasedBins
    rest : Fraction or inf
        What is left of the budget for the trees: 0 where features were counted again.

    Privacy
    -------
    One release or two: the histograms of all numeric features with bounds over cells that are
    public, and then of those whose rows fill a small part of their bounds over finer cells. Which
    features and cells these are follows from the first release. In each a row is in at most one
    cell of each of its q features (``constants.counts``). All else is post-processing.
    """
    positions = released_columns(binner, integer)
    if not positions:
        return ReleasedBins(binner=binner), budget
    public = {position: _affine(binner.features[position]) for position in positions}
    fine = {
        position: fine_cells(public[position], whole=position in integer) for position in positions
    }
    n_cells = {position: public[position].n_cells for position in positions if position in integer}
    first = budget * FIRST_SHARE if budget != math.inf else budget
    released, noise_stddev = _count(fine, binner.zero_as_missing, source, first, ledger)
    features = list(binner.features)
    masses, ends = {}, {}
    zooms: dict[int, tuple[Zoom, NDArray[np.float64]]] = {}
    for start in range(0, len(positions), FEATURES_AT_ONCE):
        some = slice(start, start + FEATURES_AT_ONCE)
        noisy = released[some].astype(np.float64)
        for counted, position in zip(noisy, positions[some], strict=True):
            counted[n_cells.get(position, N_CELLS) :] = 0.0  # cells beyond the bounds
        within = [(public if at in integer else fine)[at] for at in positions[some]]
        tables = merge_cells(noisy, noise_stddev, n_rows, n_bins, expected_masses(within))
        for position, bins, table, counted in zip(
            positions[some], within, tables, noisy, strict=True
        ):
            features[position] = replace(bins, table=table[: bins.n_cells].tobytes())
            last = n_cells.get(position, N_CELLS) - 1
            ends[position] = float(counted[0]), float(counted[last])
            masses[position] = _masses(table, counted, bins.n_cells, noise_stddev, n_rows)
            zoom = zoom_of(
                bins,
                counted,
                noise_stddev=noise_stddev,
                n_rows=n_rows,
                whole=position in integer,
            )
            if zoom is not None and n_bins >= LEAST_BINS_TO_ZOOM:
                zooms[position] = zoom, counted.copy()
    del released  # with thousands of features it would count in the peak of memory
    rest = budget - first if budget != math.inf else budget
    if zooms:
        finer = {position: zoom.counted for position, (zoom, _) in zooms.items()}
        again, closer = _count(finer, binner.zero_as_missing, source, rest, ledger)
        rest = rest * 0 if budget != math.inf else budget
        for row, (position, (zoom, counted)) in zip(again, zooms.items(), strict=True):
            features[position], masses[position] = _zoomed(
                zoom, counted, row.astype(np.float64), (noise_stddev, closer), n_rows, n_bins
            )
    found = ReleasedBins(
        binner=replace(binner, features=tuple(features)),
        masses=masses,
        ends=ends,
        noise_stddev=noise_stddev,
    )
    return found, rest


def _count(
    fine: Mapping[int, AffineBins],
    zero_as_missing: bool,
    source: RowHandle,
    budget: PrivacyCost,
    ledger: Ledger,
) -> tuple[NDArray[np.float64], float]:
    """Release the rows in every cell, and return them with the deviation of their noise."""
    noise = ledger.accountant.noise(budget)
    units = ROW_UNITS if noise.needs == "l2" else 1
    query = FineCounts(fine=fine, zero_as_missing=zero_as_missing, units=units)
    sensitive = source.ask(query, ledger.neighbors)
    released = ledger.release(noise, sensitive, label="fine histograms")
    return released / units, sensitive.noise_stddev(noise) / units


def _zoomed(
    zoom: Zoom,
    counted: NDArray[np.float64],
    again: NDArray[np.float64],
    noise_stddevs: tuple[float, float],
    n_rows: float,
    n_bins: int,
) -> tuple[AffineBins, NDArray[np.float64]]:
    """Return bins of a feature that was counted twice, and the released rows in each.

    Parameters
    ----------
    counted, again : ndarray of shape (N_CELLS,)
        Of the cells, and of the finer ones with what is below and above.
    """
    n_finer, size = zoom.n_finer, zoom.bins.n_cells
    inside = np.zeros(N_CELLS)
    inside[:n_finer] = again[1 : n_finer + 1]
    expected = np.zeros(N_CELLS)
    expected[:n_finer] = 1 / n_finer
    below, above = zoom.outside(n_bins)
    n_within = n_bins - len(np.unique(below)) - len(np.unique(above))
    one = np.newaxis
    table = merge_cells(inside[one], noise_stddevs[1], n_rows, n_within, expected[one])
    within = table[0, :n_finer].astype(np.intp)
    cells = [counted[: zoom.first], inside[:n_finer], counted[zoom.last + 1 : size]]
    found = [
        np.bincount(bins, rows)
        for bins, rows in zip((below, within, above), cells, strict=True)
        if bins.size
    ]
    missing = n_rows - sum(float(rows.sum()) for rows in cells)
    noise = math.hypot(
        noise_stddevs[0] * math.sqrt(below.size + above.size),
        noise_stddevs[1] * math.sqrt(n_finer),
    )
    masses = np.maximum(np.concatenate([*found, [missing if missing > 3 * noise else 0.0]]), 0.0)
    return zoom.together(below, within, above), masses


def _masses(
    table: NDArray[np.uint8],
    counted: NDArray[np.float64],
    n_cells: int,
    noise_stddev: float,
    n_rows: float,
) -> NDArray[np.float64]:
    """Return the released rows of each bin, and of the missing one."""
    inside = np.maximum(np.bincount(table[:n_cells], counted[:n_cells]), 0.0)
    missing = n_rows - float(counted[:n_cells].sum())
    stands_out = missing > 3 * noise_stddev * math.sqrt(n_cells)
    return np.append(inside, missing if stands_out else 0.0)


def released_columns(binner: Binner, integer: Set[int] = frozenset()) -> list[int]:
    """Return the features whose bins `release_bins` releases; a function of public numbers.

    Two whole numbers have a bin each, and nothing is to be learned.
    """
    positions = [
        position
        for position, bins in enumerate(binner.features)
        if isinstance(bins, AffineBins)
        and bins.lower < bins.upper
        and not (position in integer and bins.n_cells <= 2)
    ]
    return positions if len(positions) <= MOST_FEATURES else []


def expected_masses(features: Sequence[AffineBins]) -> NDArray[np.float64]:
    """Return which part of a feature's bins each cell gets where noise hides its rows.

    Most are even; the others follow the logarithm of a number's size in cells: a range that was
    declared with room to spare holds most of its rows near zero. Far from zero, as in years, the
    logarithm is even as well.

    Parameters
    ----------
    features : sequence of AffineBins
        With ``N_CELLS`` cells or fewer, all between public or released bounds.

    Returns
    -------
    ndarray of shape (n_features, N_CELLS)
        Sums to 1 in each row; zeros beyond the cells that there are.

    Privacy
    -------
    A function of bounds and types.
    """
    n_cells = np.array([bins.n_cells for bins in features])[:, np.newaxis]
    first = np.array([bins.lower * bins.scale for bins in features])[:, np.newaxis]
    cells = np.arange(N_CELLS)
    inside = cells < n_cells
    close: NDArray[np.float64] = inside / (1.0 + np.abs(first + cells + 0.5))
    close /= close.sum(axis=1, keepdims=True)
    even: NDArray[np.float64] = inside / n_cells
    return NEAR_ZERO * close + (1 - NEAR_ZERO) * even


def merge_cells(
    noisy: NDArray[np.float64],
    noise_stddev: float,
    n_rows: float,
    n_bins: int,
    expected: NDArray[np.float64],
) -> NDArray[np.uint8]:
    """Return the bin of every fine cell.

    Bins hold about equal parts of the square root of the denoised mass, plus a floor that keeps
    empty stretches apart: finer where rows are, not only where most of them are. A cell that
    holds more than its part is a bin of its own and the others share what is left, so that a
    frequent value takes no bins from the rest. The more noise there is, the more of the bins the
    floor has; where all is noise, it has all.

    Parameters
    ----------
    noisy : ndarray of shape (n_features, n_cells)
        Released counts.
    noise_stddev : float
        Standard deviation of their noise.
    n_rows : float
        Released number of rows.
    n_bins : int
        At most this many bins come out.
    expected : ndarray of shape (n_features, n_cells)
        Parts of the floor, from `expected_masses`; zeros for cells that are not there.

    Returns
    -------
    ndarray of shape (n_features, n_cells), uint8
        Starts at 0 and goes up by 0 or 1.
    """
    mass = np.sqrt(denoise(noisy, noise_stddev))
    nothing = mass.sum(axis=1) <= 0
    mass[nothing] = expected[nothing]
    mass /= mass.sum(axis=1, keepdims=True)
    n_cells = (expected > 0).sum(axis=1, keepdims=True)
    mass += FLOOR * noise_stddev / n_rows * n_cells * expected
    bins = np.empty(mass.shape, dtype=np.uint8)
    bin_merging.merge(mass, mass.sum(axis=1), n_bins, HALVINGS, bins)
    return bins


def denoise(noisy: NDArray[np.float64], noise_stddev: float) -> NDArray[np.float64]:
    """Return piecewise constant, non-negative estimates of histograms.

    A dyadic interval is divided where its halves differ by more than the noise would make them,
    or where a part of it is to be divided; an interval that does not stand out from zero
    becomes zero.

    Parameters
    ----------
    noisy : ndarray of shape (n_features, 2**k)
        Released counts.
    noise_stddev : float
        Standard deviation of their noise.

    Returns
    -------
    ndarray of shape (n_features, 2**k)
    """
    sums = [noisy]
    while sums[-1].shape[1] > 1:
        sums.append(sums[-1][:, 0::2] + sums[-1][:, 1::2])
    divided = [np.zeros(noisy.shape, dtype=bool)]
    for level in range(1, len(sums)):
        parts = sums[level - 1]
        beyond = THRESHOLD + 0.5 * math.sqrt(2 * math.log(sums[level].shape[1]))
        differs = np.abs(parts[:, 0::2] - parts[:, 1::2]) > beyond * noise_stddev * math.sqrt(
            2**level
        )
        divided.append(differs | divided[-1][:, 0::2] | divided[-1][:, 1::2])
    density = np.zeros((len(noisy), 1))
    settled = np.zeros((len(noisy), 1), dtype=bool)
    for level in range(len(sums) - 1, -1, -1):
        width = 2**level
        settle = ~settled & ~divided[level]
        stands_out = sums[level] > THRESHOLD * noise_stddev * math.sqrt(width)
        density = np.where(settle, np.where(stands_out, sums[level] / width, 0.0), density)
        settled |= settle
        if level:
            density, settled = np.repeat(density, 2, axis=1), np.repeat(settled, 2, axis=1)
    return density


def _affine(bins: object) -> AffineBins:
    """Return the bins of a feature with bounds."""
    assert isinstance(bins, AffineBins)
    return bins


def _pieces(table: Table, positions: NDArray[np.int32]) -> Iterator[tuple[int, NDArray[Any]]]:
    """Go through a table; of a sparse one, column by column, only those that are asked for."""
    if table.stored is None:
        for _, first, values in table.pieces():
            yield first, values
    else:
        for position in positions.tolist():
            yield position, table.column(position)[:, np.newaxis]
