"""Small odd tables under any parameters: an error of ours before any release, or a whole model."""

import json
import math
import re
import warnings
from importlib import util

import lightgbm
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, note
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import dpboost
from dpboost import DPBoostClassifier, DPBoostRegressor, InvalidParameterError
from dpboost.privacy.ledger import Ledger

ODD = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-35, -1e-36, 5e-324, 1e300, -1e300, 2.0**53, math.nan]
ODD += [math.inf, -math.inf]
CELLS = st.sampled_from(ODD) | st.floats(-4, 4) | st.integers(-3, 3).map(float) | st.floats()
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:nan|inf)(?![\w.])", re.IGNORECASE)


@pytest.fixture
def released(monkeypatch):
    """Names of the gate's calls so far."""
    calls = []
    for name in ("release", "release_together", "row_coins"):
        true = getattr(Ledger, name)

        def call(self, *arguments, _true=true, _name=name, **options):
            calls.append(_name)
            return _true(self, *arguments, **options)

        monkeypatch.setattr(Ledger, name, call)
    return calls


def as_frame(X):
    return pd.DataFrame(X, columns=[f"Column_{k}" for k in range(X.shape[1])])


def as_arrow(X):
    import pyarrow

    return pyarrow.table({f"Column_{k}": X[:, k] for k in range(X.shape[1])})


def as_coo(X):
    # Cells in any order, zeros stored too.
    rows, columns = (position.ravel() for position in np.indices(X.shape))
    return scipy.sparse.coo_matrix((X.ravel()[::-1], (rows[::-1], columns[::-1])), shape=X.shape)


CONTAINERS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "reversed": lambda X: np.ascontiguousarray(X[::-1])[::-1],
    "big endian": lambda X: X.astype(">f8"),
    "list": lambda X: X.tolist(),
    "frame": as_frame,
}
if util.find_spec("pyarrow"):
    CONTAINERS["arrow"] = as_arrow
SPARSE = {
    "csr": scipy.sparse.csr_matrix,
    "csc": scipy.sparse.csc_matrix,
    "coo": as_coo,
    "array": lambda X: scipy.sparse.csr_array(X),
}


@st.composite
def tables(draw):
    shape = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    return draw(arrays.arrays(np.float64, shape, elements=CELLS))


@st.composite
def labels(draw, n_rows):
    kind = draw(st.sampled_from(["real", "two", "three", "text", "odd"]))
    if kind == "real":
        return draw(arrays.arrays(np.float64, n_rows, elements=st.floats(-100, 100)))
    if kind == "odd":
        return draw(arrays.arrays(np.float64, n_rows, elements=CELLS))
    names = {"two": [0, 1], "three": [3, 1, 7], "text": ["no", "yes"]}[kind]
    return np.array(draw(st.lists(st.sampled_from(names), min_size=n_rows, max_size=n_rows)))


def mostly(good, *odd):
    """Draw a good value fifteen times out of sixteen."""
    return st.integers(0, 15).flatmap(lambda k: st.sampled_from(odd) if k == 15 else good)


PARAMETERS = st.fixed_dictionaries(
    {
        "n_estimators": mostly(st.integers(1, 6), 0, -1),
        "noise_seed": st.integers(0, 2**32),
        "random_state": st.integers(0, 100),
    },
    optional={
        "recipe": st.sampled_from(["best", "dpboost", "seq", "para"]),
        "epsilon": mostly(st.floats(0.01, 50), 0.0, -1.0, math.nan, math.inf, 1e-12, 1e12),
        "delta": mostly(st.sampled_from([0.0, 1e-9, 1e-6, 1e-3]), 1.0, -1e-6, math.nan),
        "max_depth": mostly(st.integers(1, 6), 0, -1, 40),
        "max_bin": mostly(st.integers(2, 255), 1, 0, 256, 10**6),
        "learning_rate": mostly(st.floats(0.01, 1), 0.0, -1.0, math.nan, 1e9),
        "reg_lambda": mostly(st.floats(0, 100), -1.0, math.nan, math.inf, 1e300),
        "neighbors": st.sampled_from(["add_remove", "replace"]),
        "n_jobs": st.sampled_from([None, 1, 2, -1]),
        "zero_as_missing": st.booleans(),
        "use_missing": st.booleans(),
        "min_data_in_leaf": st.integers(0, 30),
    },
)


