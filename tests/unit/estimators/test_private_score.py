"""What ``score`` answers inside a budget and outside of one."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import cross_val_score

from dpboost import (
    Budget,
    DPBoostClassifier,
    DPBoostRegressor,
    DPTreeClassifier,
    DPTreeRegressor,
    EpsilonSumWarning,
    InvalidParameterError,
    ScoreWarning,
)

X = np.random.default_rng(0).uniform(size=(4000, 2))
SCHEMA = {"bounds": {0: (0, 1), 1: (0, 1)}}
CLASSES, NUMBERS = {**SCHEMA, "classes": [0, 1]}, {**SCHEMA, "label_bounds": (0, 1)}
LABELS = (X[:, 0] > 0.5).astype(int)
MODELS = {
    "boosted classes": (DPBoostClassifier(schema=CLASSES, n_estimators=5, verbosity=-1), LABELS),
    "boosted numbers": (DPBoostRegressor(schema=NUMBERS, n_estimators=5, verbosity=-1), X[:, 0]),
    "a tree of classes": (DPTreeClassifier(schema=CLASSES), LABELS),
    "a tree of numbers": (DPTreeRegressor(schema=NUMBERS), X[:, 0]),
}


@pytest.fixture(params=list(MODELS))
def fitted(request):
    model, y = MODELS[request.param]
    return model.fit(X, y), y


def test_outside_it_is_exact_and_says_that_nothing_pays(fitted) -> None:
    model, y = fitted
    with pytest.warns(ScoreWarning, match="it leaks information"):
        found = model.score(X, y)
    exact = accuracy_score if hasattr(model, "classes_") else r2_score
    assert found == exact(y, model.predict(X))
    with pytest.warns(ScoreWarning):
        assert model.score(X, y, np.ones(len(y))) == pytest.approx(found)


def test_inside_it_is_released_and_charged(fitted) -> None:
    model, y = fitted
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # LightGBM 4.6 takes every model for one of named columns.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        with Budget(epsilon=50, delta=1e-6, pure_epsilon=10) as budget:
            found = model.score(X, y, fraction=0.25)
        again = model.score(X, y, budget=budget, fraction=0.25)
    assert budget.remaining["Gaussian"] == Fraction(1, 2)
    exact = (accuracy_score if hasattr(model, "classes_") else r2_score)(y, model.predict(X))
    if exact < 1:  # what is above is cut off
        assert exact not in (found, again)
    assert found == pytest.approx(exact, abs=0.1)


def test_inside_it_asks_for_a_fraction(fitted) -> None:
    model, y = fitted
    with Budget(epsilon=1, delta=0) as budget:
        with pytest.raises(InvalidParameterError, match="folds.scorer.*SecretKFold"):
            model.score(X, y)
        with pytest.raises(InvalidParameterError, match="'sample_weight'"):
            model.score(X, y, np.ones(len(y)), fraction=0.1)
    with pytest.raises(InvalidParameterError, match="needs a budget"):
        model.score(X, y, fraction=0.1)
    assert budget.lines == ()


def test_scikit_learns_own_score_is_refused_inside_and_tells_outside() -> None:
    model, y = MODELS["boosted numbers"]
    # One warning for the sum of epsilon and for the scores, before the first fit.
    with pytest.warns(
        EpsilonSumWarning, match=r"cross_val_score fits .* 2 times.*scores are exact"
    ):
        cross_val_score(model, X, y, cv=2)
    with (
        Budget(epsilon=10, delta=1e-6),
        pytest.raises(InvalidParameterError, match="SecretKFold"),
    ):
        cross_val_score(model, X, y, cv=2, params={"fraction": 0.1}, error_score="raise")
