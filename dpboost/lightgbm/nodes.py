"""The trees of an ensemble one behind the other, for work on all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from dpboost._validation import InvalidParameterError
from dpboost.tree.structure import Tree


@dataclass(frozen=True, kw_only=True, eq=False)
class Nodes:
    """All nodes and leaves of some trees.

    Every internal node has a place, tree by tree; the places of the leaves follow after those
    of all internal nodes, tree by tree too.

    Parameters
    ----------
    feature : ndarray of shape (n_nodes,), int32
        Feature of each internal node.
    left_bins : ndarray of shape (n_nodes, 4), uint64
        Bins that go left, as in `Tree`.
    children : ndarray of shape (2, n_nodes), int64
        Places of the left and the right children.
    node_start, leaf_start : list of int, of length ``n_trees + 1``
        The nodes of tree ``t`` are ``node_start[t]:node_start[t + 1]``; the same for its leaves,
        counted from the first leaf.
    levels : list of ndarray of int64
        The internal nodes by their depth: the roots, their children that are no leaves, ...
    """

    feature: NDArray[np.int32]
    left_bins: NDArray[np.uint64]
    children: NDArray[np.int64]
    node_start: list[int]
    leaf_start: list[int]
    levels: list[NDArray[np.int64]]

    @property
    def n_nodes(self) -> int:
        """Number of internal nodes: the place of the first leaf."""
        return len(self.feature)

    @property
    def n_places(self) -> int:
        """Number of internal nodes and leaves."""
        return self.n_nodes + self.leaf_start[-1]


def lay_out(trees: Sequence[Tree]) -> Nodes:
    """Return the nodes of some trees, at least one.

    Raises
    ------
    InvalidParameterError
        Unless the children of each tree reach each of its nodes and leaves exactly once:
        LightGBM would read foreign memory or run for ever.
    """
    n_nodes = np.array([tree.n_nodes for tree in trees])
    n_leaves = np.array([tree.n_leaves for tree in trees])
    node_start = [0, *accumulate(n_nodes.tolist())]
    leaf_start = [0, *accumulate(n_leaves.tolist())]
    left = np.concatenate([tree.left for tree in trees])
    right = np.concatenate([tree.right for tree in trees])
    own = np.stack([left, right]).astype(np.int64)
    first_node = np.array(node_start[:-1])
    first_leaf = np.array(leaf_start[:-1]) + node_start[-1]
    children = np.where(
        own >= 0, own + np.repeat(first_node, n_nodes), ~own + np.repeat(first_leaf, n_nodes)
    )
    inside = (own < np.repeat(n_nodes, n_nodes)) & (~own < np.repeat(n_leaves, n_nodes))
    parents = np.bincount(children[inside], minlength=node_start[-1] + leaf_start[-1])
    parents[np.where(n_nodes > 0, first_node, first_leaf)] += 1
    whole = inside.all() and (parents == 1).all()
    levels = _levels(first_node[n_nodes > 0], children) if whole else []
    if sum(map(len, levels)) != node_start[-1]:
        raise InvalidParameterError(
            "The children of a tree must reach each of its nodes and leaves exactly once."
        )
    return Nodes(
        feature=np.concatenate([tree.feature for tree in trees]),
        left_bins=np.concatenate([tree.left_bins for tree in trees]),
        children=children,
        node_start=node_start,
        leaf_start=leaf_start,
        levels=levels,
    )


def _levels(roots: NDArray[np.int64], children: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the internal nodes by depth; ends because no node has two parents."""
    levels, level = [], roots
    while len(level):
        levels.append(level)
        below = children[:, level].ravel()
        level = below[below < children.shape[1]]
    return levels


def set_sizes(sets: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the number of bins in each set.

    Parameters
    ----------
    sets : ndarray of shape (n, 4), uint64

    Returns
    -------
    ndarray of shape (n,), int64
    """
    return np.unpackbits(sets.view(np.uint8), axis=1).sum(axis=1, dtype=np.int64)
