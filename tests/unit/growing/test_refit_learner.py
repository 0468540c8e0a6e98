from __future__ import annotations

import numpy as np
import pytest

from dpboost.growing.partition_learner import tree_of
from dpboost.growing.refit_learner import partitions_of
from dpboost.trees.random_partition import PartitionGrid
from dpboost.trees.tree import LeafNoise

N_BINS = np.array([5, 1, 9, 4], dtype=np.int32)
NOMINAL = np.array([0, 0, 0, 2], dtype=np.uint8)


def leaves(partition, bins: np.ndarray) -> np.ndarray:
    """Leaf of each row of bins, by the table."""
    position = np.zeros(len(bins), dtype=np.int64)
    for own, feature in enumerate(partition.features):
        position += partition.steps[own, bins[:, feature]]
    return partition.table[position]


NOISE = LeafNoise(
    gradient_stddev=1.0,
    reg_lambda=1.0,
    prior=1.0,
    units_per_one=1.0,
    learning_rate=1.0,
    weight_unit=1.0,
)


@pytest.mark.parametrize("depth", [0, 1, 2, 4])
@pytest.mark.parametrize("features", [[0], [0, 2], [1, 2, 3], [3]])
def test_a_released_tree_finds_the_leaves_of_its_partition(features, depth) -> None:
    public = np.random.default_rng(depth)
    grid = PartitionGrid(n_bins=N_BINS, is_nominal=NOMINAL)
    bins = np.column_stack([public.integers(0, size + 1, 500) for size in N_BINS])
    partitions = [grid.random(np.array(features, dtype=np.int32), depth, public) for _ in range(5)]
    partitions.append(grid.by_category(3))
    trees = [
        tree_of(
            each,
            np.zeros(each.n_leaves, dtype=np.int64),
            np.zeros(each.n_leaves),
            np.zeros(len(each.feature)),
            NOISE,
        )
        for each in partitions
    ]
    found = partitions_of(trees, 1, N_BINS)
    for before, after in zip(partitions, reversed(found), strict=True):
        assert np.array_equal(leaves(before, bins), leaves(after, bins))
        assert after.n_leaves == before.n_leaves


def test_outputs_share_a_partition() -> None:
    grid = PartitionGrid(n_bins=N_BINS, is_nominal=NOMINAL)
    one = grid.random(np.array([0], dtype=np.int32), 2, np.random.default_rng(0))
    values, weights = np.zeros(one.n_leaves, dtype=np.int64), np.zeros(one.n_leaves)
    tree = tree_of(one, values, weights, np.zeros(len(one.feature)), NOISE)
    assert len(partitions_of([tree] * 6, 3, N_BINS)) == 2
