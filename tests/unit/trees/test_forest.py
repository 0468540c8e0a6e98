import numpy as np
import pytest

import dpboost.trees.forest as forest_module
from dpboost.trees.forest import Forest
from dpboost.trees.tree import SET_WORDS, Tree, threshold_sets
from tests.unit.binned_table import sparse_bins

IS_CATEGORICAL = np.array([False, True])


def stump(feature, split_bin, left, right):
    return Tree(
        feature=np.array([feature], np.int32),
        left_bins=threshold_sets(np.array([split_bin], np.uint8), IS_CATEGORICAL[[feature]]),
        left=np.array([~0], np.int32),
        right=np.array([~1], np.int32),
        leaf_value=np.array([left, right], np.int64),
    )


def constant(value):
    nothing = np.empty(0, np.int32)
    return Tree(
        feature=nothing,
        left_bins=np.empty((0, SET_WORDS), np.uint64),
        left=nothing,
        right=nothing,
        leaf_value=np.array([value], np.int64),
    )


def table(n_rows=200):
    random = np.random.default_rng(0)
    return random.integers(0, 6, (2, n_rows)).astype(np.uint8)


def scores_of(forest, bins, rows=None, first=None, **options):
    n_rows = bins.shape[1]
    scores = np.zeros(n_rows, np.int64)
    rows = np.arange(n_rows, dtype=np.int32) if rows is None else rows
    first = np.zeros(n_rows, np.int32) if first is None else first
    forest.add_to(scores, bins, rows, first, 1, **options)
    return scores


def test_many_trees_outgrow_the_arrays():
    bins = table()
    forest = Forest()
    expected = np.zeros(bins.shape[1], np.int64)
    for number in range(300):
        if number % 3 == 2:
            forest.append(constant(number))
            expected += number
        else:
            forest.append(stump(number % 2, number % 5, number, -7 * number))
            column, split_bin = bins[number % 2], number % 5
            left = column == split_bin if number % 2 else column <= split_bin
            expected += np.where(left, number, -7 * number)
    assert forest.n_trees == 300
    assert np.array_equal(scores_of(forest, bins), expected)


def test_each_row_gets_only_the_trees_it_misses():
    bins = table(60)
    forest = Forest()
    for number in range(8):
        forest.append(constant(10**number))
    first = (np.arange(60) % 9).astype(np.int32)
    expected = [sum(10**number for number in range(start, 8)) for start in first]
    assert scores_of(forest, bins, first=first).tolist() == expected


def test_rows_that_are_not_listed_are_left_out():
    bins = table(60)
    forest = Forest()
    for number in range(4):
        forest.append(constant(10**number))
    rows = np.array([3, 50], dtype=np.int32)
    scores = scores_of(forest, bins, rows)
    assert scores[rows].tolist() == [1111, 1111]
    assert np.count_nonzero(scores) == 2


@pytest.mark.parametrize("n_trees", [0, 1])
def test_a_forest_may_be_empty(n_trees):
    forest = Forest()
    for _ in range(n_trees):
        forest.append(constant(5))
    assert scores_of(forest, table(3)).tolist() == [5 * n_trees] * 3
    assert len(scores_of(forest, table(0))) == 0


@pytest.mark.parametrize("at_once", [1, 60 * 5, 1 << 26])
def test_sparse_bins_get_the_same_scores_in_blocks_of_trees(at_once, monkeypatch):
    monkeypatch.setattr(forest_module, "_BINS_AT_ONCE", at_once)
    bins = table(60)
    bins[:, ::3] = 0
    forest = Forest()
    for number in range(30):
        tree = constant(number) if number % 7 == 6 else stump(number % 2, number % 5, number, -1)
        forest.append(tree)
    first = (np.arange(60) % 31).astype(np.int32)
    rows = np.arange(1, 60, 2, dtype=np.int32)
    for options in ({}, {"first": first}, {"rows": rows, "first": first}):
        expected = scores_of(forest, bins, **options)
        assert np.array_equal(
            scores_of(forest, sparse_bins(bins, np.zeros(len(bins))), **options), expected
        )
    nobody = np.empty(0, dtype=np.int32)
    assert not scores_of(forest, sparse_bins(bins, np.zeros(len(bins))), rows=nobody).any()


def test_outputs_that_share_their_trees_share_the_walk():
    bins = table(1_000)
    first, second = stump(0, 2, 10, 20), stump(0, 2, -3, 5)
    forest = Forest.of([first, constant(1)], [second, constant(7)])
    scores = np.zeros((2, 1_000), np.int64)
    rows = np.arange(0, 1_000, 2, dtype=np.int32)
    forest.add_to(scores, bins, rows, np.zeros(1_000, np.int32), 2)
    left = bins[0] <= 2
    expected = np.array([np.where(left, 11, 21), np.where(left, 4, 12)])
    expected[:, 1::2] = 0
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("n_rows", [1, 256, 257, 20_000])
def test_small_and_large_tables_are_walked_alike(n_rows):
    random = np.random.default_rng(n_rows)
    bins = random.integers(0, 256, (3, n_rows), dtype=np.uint8)
    n_nodes = 300  # too many for a table of its own: a chain
    chain = Tree(
        feature=random.integers(0, 3, n_nodes).astype(np.int32),
        left_bins=random.integers(0, 2**64, (n_nodes, SET_WORDS), dtype=np.uint64),
        left=np.append(np.arange(1, n_nodes), ~n_nodes).astype(np.int32),
        right=~np.arange(n_nodes, dtype=np.int32),
        leaf_value=np.arange(n_nodes + 1),
    )
    forest = Forest()
    forest.append(chain)
    forest.append(stump(0, 2, 1_000, 2_000))
    found = scores_of(forest, bins)
    expected = np.empty(n_rows, np.int64)
    for row in range(min(n_rows, 500)):
        node = 0
        while node >= 0:
            b = int(bins[chain.feature[node], row])
            goes_left = int(chain.left_bins[node, b >> 6]) >> (b & 63) & 1
            node = int((chain.left if goes_left else chain.right)[node])
        expected[row] = ~node + (1_000 if bins[0, row] <= 2 else 2_000)
    np.testing.assert_array_equal(found[:500], expected[:500])
