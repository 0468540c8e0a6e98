"""Predictions tree by tree: the same doubles as LightGBM's, whatever the table is."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from dpboost import DPBoostClassifier, DPBoostRegressor, InvalidParameterError
from dpboost.data.conform import conform

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
    """Put LightGBM's predictions of estimators out of reach."""

    def refuse(*arguments, **options):
        raise AssertionError("LightGBM predicted")

    monkeypatch.setattr(lightgbm.LGBMModel, "predict", refuse)


def stock(model, X, **options):
    booster = lightgbm.Booster(model_str=model.booster_.model_to_string())
    return booster.predict(conform(X, model.ensemble_.binner), **options)


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
    for some in (table, table[:1]):
        np.testing.assert_array_equal(model.predict(some), stock(model, some))
        raw = model.predict(some, raw_score=True)
        np.testing.assert_array_equal(raw, stock(model, some, raw_score=True))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("named", [False, True])
def test_classes(n_classes, named, tree_by_tree):
    X, y = rows()
    labels = np.array(["a", "b", "c", "d"])[np.digitize(y, [0.0, 0.5, 1.0][: n_classes - 1])]
    table = frame(X) if named else X
    schema = {"bounds": {"age": (-2, 2)}} if named else BOUNDS
    model = DPBoostClassifier(schema=schema, **FAST).fit(table, labels)
    for some in (table, table[:1]):
        expected = stock(model, some)
        if n_classes == 2:
            expected = np.column_stack((1.0 - expected, expected))
        np.testing.assert_array_equal(model.predict_proba(some), expected)
        most = model.classes_[expected.argmax(axis=1)]
        np.testing.assert_array_equal(model.predict(some), most)
        raw = model.decision_function(some)
        np.testing.assert_array_equal(raw, stock(model, some, raw_score=True))


EDGES = [0.0, -0.0, 5e-324, 1e-35, -1e-35, 1e300, -1e300, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("zero_as_missing", [False, True])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_values_at_the_edges_and_beyond_all_numbers(kind, zero_as_missing, tree_by_tree):
    X, y = rows(2_000)
    schema = {"bounds": {0: (-2, 2)}, "categories": {1: [0, 1, 3]}, "label_bounds": (-2, 2)}
    X[:, 1] = np.arange(len(X)) % 5
    model = DPBoostRegressor(
        epsilon=50, schema=schema, zero_as_missing=zero_as_missing, n_estimators=60, verbosity=0
    ).fit(X, y)
    borders = model.ensemble_.binner.thresholds(0)
    borders = borders[np.isfinite(borders)]
    near = [np.nextafter(borders, side) for side in (-np.inf, np.inf)]
    numbers = np.concatenate([borders, *near, EDGES])
    codes = np.array([*EDGES, 0.5, -0.5, 1.0, 2.0, 3.0, 3.9, 4.0, 65535.0, 2.0**31, 1e18])
    with np.errstate(over="ignore"):
        table = np.array([(a, b) for a in numbers for b in codes]).astype(kind)
    assert len(table) > 1_000
    found = model.predict(table)
    np.testing.assert_array_equal(found, stock(model, table))
    assert len(np.unique(found)) > 20
    for some in (table[:1], table[::97], table[:50]):
        np.testing.assert_array_equal(model.predict(some), stock(model, some))


def test_other_tables_are_refused():
    X, y = rows()
    model = DPBoostRegressor(schema={**BOUNDS, "label_bounds": (-2, 2)}, **FAST).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :1])
    with pytest.raises(InvalidParameterError, match="features"):
        model.predict(pd.DataFrame(X[:, :1]))


def test_what_only_lightgbm_can_do_goes_to_lightgbm():
    X, y = rows()
    model = DPBoostRegressor(schema={**BOUNDS, "label_bounds": (-2, 2)}, **FAST).fit(X, y)
    assert model.predict(X, pred_leaf=True).shape == (len(X), 5)
    np.testing.assert_array_equal(
        model.predict(X, num_iteration=2), stock(model, X, num_iteration=2)
    )
    more = DPBoostRegressor(schema={**BOUNDS, "label_bounds": (-2, 2)}, **FAST)
    more.fit(X, y, init_model=model)
    np.testing.assert_array_equal(more.predict(X), stock(more, X))
