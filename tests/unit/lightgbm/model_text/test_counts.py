"""Row counts written for LightGBM's tools."""

from __future__ import annotations

import numpy as np
import pytest

from dpboost.lightgbm.model_text.counts import GRID_TOTAL, leaf_counts
from dpboost.lightgbm.model_text.nodes import lay_out
from dpboost.trees.tree import Tree, threshold_sets


def chain(splits, n_leaves=None, counts=None):
    """Return a tree whose right children go on; feature 1 is categorical."""
    n = len(splits)
    right = [*range(1, n), ~n] if n else []
    return Tree(
        feature=np.array([f for f, _ in splits], dtype=np.int32),
        left_bins=threshold_sets(
            np.array([b for _, b in splits], dtype=np.uint8),
            np.array([f == 1 for f, _ in splits], dtype=bool),
        ),
        left=np.array([~i for i in range(n)], dtype=np.int32),
        right=np.array(right, dtype=np.int32),
        leaf_value=np.zeros(n + 1, dtype=np.int64),
        leaf_count=None if counts is None else np.array(counts),
    )


def counts_of(trees, bins):
    """Return the counts of each tree's leaves, made for all trees at once."""
    nodes = lay_out(trees)
    counts = leaf_counts(trees, nodes, bins)
    assert counts.dtype == np.int64
    return [part.tolist() for part in np.split(counts, nodes.leaf_start[1:-1])]


def test_grid_counts_are_shares_of_cells(tools):
    # 4 value bins and the missing one; 3 categories and the other one.
    bins = tools.Bins([{"edges": [1.0, 2.0, 3.0]}, {"codes": [5, 7, 9]}])
    tree = chain([(0, 1), (1, 2), (0, 2), (0, 3)])
    cells = np.array([2 * 4, 3 * 1, 1 * 3, 1 * 3, 1 * 3]) / 20
    np.testing.assert_allclose(counts_of([tree], bins)[0], cells * GRID_TOTAL, atol=1)


def test_empty_regions_count_one(tools):
    bins = tools.Bins([{"edges": [1.0, 2.0, 3.0]}])
    (counts,) = counts_of([chain([(0, 1), (0, 0), (0, 1)])], bins)
    np.testing.assert_allclose(counts[::3], np.array([0.4, 0.6]) * GRID_TOTAL, atol=1)
    assert counts[1:3] == [1, 1]


def test_one_leaf_holds_the_whole_grid(tools):
    assert counts_of([chain([])], tools.Bins([{"edges": []}])) == [[GRID_TOTAL]]


@pytest.mark.parametrize("seed", range(5))
def test_random_trees_share_the_grid(tools, seed):
    rng = np.random.default_rng(seed)
    bins = tools.bins(rng)
    trees = [tools.tree(rng, bins, n, size=1, counts=False) for n in (40, 1, 40, 7)]
    for tree, counts in zip(trees, counts_of(trees, bins), strict=True):
        assert min(counts) >= 1
        assert abs(sum(counts) - GRID_TOTAL) <= 40
        assert np.abs(np.array(counts) - GRID_TOTAL * shares(tree, bins)).max() <= 1


def shares(tree, bins):
    """Return the leaves' shares of the grid by walking down with the bins of every feature."""
    found = np.zeros(tree.n_leaves)

    def walk(node, reach):
        if node < 0:
            sizes = [len(left) / (n + 1) for left, n in zip(reach, bins.n_bins, strict=True)]
            found[~node] = np.prod(sizes)
            return
        f, left_bins = int(tree.feature[node]), tree.sets()[node]
        for child, side in ((tree.left[node], 1), (tree.right[node], 0)):
            part = {b for b in reach[f] if left_bins >> b & 1 == side}
            walk(int(child), [*reach[:f], part, *reach[f + 1 :]])

    walk(0 if tree.n_nodes else -1, [set(range(n + 1)) for n in bins.n_bins])
    return found


def test_released_counts_are_kept_and_at_least_one(tools):
    tree = chain([(0, 0), (0, 1)], counts=[-7, 0, 12])
    assert counts_of([tree], tools.Bins([{"edges": [1.0]}])) == [[1, 1, 12]]


def test_released_counts_fit_into_int32(tools):
    small = chain([(0, 0)], counts=[5, 6])
    large = chain([(0, 0), (0, 1)], counts=[2**40, -1, 2**39])
    first, counts, last = counts_of([small, large, small], tools.Bins([{"edges": [1.0]}]))
    assert first == last == [5, 6]
    assert min(counts) == 1
    assert 2**31 - 5 < sum(counts) < 2**31
    assert abs(counts[0] / counts[2] - 2) < 1e-6


def test_the_largest_total_is_kept_as_it_is(tools):
    bins = tools.Bins([{"edges": [1.0]}])
    assert counts_of([chain([(0, 0)], counts=[2**31 - 3, 2])], bins) == [[2**31 - 3, 2]]
    (counts,) = counts_of([chain([(0, 0)], counts=[2**31 - 2, 2])], bins)
    assert sum(counts) < 2**31
    (counts,) = counts_of([chain([(0, 0)], counts=[2**63 - 1, 2**63 - 1])], bins)
    assert counts == [2**30 - 2, 2**30 - 2]


def test_trees_with_and_without_counts_stand_side_by_side(tools):
    bins = tools.Bins([{"edges": [1.0]}])
    trees = [chain([]), chain([(0, 0)], counts=[5, -6]), chain([(0, 0)])]
    third = GRID_TOTAL // 3
    assert counts_of(trees, bins) == [[GRID_TOTAL], [5, 1], [third, 2 * third]]
