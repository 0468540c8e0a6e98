"""Random trees: one tree, legal sets of bins, and a table that says what walking says."""

import itertools

import numpy as np
import pytest

from dpboost._kernels import random_partition

NUMBER, ONE_CATEGORY, SUBSET, ORDERED = range(4)


class Grown:
    """A random tree as Python objects."""

    def __init__(self, n_bins, kinds, depth, seed, order=None):
        self.n_bins = n_bins
        words = np.random.default_rng(seed).integers(0, 2**64, 8 * 2**depth, dtype=np.uint64)
        if order is None:
            order = np.tile(np.arange(256, dtype=np.uint8), (len(n_bins), 1))
        feature, left, right, left_bins, self.steps, self.entries = random_partition.grow(
            np.arange(len(n_bins), dtype=np.int32),
            np.array(n_bins, np.int32),
            np.array(kinds, np.uint8),
            order,
            np.arange(len(n_bins), dtype=np.int32),
            depth,
            words,
        )
        self.n_leaves = len(feature) + 1
        self.feature, self.left, self.right = feature.tolist(), left.tolist(), right.tolist()
        bits = np.unpackbits(left_bins.view(np.uint8), axis=1, bitorder="little")
        self.sets = [set(np.flatnonzero(row).tolist()) for row in bits]

    def leaf(self, bins):
        return self.entries[sum(self.steps[f, b] for f, b in enumerate(bins))]

    def walk(self, bins):
        node = 0 if self.feature else ~0
        while node >= 0:
            goes_left = bins[self.feature[node]] in self.sets[node]
            node = (self.left if goes_left else self.right)[node]
        return ~node


CASES = [
    ([6], [NUMBER]),
    ([9], [SUBSET]),
    ([255], [NUMBER]),
    ([255], [SUBSET]),
    ([1], [NUMBER]),
    ([5, 1], [NUMBER, ONE_CATEGORY]),
    ([6, 7], [ORDERED, NUMBER]),
    ([4, 5, 3], [NUMBER, ONE_CATEGORY, SUBSET]),
    ([64, 2, 1], [SUBSET, ORDERED, NUMBER]),
    ([1, 1, 1], [NUMBER, NUMBER, ORDERED]),
]
DEPTHS = [0, 1, 2, 3, 5, 8]


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(("n_bins", "kinds"), CASES)
def test_the_table_says_what_walking_says(n_bins, kinds, depth):
    tree = Grown(n_bins, kinds, depth, seed=depth)
    for bins in itertools.product(*[range(n + 1) for n in n_bins]):
        assert tree.leaf(bins) == tree.walk(bins)
    # No split is void: each leaf is the leaf of some combination of bins.
    assert set(tree.entries.tolist()) == set(range(tree.n_leaves))
    assert not tree.steps[len(n_bins) :].any()


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(("n_bins", "kinds"), CASES)
def test_children_form_one_tree_of_the_asked_depth(n_bins, kinds, depth):
    tree = Grown(n_bins, kinds, depth, seed=depth + 50)
    children = tree.left + tree.right
    assert sorted(child for child in children if child >= 0) == list(range(1, tree.n_leaves - 1))
    leaves = sorted(~child for child in children if child < 0)
    assert leaves == (list(range(tree.n_leaves)) if tree.feature else [])
    level = {0: 1}
    for node in range(len(tree.feature)):
        for child in (tree.left[node], tree.right[node]):
            assert child < 0 or child > node
            level[child] = level[node] + 1
    assert all(level[node] <= depth for node in range(len(tree.feature)))
    # Where bins are left a tree is complete; where none are it stops.
    values = int(np.prod(n_bins))
    assert tree.n_leaves <= min(2**depth, values)
    if values == 1 or depth == 0:
        assert tree.n_leaves == 1
    if depth == 8 and values < 20:
        assert tree.n_leaves == values


def test_a_number_is_cut_at_a_threshold_and_its_missing_bin_takes_either_side():
    sides = set()
    for seed in range(60):
        tree = Grown([6, 9], [NUMBER, NUMBER], 4, seed)
        for node, inside in enumerate(tree.sets):
            missing = tree.n_bins[tree.feature[node]]
            values = inside - {missing}
            assert values == set(range(len(values)))
            assert 0 < len(values) < missing
            if node == 0:
                sides.add(missing in inside)
    assert sides == {True, False}


