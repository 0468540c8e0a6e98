"""Sets of bins as bits."""

import numpy as np

from dpboost.trees.tree import SET_WORDS, Tree, pack_sets, threshold_sets


def tree(left_bins):
    n_nodes = len(left_bins)
    return Tree(
        feature=np.zeros(n_nodes, np.int32),
        left_bins=left_bins,
        left=np.arange(1, n_nodes + 1, dtype=np.int32),
        right=np.full(n_nodes, -1, np.int32),
        leaf_value=np.zeros(n_nodes + 1, np.int64),
    )


def bits(number):
    return {b for b in range(64 * SET_WORDS) if number >> b & 1}


def test_thresholds_take_all_bins_up_to_theirs_and_categories_take_one():
    bins = [0, 1, 63, 64, 127, 128, 200, 254, 255]
    for is_categorical in (False, True):
        flags = np.full(len(bins), is_categorical)
        built = tree(threshold_sets(np.array(bins, np.uint8), flags))
        for last, found in zip(bins, built.sets(), strict=True):
            assert bits(found) == ({last} if is_categorical else set(range(last + 1)))


def test_packing_keeps_every_flag():
    inside = np.random.default_rng(0).random((50, 256)) < 0.4
    packed = pack_sets(inside)
    assert packed.dtype == np.uint64
    assert packed.shape == (50, SET_WORDS)
    for row, found in zip(inside, tree(packed).sets(), strict=True):
        assert bits(found) == set(np.flatnonzero(row).tolist())


def test_a_tree_has_one_leaf_more_than_nodes():
    built = tree(threshold_sets(np.array([3, 4], np.uint8), np.array([False, True])))
    assert (built.n_nodes, built.n_leaves) == (2, 3)
    assert tree(np.empty((0, SET_WORDS), np.uint64)).sets() == []
