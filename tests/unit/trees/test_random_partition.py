"""Random partitions over public bins."""

import itertools

import numpy as np
import pytest

from dpboost.trees.random_partition import ORDERED_CATEGORIES, PartitionGrid
from tests.unit.binned_table import tree_of

N_BINS = (4, 3, 6, 70)
NOMINAL = (0, 2, 1, 1)


@pytest.fixture
def grid():
    return PartitionGrid(n_bins=np.array(N_BINS, np.int32), is_nominal=np.array(NOMINAL, np.uint8))


def leaf_of(partition, bins):
    """Walk the nodes with a mapping from feature to bin."""
    sets = tree_of(partition, np.zeros(partition.n_leaves, np.int64)).sets()
    node = 0 if sets else ~0
    while node >= 0:
        goes_left = sets[node] >> bins[int(partition.feature[node])] & 1
        node = int((partition.left if goes_left else partition.right)[node])
    return ~node


@pytest.mark.parametrize("features", [[0], [3], [2, 0], [1, 2, 0], [3, 1, 0]])
@pytest.mark.parametrize("depth", [0, 1, 4])
def test_table_and_steps_find_the_leaf_of_the_nodes(grid, features, depth):
    chosen = np.array(features, np.int32)
    partition = grid.random(chosen, depth, np.random.default_rng(depth))
    assert partition.n_leaves == len(partition.feature) + 1 <= 2**depth
    assert set(partition.feature.tolist()) <= set(features)
    assert len(partition.table) <= np.prod([N_BINS[feature] + 1 for feature in features])
    assert not partition.steps[len(features) :].any()
    for bins in itertools.product(*[range(N_BINS[feature] + 1) for feature in features]):
        entry = partition.table[sum(partition.steps[f, b] for f, b in enumerate(bins))]
        assert entry == leaf_of(partition, dict(zip(features, bins, strict=True)))


def test_the_same_public_randomness_gives_the_same_partition(grid):
    chosen = np.array([2, 0], np.int32)
    first, second, other = (grid.random(chosen, 3, np.random.default_rng(s)) for s in (1, 1, 2))
    assert np.array_equal(first.table, second.table)
    assert np.array_equal(first.left_bins, second.left_bins)
    assert not np.array_equal(first.table, other.table)


@pytest.mark.parametrize("feature", [1, 2, 3])
def test_every_category_has_a_leaf_of_its_own(grid, feature):
    partition = grid.by_category(feature)
    n_bins = N_BINS[feature]
    assert partition.n_leaves == n_bins + 1
    found = [leaf_of(partition, {feature: value}) for value in range(n_bins + 1)]
    assert found == list(range(n_bins + 1)) == partition.table.tolist()
    assert not (partition.left_bins[:, n_bins >> 6] >> np.uint64(n_bins & 63) & np.uint64(1)).any()


def test_an_order_of_categories_is_what_thresholds_cut(grid):
    ranked = [4, 0, 5, 2, 1, 3]
    given = grid.is_nominal
    grid.set_order(2, np.array(ranked))
    assert grid.is_nominal.tolist() == [0, 2, ORDERED_CATEGORIES, 1]
    assert grid.order(2)[:6].tolist() == ranked
    assert grid.order(1).tolist() == grid.order(3).tolist() == list(range(256))
    seen = set()
    for seed in range(40):
        partition = grid.random(np.array([2], np.int32), 1, np.random.default_rng(seed))
        inside = [b for b in range(7) if int(partition.left_bins[0, 0]) >> b & 1]
        assert sorted(ranked[: len(inside)]) == inside
        seen.add(len(inside))
    assert seen == {1, 2, 3, 4, 5}
    assert given is grid.is_nominal


def test_a_grid_does_not_write_into_what_it_was_given():
    nominal = np.array([1, 1], np.uint8)
    PartitionGrid(n_bins=np.array([3, 3], np.int32), is_nominal=nominal).set_order(0, np.arange(3))
    assert nominal.tolist() == [1, 1]
