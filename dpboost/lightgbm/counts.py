"""Row counts for LightGBM's tools: released ones, or shares of the public bin grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpboost.lightgbm.nodes import Nodes, set_sizes
from dpboost.tree.structure import SET_WORDS, threshold_sets

if TYPE_CHECKING:
    from dpboost.data.binner import Binner
    from dpboost.tree.structure import Tree

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
    if all(tree.leaf_count is None for tree in trees):
        return grid_counts(nodes, binner)
    if any(tree.leaf_count is None for tree in trees):
        counts = grid_counts(nodes, binner)
    else:
        counts = np.empty(nodes.leaf_start[-1], dtype=np.int64)
    for tree, start, stop in zip(trees, nodes.leaf_start, nodes.leaf_start[1:], strict=False):
        if tree.leaf_count is not None:
            counts[start:stop] = tree.leaf_count
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
    n_nodes, n_features = nodes.n_nodes, len(binner.n_bins)
    # The missing bin is the last of a feature, so all its bins are those up to it.
    all_bins = threshold_sets(binner.n_bins.astype(np.uint8), np.zeros(n_features, dtype=bool))
    before = _splits_before(nodes)
    # The bins that each node sends to the left, and behind them those that it sends to the right.
    sent = np.empty((2 * n_nodes, SET_WORDS), dtype=np.uint64)
    share = np.ones(nodes.n_places)
    for level in nodes.levels:
        reach = all_bins[nodes.feature[level]]
        again = before[level] >= 0
        reach[again] = sent[before[level[again]]]
        sent[level] = reach & nodes.left_bins[level]
        sent[n_nodes + level] = reach & ~nodes.left_bins[level]
        width, left_width = set_sizes(reach), set_sizes(sent[level])
        for side, part in enumerate((left_width, width - left_width)):
            share[nodes.children[side, level]] = share[level] * part / np.maximum(width, 1)
    return np.maximum((share[n_nodes:] * GRID_TOTAL).astype(np.int64), 1)


def _splits_before(nodes: Nodes) -> NDArray[np.int64]:
    """Return for each node the nearest split above on the same feature, -1 where there is none.

    A split of node ``v`` is ``v`` when the path goes left there, ``n_nodes + v`` when right.
    """
    n_nodes = nodes.n_nodes
    above = np.full(nodes.n_places, -1)
    above[nodes.children.ravel()] = np.arange(2 * n_nodes)
    before = np.full(n_nodes, -1)
    searching = np.arange(n_nodes)
    split = above[:n_nodes]
    while len(searching):
        going_on = split >= 0
        searching, split = searching[going_on], split[going_on]
        same = nodes.feature[split % n_nodes] == nodes.feature[searching]
        before[searching[same]] = split[same]
        searching, split = searching[~same], above[split[~same] % n_nodes]
    return before
