"""Finer cells where the rows of a feature fill a small part of wide bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.data.feature_bins import MAX_CELLS, N_CELLS, AffineBins

# Sizes of the windows that may hold the rows, in cells, and what is added on either side of them.
SIZES, MARGIN = (4, 8, 16, 32, 64, 96), 0.25
# So much of the rows must be seen in a window, and around it not more than this, beyond doubt.
SEEN, AROUND, DOUBT = 0.8, 0.01, 1.5
# No cells beyond that stand out, alone or together, by so many deviations of their noise.
STANDS_OUT = 4.0
# Bins outside, on either side: this part of all, each twice as wide as the one before.
PART_OUTSIDE = 1 / 10


@dataclass(frozen=True, kw_only=True)
class Zoom:
    """Some cells of a feature, each cut into finer ones.

    Parameters
    ----------
    bins : AffineBins
        The cells between public bounds.
    first, last : int
        The cells that are cut.
    parts : int
        Finer cells in each, 2 or more.
    """

    bins: AffineBins
    first: int
    last: int
    parts: int

    @property
    def n_finer(self) -> int:
        """Number of the finer cells, at most ``N_CELLS - 2``."""
        return (self.last + 1 - self.first) * self.parts

    @property
    def counted(self) -> AffineBins:
        """Cells of a second histogram: what is below, the finer cells, what is above.

        Those beyond ``n_finer + 2`` are there for the shape alone.
        """
        width = (self.bins.upper - self.bins.lower) / (self.bins.n_cells * self.parts)
        lower = self.bins.lower + (self.first * self.parts - 1) * width
        upper = lower + N_CELLS * width
        return AffineBins(lower=lower, upper=upper, n_cells=N_CELLS, table=bytes(N_CELLS))

    def outside(self, n_bins: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the bins of the cells below and above, which become wider with the distance.

        Parameters
        ----------
        n_bins : int
            Bins of the feature.

        Returns
        -------
        below : ndarray of shape (first,)
            Starts at 0 and goes up by 0 or 1.
        above : ndarray of shape (n_cells - 1 - last,)
        """
        size = self.last + 1 - self.first
        most = int(PART_OUTSIDE * n_bins)

        def rings(n_cells: int) -> NDArray[np.intp]:
            distances = np.arange(n_cells) / size
            return np.minimum(np.log2(1 + distances).astype(np.intp), max(most - 1, 0))

        below = rings(self.first)
        return (below.max(initial=0) - below)[::-1], rings(self.bins.n_cells - 1 - self.last)

    def together(
        self, below: NDArray[np.intp], inside: NDArray[np.intp], above: NDArray[np.intp]
    ) -> AffineBins:
        """Return the map of the feature, whose cells are all as wide as the finer ones.

        Parameters
        ----------
        below, above : ndarray
            Bins of the cells outside, each from 0 on.
        inside : ndarray of shape (n_finer,)
            Bins of the finer cells, from 0 on.
        """
        n_below = below[-1] + 1 if below.size else 0
        parts = [
            np.repeat(below, self.parts),
            inside + n_below,
            np.repeat(above, self.parts) + n_below + inside[-1] + 1,
        ]
        return AffineBins(
            lower=self.bins.lower,
            upper=self.bins.upper,
            n_cells=self.bins.n_cells * self.parts,
            table=np.concatenate(parts).astype(np.uint8).tobytes(),
        )


def zoom_of(
    bins: AffineBins,
    noisy: NDArray[np.float64],
    *,
    noise_stddev: float,
    n_rows: float,
    whole: bool,
) -> Zoom | None:
    """Return where a feature has its rows, if that is a small part of its bounds.

    Parameters
    ----------
    bins : AffineBins
        ``N_CELLS`` cells, or fewer.
    noisy : ndarray of shape (N_CELLS,)
        Released counts.
    noise_stddev : float
        Of a count.
    n_rows : float
        Released number of rows.
    whole : bool
        Whether the feature has whole numbers: no finer cells than one for each.

    Returns
    -------
    Zoom or None

    Privacy
    -------
    Post-processing of released counts.
    """
    most = MAX_CELLS // bins.n_cells
    if whole:
        most = min(most, round((bins.upper - bins.lower) / bins.n_cells))
    if most < 2:
        return None
    up_to = np.concatenate([[0.0], np.cumsum(noisy[: bins.n_cells])])
    for size in SIZES:
        if size > bins.n_cells / 8:
            return None
        first = int(np.argmax(up_to[size:] - up_to[:-size]))
        low, high = max(0, first - 2 * size), min(bins.n_cells, first + 3 * size)
        inside = up_to[first + size] - up_to[first]
        around = up_to[high] - up_to[low] - inside
        seen = inside - noise_stddev * math.sqrt(size) >= SEEN * n_rows
        doubt = DOUBT * noise_stddev * math.sqrt(high - low - size)
        if seen and around <= AROUND * n_rows + doubt:
            far = np.concatenate([noisy[:low], noisy[high : bins.n_cells]])
            if stands_out(far, noise_stddev, AROUND * n_rows):
                return None
            break
    else:
        return None
    margin = math.ceil(MARGIN * size)
    first, last = max(0, first - margin), min(bins.n_cells, first + size + margin) - 1
    size = last + 1 - first
    parts = min(most, (N_CELLS - 2) // size)
    if whole:
        # Edges half-way between whole numbers, where the width of a cell has such a divisor.
        width = round((bins.upper - bins.lower) / bins.n_cells)
        parts = next((part for part in range(parts, parts // 4, -1) if width % part == 0), parts)
    return Zoom(bins=bins, first=first, last=last, parts=parts)


def stands_out(noisy: NDArray[np.float64], noise_stddev: float, n_rows: float) -> bool:
    """Return whether so many rows show in a cell, or in as many together as a power of two."""
    while noisy.size:
        if noisy.max() > max(STANDS_OUT * noise_stddev, n_rows):
            return True
        noisy = noisy[: noisy.size // 2 * 2]
        noisy = noisy[0::2] + noisy[1::2]
        noise_stddev *= math.sqrt(2)
    return False
