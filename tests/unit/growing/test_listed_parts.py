"""What released weights of leaves show of a list of categories, on rows that are known."""

import numpy as np
import pytest

from dpboost.growing.listed_parts import ListedParts
from dpboost.trees.random_partition import PartitionGrid

N_BINS = np.array([6, 5, 2], np.int32)
NOMINAL = np.array([0, 2, 1], np.uint8)
N_ROWS = 2000


def weights_of(partition, bins):
    """Return the rows in each leaf, as the table of the partition finds them."""
    cells = sum(
        partition.steps[k, bins[feature]] for k, feature in enumerate(partition.features.tolist())
    )
    leaves = partition.table[cells]
    return np.bincount(leaves, minlength=partition.n_leaves).astype(float)


def seen(bins, noise_stddev=0.0, n_rounds=60, features=(0, 1, 2), depth=4):
    rng = np.random.default_rng(0)
    grid = PartitionGrid(n_bins=N_BINS, is_nominal=NOMINAL)
    parts = ListedParts(n_bins=N_BINS, is_nominal=NOMINAL)
    for _ in range(n_rounds):
        partition = grid.random(np.array(features, np.int32), depth, rng)
        weights = weights_of(partition, bins)
        parts.learn(partition, weights + rng.normal(0, noise_stddev, len(weights)), noise_stddev)
    return parts


def rows(listed):
    """Return bins whose categories are listed ones for a part of the rows."""
    rng = np.random.default_rng(1)
    bins = np.array([rng.integers(0, n, N_ROWS) for n in N_BINS])
    bins[1:, int(listed * N_ROWS) :] = N_BINS[1:, np.newaxis]
    return bins


@pytest.mark.parametrize("listed", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("features", [(0, 1, 2), (1, 2), (1,), (2,)])
def test_without_noise_the_part_is_that_of_the_rows(listed, features):
    parts = seen(rows(listed), features=features)
    for feature in set(features) - {0}:
        assert parts.of(feature).part == pytest.approx(listed, abs=1e-9)
        assert parts.of(feature).deviation == 0
    assert parts.of(0) is None


def test_the_deviation_is_that_of_the_noise_of_the_listed_weight():
    errors, deviations = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        parts = ListedParts(n_bins=N_BINS, is_nominal=NOMINAL)
        partition = PartitionGrid(n_bins=N_BINS, is_nominal=NOMINAL).by_category(1)
        weights = weights_of(partition, rows(0.5))
        for _ in range(5):
            parts.learn(partition, weights + rng.normal(0, 30, len(weights)), 30.0)
        errors.append(parts.of(1).part - 0.5)
        deviations.append(parts.of(1).deviation)
    # Each value five times: the noise of five of them, over the root of five, of 2,000 rows.
    assert np.allclose(deviations, 30 / N_ROWS, rtol=0.1)
    # The noise of the whole weight goes the same way, so that the quotient has less.
    assert 0.2 < np.std(errors) / np.mean(deviations) < 1.1


def test_values_that_no_tree_tells_apart_say_nothing():
    assert seen(rows(1.0), n_rounds=3, features=(1,), depth=1).of(1) is None
    empty = ListedParts(n_bins=N_BINS, is_nominal=NOMINAL)
    assert empty.of(1) is None


def test_a_sum_below_zero_says_nothing():
    partition = PartitionGrid(n_bins=N_BINS, is_nominal=NOMINAL).by_category(1)
    parts = ListedParts(n_bins=N_BINS, is_nominal=NOMINAL)
    parts.learn(partition, np.full(partition.n_leaves, -1.0), 10.0)
    assert parts.of(1) is None