@st.composite
def schemas(draw, n_features):
    """Nothing declared, some of it, or something that does not go together."""
    mapping = {}
    ends = mostly(st.floats(-1e3, 1e3), 0.0, 1e308, -1e308, math.inf, math.nan)
    known = draw(st.sets(st.integers(0, n_features)))
    if known:
        mapping["bounds"] = {k: tuple(sorted((draw(ends), draw(ends)))) for k in sorted(known)}
    if draw(st.booleans()):
        mapping["label_bounds"] = tuple(sorted((draw(ends), draw(ends))))
    return mapping or None


def fitted(estimator, X, y, parameters, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator(**parameters).fit(X, y, **options)


@given(st.data())
def test_an_error_of_ours_before_any_release_or_a_whole_model(released, data):
    X = data.draw(tables(), label="X")
    y = data.draw(labels(len(X)), label="y")
    estimator = data.draw(st.sampled_from([DPBoostRegressor, DPBoostClassifier]))
    parameters = data.draw(PARAMETERS, label="parameters")
    kind = data.draw(st.sampled_from([*CONTAINERS, *SPARSE]), label="container")
    given_schema = data.draw(schemas(X.shape[1]), label="schema")
    weights = st.floats(0, 1) if data.draw(st.booleans()) else CELLS
    weight = data.draw(st.none() | arrays.arrays(np.float64, len(X), elements=weights))
    released.clear()
    try:
        if given_schema is not None:
            parameters["schema"] = dpboost.Schema(**given_schema)
        model = fitted(
            estimator, (CONTAINERS | SPARSE)[kind](X), y, parameters, sample_weight=weight
        )
    except InvalidParameterError:
        assert released == []
        return
    check_model(model, X)


def check_model(model, X):
    """Numbers but thresholds are finite, and LightGBM predicts the same doubles from the text.

    A threshold is infinite where a node sends all numbers to one side and missing cells to the
    other: so that infinite cells follow the last bin.
    """
    text = model.booster_.model_to_string()
    trees = text[: text.index("end of trees")].partition("\nTree=0\n")[2]
    finite = [line for line in trees.splitlines() if not line.startswith("threshold=")]
    assert NUMBER.findall("\n".join(finite)) == []
    assert "nan" not in trees
    json.dumps(model.booster_.dump_model(), allow_nan=False)
    stock = lightgbm.Booster(model_str=text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a frame had names, an array has none
        own = model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)
    theirs = stock.predict(X)
    assert np.isfinite(theirs).all()
    if hasattr(model, "classes_") and len(model.classes_) == 1:
        assert (own == 1).all()
        return
    if hasattr(model, "classes_") and len(model.classes_) == 2:
        own = own[:, 1]
    np.testing.assert_array_equal(own, theirs)


@given(st.data())
def test_the_same_table_in_another_container_gives_the_same_model(data):
    X = data.draw(tables(), label="X")
    task = data.draw(st.sampled_from([DPBoostRegressor, DPBoostClassifier]))
    n_classes = data.draw(st.integers(2, 3))
    y = np.arange(len(X)) % n_classes
    parameters = data.draw(PARAMETERS, label="parameters")
    texts, refused = {}, {}
    chosen = data.draw(
        st.sets(st.sampled_from([*CONTAINERS, *SPARSE]), min_size=2, max_size=3), label="containers"
    )
    for kind in sorted(chosen):
        try:
            made = (CONTAINERS | SPARSE)[kind](X)
            model = fitted(task, made, y, parameters)
            texts[kind] = model.booster_.model_to_string()
        except InvalidParameterError as error:
            refused[kind] = str(error)
    note(str(refused))
    assert len(set(texts.values())) <= 1
    # What is refused is refused in every container, for the same reason.
    assert not (texts and refused)
    assert len(set(refused.values())) <= 1
