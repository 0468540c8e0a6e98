"""Whatever leaves a fit is a function of public inputs and of what the ledger has released.

Every release is replaced by one and the same outcome. Then two fits on different private rows must
end alike to the last byte: model text, report, pickle, warnings and output. A number of rows, an
exact sum, a value or a label that slipped past the gate would show.
"""

import math
import pickle
import traceback
import warnings

import numpy as np
import pandas as pd
import pytest

import dpboost
from dpboost import DPBoostClassifier, DPBoostRegressor, InvalidParameterError
from dpboost.privacy.ledger import Ledger
from dpboost.recipes import ALGORITHMS

pytestmark = pytest.mark.filterwarnings("ignore")

FAST = {"random_state": 0, "n_estimators": 4, "max_depth": 3, "max_bin": 9, "n_jobs": 1}
SCHEMA = {
    "bounds": {"age": (-2, 2)},
    "categories": {"job": ["clerk", "nurse"]},
    "label_bounds": (-1, 1),
    "classes": [0, 1],
}
JOBS = ["clerk", "nurse", "spy"]
ENOUGH = 200  # rows of a category that the forced outcome of a stability histogram releases


@pytest.fixture
def forced(monkeypatch):
    """Outcomes of all releases, that do not look at the value but where they must."""
    labels = []

    def draw(self, entry, value):
        labels.append(entry.label)
        if entry.label == "split choice":
            return (np.arange(len(value)) * 7 % value.shape[1]).astype(np.int32)
        if entry.label == "leaf values":
            return np.arange(value.size, dtype=np.int64) * 12345 - 60000
        if entry.label in ("categories", "class labels"):
            # The list of values is private: the frequent ones pass.
            counts = value.flat() * entry.unit
            return value.passing(np.where(counts >= ENOUGH, 1, 0), 1)
        if entry.label == "start value":
            return np.array([100 << 20, 1000 << 20, 0])[: value.size]
        if entry.label in ("leaf sums", "fine histograms"):
            return (np.arange(value.size) * 12345 % 99_991 << 18).reshape(value.shape)
        if entry.label == "label range":
            # As many rows as there are, and all of them in the middle of a histogram.
            return np.where(np.arange(value.size) == value.size // 2, int(1000 / entry.unit), 0)
        noisy = np.zeros(value.size, dtype=np.int64)
        noisy[[100, 160]] = 10**6
        return noisy

    monkeypatch.setattr(Ledger, "_draw", draw)
    return labels


def frame(n_rows, seed=0, jobs=JOBS, spread=1.0):
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": random.normal(size=n_rows) * spread,
            "job": pd.Categorical(random.choice(jobs, n_rows), categories=JOBS),
            "pay": np.floor(random.normal(size=n_rows) * 1e6) + 0.123456789,
        }
    )


def spoiled(**cells):
    """A table with another column in the place of each one that is named."""
    return frame(1000).assign(**cells)


def noise(n_rows, seed=0):
    return np.random.default_rng(seed).uniform(-0.9, 0.9, n_rows)


def halves(n_rows):
    return np.arange(n_rows) % 2


# Name: rows, labels of a regression, labels of a classification.
DECLARED = {
    "plain": (frame(1000), noise(1000), halves(1000)),
    "other rows": (frame(1000, 1), noise(1000, 1), 1 - halves(1000)),
    "more rows": (frame(9_001, 2), noise(9_001), halves(9_001)),
    "one row": (frame(1), noise(1), halves(1)),
    "one class": (frame(1000), np.ones(1000), np.ones(1000, dtype=int)),
    "labels of no class or far away": (frame(1000), noise(1000) * 1e30, halves(1000) + 5),
    "labels of other types": (frame(1000), np.ones(1000, np.float16), halves(1000) * 1.0),
    "labels in a list": (frame(1000), halves(1000).tolist(), halves(1000).tolist()),
    "outliers": (frame(1000, spread=1e300), noise(1000), halves(1000)),
    "infinities": (spoiled(age=math.inf, pay=-math.inf), noise(1000), halves(1000)),
    "nothing but missing": (spoiled(age=math.nan, pay=math.nan), noise(1000), halves(1000)),
    "constants": (spoiled(age=0.5, pay=0.0), noise(1000), halves(1000)),
    # The type of a column is public by assumption, what its cells hold is not.
    "whole numbers": (spoiled(age=1.0, pay=halves(1000) * 1.0), noise(1000), halves(1000)),
    "one job": (frame(1000, jobs=["spy"]), noise(1000), halves(1000)),
}
# The two frequent classes and jobs are the same everywhere; rare ones must not show.
RARE = spoiled(job=pd.Categorical([*["clerk", "nurse"] * 499, "spy", None], categories=JOBS))
UNKNOWN = {
    "plain": (RARE, noise(1000), [*halves(998), 0, 1]),
    "a rare class": (RARE, noise(1000), [*halves(998), 7, 7]),
    "a rare class of another type": (RARE, noise(1000), [*halves(998), 2.0, 3]),
    "all of another type": (RARE, noise(1000), halves(1000).astype(bool)),
    "more rows": (
        pd.concat([RARE] * 7, ignore_index=True),
        noise(7000),
        [*halves(6997), -5, 5, 500],
    ),
    "a category more in the type": (
        RARE.assign(
            job=RARE["job"]
            .cat.add_categories(["aide"])
            .cat.reorder_categories(["spy", "aide", "nurse", "clerk"])
        ),
        noise(1000),
        halves(1000),
    ),
}


