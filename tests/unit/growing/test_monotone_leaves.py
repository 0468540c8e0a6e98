"""Projection of leaves: nearest values in order, against a solver of another kind."""

import numpy as np
import pytest
from scipy.optimize import nnls

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.binner import Binner
from dpboost.data.feature_bins import CategoryBins, uniform_bins
from dpboost.growing.monotone_leaves import MonotoneLeaves, ordered_leaves, projection
from dpboost.trees.leaf_boxes import leaf_boxes
from dpboost.trees.random_partition import PartitionGrid

GRID = PartitionGrid(
    n_bins=np.array([6, 5, 4, 3], dtype=np.int32),
    is_nominal=np.array([0, 0, 0, 1], dtype=np.uint8),
)


def random_nodes(rng, depth):
    features = rng.permutation(4)[:3].astype(np.int32)
    partition = GRID.random(features, depth, rng)
    return (partition.feature, partition.left_bins, partition.left, partition.right)


def every_row():
    """Return all rows of the grid, missing bins included; shape (n_rows, 4)."""
    axes = [np.arange(n + 1) for n in GRID.n_bins]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 4)


def leaf_of(nodes, rows):
    """Return the leaf of each row, walked node by node."""
    feature, left_bins, left, right = nodes
    leaves = np.empty(len(rows), dtype=np.int64)
    for position, row in enumerate(rows.tolist()):
        node = 0
        while node >= 0:
            word = int(left_bins[node, row[feature[node]] >> 6])
            goes_left = word >> (row[feature[node]] & 63) & 1
            node = int(left[node] if goes_left else right[node])
        leaves[position] = ~node
    return leaves


def brute_force_order(nodes, direction):
    """Return which leaf must be below which, by all pairs of rows one step apart."""
    rows = every_row()
    leaf = leaf_of(nodes, rows).reshape([n + 1 for n in GRID.n_bins])
    below = np.zeros((len(nodes[0]) + 1,) * 2, dtype=bool)
    for axis, sign in enumerate(direction):
        values = np.moveaxis(leaf, axis, 0)[:-1]
        if sign:
            first, second = (values[:-1], values[1:])[:: int(sign)]
            below[first.ravel(), second.ravel()] = True
    np.fill_diagonal(below, False)
    return below


def closure(below):
    reach = below.copy()
    for k in range(len(reach)):
        reach |= reach[:, [k]] & reach[[k]]
    return reach


@pytest.mark.parametrize("direction", [(1, 0, 0, 0), (0, -1, 0, 0), (1, -1, 1, 0)])
def test_the_order_of_leaves_is_that_of_all_rows(direction):
    rng = np.random.default_rng(1)
    sign = np.array(direction, dtype=np.int8)
    for _ in range(20):
        nodes = random_nodes(rng, 4)
        if not sign[nodes[0]].any():
            continue
        found = ordered_leaves(leaf_boxes(*nodes, GRID.n_bins), sign)
        np.testing.assert_array_equal(closure(found), closure(brute_force_order(nodes, direction)))


def test_boxes_are_the_rows_of_the_leaves():
    rng = np.random.default_rng(2)
    rows = every_row()
    for _ in range(10):
        nodes = random_nodes(rng, 4)
        leaf = leaf_of(nodes, rows)
        for feature, reach in leaf_boxes(*nodes, GRID.n_bins).items():
            expected = np.zeros_like(reach)
            expected[leaf, rows[:, feature]] = True
            np.testing.assert_array_equal(reach, expected)


@pytest.mark.parametrize("direction", [(1, 0, 0, 0), (1, -1, 1, 0)])
def test_values_are_the_nearest_in_order(direction):
    rng = np.random.default_rng(3)
    leaves = MonotoneLeaves(direction=np.array(direction, np.int8), n_bins=GRID.n_bins)
    moved = 0
    for _ in range(30):
        nodes = random_nodes(rng, 4)
        n = len(nodes[0]) + 1
        values, weights = rng.normal(size=(2, n)), rng.uniform(0.1, 3, size=(2, n))
        found = leaves.project(nodes, values, weights)
        pairs = np.argwhere(brute_force_order(nodes, direction))
        for own, value, weight in zip(found, values, weights, strict=True):
            assert (own[pairs[:, 0]] <= own[pairs[:, 1]]).all()
            if len(pairs):
                # The dual of a projection on a cone is a non-negative least-squares problem.
                against = np.zeros((len(pairs), n))
                against[np.arange(len(pairs)), pairs[:, 0]] = 1
                against[np.arange(len(pairs)), pairs[:, 1]] = -1
                root = np.sqrt(weight)
                dual, _ = nnls((against / root).T, root * value, maxiter=10_000)
                np.testing.assert_allclose(own, value - against.T @ dual / weight, atol=1e-7)
                moved += not np.allclose(own, value)
    assert moved > 10


def test_rounding_keeps_the_order():
    rng = np.random.default_rng(4)
    leaves = MonotoneLeaves(direction=np.array([1, 1, 0, 0], np.int8), n_bins=GRID.n_bins)
    for _ in range(50):
        nodes = random_nodes(rng, 5)
        values = rng.normal(size=(1, len(nodes[0]) + 1)) * 3
        own = np.rint(leaves.project(nodes, values, np.ones_like(values)))[0]
        pairs = np.argwhere(brute_force_order(nodes, (1, 1, 0, 0)))
        assert (own[pairs[:, 0]] <= own[pairs[:, 1]]).all()


def test_values_in_order_are_left_alone():
    below = np.array([[0, 1], [0, 0]], dtype=bool)
    values = np.array([1.0, 2.0])
    found = projection(below, np.array([0, 1]), values, np.ones(2))
    np.testing.assert_array_equal(found, values)


def test_a_direction_of_categories_is_refused():
    binner = Binner(
        features=[uniform_bins(0, 1, 4), CategoryBins(codes=(0, 1, 2))],
        feature_names=["age", "color"],
    )
    with pytest.raises(InvalidParameterError, match="'color', whose values are categories"):
        MonotoneLeaves.of((0, 1), binner)
    assert MonotoneLeaves.of((), binner) is None
