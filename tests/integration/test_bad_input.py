"""What is refused before anything is drawn, and what must not be an error because it would tell."""

import math
import tempfile

import lightgbm
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from dpboost import DPBoostClassifier, DPBoostRegressor, DPTreeClassifier, InvalidParameterError
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes import ALGORITHMS
from dpboost.recipes.recipe import Terms

pytestmark = pytest.mark.filterwarnings("ignore")

N_ROWS = 60
ESTIMATORS = [DPBoostRegressor, DPBoostClassifier]
FAST = {"n_estimators": 3, "max_depth": 2, "trees_per_ensemble": 2, "n_jobs": 1}


@pytest.fixture(params=ESTIMATORS, ids=lambda cls: cls.__name__)
def estimator(request):
    return request.param


def rows(n_rows=N_ROWS):
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, 3))
    return X, (X[:, 0] > 0).astype(int)


def schema(**extra):
    return {"bounds": {0: (-3, 3), 1: (-3, 3), 2: (-3, 3)}, "label_bounds": (0, 1), **extra}


BAD_PARAMETERS = [
    ("epsilon", 0),
    ("epsilon", -1),
    ("epsilon", math.nan),
    ("epsilon", "one"),
    ("epsilon", None),
    ("epsilon", True),
    ("delta", -1e-9),
    ("delta", 1),
    ("delta", math.nan),
    ("recipe", "dp-boost"),
    ("recipe", None),
    ("neighbors", "bounded"),
    ("neighbors", None),
    ("assume_public", "classes"),
    ("assume_public", ("labels",)),
    ("assume_public", None),
    ("schema", 3),
    ("schema", {"bonds": {0: (0, 1)}}),
    ("schema", {"bounds": {7: (0, 1)}}),
    ("schema", {"bounds": {"age": (0, 1)}}),
    ("schema", {"bounds": {0: (1, 0)}}),
    ("schema", {"label_bounds": (0, math.inf)}),
    ("n_estimators", 0),
    ("n_estimators", 2.5),
    ("n_estimators", True),
    ("learning_rate", 0),
    ("learning_rate", math.nan),
    ("max_depth", 2.5),
    ("reg_lambda", -1),
    ("reg_lambda", math.inf),
    ("max_bin", 1),
    ("max_bin", 0),
    ("trees_per_ensemble", 0),
    ("selection", "argmax"),
    ("random_state", "x"),
    ("noise_seed", -1),
    ("noise_seed", 0.5),
    ("n_jobs", 1.5),
    ("verbosity", "quiet"),
]


@pytest.mark.parametrize(("name", "value"), BAD_PARAMETERS)
def test_bad_parameters_are_refused_by_name(estimator, name, value, no_release):
    X, y = rows()
    model = estimator(**{"schema": schema(), name: value})
    with pytest.raises(InvalidParameterError) as caught:
        model.fit(X, y)
    message = str(caught.value)
    key = next(iter(value)) if name == "schema" and isinstance(value, dict) else name
    assert name in message or key in message


@pytest.mark.parametrize("recipe", ALGORITHMS.names)
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_budget_too_small_to_draw_is_refused_at_once(
    estimator, recipe, neighbors, delta, monkeypatch
):
    X, y = rows()
    task = estimator._task
    relation = Neighbors(neighbors)
    terms = Terms(delta=delta, task=task, neighbors=relation, n_features=X.shape[1])
    least = ALGORITHMS.find(recipe, "X").least_epsilon({}, terms)
    options = {"recipe": recipe, "neighbors": neighbors, "delta": delta, "n_jobs": 1}
    estimator(epsilon=1.001 * least, **options).fit(X, y)
    monkeypatch.setattr(Ledger, "release", None)
    with pytest.raises(InvalidParameterError, match="epsilon"):
        estimator(epsilon=0.99 * least, **options).fit(X, y)


def test_misspelt_parameters_of_the_guarantee_are_refused(estimator, no_release):
    X, y = rows()
    with pytest.raises(InvalidParameterError, match="'epsilonn'.*Did you mean 'epsilon'"):
        estimator(epsilonn=1).fit(X, y)
    with pytest.raises(InvalidParameterError, match="'row_per_user'.*'rows_per_user'"):
        estimator().set_params(row_per_user=1).fit(X, y)


def with_label(value):
    X, y = rows()
    labels = y.astype(object if isinstance(value, str) else float)
    labels[7] = value
    return X, labels


def damaged_sparse():
    matrix = sparse.csr_matrix(rows()[0])
    matrix.indices[5] = 99
    return matrix


class Batches(lightgbm.Sequence):
    def __init__(self, values):
        self.values = values

    def __getitem__(self, position):
        return self.values[position]

    def __len__(self):
        return len(self.values)


def freed_dataset():
    return lightgbm.Dataset(rows()[0], params={"verbosity": -1}).construct()


