"""The largest double in each bin, found by asking the kernel that bins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import binning
from dpboost.data.bins import FeatureBins, kernel_maps

# Features whose thresholds are found together.
FEATURES_AT_ONCE = 512


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
    maps = kernel_maps(features, zero_as_missing=False).arguments(0, len(features))
    low, high = (_order(np.full((len(features), width), limit)) for limit in (-np.inf, np.inf))
    wanted, found = np.arange(width), np.empty((len(features), width), dtype=np.uint8)
    while (high - low > 1).any():
        middle = low + (high - low) // np.uint64(2)
        binning.bin_dense(_double(middle).T, **maps, out=found, first_row=0, n_threads=1)
        below = found <= wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return _double(low)


def _order(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return the places of doubles among all doubles."""
    bits = values.view(np.uint64)
    sign = np.uint64(1 << 63)
    return np.where(bits & sign, ~bits, bits | sign)


def _double(order: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the doubles at these places: the inverse of `_order`."""
    sign = np.uint64(1 << 63)
    return np.where(order & sign, order ^ sign, ~order).view(np.float64)
