from __future__ import annotations

import numpy as np
import pytest

from dpboost.local.labels import ClassLabels, NumericLabels
from dpboost.local.randomizer import Noise
from dpboost.local.shrunken_cells import (
    Estimates,
    class_shares,
    prior_mean,
    raw_scores,
    shrunk_means,
)

NUMBERS = NumericLabels(lower=0, upper=10)


def estimates(counts, sums, noise=0.0, whole=0.0):
    sums = np.asarray(sums, dtype=float).reshape(len(counts), -1)
    n = max(1, round(sum(counts)))
    return Estimates(
        counts=np.asarray(counts, dtype=float),
        sums=sums,
        noise=Noise(count=noise, sums=noise, cross=np.zeros(sums.shape[1])),
        whole_sum=sums.sum(axis=0),
        whole_variance=whole,
        second_moment=0.3,
        n_reports=n,
    )


def test_without_noise_leaves_are_means(partition):
    found = shrunk_means(
        partition.tree, estimates([1e6] * 4, [1e5, -2e5, 4e5, 0]), prior_mean(NUMBERS)
    )
    assert found[:, 0] == pytest.approx([0.1, -0.2, 0.4, 0.0], abs=1e-3)


def test_hopeless_noise_leaves_the_common_mean(partition):
    found = shrunk_means(
        partition.tree, estimates([100] * 4, [60, 40, 55, 45], noise=50.0), prior_mean(NUMBERS)
    )
    assert np.ptp(found) == 0
    assert 0.4 < found[0, 0] < 0.51


def test_noise_pulls_towards_the_others(partition):
    sums = np.array([5_000.0, -5_000, 5_000, -5_000])
    spreads = [
        np.ptp(
            shrunk_means(
                partition.tree, estimates([1e4] * 4, sums, noise=noise), prior_mean(NUMBERS)
            )
        )
        for noise in (0.0, 100.0, 400.0)
    ]
    assert spreads[0] > spreads[1] > spreads[2] > 0


@pytest.mark.parametrize("counts", [[-50.0, 3.0, 0.0, 200.0], [-1.0, -1.0, -1.0, -1.0]])
def test_negative_counts_are_no_harm(partition, counts):
    found = shrunk_means(
        partition.tree, estimates(counts, [9, -9, 9, 90], noise=1.0), prior_mean(NUMBERS)
    )
    assert (np.abs(found) <= 1).all()


def test_scores_stay_inside_the_bounds():
    scores = raw_scores(np.array([[-3.0], [0.0], [0.5], [2.0]]), NUMBERS)
    assert scores[:, 0].tolist() == [0, 5, 7.5, 10]


def test_shares_of_classes_are_positive_and_sum_to_one():
    shares = class_shares(np.array([[1.4, -0.4, 0.0], [0.2, 0.3, 0.5]]))
    assert (shares > 0).all()
    assert shares.sum(axis=1) == pytest.approx(1)
    scores = raw_scores(np.array([[0.2, 0.8]]), ClassLabels(classes=(0, 1)))
    assert 1 / (1 + np.exp(-scores[0, 0])) == pytest.approx(0.8)
    assert prior_mean(ClassLabels(classes=(0, 1))).tolist() == [0.5, 0.5]
