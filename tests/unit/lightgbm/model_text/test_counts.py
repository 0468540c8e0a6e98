"""Row counts written for LightGBM's tools."""

import numpy as np
import pytest

from dpboost.lightgbm.model_text.trees import GRID_TOTAL, lay_out, leaf_counts
from dpboost.trees.ensemble import Ensemble
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


def counts_of(trees, bins, n_rows=None):
    """Return the counts of each tree's leaves, made for all trees at once."""
    nodes = lay_out(trees)
    ensemble = Ensemble(
        trees=tuple(trees), binner=bins, start=(0.0,), unit=1.0, objective="", n_rows=n_rows
    )
    counts = leaf_counts(ensemble, trees, nodes)
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
        assert sum(counts) == GRID_TOTAL
        assert np.abs(np.array(counts) - GRID_TOTAL * shares(tree, bins)).max() <= 40


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
    assert sum(counts) == 2**31 - 1
    assert abs(counts[0] - counts[1]) == 1


def test_trees_with_and_without_counts_stand_side_by_side(tools):
    bins = tools.Bins([{"edges": [1.0]}])
    trees = [chain([]), chain([(0, 0)], counts=[5, -6]), chain([(0, 0)])]
    whole, released, shared = counts_of(trees, bins)
    assert (whole, released, sum(shared)) == ([GRID_TOTAL], [5, 1], GRID_TOTAL)
    assert abs(shared[0] - GRID_TOTAL / 3) < 2


@pytest.mark.parametrize("n_rows", [1.0, 7.4, 3000.0, 3000.6, 2.0**31, 1e300])
@pytest.mark.parametrize("seed", range(3))
def test_counts_add_up_to_the_released_rows(tools, seed, n_rows):
    rng = np.random.default_rng(seed)
    bins = tools.bins(rng)
    trees = [tools.tree(rng, bins, n, size=1, counts=True) for n in (40, 1, 3, 600)]
    for tree, counts in zip(trees, counts_of(trees, bins, n_rows), strict=True):
        total = max(min(round(n_rows), 2**31 - 1), tree.n_leaves)
        assert (sum(counts), min(counts) >= 1) == (total, True)
        weights = np.maximum(tree.leaf_count, 1) - 1
        exact = 1 + (total - tree.n_leaves) * weights / max(weights.sum(), 1)
        if weights.any():
            assert np.abs(np.array(counts) - exact).max() <= 1 + 1e-6 * total


def test_rows_of_leaves_without_weight_are_divided_equally(tools):
    tree = chain([(0, 0), (0, 1)], counts=[-5, 0, 0])
    assert counts_of([tree], tools.Bins([{"edges": [1.0]}]), 300.0) == [[100, 100, 100]]


def test_a_tree_without_released_weights_keeps_its_shares(tools):
    """Where a number of rows is known, but not of this tree's leaves, nothing is made up."""
    tree = chain([(0, 0)])
    (counts,) = counts_of([tree], tools.Bins([{"edges": [1.0]}]), 300.0)
    assert sum(counts) == GRID_TOTAL
