import json
import pickle

import numpy as np
import pandas as pd
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.schema import Schema


def full_schema():
    return Schema(
        bounds={"age": (17, 90), 3: (0.5, 0.5)},
        edges={"hours": [20, 30.5, 45]},
        categories={"job": ["clerk", "nurse"], 5: [1, 4, 9]},
        integer=["age", 3],
        classes=["no", "yes"],
        label_bounds=(1, 30),
        max_rows=1000,
    )


def test_values_become_plain_python():
    schema = Schema(
        bounds={np.int64(2): np.array([1, 2])},
        categories={"a": np.array(["x", "y"]), "b": pd.Index([3, 1])},
        classes=np.array([0, 1]),
        max_rows=np.int64(5),
    )
    assert schema.bounds == {2: (1.0, 2.0)}
    assert all(type(key) is int for key in schema.bounds)
    assert schema.categories == {"a": ("x", "y"), "b": (3, 1)}
    assert all(
        type(value) in (int, str) for values in schema.categories.values() for value in values
    )
    assert [type(label) for label in schema.classes] == [int, int]
    assert type(schema.max_rows) is int


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"bounds": {"a": (2, 1)}}, "lower <= upper"),
        ({"bounds": {"a": (0, np.inf)}}, "finite"),
        ({"bounds": {"a": (0, np.nan)}}, "finite"),
        ({"bounds": {"a": (0, 10**400)}}, "finite"),
        ({"bounds": {"a": (0, True)}}, "finite"),
        ({"bounds": {"a": 3}}, "lower <= upper"),
        ({"bounds": {"a": "01"}}, "lower <= upper"),
        ({"bounds": {"a": (0, 1, 2)}}, "lower <= upper"),
        ({"bounds": {-1: (0, 1)}}, "positions from 0"),
        ({"bounds": {True: (0, 1)}}, "positions from 0"),
        ({"bounds": {1.5: (0, 1)}}, "positions from 0"),
        ({"bounds": [(0, 1)]}, "dict from column"),
        ({"integer": "a"}, "list of column names"),
        ({"integer": 3}, "list of column names"),
        ({"integer": [-1]}, "positions from 0"),
        ({"integer": [True]}, "positions from 0"),
        ({"integer": ["a", "a"]}, "lists the column 'a' twice"),
        ({"integer": ["a"], "edges": {"a": [1]}}, "'integer' of Schema and in 'edges'"),
        ({"integer": [2], "categories": {2: [1]}}, "'integer' of Schema and in 'categories'"),
        ({"edges": {"a": []}}, "1 to 254"),
        ({"edges": {"a": [1, 1]}}, "strictly increasing"),
        ({"edges": {"a": range(255)}}, "1 to 254"),
        ({"categories": {"a": "xyz"}}, "non-empty"),
        ({"categories": {"a": ["x", None]}}, "distinct text"),
        ({"categories": {"a": ["x", np.nan]}}, "distinct text"),
        ({"categories": {"a": ["x", "y", "x"]}}, "'x' twice"),
        ({"categories": {"a": [1, True]}}, "twice"),
        ({"classes": [1]}, "at least two"),
        ({"classes": [1, 1]}, "twice"),
        ({"label_bounds": (1, 1)}, "lower < upper"),
        ({"label_bounds": (2, 1)}, "lower < upper"),
        ({"label_bounds": (-1.1e30, 0)}, r"'label_bounds' .*from -1e\+30 to 1e\+30: multiply"),
        ({"label_bounds": (-2.5e154, 2.5e154)}, r"'label_bounds' .*from -1e\+30 to 1e\+30"),
        ({"label_bounds": (0, 9e-26)}, "'label_bounds' .*at least 1e-25 apart: multiply"),
        ({"bounds": {"a": (0, 1e300)}}, r"bounds\[.*from -1e\+30 to 1e\+30: multiply"),
        ({"edges": {"a": [0, 1e31]}}, r"edges\[.*from -1e\+30 to 1e\+30: multiply"),
        ({"max_rows": 0}, "at least 1"),
        ({"max_rows": 2.5}, "integer"),
        ({"bounds": {"a": (0, 1)}, "categories": {"a": [1, 2]}}, "declared twice"),
        ({"bounds": {"a": (0, 1)}, "edges": {"a": [1, 2]}}, "declared twice"),
    ],
)
def test_bad_declarations_are_refused(parts, message):
    with pytest.raises(InvalidParameterError, match=message):
        Schema(**parts)


def test_bounds_at_the_limits_are_taken():
    schema = Schema(bounds={0: (-1e30, 1e30), 1: (7, 7)}, label_bounds=(-1e30, 1e30))
    assert schema.label_bounds == (-1e30, 1e30)
    assert Schema(label_bounds=(0, 1e-25)).label_bounds == (0, 1e-25)


def test_dict_and_json_round_trips(tmp_path):
    schema = full_schema()
    assert Schema.from_dict(schema.to_dict()) == schema
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    path = tmp_path / "schema.json"
    schema.to_json(path)
    assert Schema.from_json(path) == schema
    assert Schema.coerce(path) == Schema.coerce(str(path)) == schema
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert Schema().to_dict() == {}


def test_coerce():
    schema = full_schema()
    assert Schema.coerce(schema) is schema
    assert Schema.coerce(None) == Schema()
    assert Schema.coerce({"bounds": {"a": [0, 1]}}) == Schema(bounds={"a": (0, 1)})
    with pytest.raises(InvalidParameterError, match="path of a schema or data dictionary"):
        Schema.coerce(3)
    with pytest.raises(InvalidParameterError, match="Did you mean 'bounds'"):
        Schema.coerce({"bound": {}})
    with pytest.raises(InvalidParameterError, match="cannot be read"):
        Schema.coerce("no/such/file.json")


