"""Checks of trees from elsewhere, before a kernel follows them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.federated.party.admission import check
from dpboost.trees.tree import SET_WORDS, Tree

# Largest released leaf value in score units: sums over all rounds stay far from the ends of int64.
VALUE_LIMIT = 1 << 40


def check_values(values: NDArray[np.int64]) -> None:
    """Raise unless leaf values are so small that no sum of them leaves int64."""
    # The least int64 has no absolute value.
    check(bool(((values >= -VALUE_LIMIT) & (values <= VALUE_LIMIT)).all()))


def check_tree(tree: Any, n_features: int) -> None:
    """Raise unless kernels can follow a tree: every node and leaf reached once, from above."""
    check(isinstance(tree, Tree))
    check(tree.leaf_value.dtype == np.int64 and tree.leaf_value.ndim == 1)
    check_values(tree.leaf_value)
    check_structure(tree, tree.n_leaves, n_features)


def check_structure(tree: Any, n_leaves: int, n_features: int) -> None:
    """Raise unless nodes and leaves make one binary tree whose children come after parents."""
    n_nodes = n_leaves - 1
    arrays = (tree.feature, tree.left, tree.right)
    check(n_leaves >= 1 and all(isinstance(part, np.ndarray) for part in arrays))
    check(all(part.dtype == np.int32 and part.shape == (n_nodes,) for part in arrays))
    check(isinstance(tree.left_bins, np.ndarray) and tree.left_bins.dtype == np.uint64)
    check(tree.left_bins.shape == (n_nodes, SET_WORDS))
    check(bool(((tree.feature >= 0) & (tree.feature < n_features)).all()))
    children = np.concatenate([tree.left, tree.right])
    parents = np.tile(np.arange(n_nodes), 2)
    inner = children >= 0
    check(bool((children[inner] > parents[inner]).all()))
    check(np.array_equal(np.sort(children[inner]), np.arange(1, n_nodes)))
    leaves = np.sort(~children[~inner]) if n_nodes else np.zeros(1, dtype=np.int32)
    check(np.array_equal(leaves, np.arange(n_leaves)))
