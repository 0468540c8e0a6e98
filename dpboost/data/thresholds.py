"""The largest double in each bin, found by asking the kernel that bins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import binning
from dpboost.data.feature_bins import KernelMaps


def find_thresholds(
    maps: KernelMaps, n_bins: NDArray[np.int32], features: Sequence[int]
) -> NDArray[np.float64]:
    """Return the largest double in bin b or below, by feature and bin; infinity from the last on.

    Zeros are taken as numbers here: where they count as missing they have a place in the order,
    and none among the bins.

    Parameters
    ----------
    maps : KernelMaps
        The maps of all features.
    n_bins : ndarray of shape (n_features,), int32
        Their value bins.
    features : sequence of int
        Numeric ones.

    Returns
    -------
    ndarray of shape (len(features), largest n_bins), float64
        Read-only.
    """
    positions = np.array(features, dtype=np.int32)
    arguments = maps.arguments(0, len(n_bins))
    del arguments["zero"]
    out = np.full((len(positions), n_bins[positions].max(initial=1)), np.inf)
    binning.find_ends(positions, n_bins, **arguments, out=out)
    out.setflags(write=False)
    return out
