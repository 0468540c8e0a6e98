import math
from fractions import Fraction

import numpy as np
import pytest

from dpboost.growing.class_leaves import (
    SCORE_UNIT,
    CountedProbability,
    GrownTree,
    ShrunkenProbability,
    add_up,
    leaf_scores,
    release_leaf_counts,
)
from dpboost.trees.growing_tree import GrowingTree


@pytest.fixture
def tree(splits):
    """A root whose second of three children is split again: leaves are nodes 1, 3, 4, 5."""
    growing = GrowingTree()
    growing.split(splits(0, n_branches=3))
    growing.split(splits(2, n_branches=2))

    def build(counts, noise_stddev=0.0):
        return GrownTree(
            growing=growing, counts=np.array(counts, dtype=float), noise_stddev=noise_stddev
        )

    return build


def test_counts_add_up_along_the_tree(tree):
    grown = tree([[1, 0], [2, 5], [3, 0], [0, 4]])
    assert grown.node_counts().tolist() == [[6, 9], [1, 0], [3, 4], [2, 5], [3, 0], [0, 4]]
    assert add_up(grown.growing, np.ones(4)).tolist() == [4, 1, 2, 1, 1, 1]


def test_counted_shares_follow_the_largest_count(tree):
    share = CountedProbability().of(tree([[10, 30], [4, 2], [7, -9], [2, 2]]))
    assert share[0] == pytest.approx([10.5 / 41, 30.5 / 41])
    assert share[1] == pytest.approx([4.5 / 7, 2.5 / 7])
    assert share[2] == pytest.approx([7.5 / 8, 0.5 / 8])
    assert np.allclose(share.sum(axis=1), 1)


def test_an_empty_leaf_takes_the_shares_of_the_nearest_node_that_is_not(tree):
    share = CountedProbability().of(tree([[0, 0], [1, 6], [-4, -2], [8, -3]]))
    # Leaves 1 and 3 hang on the root, leaves 4 and 5 on node 2.
    whole, above = [5.5 / 7, 1.5 / 7], [4.5 / 5, 0.5 / 5]
    assert share[0] == pytest.approx(whole)
    assert share[2] == pytest.approx(above)
    assert CountedProbability().of(tree([[0, 0]] * 4)).tolist() == [[0.5, 0.5]] * 4


def test_a_leaf_of_noise_says_what_the_node_above_it_says(tree):
    counts = [[9000, 1000], [8000, 2000], [3, -40], [5000, 5000]]
    shrunken = ShrunkenProbability().of(tree(counts, noise_stddev=50.0))
    plain = CountedProbability().of(tree(counts))
    assert np.abs(shrunken[[0, 1, 3]] - plain[[0, 1, 3]]).max() < 0.01
    # Its parent holds 5000 rows of either class, but its own count of 3 says "the first".
    assert plain[2, 0] > 0.8
    assert shrunken[2] == pytest.approx([0.5, 0.5], abs=0.05)
    assert np.allclose(shrunken.sum(axis=1), 1)


def test_without_noise_and_with_many_rows_nothing_is_shrunk(tree):
    counts = [[1e6, 1], [2, 1e6], [3e5, 4e5], [0, 7e5]]
    shrunken = ShrunkenProbability().of(tree(counts))
    assert np.abs(shrunken - np.array(counts) / np.sum(counts, axis=1, keepdims=True)).max() < 1e-4


def test_nothing_released_is_an_even_chance(tree):
    assert ShrunkenProbability().of(tree([[-1, 0]] * 4, noise_stddev=3.0)) == pytest.approx(0.5)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_scores_give_the_probabilities_back(n_classes):
    probability = np.random.default_rng(0).dirichlet(np.ones(n_classes), size=20)
    scores = leaf_scores(probability)
    assert scores.dtype == np.int64
    raw = scores * SCORE_UNIT
    if n_classes == 2:
        assert scores.shape == (1, 20)
        assert 1 / (1 + np.exp(-raw[0])) == pytest.approx(probability[:, 1], abs=1e-5)
    else:
        assert scores.shape == (n_classes, 20)
        weights = np.exp(raw).T
        found = weights / weights.sum(axis=1, keepdims=True)
        assert found == pytest.approx(probability, abs=1e-5)


def test_no_leaf_is_certain_and_one_class_has_score_zero():
    assert np.isfinite(leaf_scores(np.array([[1.0, 0.0], [0.0, 1.0]]))).all()
    assert np.abs(leaf_scores(np.array([[1.0, 0.0]])) * SCORE_UNIT).max() < 14
    assert leaf_scores(np.ones((3, 1))).tolist() == [[0, 0, 0]]


@pytest.mark.parametrize("epsilon", [math.inf, Fraction(1, 2)])
def test_leaf_counts_are_one_release(class_rows, class_statistics, open_ledger, splits, epsilon):
    statistics = class_statistics(*class_rows())
    statistics.split(splits(0, feature=2, n_branches=3))
    ledger = open_ledger(epsilon)
    counts, noise_stddev = release_leaf_counts(
        statistics, np.array([1, 2, 3], dtype=np.int32), budget=epsilon, ledger=ledger
    )
    assert counts.shape == (3, 3)
    (entry,) = ledger.entries
    assert (entry.label, entry.charge.cost) == ("leaf counts", epsilon)
    assert noise_stddev == pytest.approx(0 if epsilon == math.inf else 2**0.5 * 2, rel=0.05)