def what_leaves(estimator, X, y, options, capfd):
    """All that anybody can see of a fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = estimator(**FAST, **options).fit(X, y)
    text = model.booster_.model_to_string()
    return {
        "text": text,
        "report": model.privacy_report_.details(),
        "report as dict": model.privacy_report_.to_dict(),
        "warnings": [(warning.category, str(warning.message)) for warning in caught],
        "output": capfd.readouterr(),
        "attributes": {name: repr(value) for name, value in vars(model).items() if is_plain(value)},
        "names of attributes": sorted(vars(model)),
        "pickle": pickle.dumps(model),
        "repr": repr(model),
    }


def is_plain(value):
    """Whether a repr says what the value is, not where it lies in memory."""
    return " at 0x" not in repr(value) and "object" not in repr(value)


def labels_for(estimator, table):
    return table[1] if estimator is DPBoostRegressor else table[2]


@pytest.mark.parametrize("recipe", ALGORITHMS.names)
@pytest.mark.parametrize("estimator", [DPBoostRegressor, DPBoostClassifier])
@pytest.mark.parametrize("learn", [False, True], ids=["declared", "bounds learned"])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_rows_show_only_through_releases(recipe, estimator, learn, neighbors, forced, capfd):
    schema = SCHEMA | ({"bounds": {}, "label_bounds": None} if learn else {})
    options = {"schema": schema, "recipe": recipe, "neighbors": neighbors}
    expected = None
    for name, table in DECLARED.items():
        forced.clear()
        found = what_leaves(estimator, table[0], labels_for(estimator, table), options, capfd)
        found["releases"] = list(forced)
        expected = expected or found
        for part in expected:
            assert found[part] == expected[part], f"{part} shows {name}"


@pytest.mark.parametrize("recipe", ALGORITHMS.names)
@pytest.mark.parametrize("estimator", [DPBoostRegressor, DPBoostClassifier])
def test_rare_values_show_only_through_releases(recipe, estimator, forced, capfd):
    options = {"schema": {"bounds": SCHEMA["bounds"]}, "assume_public": (), "delta": 1e-5}
    options["recipe"] = recipe
    expected = None
    for name, table in UNKNOWN.items():
        found = what_leaves(estimator, table[0], labels_for(estimator, table), options, capfd)
        expected = expected or found
        for part in expected:
            assert found[part] == expected[part], f"{part} shows {name}"
    assert "categories" in forced


@pytest.mark.parametrize("container", ["pandas", "pyarrow", "polars", "batches", "codes"])
@pytest.mark.parametrize("estimator", [DPBoostRegressor, DPBoostClassifier])
def test_names_of_persons_stay_inside(estimator, container):
    """A column of names that became categorical, beside one whose values are frequent."""
    random = np.random.default_rng(0)
    names = [f"patient-{4000 + number}" for number in range(1000)]
    X = pd.DataFrame({"name": names, "job": random.choice(["clerk", "nurse"], len(names))}).astype(
        "category"
    )
    given, options = X, {}
    if container in ("pyarrow", "polars"):
        pytest.importorskip("pyarrow")
        module = pytest.importorskip(container)
        given = module.Table.from_pandas(X) if container == "pyarrow" else module.from_pandas(X)
    if container == "batches":
        given = [X[:500], X[500:].astype(str).astype("category")]
    if container == "codes":
        given = X.assign(name=4000 + X["name"].cat.codes, job=X["job"].cat.codes)
        options = {"categorical_feature": ["name", "job"]}
    y = (X["job"] == "nurse").to_numpy().astype(int)
    # A name that one row has is released with a chance of at most delta.
    model = estimator(epsilon=5.0, delta=1e-10, **FAST).fit(given, y, **options)
    shown = pickle.dumps(model).decode("latin1") + model.booster_.model_to_string()
    shown += model.privacy_report_.details() + repr(vars(model))
    assert "patient-" not in shown
    assert model.schema_.categories[0] == ()
    if container == "codes":
        assert model.schema_.categories[1] == (0, 1)
    else:
        assert model.schema_.categories[1] == ("clerk", "nurse")
        assert model.booster_.pandas_categorical == [[], ["clerk", "nurse"]]
    assert model.privacy_report_.kind == "approximate"
    assert np.isfinite(model.predict(given if container != "batches" else X)).all()


@pytest.mark.parametrize("recipe", ALGORITHMS.names)
def test_a_pure_recipe_that_learned_a_list_reports_delta(recipe):
    X = pd.DataFrame({"job": pd.Categorical(["clerk", "nurse"] * 500)})
    for schema, kind in ((None, "approximate"), ({"job": ["clerk", "nurse"]}, "pure")):
        schema = {"categories": schema or {}, "label_bounds": (0, 1)}
        model = DPBoostRegressor(recipe=recipe, schema=schema, delta=1e-5, **FAST)
        report = model.fit(X, halves(1000)).privacy_report_
        if recipe != "best":
            assert report.kind == kind
            assert report.delta_spent == (0 if kind == "pure" else report.delta / 10)
        assert ("delta = " in report.guarantee) == (kind == "approximate" or recipe == "best")


@pytest.mark.parametrize("recipe", ["dpboost", "para", "seq"])
@pytest.mark.parametrize("users", [False, True])
def test_without_delta_undeclared_lists_are_refused_before_anything_is_drawn(
    recipe, users, no_release
):
    X = pd.DataFrame({"job": pd.Categorical(["clerk", "nurse"] * 50), "code": [0, 1] * 50})
    beside = {"user_ids": np.arange(100)} if users else {}
    options = {"recipe": recipe, "delta": 0.0, **FAST} | ({"rows_per_user": 1} if users else {})
    for more in ({}, {"categorical_feature": ["code"]}):
        with pytest.raises(InvalidParameterError, match=r"Undeclared: 'job'.*Schema\(categ"):
            DPBoostRegressor(**options).fit(X, halves(100), **beside, **more)
    for table, named, columns in ((X, "'job'", "auto"), (X[["code"]], "'code'", ["code"])):
        data = dpboost.Dataset(table, halves(100), categorical_feature=columns, **beside)
        with pytest.raises(InvalidParameterError, match=f"Undeclared: {named}"):
            dpboost.cv({**options, "objective": "regression"}, data, 2)


SECRET = "secret-4711"

REFUSED = {
    "text in a number column": (np.array([[1.0, SECRET]] * 5, dtype=object), halves(5)),
    "text in a float table": ([[1.0, 2.0], [3.0, SECRET]], halves(2)),
    "ragged rows": ([[1.0, 4711.0], [2.0]], halves(2)),
    "text label": (np.zeros((3, 1)), np.array([0, 1, SECRET], dtype=object)),
    "text in a masked table": (
        np.ma.masked_array(np.array([[1.0], [SECRET]], dtype=object)),
        halves(2),
    ),
    "object in a text column": (
        pd.DataFrame({"job": ["clerk", [SECRET]]}),
        halves(2),
    ),
    "fraction for a class": (np.zeros((2, 1)), [0.0, 0.4711]),
    "infinite label": (np.full((2, 1), 4711.0), [0.0, math.inf]),
    "lengths": (np.full((4711, 1), 4711.0), halves(4710)),
    "undeclared text": (pd.DataFrame({"job": ["clerk", SECRET]}), halves(2)),
    "complex": (np.array([[4711.0 + 1j]]), [0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_no_traceback_shows_a_cell(name):
    """Chained exceptions are part of what gets printed and logged."""
    X, y = REFUSED[name]
    schema = {"categories": {"job": ["clerk"]}} if name == "object in a text column" else {}
    with pytest.raises((ValueError, TypeError)) as caught:
        DPBoostClassifier(schema=schema, **FAST).fit(X, y)
    error, seen = caught.value, []
    while error is not None:
        seen += [str(error), *traceback.format_exception_only(type(error), error)]
        error = error.__cause__ or error.__context__
    assert "471" not in "".join(seen)
