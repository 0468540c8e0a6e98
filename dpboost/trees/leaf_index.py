"""The leaf of every row in one tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost.trees.tree import Tree


def leaf_index(tree: Tree, bins: NDArray[np.uint8]) -> NDArray[np.intp]:
    """Return the leaf of each row of bins of shape (n_features, n_rows)."""
    n_rows = bins.shape[1]
    leaf = np.zeros(n_rows, dtype=np.intp)
    if not tree.n_nodes:
        return leaf
    packed = np.ascontiguousarray(tree.left_bins, dtype="<u8").view(np.uint8)
    goes_left = np.unpackbits(packed, axis=1, bitorder="little").view(bool)
    rows = np.arange(n_rows)
    node = np.zeros(n_rows, dtype=np.intp)
    while len(rows):
        left = goes_left[node, bins[tree.feature[node], rows]]
        child = np.where(left, tree.left[node], tree.right[node])
        ended = child < 0
        leaf[rows[ended]] = ~child[ended]
        rows, node = rows[~ended], child[~ended]
    return leaf
