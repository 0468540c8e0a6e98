import numpy as np
import pytest
from scipy.stats import binom

from dpboost.growing.class_leaves import GrownTree
from dpboost.growing.pruning import (
    CERTAINTY_FACTOR,
    calibrated_counts,
    calibrated_sizes,
    pessimistic_errors,
    prune,
    stop_at_pure_nodes,
)
from dpboost.trees.growing_tree import GrowingTree


@pytest.fixture
def growing(splits):
    """Leaves are nodes 1, 3, 4, 5: the middle child of the root is split again."""
    growing = GrowingTree()
    growing.split(splits(0, n_branches=3, feature=1))
    growing.split(splits(2, n_branches=2, feature=2))
    return growing


def test_sizes_agree_from_the_root_down(growing):
    sizes = calibrated_sizes(growing, np.array([100.0, 60, 30, -5, 40, 20]))
    assert sizes[0] == 100
    assert sizes[1:4].tolist() == pytest.approx([200 / 3, 100 / 3, 0])
    assert sizes[4:].sum() == pytest.approx(sizes[2])
    assert sizes[4] == pytest.approx(2 * sizes[5])


def test_children_without_rows_share_alike(growing):
    sizes = calibrated_sizes(growing, np.array([30.0, 0, -1, -2, 5, 5]))
    assert sizes[1:4].tolist() == [10, 10, 10]
    assert sizes[4:].tolist() == [5, 5]


def test_leaf_counts_add_up_to_the_sizes():
    counts = calibrated_counts(
        np.array([[30.0, 10.0], [-4.0, 8.0], [-1.0, -2.0]]), np.array([80.0, 4.0, 6.0])
    )
    assert counts.tolist() == [[60, 20], [0, 4], [3, 3]]


@pytest.mark.parametrize(("total", "errors"), [(6, 0), (9, 0), (16, 1), (100, 13)])
def test_errors_are_taken_at_the_upper_limit_of_their_rate(total, errors):
    """At the limit a rate yields so few errors with the probability of the certainty factor."""
    counts = np.array([[total - errors, errors]], dtype=float)
    rate = pessimistic_errors(counts)[0] / total
    assert binom.cdf(errors, total, rate) == pytest.approx(CERTAINTY_FACTOR, abs=1e-6)


def test_known_limits_of_c45():
    """Quinlan's book: U_25%(0, 6) = .206, U_25%(0, 9) = .143, U_25%(0, 1) = .750."""
    counts = np.array([[6.0, 0], [9.0, 0], [1.0, 0]])
    limits = pessimistic_errors(counts) / counts.sum(axis=1)
    assert limits == pytest.approx([0.206, 0.143, 0.750], abs=5e-4)
    assert pessimistic_errors(np.zeros((1, 3))).tolist() == [0]


def leaves(growing, counts, sizes):
    return GrownTree(
        growing=growing,
        counts=np.array(counts, dtype=float),
        noise_stddev=1.0,
        sizes=np.array(sizes, dtype=float),
    )


def test_a_split_that_tells_nothing_is_cut(growing):
    # Both children of node 2 are of the first class.
    tree = leaves(growing, [[0, 50], [30, 0], [40, 1], [20, 0]], [141, 50, 61, 30, 41, 20])
    pruned = prune(tree)
    assert pruned.growing.splits.feature.tolist() == [1]
    assert pruned.growing.leaves.tolist() == [1, 2, 3]
    assert pruned.counts.sum() == pytest.approx(141)
    assert pruned.counts[1] == pytest.approx([60, 1], rel=0.1)


def test_a_split_that_tells_much_is_kept(growing):
    tree = leaves(growing, [[0, 50], [30, 0], [0, 40], [20, 0]], [140, 50, 60, 30, 40, 20])
    pruned = prune(tree)
    assert pruned.growing.splits.feature.tolist() == [1, 2]
    assert np.allclose(pruned.counts, tree.counts)


def test_everything_may_be_cut(growing):
    tree = leaves(growing, [[50, 0], [30, 0], [40, 1], [20, 0]], [141, 50, 61, 30, 41, 20])
    pruned = prune(tree)
    assert pruned.growing.n_nodes == 1
    assert pruned.counts.shape == (1, 2)
    assert pruned.counts.sum() == pytest.approx(141)


@pytest.mark.parametrize("noise_stddev", [0.0, 1.0])
def test_without_noise_a_node_of_one_class_is_a_leaf(growing, noise_stddev):
    counts = np.array([[4.0, 1.0], [0.0, 0.0], [0.0, 3.0], [0.0, 2.0]])
    sizes = np.array([10.0, 5, 5, 0, 3, 2])
    tree = GrownTree(growing=growing, counts=counts, noise_stddev=noise_stddev, sizes=sizes)
    stopped = stop_at_pure_nodes(tree)
    if noise_stddev:
        assert stopped is tree
        return
    assert stopped.growing.n_nodes == 4
    assert stopped.counts.tolist() == [[4, 1], [0, 5], [0, 0]]
    assert stopped.sizes.tolist() == [10, 5, 5, 0]
