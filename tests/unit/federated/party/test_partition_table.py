from dataclasses import replace

import numpy as np
import pytest

from dpboost.federated.party.admission import UnusableMessageError
from dpboost.federated.party.partition_table import with_table, without_table
from dpboost.trees.random_partition import PartitionGrid

N_BINS = np.array([5, 63, 1, 12], dtype=np.int32)


def partition(features, depth, seed=0, nominal=(0, 0, 0, 2)):
    grid = PartitionGrid(n_bins=N_BINS, is_nominal=np.array(nominal, dtype=np.uint8))
    chosen = np.array(features, dtype=np.int32)
    return grid.random(chosen, depth, np.random.default_rng(seed))


def leaves(own, bins):
    """Leaf of every row by the look-up table."""
    position = sum(own.steps[line, bins[feature]] for line, feature in enumerate(own.features))
    return own.table[position]


@pytest.mark.parametrize("features", [[0], [1, 3], [3, 1, 0], [2]])
@pytest.mark.parametrize("depth", [0, 1, 4, 7])
@pytest.mark.parametrize("seed", [0, 1])
def test_parties_find_the_leaves_of_the_partition(features, depth, seed):
    public = partition(features, depth, seed)
    own = with_table(without_table(public), N_BINS)
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, N_BINS[:, np.newaxis] + 1, size=(len(N_BINS), 2000))
    assert own.n_leaves == public.n_leaves
    assert np.array_equal(leaves(own, bins), leaves(public, bins))


def test_a_leaf_for_every_category():
    grid = PartitionGrid(n_bins=N_BINS, is_nominal=np.zeros(4, dtype=np.uint8))
    public = grid.by_category(3)
    own = with_table(without_table(public), N_BINS)
    bins = np.tile(np.arange(13), (4, 1))
    assert np.array_equal(leaves(own, bins), leaves(public, bins))


GOOD = without_table(partition([0, 1], 3))


@pytest.mark.parametrize(
    "wrong",
    [
        {"features": np.array([0, 9], dtype=np.int32)},
        {"features": np.array([1, 1], dtype=np.int32)},
        {"features": np.array([0, 1, 2, 3], dtype=np.int32)},
        {"features": GOOD.features.astype(np.int64)},
        {"features": [0, 1]},
        {"feature": np.full_like(GOOD.feature, 3)},
        {"feature": GOOD.feature[:-1]},
        {"left": np.zeros_like(GOOD.left)},
        {"left": GOOD.left + np.int32(1)},
        {"right": GOOD.left},
        {"right": np.full_like(GOOD.right, 10**6)},
        {"left_bins": GOOD.left_bins[:, :2]},
        {"left_bins": GOOD.left_bins.astype(np.int64)},
        {"n_leaves": GOOD.n_leaves + 1},
        {"n_leaves": float(GOOD.n_leaves)},
        {"n_leaves": 2**70},
    ],
)
def test_nodes_that_are_no_tree_are_refused(wrong):
    with_table(GOOD, N_BINS)
    with pytest.raises(UnusableMessageError):
        with_table(replace(GOOD, **wrong), N_BINS)


def test_a_table_that_is_sent_is_not_looked_at():
    wrong = replace(partition([0, 1], 3), steps=np.ones(1, np.int32), table=np.zeros(1, np.uint16))
    own, good = with_table(wrong, N_BINS), with_table(GOOD, N_BINS)
    assert np.array_equal(own.steps, good.steps)
    assert np.array_equal(own.table, good.table)
