"""The largest double in each bin, found by asking the kernel that bins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import binning
from dpboost.data.bins import FeatureBins, KernelMaps, kernel_maps

# Features whose thresholds are found together.
FEATURES_AT_ONCE = 512
# How many doubles to either side of its formula an end of a bin is looked for first.
_NEAR = np.uint64(16)
_LARGEST = float(np.finfo(np.float64).max)


def bisect_bins(features: Sequence[FeatureBins]) -> NDArray[np.float64]:
    """Return the largest double in bin b or below, by feature and bin but the last.

    Zeros are taken as numbers here: where they count as missing they have a place in the order,
    and none among the bins.

    Parameters
    ----------
    features : sequence of FeatureBins
        Numeric ones.

    Returns
    -------
    ndarray of shape (n_features, largest n_bins - 1), float64
        The largest double beyond the bins of a feature.
    """
    width = max((bins.n_bins - 1 for bins in features), default=0)
    maps = kernel_maps(features, zero_as_missing=False)
    everywhere = tuple(
        _order(np.full((len(features), width), limit)) for limit in (-np.inf, np.inf)
    )
    near = _near(maps, width)
    # Nearly always the border is where the formula says, but for rounding.
    sure = _reaches(maps, near[0]) & ~_reaches(maps, near[1])
    low, high = (np.where(sure, *ends) for ends in zip(near, everywhere, strict=True))
    doubtful = np.flatnonzero(~sure.all(axis=1))
    found = _bisect(maps, *near)
    if len(doubtful):
        some = [features[place] for place in doubtful.tolist()]
        maps = kernel_maps(some, zero_as_missing=False)
        found[doubtful] = _bisect(maps, low[doubtful], high[doubtful])
    return found


def _bisect(
    maps: KernelMaps, low: NDArray[np.uint64], high: NDArray[np.uint64]
) -> NDArray[np.float64]:
    """Return the largest doubles whose bin is reached, between doubles that are and are not."""
    while (high - low > 1).any():
        middle = low + (high - low) // np.uint64(2)
        below = _reaches(maps, middle)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return _double(low)


def _reaches(maps: KernelMaps, order: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Tell by feature and bin b whether the double at this place has a bin of at most b."""
    found = np.empty(order.shape, dtype=np.uint8)
    arguments = maps.arguments(0, len(order))
    binning.bin_dense(_double(order).T, **arguments, out=found, first_row=0, n_threads=1)
    return found <= np.arange(order.shape[1])


def _near(maps: KernelMaps, width: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return places shortly below and above where the formula has the end of every bin."""
    guess = np.zeros((len(maps.search), width))
    bins = np.arange(width)
    for place, search in enumerate(maps.search.tolist()):
        start = int(maps.start[place])
        if search == 2:
            borders = maps.borders[start : start + width]
            guess[place, : len(borders)] = borders
            continue
        ends = bins + 1.0
        if search == 1:
            n_cells = int(maps.missing_cell[place])
            table = maps.table[start : start + n_cells]
            ends = np.searchsorted(table, bins, side="right").astype(np.float64)
        guess[place] = maps.lower[place] + ends / maps.scale[place]
    order = _order(np.nan_to_num(guess, posinf=_LARGEST, neginf=-_LARGEST))
    least, most = _order(np.array([-np.inf, np.inf]))
    return np.maximum(order - _NEAR, least), np.minimum(order + _NEAR, most)


def _order(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return the places of doubles among all doubles."""
    bits = values.view(np.uint64)
    sign = np.uint64(1 << 63)
    return np.where(bits & sign, ~bits, bits | sign)


def _double(order: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the doubles at these places: the inverse of `_order`."""
    sign = np.uint64(1 << 63)
    return np.where(order & sign, order ^ sign, ~order).view(np.float64)
