"""Leaves of trees of numbers: means drawn towards the node above by what is known of the noise."""

import numpy as np
import pytest

from dpboost.growing.class_leaves import GrownTree
from dpboost.growing.label_leaves import ShrunkenMean
from dpboost.trees.growing_tree import GrowingTree, Splits


def tree(sums, rows, noise_stddev):
    growing = GrowingTree()
    one = np.zeros(1, dtype=np.int32)
    growing.split(Splits(node=one, feature=one, split_bin=one, n_branches=one + 2))
    counts = np.column_stack((sums, rows)).astype(float)
    return GrownTree(growing=growing, counts=counts, noise_stddev=noise_stddev)


def test_without_noise_and_with_many_rows_a_mean_is_that_of_its_rows():
    means = ShrunkenMean().of(tree([5e5, -2e5], [1e6, 1e6], 0.0))
    assert means == pytest.approx([0.15, 0.5, -0.2], abs=1e-4)


def test_a_leaf_of_noise_alone_says_what_the_node_above_says():
    means = ShrunkenMean().of(tree([5e4, 3.0], [1e5, -4.0], 30.0))
    assert means[2] == pytest.approx(means[0])
    assert means[1] == pytest.approx(0.5, abs=1e-3)


def test_noise_draws_to_the_middle():
    noisy, quiet = (ShrunkenMean().of(tree([50, 50], [100, 100], s))[0] for s in (100.0, 1.0))
    assert 0 < noisy < quiet < 0.5


def test_no_mean_leaves_the_label_range():
    means = ShrunkenMean(prior=1e9).of(tree([1e4, -1e4], [10, 10], 1.0))
    assert np.abs(means).max() <= 1
