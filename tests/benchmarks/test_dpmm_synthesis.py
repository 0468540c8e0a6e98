from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from benchmarks.libraries import dpmm_synthesis
from benchmarks.libraries.result import Result
from benchmarks.problems.problem import DataDictionary

SETTINGS = {"synthesizer": "MST", "delta": 1e-5, "n_parts": 4, "n_steps": 10}
KNOWN = DataDictionary(bounds={"x": (0, 20)}, categories={"c": ("a", "b")}, label_bounds=(0, 8))
TABLE = pd.DataFrame(
    {"x": [1.0, 30.0, 12.0], "c": pd.Categorical(["b", None, "a"], categories=["a", "b"])}
)
Y = np.array([0.5, 8.0, 4.0])


@pytest.fixture
def mixed(problem):
    return dataclasses.replace(problem, dictionary=KNOWN)


def test_rows_become_numbers_of_declared_parts(mixed):
    codes, sizes = dpmm_synthesis.to_codes(TABLE, Y, mixed, 4)
    assert codes.tolist() == [[0, 1, 0], [3, 2, 3], [2, 0, 2]]
    assert sizes.tolist() == [4, 3, 4]


def test_classes_are_their_own_numbers(problem):
    known = dataclasses.replace(KNOWN, label_bounds=None, classes=(0, 1, 2))
    classes = dataclasses.replace(problem, task="multiclass", dictionary=known)
    codes, sizes = dpmm_synthesis.to_codes(TABLE, np.array([2, 0, 1]), classes, 4)
    assert codes[:, -1].tolist() == [2, 0, 1]
    assert sizes[-1] == 3
    assert dpmm_synthesis.from_codes(codes, TABLE, classes, 4, 0)[1].tolist() == [2, 0, 1]


def test_numbers_become_rows_within_their_parts(mixed):
    codes, _ = dpmm_synthesis.to_codes(TABLE, Y, mixed, 4)
    X, y = dpmm_synthesis.from_codes(codes, TABLE, mixed, 4, 0)
    assert X.dtypes.tolist() == TABLE.dtypes.tolist()
    assert X["c"].isna().tolist() == [False, True, False]
    assert dpmm_synthesis.to_codes(X, y, mixed, 4)[0].tolist() == codes.tolist()


def test_lightgbm_is_fitted_to_the_synthetic_rows(mixed, monkeypatch):
    asked = {}

    def fit_in_peer(name, arrays, settings, n_jobs):
        asked.update(arrays, name=name, **settings)
        made = np.repeat([[0, 1, 0], [3, 1, 3]], 100, axis=0)
        return Result(prediction=made, fit_seconds=5.0, n_trees=0)

    monkeypatch.setattr(dpmm_synthesis, "fit_in_peer", fit_in_peer)
    result = dpmm_synthesis.fit_predict(
        mixed, TABLE, Y, TABLE[:2], epsilon=2.0, seed=0, n_jobs=1, **SETTINGS
    )
    assert (asked["name"], asked["epsilon"], asked["synthesizer"]) == ("dpmm_synthesis", 2.0, "MST")
    assert "n_parts" not in asked
    low, high = result.prediction
    assert 0 <= low <= 2
    assert 6 <= high <= 8
    assert result.fit_seconds > 5
    assert result.epsilon_spent == 2.0


def test_synthetic_rows_of_one_class_are_answered_by_it(problem, monkeypatch):
    known = dataclasses.replace(KNOWN, label_bounds=None, classes=(0, 1))
    binary = dataclasses.replace(problem, task="binary", dictionary=known)
    made = Result(prediction=np.ones((5, 3), dtype=int), fit_seconds=1.0, n_trees=0)
    monkeypatch.setattr(dpmm_synthesis, "fit_in_peer", lambda *arguments: made)
    result = dpmm_synthesis.fit_predict(
        binary, TABLE, np.array([0, 1, 1]), TABLE, epsilon=1.0, seed=0, n_jobs=1, **SETTINGS
    )
    assert result.prediction.tolist() == [1.0, 1.0, 1.0]
    assert result.epsilon_spent == 1.0
