from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from dpboost import (
    Budget,
    DPBoostClassifier,
    DPBoostRegressor,
    DPTreeClassifier,
    InvalidParameterError,
    forecast,
)

SCHEMA = {"bounds": dict.fromkeys(range(3), (-4, 4)), "classes": [0, 1]}
NUMBERS = {"bounds": dict.fromkeys(range(3), (-4, 4)), "label_bounds": (-6, 6)}


def table(n_rows: int, seed: int):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    return X, X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=n_rows)


def test_it_is_near_what_a_fit_has() -> None:
    X, y = table(1000, 0)
    plan = DPBoostClassifier(delta=1e-5, n_jobs=1)
    found = forecast(
        schema=SCHEMA,
        n_rows=2000,
        epsilon=[0.1, 2.0],
        like=(X, (y > 0).astype(int)),
        estimator=plan,
        random_state=0,
    )
    assert found.metric == "auc"
    assert found.value[0] < found.value[1]
    test, label = table(20_000, 1)
    X, y = table(2000, 2)
    for position, epsilon in enumerate((0.1, 2.0)):
        model = DPBoostClassifier(
            epsilon=epsilon, delta=1e-5, schema=SCHEMA, n_jobs=1, verbosity=-1
        ).fit(X, (y > 0).astype(int))
        area = roc_auc_score(label > 0, model.predict_proba(test)[:, 1])
        # Public rows have a standard error of 0.013 of their own, and a fit has its noise: at the
        # small epsilon one fit differs from another by several hundredths.
        assert abs(found.value[position] - area) < (0.15, 0.08)[position]
        assert found.low[position] < found.value[position] < found.high[position] <= 1
    assert plan.epsilon == 1.0
    assert plan.schema is None


@pytest.mark.parametrize("metric", ["rmse", "mae"])
def test_numbers(metric) -> None:
    found = forecast(schema=NUMBERS, n_rows=1000, epsilon=2, like=table(200, 0), metric=metric)
    # Labels have a deviation of 1.5, and noise of 1 that no model explains.
    assert 0.6 < found.value[0] < 1.6
    assert f"{metric}" in str(found)


@pytest.mark.parametrize("metric", ["accuracy", "log_loss", "auc"])
def test_several_classes(metric) -> None:
    X, y = table(300, 0)
    labels = np.digitize(y, [-0.7, 0.7])
    found = forecast(
        schema=SCHEMA | {"classes": [0, 1, 2]},
        n_rows=1000,
        epsilon=[4],
        like=(X, labels),
        metric=metric,
    )
    assert 0.3 < found.value[0] < 1.2


def test_without_public_rows_it_is_noise_against_rows_and_says_so() -> None:
    found = forecast(n_rows=1000, epsilon=[1.0, 2.0])
    assert found.metric is None
    assert found.value == ()
    assert "without public rows (like=...)" in str(found)
    assert found.hidden_rows[0] > found.hidden_rows[1] > 1
    pure = forecast(n_rows=1000, epsilon=[1.0], estimator=DPBoostRegressor(delta=0))
    assert pure.hidden_rows == (pytest.approx(2**0.5),)


def test_plots() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    bare = forecast(n_rows=1000, epsilon=[1.0, 2.0])
    ax = bare.plot()
    assert ax.get_xlabel() == "epsilon"
    full = forecast(schema=NUMBERS, n_rows=500, epsilon=[1, 2], like=table(100, 0))
    ax = full.plot()
    assert full.plot(ax=ax) is ax
    assert ax.get_ylabel() == "rmse of a fit"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"n_rows": 0}, "'n_rows'"),
        ({"epsilon": []}, "'epsilon'"),
        ({"epsilon": [0]}, "'epsilon'"),
        ({"epsilon": [np.inf]}, "'epsilon'"),
        ({"like": 3}, "'like'"),
        ({"like": (np.zeros((10, 1)), np.zeros(10))}, "at least 50"),
        ({"like": (np.zeros((60, 1)), np.zeros(59))}, "same length"),
        ({"metric": "auc"}, "'metric'"),
        ({"metric": "auc", "like": (np.zeros((60, 1)), np.zeros(60))}, "'metric'"),
        ({"estimator": DPTreeClassifier()}, "'estimator'"),
        (
            {"estimator": DPBoostClassifier(), "like": (np.zeros((60, 1)), np.zeros(60))},
            "two or more classes",
        ),
    ],
)
def test_bad_arguments_are_refused(arguments, says) -> None:
    with pytest.raises(InvalidParameterError, match=says):
        forecast(**{"n_rows": 100, "epsilon": [1.0]} | arguments)


def test_public_rows_are_paid_by_no_budget() -> None:
    with (
        Budget(epsilon=1, delta=1e-5),
        pytest.raises(InvalidParameterError, match="outside of"),
    ):
        forecast(n_rows=100, epsilon=[1.0])
