import ctypes
import ctypes.util
import math
import sys

import numpy as np
import pytest

from dpboost._kernels import predict


class Forest:
    """Random trees in flat arrays, and a walk through them in plain Python."""

    def __init__(self, seed, n_trees, n_features, max_nodes):
        rng = np.random.default_rng(seed)
        node_start, leaf_start = [0], [0]
        left, right = [], []
        for tree in range(n_trees):
            n_nodes = 0 if tree % 3 == 1 else int(rng.integers(1, max_nodes + 1))
            children = self.grow(rng, n_nodes)
            left += [a for a, _ in children]
            right += [b for _, b in children]
            node_start.append(node_start[-1] + n_nodes)
            leaf_start.append(leaf_start[-1] + n_nodes + 1)
        self.node_start = np.array(node_start, dtype=np.int32)
        self.leaf_start = np.array(leaf_start, dtype=np.int32)
        self.left = np.array(left, dtype=np.int32)
        self.right = np.array(right, dtype=np.int32)
        self.feature = rng.integers(0, n_features, len(left)).astype(np.int32)
        self.left_bins = rng.integers(0, 2**64, (len(left), 4), dtype=np.uint64)
        self.leaf_value = rng.integers(-(1 << 40), 1 << 40, leaf_start[-1])

    @staticmethod
    def grow(rng, n_nodes):
        children = [[None, None] for _ in range(n_nodes)]
        for node in range(1, n_nodes):
            free = [(p, s) for p in range(node) for s in (0, 1) if children[p][s] is None]
            parent, side = free[rng.integers(len(free))]
            children[parent][side] = node
        leaves = iter(range(n_nodes + 1))
        return [[~next(leaves) if c is None else c for c in pair] for pair in children]

    def leaf(self, tree, bins, row):
        begin = self.node_start[tree]
        if begin == self.node_start[tree + 1]:
            return 0
        node = 0
        while node >= 0:
            f = self.feature[begin + node]
            word, bit = divmod(int(bins[f, row]), 64)
            goes_left = int(self.left_bins[begin + node, word]) >> bit & 1
            node = (self.left if goes_left else self.right)[begin + node]
        return ~node

    def add(self, bins, rows, first_tree, last_tree, scores, n_threads, *, compact=False):
        predict.add_trees(
            bins,
            rows,
            first_tree,
            last_tree,
            self.node_start,
            self.leaf_start,
            self.feature,
            self.left_bins,
            self.left,
            self.right,
            self.leaf_value[np.newaxis],
            scores[np.newaxis],
            n_threads,
            compact,
        )

    def leaves(self, bins, rows, tree, n_threads):
        out = np.full(len(rows), -1, dtype=np.int32)
        predict.leaf_indices(
            bins,
            rows,
            tree,
            self.node_start,
            self.feature,
            self.left_bins,
            self.left,
            self.right,
            out,
            n_threads,
        )
        return out


