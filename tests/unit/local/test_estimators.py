import pickle
import warnings

import lightgbm
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError

from dpboost import InvalidParameterError, LPDTClassifier, LPDTRegressor
from dpboost.training.privacy_params import NotPrivateWarning

ESTIMATORS = [LPDTRegressor, LPDTClassifier]


@pytest.fixture
def tables(rows):
    X, y = rows(0, 6_000)
    return {"X": X[1_000:], "y": y[1_000:], "X_public": X[:1_000], "y_public": y[:1_000]}


def classes_of(tables, names):
    cut = [0.35, 0.7][: len(names) - 1]
    return {
        key: np.array(names)[np.digitize(value, cut)] if key.startswith("y") else value
        for key, value in tables.items()
    }


@pytest.mark.parametrize("rule", ["max_edge", "variance"])
@pytest.mark.parametrize("mechanism", ["signed_cell", "unary", "response", "paper"])
def test_a_regression_learns(tables, rows, rule, mechanism):
    model = LPDTRegressor(epsilon=6.0, rule=rule, mechanism=mechanism, label_bounds=(0, 1))
    X, y = rows(9, 2_000)
    assert model.fit(**tables) is model
    assert model.score(X, y) > 0.4
    assert np.array_equal(model.predict(X), model.ensemble_.predict(model.partition_.read(X)))
    stock = lightgbm.Booster(model_str=model.booster_.model_to_string())
    assert np.array_equal(stock.predict(X), model.predict(X))


@pytest.mark.parametrize("names", [[False, True], ["a", "b"], ["a", "b", "c"], [3, 5, 7]])
def test_a_classification_learns(tables, rows, names):
    tables = classes_of(tables, names)
    model = LPDTClassifier(epsilon=4.0).fit(**tables)
    assert model.classes_.tolist() == names
    assert model.score(tables["X_public"], tables["y_public"]) > 0.7
    proba = model.predict_proba(tables["X"][:50])
    assert proba.shape == (50, len(names))
    assert proba.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_it_is_a_scikit_learn_estimator(tables, estimator):
    model = estimator(epsilon=2.0, rule="max_edge", max_depth=2)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.set_params(epsilon=3.0).epsilon == 3.0
    assert is_regressor(model) == (estimator is LPDTRegressor)
    assert is_classifier(model) == (estimator is LPDTClassifier)
    with pytest.raises(NotFittedError):
        model.predict(tables["X"])
    if estimator is LPDTClassifier:
        tables = classes_of(tables, [0, 1])
    model.fit(**tables)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(tables["X"]), model.predict(tables["X"]))
    assert model.n_features_in_ == 2


def test_the_report_states_the_guarantee(tables):
    model = LPDTRegressor(epsilon=1.5).fit(**tables)
    report = model.privacy_report_
    assert report.private
    assert report.epsilon_spent == 1.5
    assert "every report is 1.5-locally differentially private" in report.details()
    assert model.booster_.privacy_report == report
    again = model.booster_.privacy_report
    assert str(again) == str(report)


def test_two_fits_differ_and_a_seed_is_not_private(tables):
    X = tables["X"]
    fits = [LPDTRegressor(epsilon=1.0).fit(**tables).predict(X) for _ in range(2)]
    assert not np.array_equal(*fits)
    with pytest.warns(NotPrivateWarning, match="seed"):
        seeded = [LPDTRegressor(epsilon=1.0, noise_seed=3).fit(**tables) for _ in range(2)]
    assert np.array_equal(seeded[0].predict(X), seeded[1].predict(X))
    assert not seeded[0].privacy_report_.private
    with pytest.warns(NotPrivateWarning, match="infinite"):
        exact = LPDTRegressor(epsilon=float("inf")).fit(**tables)
    assert exact.privacy_report_.kind == "none"
    assert not exact.privacy_report_.private


def test_frames_with_missing_and_unseen_values(tables):
    def frame(X):
        return pd.DataFrame({"x": X[:, 0], "job": np.where(X[:, 1] > 0.5, "b", "a")})

    X = frame(tables["X"])
    X.loc[::3, "x"] = np.nan
    X.loc[::5, "job"] = "unseen"
    model = LPDTRegressor(epsilon=4.0, label_bounds=(0, 1))
    model.fit(X, tables["y"], X_public=frame(tables["X_public"]), y_public=tables["y_public"])
    assert model.feature_names_in_.tolist() == ["x", "job"]
    assert np.array_equal(model.predict(X), model.ensemble_.predict(model.partition_.read(X)))


def test_odd_private_rows_are_no_errors(tables):
    public = {key: tables[key] for key in ("X_public", "y_public")}
    odd = [
        (np.full((50, 2), np.nan), np.zeros(50)),
        (np.full((50, 2), np.inf), np.full(50, 1e300)),
        (np.zeros((1, 2)), np.zeros(1)),
    ]
    for X, y in odd:
        model = LPDTRegressor(epsilon=1.0).fit(X, y, **public)
        assert np.isfinite(model.predict(tables["X"])).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0}, "'epsilon'"),
        ({"epsilon": 100}, "'epsilon'"),
        ({"rule": "best"}, "'rule'"),
        ({"mechanism": "laplace"}, "'mechanism'"),
        ({"max_depth": -1}, "'max_depth'"),
        ({"min_samples_leaf": 0}, "'min_samples_leaf'"),
        ({"noise_seed": -1}, "'noise_seed'"),
    ],
)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_bad_parameters_are_refused_before_anything_is_drawn(
    tables, estimator, options, message, monkeypatch
):
    monkeypatch.setattr("dpboost.local.collection.ReportPlan.draw", None)
    if estimator is LPDTClassifier:
        tables = classes_of(tables, [0, 1])
    with pytest.raises(InvalidParameterError, match=message):
        estimator(**options).fit(**tables)


def test_public_rows_are_needed(tables):
    with pytest.raises(InvalidParameterError, match="X_public and y_public"):
        LPDTRegressor().fit(tables["X"], tables["y"])
    with pytest.raises(InvalidParameterError, match="X_public and y_public"):
        LPDTClassifier().fit(tables["X"], tables["y"] > 0.5)


@pytest.mark.parametrize(
    "X", [None, 3.0, np.array(3.0), [1, 2], np.zeros((0, 2)), "table", [[1, 2], [3]]]
)
def test_what_is_no_table_is_refused(tables, X):
    with pytest.raises(InvalidParameterError):
        LPDTRegressor(max_depth=1, min_samples_leaf=5, n_levels=2).fit(**tables | {"X": X})


def test_messages_hold_no_cell(tables):
    wrong = tables | {"y": np.where(tables["y"] > 0.9, np.nan, tables["y"])}
    with pytest.raises(InvalidParameterError, match=r"^Input y contains NaN\.$"):
        LPDTRegressor().fit(**wrong)
    with pytest.raises(InvalidParameterError, match="same length"):
        LPDTRegressor().fit(**tables | {"y": tables["y"][1:]})
    with pytest.raises(InvalidParameterError, match="features"):
        LPDTRegressor().fit(**tables | {"X": tables["X"][:, :1]})


def test_a_fit_is_silent(tables, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LPDTRegressor(epsilon=1.0).fit(**tables)
    assert capfd.readouterr() == ("", "")
