"""What MLflow is told of a fit where its autologging is on, by a double of its interface."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import dpboost
from dpboost import DPBoostRegressor, ParameterWarning

X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
Y = X[:, 0]
SCHEMA = {"bounds": {0: (-1, 1), 1: (-1, 1)}, "label_bounds": (-1, 1)}
OPTIONS = {"schema": SCHEMA, "n_estimators": 3, "n_jobs": 1, "verbosity": -1}


@pytest.fixture
def told(monkeypatch):
    """Stand in for MLflow, with autologging on, and return what it is told."""
    found: dict = {"params": {}, "metrics": [], "files": {}, "models": [], "runs": 0, "on": True}

    def start_run():
        found["runs"] += 1
        return nullcontext()

    mlflow = ModuleType("mlflow")
    mlflow.active_run = lambda: None
    mlflow.start_run = start_run
    mlflow.log_params = found["params"].update
    mlflow.log_metric = lambda name, value, step=None: found["metrics"].append((name, step, value))
    mlflow.log_dict = lambda content, name: found["files"].update({name: content})
    mlflow.log_text = lambda content, name: found["files"].update({name: content})
    mlflow.lightgbm = SimpleNamespace(
        log_model=lambda model, name=None: found["models"].append((model, name))
    )
    switches = ModuleType("mlflow.utils.autologging_utils")
    switches.autologging_is_disabled = lambda flavor: not (found["on"] and flavor == "lightgbm")
    switches.get_autologging_config = lambda flavor, key, default: default
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    monkeypatch.setitem(sys.modules, "mlflow.utils.autologging_utils", switches)
    return found


def test_a_fit_is_logged_with_what_is_released(told):
    model = DPBoostRegressor(**OPTIONS)
    model.fit(X, Y, eval_set=[(X, Y), (X[:40].copy(), Y[:40])], eval_names=["own", "odd @ name"])
    assert told["runs"] == 1
    assert told["params"]["n_estimators"] == "3"
    assert {(name, step) for name, step, _ in told["metrics"]} == {
        ("odd _ name-l2", step) for step in range(3)
    }
    report = json.loads(told["files"]["privacy_report.json"])
    assert report == json.loads(model.privacy_report_.to_json())
    gain = told["files"]["feature_importance_gain.json"]
    assert list(gain.values()) == pytest.approx(model.feature_importances_)
    ((stock, name),) = told["models"]
    assert name == "model"
    np.testing.assert_array_equal(stock.predict(X), model.predict(X))


def test_train_is_logged_once(told):
    booster = dpboost.train(OPTIONS, dpboost.Dataset(X, Y), 3)
    assert told["runs"] == 1
    assert told["params"]["verbosity"] == "-1"
    ((stock, _),) = told["models"]
    assert stock.model_to_string() == booster.to_lightgbm().model_to_string()


def test_fits_of_folds_searches_and_replays_are_not(told):
    dpboost.cv(OPTIONS, dpboost.Dataset(X, Y), 2, nfold=2)
    GridSearchCV(DPBoostRegressor(**OPTIONS), {"learning_rate": [0.1, 0.2]}, cv=2).fit(X, Y)
    assert told["runs"] == 0
    told["on"] = False
    model = DPBoostRegressor(**OPTIONS).fit(X, Y)
    told["on"] = True
    dpboost.replay(model.transcript_)
    assert told["runs"] == 0


def test_what_mlflow_cannot_log_is_said_and_the_model_is_kept(told):
    sys.modules["mlflow"].log_params = lambda params: 1 / 0
    with pytest.warns(ParameterWarning, match="failed on this fit: ZeroDivisionError"):
        model = DPBoostRegressor(**{**OPTIONS, "verbosity": 0}).fit(X, Y)
    assert model.predict(X).shape == Y.shape
