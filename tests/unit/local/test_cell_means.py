from dataclasses import replace

import numpy as np
import pytest

from dpboost import InvalidParameterError, LPDTAggregator, LPDTClassifier, LPDTRegressor
from dpboost.local.cell_means import (
    Estimates,
    class_shares,
    noisy_ratios,
    prior_mean,
    raw_scores,
    shrunk_means,
)
from dpboost.local.collection import ReportPlan
from dpboost.local.label_levels import ClassLabels, NumericLabels
from dpboost.local.randomizer import ReportNoise
from dpboost.privacy.randomness import Entropy

NUMBERS = NumericLabels(lower=0, upper=10)


def estimates(counts, sums, noise=0.0, whole=0.0):
    sums = np.asarray(sums, dtype=float).reshape(len(counts), -1)
    n = max(1, round(sum(counts)))
    return Estimates(
        counts=np.asarray(counts, dtype=float),
        sums=sums,
        noise=ReportNoise(count=noise, sums=noise, cross=np.zeros(sums.shape[1])),
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


@pytest.mark.parametrize("mechanism", ["paper", "signed_cell"])
def test_leaves_are_noisy_sums_over_noisy_counts(partition, rows, mechanism):
    X, y = rows(1)
    server = LPDTAggregator(partition, 2.0, mechanism=mechanism, estimate="paper")
    server.add_many(ReportPlan.of(partition, 2.0, mechanism).encode(X, y, Entropy.seeded(1)))
    estimates = server.estimates()
    ratios = estimates.sums[:, 0] / np.maximum(estimates.counts, 1.0)
    assert noisy_ratios(estimates)[:, 0].tolist() == ratios.tolist()
    # Labels between -1 and 2 are scaled to [-1, 1].
    expected = 0.5 + 1.5 * np.clip(ratios, -1, 1)
    ensemble = server.to_ensemble()
    found = ensemble.predict(partition.read(X))
    assert found == pytest.approx(expected[partition.cells(partition.read(X))], abs=1e-4)
    assert server.privacy_report().facts["estimate"] == "paper"


def test_without_noise_leaves_are_the_means_of_their_cells(partition, rows):
    X, y = rows(2)
    server = LPDTAggregator(partition, float("inf"), mechanism="paper", estimate="paper")
    server.add_many(ReportPlan.of(partition, float("inf"), "paper").encode(X, y))
    cells = partition.cells(partition.read(X))
    means = np.bincount(cells, weights=y) / np.bincount(cells)
    found = server.to_ensemble().predict(partition.read(X))
    assert found == pytest.approx(means[cells], abs=0.01)


def test_a_count_that_noise_made_small_is_taken_for_one(partition, rows):
    X, y = rows(3, 20)
    server = LPDTAggregator(partition, 0.1, mechanism="paper", estimate="paper")
    server.add_many(ReportPlan.of(partition, 0.1, "paper").encode(X, y, Entropy.seeded(4)))
    estimates = replace(
        server.estimates(),
        counts=np.array([-3.0, 0.0, 0.5, 4.0]),
        sums=np.array([[2.0], [-0.25], [0.5], [2.0]]),
    )
    assert noisy_ratios(estimates)[:, 0].tolist() == [2.0, -0.25, 0.5, 0.5]
    found = server.to_ensemble().predict(partition.read(X))
    assert ((found >= -1) & (found <= 2)).all()


def test_estimators_take_the_estimate_and_refuse_another(rows):
    X, y = rows(5, 2_000)
    public = {"X_public": X[:300], "y_public": y[:300]}
    options = {"epsilon": 4.0, "max_depth": 2, "noise_seed": 0, "label_bounds": (-1, 2)}
    with pytest.warns(match="not private"):
        models = [
            LPDTRegressor(mechanism="paper", estimate=estimate, **options).fit(X, y, **public)
            for estimate in ("shrunken", "paper")
        ]
    first, second = (model.predict(X) for model in models)
    assert not np.allclose(first, second)
    labels = (y > 0.5).astype(int)
    public["y_public"] = labels[:300]
    model = LPDTClassifier(epsilon=4.0, max_depth=2, estimate="paper").fit(X, labels, **public)
    assert np.mean(model.predict(X) == labels) > 0.8
    for kind in (LPDTClassifier, LPDTRegressor):
        with pytest.raises(InvalidParameterError, match="'estimate'.*'mean'"):
            kind(estimate="mean").fit(X, labels, **public)
