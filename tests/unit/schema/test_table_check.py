import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from dpboost import DPBoostClassifier, DPBoostRegressor, Schema
from dpboost._utils.validation import InvalidParameterError

TABLE = pd.DataFrame(
    {
        "age": [34.0, 152.0, np.nan, 51.5],
        "sex": ["F", "M", "X", None],
        "name": ["Ann", "Bob", "Cid", "Dan"],
        "dose": [0.1, 0.2, 0.3, 0.4],
    }
)


def findings(schema, X=TABLE, y=None):
    return [(found.column, found.what) for found in schema.check(X, y).findings]


def test_everything_is_listed_at_once():
    schema = Schema(
        bounds={"age": (0, 120)}, categories={"sex": ["F", "M"]}, integer=["age"], classes=[0, 1]
    )
    assert findings(schema, y=[0, 1, 2, 1]) == [
        ("age", "missing"),
        ("age", "rounded"),
        ("age", "clipped"),
        ("sex", "missing"),
        ("sex", "other"),
        ("name", "refused"),
        ("dose", "learned"),
        ("label", "dropped"),
    ]


@pytest.mark.parametrize(
    ("schema", "labels", "expected"),
    [
        (Schema(label_bounds=(0, 1)), [0.5, 3.0], [("label", "clipped")]),
        (Schema(label_bounds=(0, 1)), ["a", "b"], [("label", "refused")]),
        (Schema(label_bounds=(0, 1)), [0.5, np.nan], [("label", "refused")]),
        (Schema(), [0.5, 0.5], [("label", "learned")]),
        (Schema(label_bounds=(0, 1)), [0.5, 0.5], []),
        (Schema(classes=["a", "b"]), ["a", "b"], []),
    ],
)
def test_labels_are_looked_at(schema, labels, expected):
    table = np.empty((2, 0))
    assert findings(schema, table, labels) == expected


def test_a_table_that_fits_has_no_findings():
    check = Schema(bounds={0: (0, 1)}).check(np.array([[0.5], [1.0]]))
    assert check.ok
    assert "Nothing is clipped" in repr(check)


def test_a_check_shows_itself_as_a_table():
    check = Schema(categories={"sex": ["F", "M"]}).check(TABLE[["sex"]])
    head, *lines = repr(check).splitlines()[3:]
    assert head.split("  ")[0] == "column"
    assert [line.split()[1] for line in lines] == ["missing", "other"]
    assert check.to_frame()["what"].tolist() == ["missing", "other"]


def test_types_say_what_is_learned_and_what_is_refused():
    days = pd.to_datetime(["2024-01-31", "2025-01-01"])
    table = pd.DataFrame({"ward": pd.Categorical(["a", "b"]), "in": days, "out": days})
    schema = Schema(bounds={"out": ("2024-01-01", "2024-12-31")})
    assert findings(schema, table) == [("ward", "learned"), ("in", "refused"), ("out", "clipped")]
    # As a fit says it.
    with pytest.raises(InvalidParameterError, match="'in' of X has the type"):
        DPBoostRegressor(schema=schema).fit(table, [0.0, 1.0])


@pytest.mark.parametrize("labels", [["a", None], [1.0, np.nan]])
def test_missing_labels_are_told_as_a_fit_refuses_them(labels):
    schema = Schema(classes=["a", "b"] if "a" in labels else [0, 1])
    assert findings(schema, np.empty((2, 0)), labels) == [("label", "refused")]
    with pytest.raises(ValueError, match=r"[Yy]|label"):
        DPBoostClassifier(schema=schema).fit([[0.0], [1.0]], labels)


def test_sparse_tables_are_read():
    matrix = scipy.sparse.csr_matrix([[0.0, 7.0]])
    assert findings(Schema(bounds={0: (0, 1), 1: (0, 1)}), matrix) == [("1", "clipped")]


def test_what_is_shown_is_marked_private_and_escaped():
    check = Schema(bounds={"<b>": (0, 1)}).check(pd.DataFrame({"<b>": [3.0]}))
    assert repr(check).startswith("NOT PRIVATE")
    page = check._repr_html_()
    assert "NOT PRIVATE" in page
    assert "<td>&lt;b&gt;</td>" in page
