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
    from dpboost.trees.ensemble import Ensemble
    from dpboost.trees.tree import Tree

#: Counts of a tree without released rows add up to this: a leaf's share in parts per billion.
GRID_TOTAL = 10**9
#: LightGBM sums counts as int32.
LARGEST_TOTAL = 2**31 - 1


def leaf_counts(ensemble: Ensemble, trees: Sequence[Tree], nodes: Nodes) -> NDArray[np.int64]:
    """Return a positive count for each leaf; LightGBM can hold the total of every tree.

    SHAP values weigh the two branches of a node by these counts and need them positive.

    Parameters
    ----------
    ensemble : Ensemble
        With the public bins, and the released number of rows where there is one.
    trees : sequence of Tree
        Released trees, at least one.
    nodes : Nodes
        Their layout.

    Returns
    -------
    ndarray of shape (n_leaves,), int64
        Tree by tree: the released number of rows, divided in proportion to what the leaves have
        released; where no number of rows is released, the sum of what they have. A tree without
        either has each leaf's share of the cells of the bin grid, in parts per billion. A leaf
        counts for at least 1, and a tree for at least its leaves.

    Privacy
    -------
    Post-processing of released counts, or a function of the released splits and the public bins.
    """
    starts = nodes.leaf_start[:-1]
    bare = np.array([tree.leaf_count is None for tree in trees])
    weights = np.empty(nodes.n_leaves)
    if bare.any():
        weights[:] = _grid_shares(nodes, ensemble.binner)
    for tree, low, high in zip(trees, starts, nodes.leaf_start[1:], strict=True):
        if tree.leaf_count is not None:
            # What is more than one: every leaf has that one.
            weights[low:high] = np.maximum(tree.leaf_count, 1) - 1
    sums = np.add.reduceat(weights, starts)
    sizes = np.diff(nodes.leaf_start)
    of_rows = sums + sizes if ensemble.n_rows is None else np.full(len(trees), ensemble.n_rows)
    totals = np.where(bare, float(GRID_TOTAL), of_rows)
    return _divided(np.minimum(totals, LARGEST_TOTAL), weights, sums, nodes)


def _divided(
    totals: NDArray[np.float64],
    weights: NDArray[np.float64],
    sums: NDArray[np.float64],
    nodes: Nodes,
) -> NDArray[np.int64]:
    """Divide a whole number for each tree among its leaves: one for each, the rest by weight."""
    sizes = np.diff(nodes.leaf_start)
    tree_of = np.repeat(np.arange(len(sizes)), sizes)
    rest = np.maximum(np.rint(totals) - sizes, 0.0)
    some = sums > 0
    # Leaves of no weight at all have equal parts.
    share = np.where(some[tree_of], weights, 1.0) / np.where(some, sums, sizes)[tree_of]
    first, last = nodes.leaf_start[:-1], nodes.leaf_start[1:] - 1
    reached = np.cumsum(share)
    reached -= np.concatenate([[0.0], reached[last[:-1]]])[tree_of]
    # Whole numbers between what is reached with each leaf, so that a tree's add up to its total.
    whole = np.minimum(np.floor(reached * rest[tree_of] + 0.5), rest[tree_of])
    whole[last] = rest
    parts = np.diff(whole, prepend=0.0)
    parts[first] = whole[first]
    return 1 + parts.astype(np.int64)


def _grid_shares(nodes: Nodes, binner: Binner) -> NDArray[np.float64]:
    """Return each leaf's share of the public bin grid.

    A cell of the grid is one bin of every feature, the missing bin included; all cells weigh
    the same.
    """
    reach = np.empty((nodes.n_nodes, SET_WORDS), dtype=np.uint64)
    # The last one is the whole grid, for trees of one leaf: their position is -1.
    share = np.ones(2 * nodes.n_nodes + 1)
    forest_walk.share_grid(
        nodes.order,
        nodes.node_position,
        nodes.feature,
        nodes.left_bins,
        binner.n_bins,
        reach,
        share,
    )
    return share[nodes.leaf_position]
