from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpboost import InvalidParameterError, LPDTAggregator, LPDTClassifier, LPDTRegressor
from dpboost.local.collection import ReportPlan
from dpboost.local.noisy_ratios import noisy_ratios
from dpboost.privacy.randomness import Entropy


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
