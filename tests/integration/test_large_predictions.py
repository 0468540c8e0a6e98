"""Predictions tree by tree: the same doubles as LightGBM's, whatever the table is."""

from __future__ import annotations

import lightgbm
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from dpboost import DPBoostClassifier, DPBoostRegressor, InvalidParameterError
from dpboost.estimators import base

FAST = {"n_estimators": 5, "max_depth": 3, "n_jobs": 2, "verbosity": 0}
BOUNDS = {"bounds": {0: (-2, 2), 1: (-2, 2)}}


def rows(n_rows=400, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 2))
    X[random.random(X.shape) < 0.1] = np.nan
    X[random.random(X.shape) < 0.2] = 0
    return X, np.nan_to_num(X[:, 0])


def frame(X):
    jobs = pd.Categorical(np.where(np.nan_to_num(X[:, 1]) > 0, "clerk", "nurse"))
    return pd.DataFrame({"age": X[:, 0], "job": jobs})


TABLES = {
    "doubles": lambda X: X,
    "singles": lambda X: X.astype(np.float32),
    "columns": np.asfortranarray,
    "sparse": lambda X: scipy.sparse.csr_matrix(X),
    "frame": lambda X: pd.DataFrame(X),
}


@pytest.fixture
def tree_by_tree(monkeypatch):
    """All predictions are large, and LightGBM's own predictor is out of reach."""

    def switch():
        monkeypatch.setattr(base, "LARGE", 0)

        def refuse(*arguments, **options):
            raise AssertionError("LightGBM predicted")

        monkeypatch.setattr(lightgbm.LGBMModel, "predict", refuse)

    return switch


def stock(model, X, **options):
    return lightgbm.Booster(model_str=model.booster_.model_to_string()).predict(X, **options)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("zero_as_missing", [False, True])
@pytest.mark.parametrize("objective", ["regression", "poisson"])
def test_numbers(name, zero_as_missing, objective, tree_by_tree):
    X, y = rows()
    schema = {**BOUNDS, "label_bounds": (0.1, 5)}
    model = DPBoostRegressor(
        objective=objective, schema=schema, zero_as_missing=zero_as_missing, **FAST
    ).fit(X, np.clip(y + 2, 0.1, 5))
    table = TABLES[name](X)
    expected, raw = model.predict(table), model.predict(table, raw_score=True)
    tree_by_tree()
    np.testing.assert_array_equal(model.predict(table), expected)
    np.testing.assert_array_equal(model.predict(table, raw_score=True), raw)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("named", [False, True])
def test_classes(n_classes, named, tree_by_tree):
    X, y = rows()
    labels = np.array(["a", "b", "c", "d"])[np.digitize(y, [0.0, 0.5, 1.0][: n_classes - 1])]
    table = frame(X) if named else X
    schema = {"bounds": {"age": (-2, 2)}} if named else BOUNDS
    model = DPBoostClassifier(schema=schema, **FAST).fit(table, labels)
    expected = model.predict_proba(table), model.predict(table), model.decision_function(table)
    tree_by_tree()
    np.testing.assert_array_equal(model.predict_proba(table), expected[0])
    np.testing.assert_array_equal(model.predict(table), expected[1])
    np.testing.assert_array_equal(model.decision_function(table), expected[2])
    assert model.predict_proba(table).shape == (len(X), n_classes)


def test_other_tables_are_refused(tree_by_tree):
    X, y = rows()
    model = DPBoostRegressor(schema={**BOUNDS, "label_bounds": (-2, 2)}, **FAST).fit(X, y)
    tree_by_tree()
    with pytest.raises(InvalidParameterError, match="features"):
        model.predict(X[:, :1])


def test_what_only_lightgbm_can_do_goes_to_lightgbm(monkeypatch):
    X, y = rows()
    model = DPBoostRegressor(schema={**BOUNDS, "label_bounds": (-2, 2)}, **FAST).fit(X, y)
    monkeypatch.setattr(base, "LARGE", 0)
    assert model.predict(X, pred_leaf=True).shape == (len(X), 5)
    np.testing.assert_array_equal(
        model.predict(X, num_iteration=2), stock(model, X, num_iteration=2)
    )
    more = DPBoostRegressor(schema={**BOUNDS, "label_bounds": (-2, 2)}, **FAST)
    more.fit(X, y, init_model=model)
    np.testing.assert_array_equal(more.predict(X), stock(more, X))
