import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.exceptions import DataConversionWarning

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.labels import (
    check_same_length,
    encode_classes,
    read_class_labels,
    read_regression_labels,
)

READERS = [read_regression_labels, read_class_labels]


@pytest.mark.parametrize(
    "y",
    [
        [1, 2, 3],
        (1.0, 2.0, 3.0),
        np.array([1, 2, 3], dtype=np.uint64),
        np.array([1, 2, 3], dtype=np.float16),
        np.array([1, 2, 3], dtype=object),
        pd.Series([1, 2, 3]),
        pd.Series([1, 2, 3], dtype="Int64"),
        pd.Series([1, 2, 3], dtype="Float64"),
    ],
)
def test_regression_labels(y):
    labels = read_regression_labels(y)
    assert labels.dtype == np.float64
    np.testing.assert_array_equal(labels, [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("y", "kind", "expected"),
    [
        ([1, 2, 1], "i", [1, 2, 1]),
        ([1.0, 2.0, 1.0], "f", [1.0, 2.0, 1.0]),
        ([True, False], "b", [True, False]),
        (["a", "b"], "U", ["a", "b"]),
        (np.array(["a", "b"], dtype=object), "U", ["a", "b"]),
        (np.array([1, 2], dtype=object), "i", [1, 2]),
        (np.array([True, False], dtype=object), "b", [True, False]),
        (np.array([1, 2.0], dtype=object), "i", [1, 2]),
        (np.array([1, 1.0, True, 0], dtype=object), "i", [1, 1, 1, 0]),
        (np.array([True, 1.0, False, 1], dtype=object), "i", [1, 1, 0, 1]),
        (np.array([2.0, 1.0], dtype=object), "i", [2, 1]),
        (np.array([1e30, 1], dtype=object), "f", [1e30, 1.0]),
        (pd.Series(["a", "b"]), "U", ["a", "b"]),
        (pd.Series(["a", "b"], dtype="category"), "U", ["a", "b"]),
        (pd.Series([1, 2], dtype="Int64"), "i", [1, 2]),
        (pd.Series([True, False], dtype="boolean"), "b", [True, False]),
    ],
)
def test_class_labels(y, kind, expected):
    labels = read_class_labels(y)
    assert labels.dtype.kind == kind
    assert labels.tolist() == expected


@pytest.mark.parametrize("read", READERS)
def test_column_vector_is_taken_with_a_warning(read):
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        labels = read(np.array([[1], [2]]))
    assert labels.shape == (2,)
    with pytest.warns(DataConversionWarning):
        assert read(pd.DataFrame({"y": [1, 2]})).shape == (2,)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ([1.0, np.nan], "Input y contains NaN"),
        ([1.0, -np.inf], "Input y contains infinity"),
        ([1, None], "Input y contains NaN"),
        (pd.Series([1, None], dtype="Int64"), "Input y contains NaN"),
        (3.0, "should be a 1d array"),
        (np.zeros((4, 2)), "should be a 1d array"),
        ([[1, 2], [3]], "should be a 1d array"),
        ([1j, 2.0], "Complex data not supported"),
        (scipy.sparse.csr_matrix([[1], [2]]), "must be dense"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "numbers|Unknown label type"),
        (np.array([{}, 1], dtype=object), "numbers|Unknown label type"),
    ],
)
def test_bad_labels(read, y, message):
    with pytest.raises(InvalidParameterError, match=message):
        read(y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.5, 1.0], "Unknown label type: continuous"),
        (np.array(["a", 3], dtype=object), "mixture of text and numbers"),
        (np.array(["a", None], dtype=object), "contains NaN"),
        (pd.Series(["a", None]), "contains NaN"),
    ],
)
def test_bad_classes(y, message):
    with pytest.raises(InvalidParameterError, match=message):
        read_class_labels(y)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "y",
    [
        np.array(["71717", 71717], dtype=object),
        [71717.5, np.inf],
        np.full((71717, 2), 1.0),
        np.array([{"71717": 1}, 3], dtype=object),
    ],
)
def test_messages_and_causes_hold_no_label(read, y):
    with pytest.raises(InvalidParameterError) as caught:
        read(y)
    error = caught.value
    assert "71717" not in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None


def test_text_is_no_regression_label():
    with pytest.raises(InvalidParameterError, match="must be numbers"):
        read_regression_labels(["a", "b"])


def test_lengths_must_agree_without_showing_them():
    check_same_length(3, np.zeros(3))
    with pytest.raises(ValueError, match="inconsistent numbers of samples") as caught:
        check_same_length(71717, np.zeros(5))
    assert not any(letter.isdigit() for letter in str(caught.value))


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (np.array([4, 1, 9, 1, 4, 0, 7]), (1, 4, 7)),
        (np.array(["b", "a", "zz", "b", "a"]), ("a", "b")),
        (np.array([1.0, 0.0, 2.5]), ("a", 0, 1)),
        (np.zeros(0), (0, 1)),
    ],
)
def test_classes_are_positions_in_a_public_list(monkeypatch, labels, classes, size):
    monkeypatch.setattr("dpboost.data.labels.ROWS_AT_ONCE", size)
    indices, present = encode_classes(labels, classes)
    assert present.tolist() == [label in classes for label in labels.tolist()]
    expected = [classes.index(label) if label in classes else 0 for label in labels.tolist()]
    assert indices.tolist() == expected
    assert indices.dtype == np.int64
