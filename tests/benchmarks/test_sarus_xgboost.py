from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest

from benchmarks.libraries import sarus_xgboost
from benchmarks.libraries.result import Result
from benchmarks.problems.problem import DataDictionary

SETTINGS = {
    "n_estimators": 4,
    "subsample": 0.5,
    "classification_rate": 0.2,
    "regression_rate": 0.3,
    "lambda": 0.1,
}


def test_the_trees_together_spend_the_budget():
    one = sarus_xgboost.epsilon_of_a_tree(2.0, 20, 0.2)
    assert 20 * math.log(1 + 0.2 * (math.exp(one) - 1)) == pytest.approx(2.0, rel=1e-12)
    assert sarus_xgboost.epsilon_of_a_tree(3.0, 1, 1.0) == pytest.approx(3.0, rel=1e-12)


@pytest.fixture
def sent(monkeypatch):
    asked = {}

    def fit_in_peer(name, arrays, settings, n_jobs):
        asked.update(arrays, **settings)
        return Result(prediction=np.array([-1.0, 0.5], np.float32), fit_seconds=0.1, n_trees=4)

    monkeypatch.setattr(sarus_xgboost, "fit_in_peer", fit_in_peer)
    return asked


def test_labels_are_scaled_to_what_its_constants_assume(problem, sent):
    X, y = problem.load()  # labels are declared to lie in [0, 20]
    result = sarus_xgboost.fit_predict(
        problem, X, y + 5, X[:2], epsilon=2.0, seed=0, n_jobs=1, **SETTINGS
    )
    assert sent["train_y"].tolist() == [*((y[:15] + 5 - 10) / 10), 1, 1, 1, 1, 1]
    assert (sent["base_score"], sent["learning_rate"], sent["lambda"]) == (0.0, 0.3, 0.1)
    assert "seed" not in sent
    assert result.prediction.tolist() == [0.0, 15.0]
    assert result.prediction.dtype == np.float64
    assert result.epsilon_spent == 2.0


def test_classes_are_fitted_as_numbers_and_categories_as_positions(problem, sent):
    known = DataDictionary(bounds={"x": (0, 20)}, categories={"c": ("a", "b")}, classes=(0, 1))
    binary = dataclasses.replace(problem, task="binary", dictionary=known)
    X = pd.DataFrame({"x": [1.0, 30.0], "c": pd.Categorical(["b", None], categories=["a", "b"])})
    result = sarus_xgboost.fit_predict(
        binary, X, np.array([0, 1]), X, epsilon=1.0, seed=0, n_jobs=1, **SETTINGS
    )
    assert sent["train_X"].tolist() == [[1, 1], [20, 2]]
    assert sent["bounds"].tolist() == [[0, 0], [20, 2]]
    assert sent["train_y"].tolist() == [0, 1]
    assert (sent["base_score"], sent["learning_rate"]) == (0.5, 0.2)
    assert result.prediction.tolist() == [-1.0, 0.5]
