"""Trees of constrained features as few trees in order."""

from dataclasses import replace

import numpy as np
import pytest

from dpboost.data.binner import Binner
from dpboost.data.feature_bins import CategoryBins, uniform_bins
from dpboost.growing.pooled_shapes import PooledShapes
from dpboost.trees.leaf_index import leaf_index
from dpboost.trees.random_partition import PartitionGrid
from dpboost.trees.tree import LeafNoise, Tree
from tests.unit.binned_table import tree_of

BINNER = Binner(
    features=[
        uniform_bins(0, 1, 12),
        uniform_bins(0, 1, 5),
        uniform_bins(0, 1, 7),
        CategoryBins(codes=(0, 1, 2, 3)),
    ],
    feature_names=list("abcd"),
)
GRID = PartitionGrid(n_bins=BINNER.n_bins, is_nominal=BINNER.is_categorical * np.uint8(2))
AXES = [np.arange(n + 1) for n in BINNER.n_bins]
ROWS = np.stack(np.meshgrid(*AXES, indexing="ij")).reshape(4, -1).astype(np.uint8)


def tree(rng, features):
    partition = GRID.random(np.array(features, np.int32), 4, rng)
    n = partition.n_leaves
    return tree_of(
        partition,
        rng.integers(-1000, 1000, n),
        leaf_count=rng.integers(0, 200, n),
        noise=LeafNoise(
            gradient_stddev=1.0,
            reg_lambda=5.0,
            prior=0.3,
            units_per_one=500.0,
            learning_rate=0.2,
            weight_unit=0.1,
        ),
    )


def scores(trees):
    """Return the scores of all rows of the grid, by bin of each feature."""
    total = sum(each.leaf_value[leaf_index(each, ROWS)] for each in trees)
    return total.reshape([len(axis) for axis in AXES])


def in_order(trees, direction):
    """Say whether every tree is in order, by all rows."""
    for each in trees:
        for axis, sign in enumerate(direction):
            steps = np.diff(np.moveaxis(scores([each]), axis, 0)[:-1], axis=0)
            if sign and (sign * steps < 0).any():
                return False
    return True


def pooled(direction):
    return PooledShapes(direction=np.array(direction, np.int8), binner=BINNER, weight_stddev=0.0)


@pytest.mark.parametrize("direction", [(1, 0, 0, 0), (-1, 0, 0, 0), (1, 0, -1, 0), (1, 1, 1, 0)])
def test_every_tree_comes_out_in_order(direction):
    rng = np.random.default_rng(1)
    free = [f for f in range(4) if not direction[f]]
    trees = []
    for _ in range(12):
        first = int(rng.choice(np.flatnonzero(direction)))
        trees.append(tree(rng, [first, int(rng.choice([f for f in range(4) if f != first]))]))
        trees.append(tree(rng, free[:3]))
    trees.append(tree(rng, [0]))
    found = pooled(direction).rewrite(tuple(trees), (), 1)
    assert not in_order(trees, direction)
    assert in_order(found, direction)
    assert [each for each in found if each in trees] == trees[1:24:2]


def test_a_rising_sum_keeps_its_values():
    # What rises in every tree needs no projection: the sum of all is what it was.
    rng = np.random.default_rng(2)
    trees = []
    for _ in range(6):
        own = tree(rng, [0])
        leaf = leaf_index(own, ROWS)
        lowest = [int(ROWS[0, leaf == k].min()) for k in range(own.n_leaves)]
        own.leaf_value[:] = [100 * position for position in lowest]
        trees.append(own)
    found = pooled((1, 0, 0, 0)).rewrite(tuple(trees), (), 1)
    assert [each.n_leaves for each in found[1:]] == [1] * 5  # one holds the sum
    np.testing.assert_array_equal(scores(found)[:-1], scores(trees)[:-1])


def test_what_a_pair_does_is_kept_where_the_rise_allows_it():
    rng = np.random.default_rng(3)
    trees = []
    for _ in range(30):
        own = tree(rng, [0, 1])
        leaf = leaf_index(own, ROWS)
        rows = ROWS.astype(float)
        rise = 60 * rows[0] + 10 * rows[0] * rows[1]
        own.leaf_value[:] = [int(rise[leaf == k].mean()) for k in range(own.n_leaves)]
        own.leaf_count[:] = np.bincount(leaf)
        trees.append(own)
    direction = (1, 0, 0, 0)
    found = pooled(direction).rewrite(tuple(trees), (), 1)
    assert in_order(found, direction)
    before, after = (scores(each)[:-1, :-1, 0, 0].astype(float) for each in (trees, found))
    assert np.corrcoef(before.ravel(), after.ravel())[0, 1] > 0.99
    # Steeper where the other feature is large, and nearly as much so as it was.
    ratios = []
    for table in (before, after):
        steep = [np.polyfit(np.arange(12), line, 1)[0] for line in table.T]
        ratios.append(steep[-1] / steep[0])
    assert ratios[0] > 1.1
    assert ratios[1] - 1 > 0.8 * (ratios[0] - 1)