@pytest.mark.parametrize("n_threads", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("n_rows", "n_trees", "max_nodes"), [(700, 7, 20), (1100, 4, 1), (30, 2, 200), (5, 0, 1)]
)
def test_scores_and_leaves_agree_with_a_walk_in_python(n_rows, n_trees, max_nodes, n_threads):
    rng = np.random.default_rng(n_rows)
    forest = Forest(n_rows, n_trees, 6, max_nodes)
    bins = rng.integers(0, 256, (6, n_rows), dtype=np.uint8)
    rows = rng.permutation(n_rows)[: n_rows * 9 // 10].astype(np.int32)
    first_tree = rng.integers(0, n_trees + 1, n_rows, dtype=np.int32)
    last_tree = max(0, n_trees - 1)
    before = rng.integers(-(1 << 60), 1 << 60, n_rows)
    expected = before.copy()
    for row in rows:
        for tree in range(first_tree[row], last_tree):
            leaf = forest.leaf(tree, bins, row)
            expected[row] += forest.leaf_value[forest.leaf_start[tree] + leaf]
    scores = before.copy()
    forest.add(bins, rows, first_tree, last_tree, scores, n_threads)
    np.testing.assert_array_equal(scores, expected)
    for tree in range(n_trees):
        wanted = [forest.leaf(tree, bins, row) for row in rows]
        np.testing.assert_array_equal(forest.leaves(bins, rows, tree, n_threads), wanted)


def runs_of_bins(rng, n):
    """Sets of neighboring bins, most of them thresholds, whole words and all bins among them."""
    first = rng.integers(0, 256, n) * (rng.random(n) < 0.5)
    last = np.maximum(first, rng.integers(0, 256, n))
    first[:4], last[:4] = (0, 64, 0, 255), (255, 127, 63, 255)
    bins = np.arange(256)
    inside = (first[:, np.newaxis] <= bins) & (bins <= last[:, np.newaxis])
    return np.packbits(inside, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def other_sets(forest):
    """Leave one bin out, or all of them."""
    forest.left_bins[5] = [5, 0, 0, 0]
    forest.left_bins[-1] = [1 << 63, 0, 1, 0]
    forest.left_bins[-3] = 0


def backwards(forest):
    """Number the nodes below the root from the last one up, so that parents follow children."""
    for begin, end in zip(forest.node_start[:-1], forest.node_start[1:], strict=True):
        own = slice(begin, end)
        order = np.append(0, np.arange(end - begin - 1, 0, -1))[: end - begin]
        for side in (forest.left, forest.right):
            moved = np.where(side[own] > 0, end - begin - side[own], side[own])
            side[own] = moved[order]
        forest.feature[own], forest.left_bins[own] = (
            forest.feature[own][order],
            forest.left_bins[own][order],
        )


@pytest.mark.parametrize("change", [None, other_sets, backwards])
@pytest.mark.parametrize("first", ["nobody", "some"])
@pytest.mark.parametrize(
    ("n_rows", "first_row"), [(16, 2), (17, 2), (256, 0), (257, 3), (1_000, 700)]
)
def test_neighboring_rows_find_the_leaves_that_each_finds_alone(n_rows, first_row, first, change):
    rng = np.random.default_rng(n_rows + first_row)
    n_trees = 12
    forest = Forest(n_rows, n_trees, 6, 130)
    forest.left_bins = runs_of_bins(rng, len(forest.feature))
    if change:
        change(forest)
    bins = rng.integers(0, 256, (6, first_row + n_rows), dtype=np.uint8)
    rows = np.arange(first_row, first_row + n_rows, dtype=np.int32)
    first_tree = np.zeros(bins.shape[1], dtype=np.int32)
    if first == "some":
        first_tree = rng.integers(0, n_trees + 1, bins.shape[1], dtype=np.int32)
    scores = np.zeros(bins.shape[1], dtype=np.int64)
    forest.add(bins, rows, first_tree, n_trees, scores, 2)
    one_by_one = np.zeros_like(scores)
    for row in rows:
        forest.add(bins, rows[row - first_row :][:1], first_tree, n_trees, one_by_one, 1)
    np.testing.assert_array_equal(scores, one_by_one)
    assert len(np.unique(scores)) > n_rows // 2


@pytest.mark.parametrize("mirrored", [False, True])
def test_one_child_in_front_of_its_parent_is_enough_to_go_alone(mirrored):
    """Node 2 has node 1 on one side and leaves elsewhere: a walk from the back would miss it."""
    forest = Forest(0, 1, 3, 1)
    inner, outer = np.array([2, ~2, 1], np.int32), np.array([~0, ~3, ~1], np.int32)
    forest.left, forest.right = (inner, outer) if mirrored else (outer, inner)
    forest.feature = np.arange(3, dtype=np.int32)
    forest.left_bins = np.array([[2**40 - 1, 0, 0, 0]] * 3, dtype=np.uint64)
    forest.leaf_value = np.array([1, 10, 100, 1000])
    forest.node_start, forest.leaf_start = np.array([[0, 3], [0, 4]], dtype=np.int32)
    bins = np.random.default_rng(0).integers(0, 80, (3, 50), dtype=np.uint8)
    rows, nothing = np.arange(50, dtype=np.int32), np.zeros(50, dtype=np.int32)
    scores = np.zeros(50, dtype=np.int64)
    forest.add(bins, rows, nothing, 1, scores, 1)
    expected = [10 ** forest.leaf(0, bins, row) for row in rows]
    assert scores.tolist() == expected
    assert len(set(expected)) == 4


def any_bins(rng, n):
    """Sets of any bins, all and none among them."""
    sets = rng.integers(0, 2**64, (n, 4), dtype=np.uint64)
    sets[::5], sets[1::7] = 0, 2**64 - 1
    return sets


def bins_of_a_narrow_feature(rng, n):
    """Thresholds among the first bins, with or without a missing bin: rows go beyond it."""
    border, missing = rng.integers(0, 69, n), rng.random(n) < 0.5
    bins = np.arange(256)
    inside = (bins <= border[:, np.newaxis]) | ((bins == 70) & missing[:, np.newaxis])
    return np.packbits(inside, axis=1, bitorder="little").view("<u8").astype(np.uint64)


@pytest.mark.parametrize("sets", [any_bins, bins_of_a_narrow_feature, runs_of_bins])
@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 7, 17, 64, 65])
@pytest.mark.parametrize("n_nodes", [1, 15, 32, 62, 63, 64, 127, 128, 191, 192, 255, 256])
def test_every_row_finds_the_leaf_of_its_own_walk(n_nodes, n_features, sets):
    """Around the limits of words and of features of the sets of leaves."""
    rng = np.random.default_rng(n_nodes * n_features)
    forest = Forest(0, 1, 1, 1)
    children = np.array(Forest.grow(rng, n_nodes), dtype=np.int32)
    forest.left, forest.right = np.ascontiguousarray(children.T)
    forest.node_start, forest.leaf_start = np.array([[0, n_nodes], [0, n_nodes + 1]], np.int32)
    forest.feature = rng.permutation(np.arange(n_nodes, dtype=np.int32) % n_features)
    forest.left_bins = sets(rng, max(n_nodes, 8))[:n_nodes].copy()
    forest.leaf_value = rng.permutation(n_nodes + 1)
    for n_rows in (17, n_nodes + 1, 1_025):
        bins = rng.integers(0, 256, (n_features, n_rows), dtype=np.uint8)
        bins[:, : n_rows // 2] %= 72
        rows, nothing = np.arange(n_rows, dtype=np.int32), np.zeros(n_rows, dtype=np.int32)
        scores = np.zeros(n_rows, dtype=np.int64)
        forest.add(bins, rows, nothing, 1, scores, 1)
        expected = forest.leaf_value[forest.leaves(bins, rows, 0, 1)]
        np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("max_nodes", [130, 300])
@pytest.mark.parametrize("n_rows", [10, 200, 1_000, 40_000])
def test_bins_of_the_selected_rows_alone_do_as_well(n_rows, max_nodes):
    rng = np.random.default_rng(n_rows)
    forest = Forest(n_rows, 9, 6, max_nodes)
    forest.left_bins = runs_of_bins(rng, len(forest.feature))
    bins = rng.integers(0, 256, (6, n_rows), dtype=np.uint8)
    rows = rng.permutation(n_rows)[: n_rows * 9 // 10].astype(np.int32)
    first_tree = rng.integers(0, 10, n_rows, dtype=np.int32)
    expected, found = np.zeros((2, n_rows), dtype=np.int64)
    forest.add(bins, rows, first_tree, 9, expected, 1)
    forest.add(bins[:, rows].copy(), rows, first_tree, 9, found, 2, compact=True)
    np.testing.assert_array_equal(found, expected)


def test_lazy_updates_equal_one_update():
    rng = np.random.default_rng(3)
    forest = Forest(3, 9, 4, 15)
    bins = rng.integers(0, 256, (4, 400), dtype=np.uint8)
    rows = np.arange(400, dtype=np.int32)
    at_once = np.zeros(400, dtype=np.int64)
    forest.add(bins, rows, np.zeros(400, dtype=np.int32), 9, at_once, 2)
    lazy, first_tree = np.zeros(400, dtype=np.int64), np.zeros(400, dtype=np.int32)
    for last_tree in (2, 3, 7, 9):
        some = np.sort(rng.choice(400, 150, replace=False)).astype(np.int32)
        forest.add(bins, some, first_tree, last_tree, lazy, 1)
        first_tree[some] = last_tree
    forest.add(bins, rows, first_tree, 9, lazy, 1)
    np.testing.assert_array_equal(lazy, at_once)


def test_no_rows_leave_scores_alone():
    forest = Forest(1, 3, 2, 5)
    scores = np.arange(4)
    forest.add(
        np.zeros((2, 4), dtype=np.uint8),
        np.zeros(0, dtype=np.int32),
        np.zeros(4, dtype=np.int32),
        3,
        scores,
        2,
    )
    assert scores.tolist() == [0, 1, 2, 3]


def test_logistic_uses_the_exp_of_the_c_library():
    raw = np.concatenate([np.random.default_rng(0).normal(0, 8, 3000), [0.0, -800, 800, math.inf]])
    out = np.empty_like(raw)
    predict.logistic(raw, out)
    # The library of the kernel itself: a name of Unix, and what Windows has in its place.
    library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else ctypes.util.find_library("m"))
    library.exp.restype, library.exp.argtypes = ctypes.c_double, [ctypes.c_double]
    expected = [1.0 / (1.0 + library.exp(-value)) for value in raw]
    assert out.tolist() == expected
    predict.logistic(raw, raw)
    assert raw.tolist() == expected
