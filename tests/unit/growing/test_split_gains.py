"""Released gains of splits, against sums that are taken leaf by leaf."""

import numpy as np
import pytest

from dpboost.growing.shrunken_leaves import ShrunkenLeaf, split_gains, value_gains
from dpboost.trees.random_partition import PartitionGrid
from tests.unit.binned_table import leaves_below

LEAF = ShrunkenLeaf(reg_lambda=10.0, prior=0.3)


@pytest.fixture
def grid():
    return PartitionGrid(n_bins=np.array([9, 12], np.int32), is_nominal=np.array([0, 1], np.uint8))


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("noise_stddev", [0.0, 7.0])
def test_gains_are_those_of_the_sums_below_each_split(partitions, n_outputs, noise_stddev):
    random = np.random.default_rng(0)
    for partition in partitions:
        shape = (n_outputs, partition.n_leaves)
        gradients, hessians = random.normal(0, 20, shape), random.normal(10, 20, shape)
        gains, variances = split_gains(partition, gradients, hessians, noise_stddev, LEAF)
        assert gains.shape == variances.shape == (partition.n_leaves - 1,)
        for node in range(partition.n_leaves - 1):
            gain = variance = 0.0
            for output in range(n_outputs):
                step, h, noise = [], [], []
                for child in (int(partition.left[node]), int(partition.right[node])):
                    below = leaves_below(partition, child)
                    h.append(np.maximum(hessians[output, below], 0).sum() + 10.0)
                    step.append(gradients[output, below].sum() / h[-1])
                    noise.append(len(below) * (noise_stddev / h[-1]) ** 2)
                weight = h[0] * h[1] / (h[0] + h[1]) * 0.09 / (0.09 + sum(noise))
                gain += weight * ((step[0] - step[1]) ** 2 - sum(noise))
                variance += 2 * (weight * sum(noise)) ** 2
            assert gains[node] == pytest.approx(gain)
            assert variances[node] == pytest.approx(variance)


def test_noise_alone_shows_the_mean_and_the_variance_that_are_said(grid):
    public, random = np.random.default_rng(1), np.random.default_rng(2)
    partition = grid.random(np.array([0], np.int32), 3, public)
    hessians = np.full((1, partition.n_leaves), 100.0)
    drawn = [
        split_gains(partition, random.normal(0, 30, hessians.shape), hessians, 30.0, LEAF)
        for _ in range(4000)
    ]
    gains = np.array([gain for gain, _ in drawn])
    variances = drawn[0][1]
    error = np.sqrt(variances / len(gains))
    assert (np.abs(gains.mean(axis=0)) < 4.5 * error).all()
    np.testing.assert_allclose(gains.var(axis=0), variances, rtol=0.25)


def test_a_split_that_parts_the_gradients_shows_most(grid):
    partition = grid.by_category(1)
    gradients = np.zeros((1, partition.n_leaves))
    gradients[0, 4] = 50.0
    gains, _ = split_gains(partition, gradients, np.full(gradients.shape, 100.0), 5.0, LEAF)
    assert int(np.argmax(gains)) == 4


@pytest.mark.parametrize("depth", [0, 1, 4])
def test_gains_of_values_are_those_of_the_means_below_each_split(depth):
    values = np.random.default_rng(depth).normal(size=2**depth)
    gains = value_gains(values, 0.5)
    assert gains.shape == (2**depth - 1,)
    for level in range(depth):
        sides = values.reshape(2 ** (level + 1), -1)
        for position in range(2**level):
            left, right = sides[2 * position], sides[2 * position + 1]
            shown = (left.mean() - right.mean()) ** 2 - 2 * 0.25 / len(left)
            own = gains[2**level - 1 + position]
            # Each side holds 2^-(level + 1) of the rows.
            assert own == pytest.approx(shown * 2.0 ** -(level + 1) / 2)


def test_noise_of_values_alone_shows_no_gain():
    random = np.random.default_rng(0)
    gains = [value_gains(random.normal(0, 3.0, 16), 3.0) for _ in range(4000)]
    mean, stderr = np.mean(gains, axis=0), np.std(gains, axis=0) / np.sqrt(len(gains))
    assert (np.abs(mean) < 4.5 * stderr).all()