def test_each_output_has_its_own_sums():
    rng = np.random.default_rng(4)
    rounds = []
    for _ in range(5):
        first = tree(rng, [0, 3])
        second = Tree(
            feature=first.feature,
            left_bins=first.left_bins,
            left=first.left,
            right=first.right,
            leaf_value=rng.integers(-900, 900, first.n_leaves),
            leaf_count=first.leaf_count,
            noise=first.noise,
        )
        rounds += [first, second]
    found = pooled((-1, 0, 0, 0)).rewrite(tuple(rounds), (), 2)
    assert len(found) % 2 == 0
    assert in_order(found, (-1, 0, 0, 0))


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("pairs", [[[0, 1]], [[1, 0], [0, 2]], [[0, 2], [1], [2, 3], [1, 2]]])
def test_there_are_as_many_trees_as_were_released(pairs, n_outputs):
    rng = np.random.default_rng(9)
    trees = []
    for pair in pairs * 3:
        first = tree(rng, pair)
        values = [rng.integers(-900, 900, first.n_leaves) for _ in range(n_outputs)]
        trees += [replace(first, leaf_value=own) for own in values]
    order = pooled((1, 0, -1, 0))
    for n_rounds in (1, len(pairs), 3 * len(pairs)):
        some = tuple(trees[: n_rounds * n_outputs])
        made = order.corrections(some, (), n_outputs)
        found = order.rewrite(some, (), n_outputs)
        assert len(found) == len(some)
        assert in_order(found, (1, 0, -1, 0))
        for output in range(n_outputs):
            added = [*some[output::n_outputs], *(own[output] for own in made)]
            np.testing.assert_array_equal(scores(found[output::n_outputs]), scores(added))


def test_without_constrained_trees_nothing_changes():
    rng = np.random.default_rng(5)
    trees = (tree(rng, [1, 2]), tree(rng, [2, 3]))
    assert pooled((1, 0, 0, 0)).rewrite(trees, (), 1) is trees


def test_corrections_bring_what_is_there_into_order():
    rng = np.random.default_rng(6)
    direction = (1, 0, -1, 0)
    trees = tuple(tree(rng, pair) for pair in ([0, 1], [2, 3], [0, 2], [0], [1, 3]) * 2)
    order = pooled(direction)
    made = order.corrections(trees, (), 1)
    assert all(len(own) == 1 for own in made)
    whole = scores([*trees, *(own for (own,) in made)])
    free = scores(tree for tree in trees if not np.any(np.array(direction)[tree.feature]))
    np.testing.assert_array_equal(scores(order.rewrite(trees, (), 1)), whole)
    assert not in_order(trees, direction)
    # What has no direction is left alone; the rest of the sum is in order.
    for axis, sign in ((0, 1), (2, -1)):
        steps = np.diff(np.moveaxis(whole - free, axis, 0)[:-1], axis=0)
        assert (sign * steps >= 0).all()


def test_later_rounds_count_beside_corrections():
    rng = np.random.default_rng(7)
    order = pooled((1, 0, 0, 0))
    early, late = (tuple(tree(rng, pair) for pair in ([0, 1], [0, 3])) for _ in range(2))
    made = order.corrections(early, (), 1)
    more = order.corrections(early + late, made, 1)
    found = order.rewrite(early + late, [*made, *more], 1)
    assert in_order(found, (1, 0, 0, 0))
    # What is in order stays as it is.
    np.testing.assert_allclose(
        scores(found), scores([*early, *late, *(own for (own,) in [*made, *more])]), atol=2
    )


def test_sums_are_brought_into_order_at_half_and_three_quarters():
    order = pooled((1, 0, 0, 0))
    assert order.stops(400) == {200, 300}
    assert order.stops(1) == frozenset()
    assert order.corrections((tree(np.random.default_rng(8), [1]),), (), 1) == []
