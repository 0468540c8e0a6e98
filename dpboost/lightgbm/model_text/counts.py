"""Row counts for LightGBM's tools: released ones, or shares of the public bin grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import forest_walk
from dpboost.lightgbm.model_text.nodes import Nodes
from dpboost.trees.tree import SET_WORDS

if TYPE_CHECKING:
    from dpboost.data.binner import Binner
    from dpboost.trees.tree import Tree

#: Pseudo counts of a tree add up to about this: a leaf's count is its share in parts per billion.
GRID_TOTAL = 10**9
#: LightGBM sums counts as int32.
LARGEST_TOTAL = 2**31 - 1


def leaf_counts(trees: Sequence[Tree], nodes: Nodes, binner: Binner) -> NDArray[np.int64]:
    """Return a positive count for each leaf; LightGBM can hold the total of every tree.

    SHAP values weigh the two branches of a node by these counts and need them positive.

    Parameters
    ----------
    trees : sequence of Tree
        Released trees, at least one.
    nodes : Nodes
        Their layout.
    binner : Binner
        The public bins.

    Returns
    -------
    ndarray of shape (n_leaves,), int64
        Tree by tree: released counts, at least 1; in a tree without them each leaf's share of
        the cells of the bin grid.

    Privacy
    -------
    Post-processing of released counts, or a function of the released splits and the public bins.
    """
    released = [tree.leaf_count for tree in trees if tree.leaf_count is not None]
    if not released:
        return grid_counts(nodes, binner)
    if len(released) < len(trees):
        shares = np.split(grid_counts(nodes, binner), nodes.leaf_start[1:-1])
        released = [
            share if tree.leaf_count is None else tree.leaf_count
            for tree, share in zip(trees, shares, strict=True)
        ]
    counts = np.concatenate(released, out=np.empty(nodes.n_leaves, dtype=np.int64))
    np.maximum(counts, 1, out=counts)
    # As floats the totals cannot overflow, and around the bound they are exact.
    totals = np.add.reduceat(counts.astype(np.float64), nodes.leaf_start[:-1])
    for number in np.flatnonzero(totals > LARGEST_TOTAL).tolist():
        tree_leaves = slice(nodes.leaf_start[number], nodes.leaf_start[number + 1])
        counts[tree_leaves] = _shrunk(counts[tree_leaves].tolist())
    return counts


def _shrunk(counts: Sequence[int]) -> list[int]:
    """Return counts in proportion, whose total LightGBM can hold."""
    total, shrink = sum(counts), LARGEST_TOTAL - len(counts)
    return [max(1, count * shrink // total) for count in counts]


def grid_counts(nodes: Nodes, binner: Binner) -> NDArray[np.int64]:
    """Return each leaf's share of the public bin grid, in parts per billion, at least 1.

    A cell of the grid is one bin of every feature, the missing bin included; all cells weigh
    the same.
    """
    reach = np.empty((nodes.n_nodes, SET_WORDS), dtype=np.uint64)
    # The last one is the whole grid, for trees of one leaf: their place is -1.
    share = np.ones(2 * nodes.n_nodes + 1)
    forest_walk.share_grid(
        nodes.order, nodes.node_place, nodes.feature, nodes.left_bins, binner.n_bins, reach, share
    )
    return np.maximum((share[nodes.leaf_place] * GRID_TOTAL).astype(np.int64), 1)
