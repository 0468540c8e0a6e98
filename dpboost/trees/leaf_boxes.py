"""The bins that reach each leaf of a tree, feature by feature."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def leaf_boxes(
    feature: NDArray[np.int32],
    left_bins: NDArray[np.uint64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    n_bins: NDArray[np.int32],
) -> dict[int, NDArray[np.bool_]]:
    """Return which bins of each feature of a tree reach each leaf.

    A leaf is a box: the rows whose bin of every feature is among its own. Boxes are by feature, for
    the features that the tree splits, of shape (n_leaves, n_bins + 1); the missing bin comes last.

    Privacy
    -------
    A function of released structure and public bins.
    """
    n_nodes = len(feature)
    packed = np.ascontiguousarray(left_bins, dtype="<u8").view(np.uint8)
    goes_left = np.unpackbits(packed, axis=1, bitorder="little").view(bool)
    used = np.unique(feature)
    # Nodes first, then leaves.
    reach = {f: np.ones((2 * n_nodes + 1, n_bins[f] + 1), dtype=bool) for f in used.tolist()}
    level = np.zeros(min(n_nodes, 1), dtype=np.int64)
    while len(level):
        low, high = (np.where(side >= 0, side, n_nodes + ~side) for side in (left, right))
        low, high = low[level], high[level]
        for f, own in reach.items():
            own[low] = own[high] = own[level]
            splits = feature[level] == f
            sides = goes_left[level[splits], : n_bins[f] + 1]
            own[low[splits]] &= sides
            own[high[splits]] &= ~sides
        below = np.concatenate([low, high])
        level = below[below < n_nodes]
    return {f: own[n_nodes:] for f, own in reach.items()}