BAD_TABLES = {
    "one-dimensional X": lambda: (np.arange(6.0), np.arange(6)),
    "three-dimensional X": lambda: (np.zeros((4, 2, 2)), np.arange(4)),
    "no rows": lambda: (np.zeros((0, 3)), np.zeros(0)),
    "no columns": lambda: (np.zeros((5, 0)), np.arange(5) % 2),
    "complex X": lambda: (np.ones((5, 2)) * 1j, np.arange(5) % 2),
    "text X": lambda: (np.array([["a", "b"]] * 5, dtype=object), np.arange(5) % 2),
    "undeclared text column": lambda: (pd.DataFrame({"a": ["x", "y"] * 3}), np.arange(6) % 2),
    "lengths differ": lambda: (rows()[0], rows()[1][:-1]),
    "no labels": lambda: (rows()[0], None),
    "missing label": lambda: with_label(np.nan),
    "infinite label": lambda: with_label(np.inf),
    "two-dimensional y": lambda: (rows()[0], np.zeros((N_ROWS, 2))),
    "mixture of labels": lambda: with_label("x"),
    "damaged sparse X": lambda: (damaged_sparse(), rows()[1]),
    "parts of other widths": lambda: ([rows()[0][:9], rows()[0][9:, :2]], rows()[1]),
    "freed Dataset": lambda: (freed_dataset(), rows()[1]),
    "one-dimensional Sequence": lambda: (Batches(rows()[0][:, 0]), rows()[1]),
    "structured array": lambda: (np.zeros((N_ROWS, 2), dtype=[("a", "f8")]), rows()[1]),
    "bytes": lambda: (np.full((N_ROWS, 2), b"1"), rows()[1]),
    "time differences": lambda: (np.ones((N_ROWS, 2), dtype="m8[s]"), rows()[1]),
    "frame of objects": lambda: (pd.DataFrame(rows()[0]).astype(object), rows()[1]),
    "frame of periods": lambda: (
        pd.DataFrame({"a": pd.period_range("2020", periods=N_ROWS)}),
        rows()[1],
    ),
    "sparse complex columns": lambda: (
        pd.DataFrame({"a": pd.arrays.SparseArray(np.ones(N_ROWS) * 1j)}),
        rows()[1],
    ),
    "name that breaks JSON": lambda: (
        pd.DataFrame(rows()[0], columns=["a", "b", 'c"']),
        rows()[1],
    ),
    "dates": lambda: (
        pd.DataFrame({"a": pd.date_range("2020-01-01", periods=6)}),
        np.arange(6) % 2,
    ),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables_are_refused(estimator, name, no_release):
    X, y = BAD_TABLES[name]()
    with pytest.raises((ValueError, TypeError)) as caught:
        estimator(**FAST).fit(X, y)
    if "columns" not in name and "rows" not in name:
        assert str(N_ROWS) not in str(caught.value)


def column(value):
    X, y = rows()
    X[:, 1] = value
    return X, y


def cell(value):
    X, y = rows()
    X[3, 1] = value
    return X, y


def huge_integers():
    X, y = rows()
    wide = np.array([[2**62 + 1, -(2**62), 0]] * N_ROWS)
    return wide, y


def unsorted_sparse():
    X, y = rows()
    matrix = sparse.csr_matrix(X)
    for row in range(N_ROWS):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        matrix.indices[part] = matrix.indices[part][::-1].copy()
        matrix.data[part] = matrix.data[part][::-1].copy()
    matrix.has_sorted_indices = False
    return matrix, y


def repeated_sparse():
    X, y = rows()
    matrix = sparse.coo_matrix(X)
    twice = [np.tile(part, 2) for part in (matrix.data / 2, matrix.row, matrix.col)]
    return sparse.coo_matrix((twice[0], (twice[1], twice[2])), shape=X.shape), y


def wide_indices():
    X, y = rows()
    matrix = sparse.csr_matrix(X)
    matrix.indices, matrix.indptr = matrix.indices.astype("i8"), matrix.indptr.astype("i8")
    return matrix, y


def memory_map():
    X, y = rows()
    with tempfile.TemporaryFile() as file:
        file.write(X.tobytes())
        file.flush()
        return np.memmap(file, X.dtype, "r", shape=X.shape), y


def read_only():
    X, y = rows()
    X.setflags(write=False)
    y.setflags(write=False)
    return X, y


def nullable_frame():
    X, y = rows()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["b"] = pd.array([None, 1, 2] * (N_ROWS // 3), dtype="Int64")
    return frame, y


def unseen_category():
    frame = pd.DataFrame({"job": ["clerk", "nurse", "spy"] * (N_ROWS // 3)})
    return frame, rows()[1]


FINE_TABLES = {
    "one row": lambda: (rows()[0][:1], rows()[1][:1]),
    "constant column": lambda: column(2.0),
    "all-missing column": lambda: column(np.nan),
    "missing cell": lambda: cell(np.nan),
    "infinite cell": lambda: cell(np.inf),
    "minus infinite cell": lambda: cell(-np.inf),
    "outlying cell": lambda: cell(1e300),
    "denormal cell": lambda: cell(5e-324),
    "huge integers": huge_integers,
    "unsigned integers": lambda: (np.full((N_ROWS, 3), 2**64 - 1, dtype=np.uint64), rows()[1]),
    "unsorted sparse indices": unsorted_sparse,
    "CSC": lambda: (sparse.csc_matrix(rows()[0]), rows()[1]),
    "read-only arrays": read_only,
    "non-contiguous rows": lambda: (np.repeat(rows()[0], 2, axis=0)[::2], rows()[1]),
    "Fortran order": lambda: (np.asfortranarray(rows()[0]), rows()[1]),
    "reversed columns": lambda: (rows()[0][:, ::-1], rows()[1]),
    "float16": lambda: (rows()[0].astype(np.float16), rows()[1]),
    "bool": lambda: (rows()[0] > 0, rows()[1]),
    "object column of numbers": lambda: (rows()[0].astype(object), rows()[1]),
    "list": lambda: (rows()[0].tolist(), rows()[1].tolist()),
    "nullable frame": nullable_frame,
    "COO with repeated cells": repeated_sparse,
    "64-bit sparse indices": wide_indices,
    "sparse frame": lambda: (
        pd.DataFrame(rows()[0]).astype(pd.SparseDtype("float64", 0.0)),
        rows()[1],
    ),
    "list of arrays": lambda: ([rows()[0][:20], rows()[0][20:]], rows()[1]),
    "Sequence": lambda: (Batches(rows()[0]), rows()[1]),
    "masked array": lambda: (np.ma.masked_greater(rows()[0], 1), rows()[1]),
    "other byte order": lambda: (rows()[0].astype(">f8"), rows()[1]),
    "long double": lambda: (rows()[0].astype(np.longdouble) * 1e300, rows()[1]),
    "memory map": memory_map,
}


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("name", FINE_TABLES)
def test_what_would_tell_is_no_error(estimator, name, declared):
    X, y = FINE_TABLES[name]()
    completed = {"classes": [0, 1], "label_bounds": (0, 1)}
    if declared:
        keys = X.columns if hasattr(X, "columns") else range(3)
        completed["bounds"] = dict.fromkeys(keys, (-3, 3))
    model = estimator(schema=completed, **FAST).fit(X, y)
    prediction = model.predict(X)
    assert len(prediction) == len(y)
    assert model.n_estimators_ == FAST["n_estimators"]


def test_unseen_categories_are_no_error(estimator):
    X, y = unseen_category()
    completed = {
        "categories": {"job": ["clerk", "nurse"]},
        "label_bounds": (0, 1),
        "classes": [0, 1],
    }
    model = estimator(schema=completed, **FAST).fit(X, y)
    other = pd.DataFrame({"job": ["pilot", None, "clerk"]})
    assert len(model.predict(other)) == 3


@pytest.mark.parametrize("recipe", ["best", "dpboost", "seq", "tree"])
def test_one_class_is_what_is_predicted_whatever_the_noise(recipe):
    model = DPTreeClassifier()
    if recipe != "tree":
        model = DPBoostClassifier(recipe=recipe, n_estimators=10)
    X = np.random.default_rng(0).uniform(size=(10, 3))
    for labels in (np.ones(10), np.array(["yes"] * 10)):
        for _ in range(20):
            fitted = clone(model).fit(X, labels)
            assert fitted.predict(X).tolist() == labels.tolist()
            assert fitted.predict_proba(X).tolist() == [[1.0]] * 10


def test_one_class_of_a_known_list_is_no_error():
    X, _ = rows()
    for label in (0, 1):
        model = DPBoostClassifier(schema=schema(classes=[0, 1]), **FAST)
        model.fit(X, np.full(N_ROWS, label))
        assert model.classes_.tolist() == [0, 1]
        assert model.predict_proba(X).shape == (N_ROWS, 2)


def test_a_label_outside_the_declared_classes_is_no_error_and_takes_no_part():
    X, y = rows()
    strange = y.copy()
    strange[::2] = 7
    options = {
        "schema": schema(classes=[0, 1]),
        "epsilon": math.inf,
        "recipe": "seq",
        "n_estimators": 3,
        "max_depth": 2,
    }
    model = DPBoostClassifier(**options).fit(X, strange)
    same = DPBoostClassifier(**options).fit(X[1::2], y[1::2])
    assert model.classes_.tolist() == [0, 1]
    assert np.array_equal(model.predict_proba(X), same.predict_proba(X))


def test_labels_outside_their_bounds_are_clipped():
    X, y = rows()
    labels = y.astype(float)
    far = labels.copy()
    far[0] = 1e30 if labels[0] == 1 else -1e30
    options = {"schema": schema(), "noise_seed": 1, **FAST}
    model = DPBoostRegressor(**options).fit(X, far)
    same = DPBoostRegressor(**options).fit(X, labels)
    assert np.array_equal(model.predict(X), same.predict(X))


@pytest.mark.parametrize("recipe", ["dpboost", "para", "seq"])
def test_more_than_two_classes_are_refused_by_recipes_for_two(recipe, no_release):
    X, _ = rows()
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        DPBoostClassifier(recipe=recipe, n_estimators=2).fit(X, np.arange(N_ROWS) % 3)


def test_labels_that_look_like_numbers_to_predict_are_refused(no_release):
    X = np.zeros((3000, 1))
    with pytest.raises(ValueError, match="regression"):
        DPBoostClassifier(**FAST).fit(X, np.arange(3000))
