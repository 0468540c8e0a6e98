"""Row counts written for LightGBM's tools."""

from __future__ import annotations

import numpy as np
import pytest

from dpboost.lightgbm.counts import GRID_TOTAL, grid_counts, leaf_counts
from dpboost.tree.structure import Tree, threshold_sets


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


def test_grid_counts_are_shares_of_cells(tools):
    # 4 value bins and the missing one; 3 categories and the other one.
    bins = tools.Bins([{"edges": [1.0, 2.0, 3.0]}, {"codes": [5, 7, 9]}])
    tree = chain([(0, 1), (1, 2), (0, 2), (0, 3)])
    cells = np.array([2 * 4, 3 * 1, 1 * 3, 1 * 3, 1 * 3]) / 20
    np.testing.assert_allclose(grid_counts(tree, bins), cells * GRID_TOTAL, atol=1)


def test_empty_regions_count_one(tools):
    bins = tools.Bins([{"edges": [1.0, 2.0, 3.0]}])
    counts = grid_counts(chain([(0, 1), (0, 0), (0, 1)]), bins)
    np.testing.assert_allclose(counts[::3], np.array([0.4, 0.6]) * GRID_TOTAL, atol=1)
    assert counts[1:3] == [1, 1]


def test_one_leaf_holds_the_whole_grid(tools):
    assert grid_counts(chain([]), tools.Bins([{"edges": []}])) == [GRID_TOTAL]


@pytest.mark.parametrize("seed", range(5))
def test_random_trees_share_the_grid(tools, seed):
    rng = np.random.default_rng(seed)
    bins = tools.bins(rng)
    tree = tools.tree(rng, bins, 40, size=1, counts=False)
    counts = leaf_counts(tree, bins)
    assert min(counts) >= 1
    assert abs(sum(counts) - GRID_TOTAL) <= 40


def test_released_counts_are_kept_and_at_least_one(tools):
    tree = chain([(0, 0), (0, 1)], counts=[-7, 0, 12])
    assert leaf_counts(tree, tools.Bins([{"edges": [1.0]}])) == [1, 1, 12]


def test_released_counts_fit_into_int32(tools):
    tree = chain([(0, 0), (0, 1)], counts=[2**40, -1, 2**39])
    counts = leaf_counts(tree, tools.Bins([{"edges": [1.0]}]))
    assert min(counts) == 1
    assert 2**31 - 5 < sum(counts) < 2**31
    assert abs(counts[0] / counts[2] - 2) < 1e-6
