from __future__ import annotations

import numpy as np
import pytest

from dpboost import Budget, DPBoostClassifier, DPBoostRegressor, InvalidParameterError, evaluate
from dpboost.evaluating.figures import Estimate, ratio

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(scope="module")
def found():
    X = np.random.default_rng(0).normal(size=(500, 1))
    schema = {"bounds": {0: (-3, 3)}}
    groups = (np.where(X[:, 0] > 0, "a", "b"), ["a", "b"])
    settings = {"n_estimators": 2, "verbosity": -1, "epsilon": 2}
    label = X[:, 0] > 0
    model = DPBoostClassifier(schema=schema | {"classes": [False, True]}, **settings)
    budget = Budget(epsilon=2, delta=1e-5)
    of_class = evaluate(model.fit(X, label), X, label, budget=budget, fraction=0.5, groups=groups)
    model = DPBoostRegressor(schema=schema | {"label_bounds": (-3, 3)}, **settings)
    of_number = evaluate(model.fit(X, X[:, 0]), X, X[:, 0], budget=budget, fraction=0.5)
    return of_class, of_number


@pytest.mark.parametrize("kind", ["roc", "precision_recall", "calibration", "groups", None])
def test_what_a_classifier_plots(found, kind) -> None:
    ax = found[0].plot(kind)
    assert ax.lines
    assert found[0].plot(kind, ax=ax) is ax


def test_what_a_regressor_plots(found) -> None:
    assert found[1].plot(metric="mae").get_ylabel() == "mae"
    with pytest.raises(InvalidParameterError, match="no curve"):
        found[1].plot("roc")
    with pytest.raises(InvalidParameterError, match="'kind'"):
        found[0].plot("rock")
    with pytest.raises(InvalidParameterError, match="'metric'"):
        found[1].plot("groups", metric="auc")


def test_its_text_has_figures_groups_and_the_guarantee(found) -> None:
    text = str(found[0])
    for part in ("all rows", "a:", "b:", "other:", "auc", "Differentially private (epsilon = 2"):
        assert part in text


def test_a_figure_stays_in_its_range() -> None:
    figure = Estimate.around(1.2, sampling=0.01, noise=0.03, least=0.0, most=1.0)
    assert figure.value == figure.high == 1.0
    assert figure.low == pytest.approx(1.2 - 1.959964 * 0.2)
    assert figure.noise_stddev == pytest.approx(0.03**0.5)
    root = Estimate.around(4.0, sampling=0.0, noise=1.0, least=0.0, root=True)
    assert root.value == 2.0
    assert root.noise_stddev == pytest.approx(0.25)
    lost = Estimate.around(float("nan"), sampling=0.0, noise=1.0, least=0.0, most=1.0)
    assert (lost.low, lost.high) == (0.0, 1.0)


def test_the_variance_of_a_mean_is_that_of_its_cells() -> None:
    rng = np.random.default_rng(0)
    counts, weights = np.array([500.0, 300.0, 200.0]), np.array([0.0, 1.0, 3.0])
    drawn = rng.poisson(counts, size=(20_000, 3)) + 10 * rng.normal(size=(20_000, 3))
    means = (drawn @ weights) / drawn.sum(axis=1)
    value, sampling, noise = ratio(weights, counts, 1000.0, 100.0)
    assert value == pytest.approx(0.9)
    assert sampling + noise == pytest.approx(means.var(), rel=0.05)