@pytest.mark.parametrize("kind", [ONE_CATEGORY, SUBSET, ORDERED])
def test_categories_keep_the_missing_bin_on_the_right(kind):
    sizes = set()
    order = np.tile(np.arange(256, dtype=np.uint8), (2, 1))
    order[0, :8] = [3, 1, 7, 0, 2, 6, 5, 4]
    for seed in range(60):
        tree = Grown([8, 5], [kind, NUMBER], 3, seed, order)
        for node, inside in enumerate(tree.sets):
            if tree.feature[node] != 0:
                continue
            assert inside
            assert max(inside) < 8
            sizes.add(len(inside))
            if kind == ORDERED:
                assert inside == set(order[0, : len(inside)].tolist())
    assert sizes == {1} if kind == ONE_CATEGORY else len(sizes) > 2


def test_every_cut_of_a_feature_and_every_feature_comes_up():
    trees = [Grown([5, 4, 3], [NUMBER, ONE_CATEGORY, ORDERED], 1, seed) for seed in range(300)]
    cuts = {(tree.feature[0], len(tree.sets[0] - {5})) for tree in trees if tree.feature[0] == 0}
    assert cuts == {(0, n) for n in (1, 2, 3, 4)}
    single = {next(iter(tree.sets[0])) for tree in trees if tree.feature[0] == 1}
    assert single == {0, 1, 2, 3}
    assert {len(tree.sets[0]) for tree in trees if tree.feature[0] == 2} == {1, 2}
    share = np.bincount([tree.feature[0] for tree in trees]) / len(trees)
    assert share.min() > 0.2


def test_features_of_a_wide_grid_are_those_that_were_asked_for():
    order = np.tile(np.arange(256, dtype=np.uint8), (5, 1))
    order[1, :4] = [2, 0, 3, 1]
    n_bins, kinds = np.array([9, 4, 2, 70, 6], np.int32), np.array([0, 3, 0, 2, 0], np.uint8)
    asked = np.array([3, 1, 4], np.int32)
    words = np.random.default_rng(0).integers(0, 2**64, 8 * 2**4, dtype=np.uint64)
    feature, *nodes, steps, table = random_partition.grow(
        asked, n_bins, kinds, order, np.arange(5, dtype=np.int32), 4, words
    )
    narrow, *own_nodes, own_steps, own_table = random_partition.grow(
        np.arange(3, dtype=np.int32), n_bins[asked], kinds[asked], order, asked, 4, words
    )
    assert np.array_equal(feature, asked[narrow])
    assert all(np.array_equal(*pair) for pair in zip(nodes, own_nodes, strict=True))
    assert np.array_equal(steps, own_steps)
    assert np.array_equal(table, own_table)


@pytest.mark.parametrize(("n_bins", "kinds"), CASES)
def test_bins_that_no_node_tells_apart_share_a_cell(n_bins, kinds):
    tree = Grown(n_bins, kinds, 4, seed=9)
    n_entries = 1
    for f, n in enumerate(n_bins):
        own = [inside for inside, g in zip(tree.sets, tree.feature, strict=True) if g == f]
        sides = {tuple(b in inside for inside in own) for b in range(n + 1)}
        n_cells = len(set(tree.steps[f, : n + 1].tolist()))
        # But the missing bin of a number that is cut at all has a cell of its own.
        spare = kinds[f] == NUMBER and f in tree.feature
        assert len(sides) <= n_cells <= len(sides) + spare
        n_entries *= n_cells
    assert len(tree.entries) == n_entries


def test_the_words_decide_everything():
    first, second = (Grown([20, 30], [NUMBER, SUBSET], 6, seed=4) for _ in range(2))
    assert first.sets == second.sets
    assert np.array_equal(first.entries, second.entries)
    assert np.array_equal(first.steps, second.steps)
    assert Grown([20, 30], [NUMBER, SUBSET], 6, seed=5).sets != first.sets
