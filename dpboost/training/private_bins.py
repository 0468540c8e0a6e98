"""Bins of numeric features from noisy fine histograms.

Proof: docs/proofs/fine-histograms.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import bin_merging, binning
from dpboost._utils.threads import Threads
from dpboost.data.binner import Binner
from dpboost.data.feature_bins import (
    N_CELLS,
    AffineBins,
    Zoom,
    cells_together,
    fine_cells,
    zoom_of,
)
from dpboost.data.table import Table
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.mechanisms import Noise
from dpboost.privacy.queries import QueryInUnits, RowHandle
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
# Adjacent cells are counted as one until the floor, which grows with noise, gets no more bins
# than the counts; but so many are counted in any case.
LEAST_COUNTED = 16
# Features of fewer bins have none to spare for what is outside of the finer cells.
LEAST_BINS_TO_ZOOM = 16


class HasTable(Protocol):
    """Private rows with a table."""

    @property
    def table(self) -> Table | None:
        """The private table."""

    @property
    def threads(self) -> Threads:
        """Threads of the kernels."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FineCounts(QueryInUnits):
    """Counts of rows in every fine cell of some features, without missing values.

    The cells are those of the kernel that bins the rows later.
    """

    #: Cells of each feature, ``N_CELLS`` or fewer.
    fine: Mapping[int, AffineBins]
    zero_as_missing: bool
    #: So many adjacent cells are counted as one, a power of two; a feature with no more cells than
    #: then remain keeps them. The first and the last cell of a feature, which hold what lies beyond
    #: its bounds, are then counted apart, after the others.
    together: int = 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""
        return (len(self.fine), N_CELLS // self.together + (2 if self.together > 1 else 0))

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
                rows.threads.now(),
            )
        cells = counted[:, :N_CELLS]
        for row, bins in zip(cells, self.fine.values(), strict=True):
            if bins.n_cells < N_CELLS:
                row[bins.n_cells - 1] += row[bins.n_cells :].sum()
                row[bins.n_cells :] = 0
        if self.together > 1:
            ends = np.zeros((len(cells), 2), dtype=np.intp)
            for row, own, bins in zip(cells, ends, self.fine.values(), strict=True):
                own[:] = row[[0, bins.n_cells - 1]]
                row[[0, bins.n_cells - 1]] = 0
            counted = cells.reshape(len(cells), -1, self.together).sum(axis=2)
            for row, own, bins in zip(cells, counted, self.fine.values(), strict=True):
                if self._keeps_cells(bins):
                    own[:] = row[: len(own)]
            cells = np.hstack([counted, ends])
        return np.multiply(cells, self.units, dtype=np.int64)

    def _keeps_cells(self, bins: AffineBins) -> bool:
        return bins.n_cells <= N_CELLS // self.together

    def read(
        self, released: NDArray[np.int64]
    ) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
        """Return the rows in the cells of each feature, and in its first and its last cell.

        Parameters
        ----------
        released : ndarray of shape `shape`

        Returns
        -------
        cells : list of ndarray of shape (N_CELLS // together,) or (N_CELLS,)
            The longer ones of features that keep their cells.
        ends : ndarray of shape (n_features, 2)

        Privacy
        -------
        Post-processing of what was released.
        """
        cells, ends = [], []
        for row, bins in zip(released / self.units, self.fine.values(), strict=True):
            last = bins.n_cells - 1
            if self.together == 1:
                cells.append(row)
                ends.append(row[[0, last]])
                continue
            counted, own = row[:-2], row[-2:]
            if self._keeps_cells(bins):
                counted = np.append(counted, np.zeros(N_CELLS - len(counted)))
            counted[0] += own[0]
            counted[last * len(counted) // N_CELLS] += own[1]
            cells.append(counted)
            ends.append(own)
        return cells, np.array(ends)

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the sensitivity: a row is in at most one cell of each feature."""
        return counts(neighbors, self.units, histograms=len(self.fine))


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedBins:
    """Bins and their released histograms; public."""

    binner: Binner
    #: Dict of int to ndarray of shape (n_bins + 1,). Released rows in each bin of the features
    #: whose bins were released, not below zero. What is missing to the released number of rows is
    #: in the missing bin, where it stands out.
    masses: Mapping[int, NDArray[np.float64]] = field(default_factory=dict)
    #: Released rows in the first and in the last of the fine cells, which hold what is clipped to
    #: the bounds.
    ends: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    #: Standard deviation of the noise of a cell.
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

    Returns
    -------
    bins : ReleasedBins
    rest : Fraction or inf
        What is left of the budget for the trees: 0 where features were counted again.

    Privacy
    -------
    One release or two: the histograms of all numeric features with bounds over cells that are
    public, and then of those whose rows fill a small part of their bounds over finer cells. Which
    features and cells these are follows from the first release, and how many cells are counted as
    one from the noise and the released number of rows. In each a row is in at most one
    cell of each of its q features (``constants.counts``). All else is post-processing.
    """
    positions = released_columns(binner, integer)
    if not positions:
        return ReleasedBins(binner=binner), budget
    public = {position: _affine(binner.features[position]) for position in positions}
    fine = {
        position: fine_cells(public[position], whole=position in integer) for position in positions
    }
    within = {position: (public if position in integer else fine)[position] for position in fine}
    first = budget * FIRST_SHARE if budget != math.inf else budget

    def count(cells: Mapping[int, AffineBins | Zoom], part: PrivacyCost, most: int) -> _Counts:
        noise = ledger.accountant.noise(part)
        return _count(cells, binner.zero_as_missing, source, n_rows, most, noise, ledger)

    seen = count(within, first, N_CELLS // LEAST_COUNTED)
    features = list(binner.features)
    masses = {}
    zooms: dict[int, tuple[Zoom, NDArray[np.float64]]] = {}
    for some in _alike(positions, seen.cells):
        noisy = np.array([seen.cells[position] for position in some])
        together = N_CELLS // noisy.shape[1]
        for counted, position in zip(noisy, some, strict=True):
            counted[-(-within[position].n_cells // together) :] = 0.0  # beyond the bounds
        expected = expected_masses([within[position] for position in some])
        tables = merge_cells(noisy, seen.noise_stddev, n_rows, n_bins, expected)
        for position, table, counted in zip(some, tables, noisy, strict=True):
            bins = within[position]
            features[position] = replace(bins, table=table[: bins.n_cells].tobytes())
            masses[position] = _masses(table, counted, bins.n_cells, seen.noise_stddev, n_rows)
            zoom = zoom_of(
                cells_together(bins, together),
                counted,
                noise_stddev=seen.noise_stddev,
                n_rows=n_rows,
                whole=position in integer,
            )
            if zoom is not None and n_bins >= LEAST_BINS_TO_ZOOM:
                zooms[position] = zoom, counted.copy()
    ends, noise_stddev, most = seen.ends, seen.noise_stddev, seen.together
    del seen  # with thousands of features it would count in the peak of memory
    rest = budget - first if budget != math.inf else budget
    if zooms:
        again = count({at: zoom for at, (zoom, _) in zooms.items()}, rest, most)
        rest = rest * 0 if budget != math.inf else budget
        deviations = noise_stddev, again.noise_stddev
        for position, (zoom, counted) in zooms.items():
            features[position], masses[position] = _zoomed(
                zoom, counted, again.cells[position], deviations, n_rows, n_bins
            )
    found = ReleasedBins(
        binner=replace(binner, features=tuple(features)),
        masses=masses,
        ends=ends,
        noise_stddev=noise_stddev,
    )
    return found, rest


class _Counts(NamedTuple):
    """Released rows in the cells of features.

    Parameters
    ----------
    cells : dict of int to ndarray
        By feature, as `FineCounts.read` returns them.
    ends : dict of int to (float, float)
        In the first and the last cell alone.
    together : int
        Adjacent cells that were counted as one.
    """

    cells: dict[int, NDArray[np.float64]]
    ends: dict[int, tuple[float, float]]
    noise_stddev: float
    together: int


def _count(
    cells: Mapping[int, AffineBins | Zoom],
    zero_as_missing: bool,
    source: RowHandle,
    n_rows: float,
    most: int,
    noise: Noise,
    ledger: Ledger,
) -> _Counts:
    """Release the rows in cells, as many of them together as the known noise asks for.

    Parameters
    ----------
    most : int
        No more cells than these are counted as one.
    """
    units = ROW_UNITS if noise.needs == "l2" else 1
    l1, l2 = counts(ledger.neighbors, units, histograms=len(cells))
    noise_stddev = noise.noise_stddev(l1 if noise.needs == "l1" else l2) / units
    together = 1
    while together < most and FLOOR * noise_stddev * N_CELLS / together > n_rows:
        together *= 2
    query = FineCounts(
        fine={
            position: each.counted(together) if isinstance(each, Zoom) else each
            for position, each in cells.items()
        },
        zero_as_missing=zero_as_missing,
        units=units,
        together=together,
    )
    sensitive = source.ask(query, ledger.neighbors)
    released = ledger.release(noise, sensitive, label="fine histograms")
    found, ends = query.read(released)
    return _Counts(
        dict(zip(cells, found, strict=True)),
        {position: (float(a), float(b)) for position, (a, b) in zip(cells, ends, strict=True)},
        noise_stddev,
        together,
    )


def _alike(positions: list[int], cells: Mapping[int, NDArray[Any]]) -> Iterator[list[int]]:
    """Yield features with as many counted cells, some at once."""
    for length in dict.fromkeys(len(cells[position]) for position in positions):
        alike = [position for position in positions if len(cells[position]) == length]
        for start in range(0, len(alike), FEATURES_AT_ONCE):
            yield alike[start : start + FEATURES_AT_ONCE]


def _zoomed(
    zoom: Zoom,
    counted: NDArray[np.float64],
    again: NDArray[np.float64],
    deviations: tuple[float, float],
    n_rows: float,
    n_bins: int,
) -> tuple[AffineBins, NDArray[np.float64]]:
    """Return bins of a feature that was counted twice, and the released rows in each.

    Parameters
    ----------
    counted, again : ndarray of shape (n_counted,)
        Of the cells, and of the finer ones with what is below and above.
    deviations : tuple of float
        Of the noise of the two.
    """
    n_finer, size = zoom.n_finer, zoom.bins.n_cells
    inside = np.zeros(len(again))
    n_counted = -(-n_finer // (N_CELLS // len(again)))
    inside[:n_counted] = again[1 : 1 + n_counted]
    expected = np.zeros(N_CELLS)
    expected[:n_finer] = 1 / n_finer
    below, above = zoom.outside(n_bins)
    n_within = n_bins - len(np.unique(below)) - len(np.unique(above))
    one = np.newaxis
    table = merge_cells(inside[one], deviations[1], n_rows, n_within, expected[one])
    within = table[0, :n_finer].astype(np.intp)
    cells = [counted[: zoom.first], _spread(inside)[:n_finer], counted[zoom.last + 1 : size]]
    found = [
        np.bincount(bins, rows)
        for bins, rows in zip((below, within, above), cells, strict=True)
        if bins.size
    ]
    missing = n_rows - sum(float(rows.sum()) for rows in cells)
    noise = math.hypot(
        deviations[0] * math.sqrt(below.size + above.size), deviations[1] * math.sqrt(n_counted)
    )
    masses = np.maximum(np.concatenate([*found, [missing if missing > 3 * noise else 0.0]]), 0.0)
    return zoom.together(below, within, above), masses


def _spread(counted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide the rows of cells that were counted together evenly among these."""
    together = N_CELLS // counted.shape[-1]
    return np.repeat(counted / together, together, axis=-1) if together > 1 else counted


def _masses(
    table: NDArray[np.uint8],
    counted: NDArray[np.float64],
    n_cells: int,
    noise_stddev: float,
    n_rows: float,
) -> NDArray[np.float64]:
    """Return the released rows of each bin, and of the missing one."""
    inside = np.maximum(np.bincount(table[:n_cells], _spread(counted)[:n_cells]), 0.0)
    missing = n_rows - float(counted.sum())
    n_counted = -(-n_cells * len(counted) // N_CELLS)
    stands_out = missing > 3 * noise_stddev * math.sqrt(n_counted)
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
    """Return the bin of every fine cell, of which some were counted together.

    Bins hold about equal parts of the square root of the denoised mass, plus a floor that keeps
    empty stretches apart: finer where rows are, not only where most of them are. A cell that
    holds more than its part is a bin of its own and the others share what is left, so that a
    frequent value takes no bins from the rest. The more noise there is, the more of the bins the
    floor has; where all is noise, it has all.

    Parameters
    ----------
    noisy : ndarray of shape (n_features, n_counted)
        Released counts, each of ``n_cells / n_counted`` adjacent cells.
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
    mass = np.sqrt(_spread(denoise(noisy, noise_stddev)))
    mass[expected <= 0] = 0.0
    nothing = mass.sum(axis=1) <= 0
    mass[nothing] = expected[nothing]
    mass /= mass.sum(axis=1, keepdims=True)
    n_counted = (expected > 0).sum(axis=1, keepdims=True) * (noisy.shape[1] / N_CELLS)
    mass += FLOOR * noise_stddev / n_rows * n_counted * expected
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
