"""Trees of one feature as one tree in order."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from dpboost.growing.pooled_shapes import PooledShapes, ascending
from dpboost.trees.leaf_boxes import leaf_boxes
from dpboost.trees.random_partition import PartitionGrid
from dpboost.trees.tree import LeafNoise, Tree

GRID = PartitionGrid(
    n_bins=np.array([12, 5], dtype=np.int32), is_nominal=np.zeros(2, dtype=np.uint8)
)


def tree(rng, features, noise=1.0):
    partition = GRID.random(np.array(features, np.int32), 3, rng)
    n = partition.n_leaves
    return Tree(
        feature=partition.feature,
        left_bins=partition.left_bins,
        left=partition.left,
        right=partition.right,
        leaf_value=rng.integers(-1000, 1000, n),
        leaf_count=rng.integers(0, 200, n),
        noise=LeafNoise(
            gradient_stddev=noise,
            reg_lambda=5.0,
            prior=0.3,
            units_per_one=500.0,
            learning_rate=0.2,
            weight_unit=0.1,
        ),
    )


def shape(trees, feature):
    """Return the sum of trees of one feature over its bins."""
    total = np.zeros(GRID.n_bins[feature] + 1, dtype=np.int64)
    for each in trees:
        boxes = leaf_boxes(each.feature, each.left_bins, each.left, each.right, GRID.n_bins)
        if feature in boxes:
            total += each.leaf_value[boxes[feature].argmax(axis=0)]
    return total


def test_adjacent_blocks_are_pooled_as_elsewhere():
    rng = np.random.default_rng(0)
    for _ in range(20):
        values, weights = rng.normal(size=30), rng.uniform(0.1, 4, 30)
        expected = IsotonicRegression().fit(np.arange(30), values, weights).predict(np.arange(30))
        found = ascending(values, weights)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert (np.diff(found) >= 0).all()


@pytest.mark.parametrize("noise", [1.0, 0.0])
@pytest.mark.parametrize("direction", [1, -1])
def test_the_sum_is_in_order_and_missing_is_left_alone(direction, noise):
    rng = np.random.default_rng(1)
    trees = tuple(tree(rng, f, noise) for f in ([0], [1], [0], [0], [1]))
    pooled = PooledShapes(direction=np.array([direction, 0], np.int8), n_bins=GRID.n_bins)
    found = pooled.rewrite(trees, 1)
    assert len(found) == 3
    assert found[1:] == (trees[1], trees[4])
    before, after = shape(trees, 0), shape(found, 0)
    assert (direction * np.diff(after[:-1]) >= 0).all()
    assert not (direction * np.diff(before[:-1]) >= 0).all()
    assert after[-1] == before[-1]
    np.testing.assert_array_equal(shape(found, 1), shape(trees, 1))


def test_a_sum_in_order_keeps_its_values():
    rng = np.random.default_rng(2)
    pooled = PooledShapes(direction=np.array([1, 0], np.int8), n_bins=GRID.n_bins)
    once = pooled.rewrite((tree(rng, [0]), tree(rng, [0])), 1)
    rising = shape(once, 0)
    again = pooled.rewrite(
        tuple(
            Tree(
                feature=each.feature,
                left_bins=each.left_bins,
                left=each.left,
                right=each.right,
                leaf_value=each.leaf_value,
                leaf_count=each.leaf_count,
                noise=tree(rng, [0]).noise,
            )
            for each in once
        ),
        1,
    )
    np.testing.assert_array_equal(shape(again, 0), rising)


def test_each_output_has_a_shape_of_its_own():
    rng = np.random.default_rng(3)
    rounds = []
    for _ in range(4):
        first = tree(rng, [0])
        second = tree(rng, [0])
        rounds += [
            first,
            Tree(
                feature=first.feature,
                left_bins=first.left_bins,
                left=first.left,
                right=first.right,
                leaf_value=rng.integers(-9, 9, first.n_leaves),
                leaf_count=first.leaf_count,
                noise=second.noise,
            ),
        ]
    pooled = PooledShapes(direction=np.array([-1, 0], np.int8), n_bins=GRID.n_bins)
    found = pooled.rewrite(tuple(rounds), 2)
    assert len(found) == 2
    for each in found:
        assert (np.diff(shape([each], 0)[:-1]) <= 0).all()
