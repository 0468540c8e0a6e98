import math
from fractions import Fraction

import numpy as np
import pytest

from dpboost.growing.clipped_leaves import ClippedLeaf
from dpboost.growing.frontier import BestFirst, DepthWise
from dpboost.growing.grower import LevelwiseGrower, binary_nodes, grow
from dpboost.growing.selectors import PrivateArgmax
from dpboost.trees.gain import GradientGain
from dpboost.trees.growing_tree import GrowingTree, Splits
from dpboost.trees.tree import SET_WORDS, complete_children

LEAF = ClippedLeaf(hessian=1.0, reg_lambda=0.1, gradient_bound=1.0, clip=1.0)


def grower(depth):
    criterion = GradientGain(hessian=1.0, reg_lambda=0.1, gradient_limit=65536)
    return LevelwiseGrower(selector=PrivateArgmax(criterion=criterion), max_depth=depth)


def split_bins(tree, categorical=1):
    """The one bin that each set of left bins stands for: a threshold or a category."""
    sets = tree.sets()
    bins = [left.bit_length() - 1 for left in sets]
    for feature, left, b in zip(tree.feature, sets, bins, strict=True):
        assert left == (1 << b if feature == categorical else (2 << b) - 1)
    return bins


NO_CATEGORIES = np.zeros(3, dtype=np.uint8)


def complete_sketch(depth, splits):
    """Every node of every level is split in two."""

    def propose_splits(nodes, growing):
        return splits(nodes) if growing.depth[nodes[0]] < depth else Splits.none()

    return grow(propose_splits, lambda made: None, DepthWise())


def children(growing):
    _, _, left, right = binary_nodes(growing, NO_CATEGORIES)
    return left, right


@pytest.mark.parametrize("depth", range(7))
def test_whole_levels_form_a_complete_tree(splits, depth):
    left, right = children(complete_sketch(depth, splits))
    assert len(left) == len(right) == 2**depth - 1
    depths = {}
    stack = [(0 if depth else -1, 0)]
    while stack:
        node, level = stack.pop()
        if node < 0:
            depths[~node] = level
        else:
            stack += [(int(left[node]), level + 1), (int(right[node]), level + 1)]
    assert depths == dict.fromkeys(range(2**depth), depth)


@pytest.mark.parametrize("depth", range(7))
def test_complete_trees_have_the_children_of_whole_levels(splits, depth):
    for found, expected in zip(
        complete_children(depth), children(complete_sketch(depth, splits)), strict=True
    ):
        assert found.tolist() == expected.tolist()
        assert found.dtype == np.int32
        assert not found.flags.writeable


def test_leaves_are_numbered_as_the_rows_are_sent(splits):
    """Rows of node k go to 2k and 2k + 1, so leaf k hangs left where k is even."""
    left, right = children(complete_sketch(3, splits))
    assert left.tolist() == [1, 3, 5, ~0, ~2, ~4, ~6]
    assert right.tolist() == [2, 4, 6, ~1, ~3, ~5, ~7]


def test_the_best_of_the_waiting_splits_is_made_first(splits):
    gains = {0: 5.0, 1: 1.0, 2: 3.0, 3: 4.0, 4: 4.0}
    seen, made = [], []

    def propose_splits(nodes, growing):
        seen.append(nodes.tolist())
        known = [node for node in nodes.tolist() if node in gains]
        return splits(known, priority=[gains[node] for node in known])

    growing = grow(propose_splits, lambda chosen: made.append(chosen.node.tolist()), BestFirst(4))
    assert made == [[0], [2], [3], [4]]
    assert seen == [[0], [1, 2], [3, 4], [5, 6], [7, 8]]
    assert growing.leaves.tolist() == [1, 5, 6, 7, 8]


def test_growth_ends_where_nothing_may_be_split():
    growing = grow(lambda nodes, growing: Splits.none(), lambda made: 1 / 0, BestFirst(9))
    assert growing.n_nodes == 1
    assert growing.leaves.tolist() == [0]


@pytest.mark.parametrize("categorical", [0, 1])
def test_a_split_into_many_branches_is_a_chain(splits, categorical):
    growing = GrowingTree()
    growing.split(splits(0, n_branches=4))
    growing.split(splits(2, n_branches=2, feature=1, split_bin=1))
    kinds = np.array([categorical, 0, 0], dtype=np.uint8)
    feature, left_bins, left, right = binary_nodes(growing, kinds)
    assert feature.tolist() == [0, 0, 0, 1]
    expected = [0b1, 0b10, 0b100] if categorical else [0b1, 0b11, 0b111]
    assert left_bins[:, 0].tolist() == [*expected, 0b11]
    # Leaves are nodes 1, 3, 4 and the two children of node 2.
    assert left.tolist() == [~0, 3, ~1, ~3]
    assert right.tolist() == [1, 2, ~2, ~4]


@pytest.mark.parametrize("depth", [0, 1, 4])
@pytest.mark.parametrize("n_rows", [0, 1, 300])
def test_the_shape_of_a_tree_and_its_books_say_nothing_about_rows(
    rows, statistics, open_ledger, depth, n_rows
):
    ledger = open_ledger(Fraction(1, 3))
    tree = grower(depth).grow(
        statistics(*rows(n_rows)), leaf=LEAF, epsilon=Fraction(1, 3), ledger=ledger
    )
    assert tree.n_nodes == 2**depth - 1
    assert tree.n_leaves == 2**depth
    assert tree.leaf_count is None
    assert [tree.feature.dtype, tree.left_bins.dtype] == [np.int32, np.uint64]
    assert tree.left_bins.shape == (tree.n_nodes, SET_WORDS)
    assert tree.leaf_value.dtype == np.int64
    labels = [entry.label for entry in ledger.entries]
    assert labels == ["split choice"] * depth + ["leaf values"]
    shares = [entry.charge.cost for entry in ledger.entries]
    assert sum(shares) == ledger.spent == Fraction(1, 3)
    assert shares[-1] == (Fraction(1, 6) if depth else Fraction(1, 3))
    assert len(set(shares[:-1])) <= 1


def test_leaf_values_belong_to_the_leaves_that_rows_reach(rows, statistics, open_ledger):
    bins, gradients, kept = rows()
    tree = grower(3).grow(
        statistics(bins, gradients, kept), leaf=LEAF, epsilon=math.inf, ledger=open_ledger()
    )
    thresholds = split_bins(tree)
    members = [[] for _ in range(tree.n_leaves)]
    for row in np.flatnonzero(kept):
        node = 0
        while node >= 0:
            feature, split_bin = tree.feature[node], thresholds[node]
            value = bins[feature, row]
            goes_left = value == split_bin if feature == 1 else value <= split_bin
            node = int(tree.left[node] if goes_left else tree.right[node])
        members[~node].append(gradients[row])
    sums = np.array([int(sum(leaf)) for leaf in members])
    counts = np.array([len(leaf) for leaf in members])
    assert np.array_equal(tree.leaf_value, LEAF.values(sums, counts))
    assert len(set(tree.leaf_value.tolist())) > 1