def test_broken_json_is_refused(tmp_path):
    path = tmp_path / "schema.json"
    path.write_text("{")
    with pytest.raises(InvalidParameterError, match="cannot be read"):
        Schema.from_json(path)
    path.write_text("[1]")
    with pytest.raises(InvalidParameterError, match="one JSON object"):
        Schema.from_json(path)
    path.write_text('{"bounds": [["a", [0, 1]], ["a", [0, 2]]]}')
    with pytest.raises(InvalidParameterError, match="twice"):
        Schema.from_json(path)


def test_resolve_gives_positions():
    names = ["age", "job", "hours", "x3", "x4", "x5"]
    resolved = full_schema().resolve(names)
    assert resolved.bounds == {0: (17.0, 90.0), 3: (0.5, 0.5)}
    assert resolved.edges == {2: (20.0, 30.5, 45.0)}
    assert resolved.categories == {1: ("clerk", "nurse"), 5: (1, 4, 9)}
    assert resolved.integer == {0, 3}
    assert resolved.classes == ("no", "yes")
    assert resolved.label_bounds == (1.0, 30.0)
    assert resolved.max_rows == 1000
    assert resolved.feature_names == tuple(names)
    assert resolved.n_features == 6


def test_resolve_reads_blanks_as_lightgbm_does():
    schema = Schema(bounds={"hours per week": (0, 99)})
    assert schema.resolve(["hours_per_week"]).bounds == {0: (0.0, 99.0)}
    assert schema.resolve(["hours per week"]).bounds == {0: (0.0, 99.0)}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"bounds": {"agee": (0, 1)}}, "Did you mean 'age'"),
        ({"categories": {7: [1, 2]}}, "columns 0 to 1"),
        ({"bounds": {"age": (0, 1), 0: (0, 2)}}, "declared twice"),
        ({"bounds": {"age": (0, 1)}, "categories": {0: [1, 2]}}, "declared twice"),
        ({"bounds": {"0": (0, 1)}}, "does not have"),
        ({"integer": ["agee"]}, "Did you mean 'age'"),
        ({"integer": [2]}, "columns 0 to 1"),
        ({"integer": ["age", 0]}, "lists the column 'age' .position 0. twice"),
        ({"integer": [0], "edges": {"age": [1]}}, "'integer' of Schema and in 'edges'"),
    ],
)
def test_resolve_refuses(parts, message):
    with pytest.raises(InvalidParameterError, match=message):
        Schema(**parts).resolve(["age", "job"])


def test_public_sample_of_numbers():
    X = np.array([[1.0, np.nan, 3.0], [-2.0, np.nan, np.inf], [0.5, np.nan, 3.0]])
    schema = Schema.from_public_sample(X, [3, 1, 3], task="classification", max_rows=7)
    assert schema.bounds == {0: (-2.0, 1.0), 2: (3.0, 3.0)}
    assert schema.classes == (1, 3)
    assert schema.max_rows == 7
    schema = Schema.from_public_sample(X, [3.0, 1.5, 2.0], task="regression")
    assert schema.label_bounds == (1.5, 3.0)
    with pytest.raises(InvalidParameterError, match="'task'"):
        Schema.from_public_sample(X, [1, 2, 3])
    with pytest.raises(InvalidParameterError, match="'classification', 'regression'"):
        Schema.from_public_sample(X, [1, 2, 3], task="ranking")


def test_public_sample_of_a_frame():
    frame = pd.DataFrame(
        {
            "age": [20, 40, 30],
            "job": ["nurse", "clerk", "nurse"],
            "size": pd.Categorical(["S", "L", "S"], categories=["S", "M", "L"]),
            "count": pd.array([1, None, 3], dtype="Int64"),
            "yes": [True, False, True],
            4: [1.0, 2.0, 3.0],
        }
    )
    schema = Schema.from_public_sample(frame)
    assert schema.bounds == {
        "age": (20.0, 40.0),
        "count": (1.0, 3.0),
        "yes": (0.0, 1.0),
        5: (1.0, 3.0),
    }
    assert schema.categories == {"job": ("nurse", "clerk"), "size": ("S", "M", "L")}


def test_public_sample_of_dates():
    days = pd.to_datetime(["1970-01-02", None, "1970-02-01"])
    assert Schema.from_public_sample(pd.DataFrame({"in": days})).bounds == {"in": (1, 31)}


def test_schema_is_no_key():
    with pytest.raises(TypeError):
        hash(full_schema())


@pytest.mark.parametrize(
    "declared",
    [
        {"bounds": {"a\ud800": (0, 1)}},
        {"edges": {"a\ud800": [1]}},
        {"integer": ["a\ud800"]},
        {"categories": {"\udfff": ["x"]}},
        {"categories": {"a": ["x", "\ud800"]}},
        {"classes": ["x", "\ud800"]},
    ],
)
def test_half_characters_are_refused(declared, tmp_path):
    with pytest.raises(InvalidParameterError, match="lone surrogate"):
        Schema(**declared)
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(declared))
    with pytest.raises(InvalidParameterError, match="lone surrogate"):
        Schema.from_json(path)


def test_positions_that_a_selection_of_columns_shifts_are_told():
    with pytest.raises(InvalidParameterError, match="column 3, .* RFE .* SelectFromModel"):
        Schema(bounds={3: (0, 1)}).resolve(["a", "b", "c"])
