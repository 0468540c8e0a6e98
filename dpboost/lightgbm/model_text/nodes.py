"""The trees of an ensemble one behind the other, for work on all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import forest_walk
from dpboost._utils.validation import InvalidParameterError
from dpboost.trees.tree import SET_WORDS, Tree


@dataclass(frozen=True, kw_only=True, eq=False)
class Nodes:
    """All nodes and leaves of some trees, tree by tree.

    Parameters
    ----------
    feature : ndarray of shape (n_nodes,), int32
        Feature of each internal node.
    left_bins : ndarray of shape (n_nodes, 4), uint64
        Bins that go left, as in `Tree`.
    left, right : ndarray of shape (n_nodes,), int32
        Children by their number in the tree, as in `Tree`.
    node_start, leaf_start : ndarray of shape (n_trees + 1,), int32
        The nodes of tree ``t`` are ``node_start[t]:node_start[t + 1]``; the same for its leaves.
    order : ndarray of shape (n_nodes,), int32
        The nodes in an order in which each comes before those below it.
    node_place, leaf_place : ndarray of shape (n_nodes,) and (n_leaves,), int32
        Where each hangs: ``2 v`` on the left of node ``v``, ``2 v + 1`` on its right, -1 for the
        root of a tree.
    """

    feature: NDArray[np.int32]
    left_bins: NDArray[np.uint64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    node_start: NDArray[np.int32]
    leaf_start: NDArray[np.int32]
    order: NDArray[np.int32]
    node_position: NDArray[np.int32]
    leaf_position: NDArray[np.int32]

    @property
    def n_nodes(self) -> int:
        """Number of internal nodes."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaf_position)


def lay_out(trees: Sequence[Tree]) -> Nodes:
    """Return the nodes of some trees, at least one.

    Raises
    ------
    InvalidParameterError
        Unless the children of each tree reach each of its nodes and leaves exactly once:
        LightGBM would read foreign memory or run for ever.
    """
    node_start = _starts([len(tree.feature) for tree in trees])
    leaf_start = _starts([len(tree.leaf_value) for tree in trees])
    n_nodes, n_leaves = node_start[-1], leaf_start[-1]
    # With `out` arrays of other lengths raise, before a kernel could read behind them.
    feature, left, right = np.empty((3, n_nodes), dtype=np.int32)
    left_bins = np.empty((n_nodes, SET_WORDS), dtype=np.uint64)
    np.concatenate([tree.feature for tree in trees], out=feature)
    np.concatenate([tree.left_bins for tree in trees], out=left_bins)
    np.concatenate([tree.left for tree in trees], out=left)
    np.concatenate([tree.right for tree in trees], out=right)
    order, node_position = np.empty((2, n_nodes), dtype=np.int32)
    leaf_position = np.empty(n_leaves, dtype=np.int32)
    if not forest_walk.order_nodes(
        node_start, leaf_start, left, right, order, node_position, leaf_position
    ):
        raise InvalidParameterError(
            "The children of a tree must reach each of its nodes and leaves exactly once."
        )
    return Nodes(
        feature=feature,
        left_bins=left_bins,
        left=left,
        right=right,
        node_start=node_start,
        leaf_start=leaf_start,
        order=order,
        node_position=node_position,
        leaf_position=leaf_position,
    )


def _starts(sizes: Sequence[int]) -> NDArray[np.int32]:
    return np.cumsum([0, *sizes], dtype=np.int32)
