from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.libraries import load_library


def test_an_unknown_library_is_refused():
    with pytest.raises(BenchmarkError, match="known: dpboost_recipes"):
        load_library("nothing")


def test_a_library_that_is_not_there_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "benchmarks.libraries.lightgbm_np", raising=False)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(BenchmarkError, match="'lightgbm_np' cannot be imported"):
        load_library("lightgbm_np")


class FakeEstimator:
    made = []

    def __init__(self, **parameters) -> None:
        self.parameters = parameters
        self.booster_ = self.privacy_report_ = self
        self.epsilon_spent = 1.5
        FakeEstimator.made.append(parameters)

    def fit(self, X, y) -> None:
        self.mean = y.mean()
        self.classes_ = np.array([0, 1])

    def predict(self, X) -> np.ndarray:
        return np.full(len(X), self.mean)

    def predict_proba(self, X) -> np.ndarray:
        return np.column_stack([1 - self.predict(X), self.predict(X)])

    def num_trees(self) -> int:
        return 7


@pytest.fixture
def recipes(monkeypatch, tmp_path):
    """The library over a dpboost that is played by a fake."""
    (tmp_path / "__init__.py").write_text("")
    fake = ModuleType("dpboost")
    fake.__file__ = str(tmp_path / "__init__.py")
    fake.__version__ = "0"
    fake.DPBoostClassifier = fake.DPBoostRegressor = FakeEstimator
    fake.Schema = dict
    monkeypatch.setitem(sys.modules, "dpboost", fake)
    monkeypatch.delitem(sys.modules, "benchmarks.libraries.dpboost_recipes", raising=False)
    yield load_library("dpboost_recipes")
    sys.modules.pop("benchmarks.libraries.dpboost_recipes", None)


def test_recipes_get_the_declared_schema_and_no_noise_seed(recipes, problem):
    X, y = problem.load()
    FakeEstimator.made.clear()
    result = recipes.fit_predict(
        problem, X, y, X, epsilon=2.0, seed=5, n_jobs=1, recipe="seq", delta=0
    )
    assert FakeEstimator.made == [
        {
            "epsilon": 2.0,
            "delta": 0,
            "recipe": "seq",
            "random_state": 5,
            "n_jobs": 1,
            "verbosity": 0,
            "schema": {
                "bounds": {"x": (0, 20)},
                "categories": {},
                "integer": (),
                "label_bounds": (0, 20),
            },
        }
    ]
    assert result.prediction.tolist() == [y.mean()] * len(y)
    assert result.n_trees == 7
    assert result.epsilon_spent == 1.5


def test_a_fit_may_declare_nothing(recipes, problem):
    X, y = problem.load()
    FakeEstimator.made.clear()
    recipes.fit_predict(problem, X, y, X, epsilon=2.0, seed=5, n_jobs=1, declare=False)
    assert FakeEstimator.made[0]["schema"] is None


def test_the_version_moves_with_the_code(recipes, tmp_path):
    before = recipes.versions()
    (tmp_path / "loop.py").write_text("x = 1\n")
    # A process reads the files once: the next run is another process.
    recipes._digest_of_package.cache_clear()
    after = recipes.versions()
    assert before != after
    assert recipes.versions() == after
