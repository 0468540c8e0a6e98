"""Files of users and rows for prediction, of any content: read, or one kind of error."""

import json
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from dpboost import DPBoostClassifier, DPBoostRegressor, InvalidParameterError, Schema
from dpboost.cli.table_files import declaration_of
from dpboost.schema import DataDictionary

TEXT = st.text(max_size=8) | st.sampled_from(["\ud800", "a\udfff", "\x00", "\r", '"', "a\rb", "1"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXT
VALUES = st.recursive(
    SCALARS, lambda own: st.lists(own, max_size=3) | st.dictionaries(TEXT, own, max_size=3)
)
PARTS = st.sampled_from(["bounds", "edges", "categories", "integer", "classes", "label_bounds"])
HEADERS = st.sampled_from(["name", "type", "lower", "upper", "values", "role", "description"])
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
NESTED = st.tuples(st.sampled_from(["[", '{"a":']), st.sampled_from([99, 101, 1500, 100_000]))


def outcome(read):
    """What is read, or None for an error in the words of the library."""
    try:
        return read()
    except InvalidParameterError as error:
        str(error).encode("utf-8", "backslashreplace")
        return None


def written(text, name):
    folder = Path(tempfile.mkdtemp())
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return path


def read_all(path):
    """Read a file by every reader; what was read can be saved and read again."""
    again = path.with_name("again.json")
    schema = outcome(lambda: Schema.from_json(path))
    if schema is not None:
        schema.to_json(again)
        assert Schema.from_json(again) == schema
    dictionary = outcome(lambda: DataDictionary.from_file(path))
    if dictionary is not None:
        dictionary.to_file(again)
        repr(dictionary)
    outcome(lambda: declaration_of(str(path), None))


@given(content=st.dictionaries(PARTS | TEXT, VALUES) | st.lists(st.dictionaries(HEADERS, VALUES)))
def test_json_of_any_content(content):
    read_all(written(json.dumps(content), "file.json"))


@given(nested=NESTED, closed=st.booleans())
def test_json_of_any_depth(nested, closed):
    opening, depth = nested
    inner = "" if opening == "[" else "1"
    text = opening * depth + inner + ("]" if opening == "[" else "}") * (depth if closed else 0)
    read_all(written(text, "file.json"))


@given(
    lines=st.lists(st.lists(TEXT, max_size=7), max_size=5),
    end=ENDS,
    name=st.sampled_from(["file.csv", "file.yaml", "file"]),
    mark=st.sampled_from(",;\t"),
)
def test_dictionaries_of_any_content(lines, end, name, mark):
    text = end.join(mark.join(line) for line in (["name", "type", "values"], *lines))
    read_all(written(text, name))


@given(
    cells=st.lists(SCALARS, min_size=1, max_size=4),
    as_frame=st.booleans(),
    options=st.sampled_from([{}, {"pred_leaf": True}, {"raw_score": True}]),
)
def test_boosters_predict_or_refuse(cells, as_frame, options):
    rows = pd.Series(cells, dtype=object)
    X = rows.to_frame() if as_frame else rows.to_numpy()[:, np.newaxis]
    found = outcome(lambda: MODEL.booster_.predict(X, **options))
    assert found is None or len(found) == len(cells)


@given(
    n_rounds=st.integers(1, 12),
    directions=st.lists(st.sampled_from([-1, 0, 1]), min_size=3, max_size=3),
    n_classes=st.integers(1, 3),
    objective=st.sampled_from([None, "multiclass", "multiclassova"]),
)
def test_there_are_as_many_trees_as_asked(n_rounds, directions, n_classes, objective):
    given = {"n_estimators": n_rounds, "monotone_constraints": directions, "verbosity": -1}
    schema = {"bounds": dict.fromkeys(range(3), (-1, 1))}
    if n_classes == 1:
        model = DPBoostRegressor(**given, schema=schema | {"label_bounds": (-2, 2)})
        labels, outputs = X[:, 0], 1
    else:
        model = DPBoostClassifier(
            **given, objective=objective, schema=schema | {"classes": range(n_classes)}
        )
        labels = np.digitize(X[:, 0], [-0.3, 0.3][: n_classes - 1])
        outputs = 1 if n_classes == 2 and objective is None else n_classes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, labels)
    assert model.booster_.num_trees() == n_rounds * outputs
    found = model.predict(scipy.sparse.csc_matrix(X), pred_contrib=True)
    listed = found if isinstance(found, list) else [found]
    dense = model.predict(X, pred_contrib=True)
    assert all(scipy.sparse.issparse(each) for each in listed)
    np.testing.assert_array_equal(np.hstack([each.toarray() for each in listed]), dense)


X = np.round(np.random.default_rng(0).uniform(-1, 1, (60, 3)), 1)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    MODEL = DPBoostRegressor(
        n_estimators=2, schema={"bounds": {0: (0, 1)}, "label_bounds": (0, 1)}
    ).fit(X[:, :1], X[:, 1])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_ends_of_lines_are_one(end):
    text = "name,type\na,number\nb,integer\n".replace("\n", end)
    assert DataDictionary.from_file(written(text, "file.csv")).numbers == ("a", "b")
