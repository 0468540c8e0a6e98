"""The leaf of every row in one tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import predict
from dpboost.trees.tree import Tree


def leaf_index(tree: Tree, bins: NDArray[np.uint8]) -> NDArray[np.intp]:
    """Return the leaf of each row of bins of shape (n_features, n_rows)."""
    leaves = np.empty(bins.shape[1], dtype=np.int32)
    predict.leaf_indices(
        np.ascontiguousarray(bins),
        np.arange(len(leaves), dtype=np.int32),
        0,
        np.array([0, tree.n_nodes], dtype=np.int32),
        tree.feature,
        tree.left_bins,
        tree.left,
        tree.right,
        leaves,
        1,
    )
    return leaves.astype(np.intp)
