"""Checks of private labels that do not reveal them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.containers import COMPLEX, object_number

# Classes are looked for in pieces of the labels that stay in the cache.
ROWS_AT_ONCE = 2**15


def read_regression_labels(y: Any) -> NDArray[np.float64]:
    """Return labels of a regression as doubles.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Finite numbers. A column vector is taken with a ``DataConversionWarning``.

    Returns
    -------
    ndarray of shape (n_rows,), float64

    Raises
    ------
    InvalidParameterError
        For missing or infinite labels, text, and other shapes.

    Privacy
    -------
    Nothing is released; a message tells that a label is missing or infinite, not which one.
    """
    labels = _one_dimension(y)
    if labels.dtype.kind == "O":
        numbers = [object_number(value) for value in labels]
        if any(number is None for number in numbers):
            raise _not_numbers()
        labels = np.array(numbers, dtype=np.float64)
    if labels.dtype.kind not in "biuf":
        raise _not_numbers()
    with np.errstate(over="ignore"):
        labels = labels.astype(np.float64)
    _check_finite(labels)
    return labels


def read_class_labels(y: Any) -> NDArray[Any]:
    """Return labels of a classification in a type that sorts.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Whole numbers, booleans or text. A column vector is taken with a
        ``DataConversionWarning``.

    Returns
    -------
    ndarray of shape (n_rows,)
        Integer, boolean, float (whole numbers) or text; objects become one of these.

    Raises
    ------
    InvalidParameterError
        For missing or infinite labels, fractions, a mixture of text and numbers, and other
        shapes.

    Privacy
    -------
    Nothing is released; no message holds a label or a row.
    """
    labels = _one_dimension(y)
    if labels.dtype.kind == "O":
        labels = _class_objects(labels)
    if labels.dtype.kind not in "biufU":
        raise InvalidParameterError(
            "Unknown label type: classes must be whole numbers, booleans or text."
        )
    if labels.dtype.kind == "f":
        _check_finite(labels)
        if (labels != np.trunc(labels)).any():
            raise InvalidParameterError(
                "Unknown label type: continuous. Maybe you are trying to fit a classifier, "
                "which expects discrete classes, on a regression target with continuous values."
            )
    return labels


def check_same_length(n_rows: int, labels: Any) -> None:
    """Raise when the rows and their labels (or weights) differ in number; no number is shown."""
    if len(labels) != n_rows:
        raise InvalidParameterError(
            "Found input variables with inconsistent numbers of samples: X and y, or X and "
            "sample_weight, must have the same length."
        )


def _one_dimension(y: Any) -> NDArray[Any]:
    if y is None:
        raise InvalidParameterError(
            "This estimator requires y to be passed, but the target y is None."
        )
    if hasattr(y, "toarray"):
        raise InvalidParameterError("The labels y must be dense: pass y.toarray().ravel().")
    ragged = False
    try:
        labels = np.asarray(y)
        if labels.dtype == object and hasattr(y, "dtype"):
            labels = _plain_nullable(y, labels)
    except ValueError:
        ragged = True
    if ragged or labels.ndim == 0 or (labels.ndim > 1 and labels.shape[1:] != (1,)):
        raise InvalidParameterError("y should be a 1d array, one label for each row of X.")
    if labels.dtype.kind == "c":
        raise InvalidParameterError(COMPLEX)
    if labels.ndim == 2:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape "
            "of y to (n_samples, ), for example using ravel().",
            DataConversionWarning,
            stacklevel=3,
        )
        labels = labels.ravel()
    return labels


def _plain_nullable(y: Any, labels: NDArray[Any]) -> NDArray[Any]:
    """Return a nullable pandas column without missing values in its numpy type."""
    kind = getattr(y.dtype, "numpy_dtype", None)
    if isinstance(kind, np.dtype) and kind.kind in "biuf":
        if y.isna().any():
            return np.asarray(y.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(y.to_numpy(dtype=kind))
    return labels


def _class_objects(labels: NDArray[Any]) -> NDArray[Any]:
    """Return Python objects as one array of text or of numbers."""
    values = labels.tolist()
    if all(isinstance(value, str) for value in values):
        return np.array(values, dtype=str)
    if any(isinstance(value, (str, bytes)) for value in values):
        missing = any(
            value is None or type(value).__name__ == "NAType" or value != value
            for value in values
            if not isinstance(value, (str, bytes))
        )
        raise InvalidParameterError(
            "Input y contains NaN."
            if missing
            else "Unknown label type: a mixture of text and numbers."
        )
    if all(isinstance(value, (bool, np.bool_)) for value in values):
        return np.array(values, dtype=bool)
    return whole_numbers(values)


def whole_numbers(values: Sequence[Any]) -> NDArray[Any]:
    """Return numbers of mixed types as one array: integers where all of them are whole.

    1, 1.0 and True are one class, an integer in whatever order they come.
    """
    if all(isinstance(value, (int, np.integer)) for value in values):
        return np.array(values)
    numbers = [object_number(value) for value in values]
    if any(number is None for number in numbers):
        raise InvalidParameterError(
            "Unknown label type: unknown. Classes must be whole numbers, booleans or text."
        )
    found = np.array(numbers, dtype=np.float64)
    fits = (found == np.trunc(found)) & (np.abs(found) < 2.0**63)
    return found.astype(np.int64) if fits.all() else found


def _check_finite(labels: NDArray[Any]) -> None:
    if np.isnan(labels).any():
        raise InvalidParameterError("Input y contains NaN.")
    if np.isinf(labels).any():
        raise InvalidParameterError(
            "Input y contains infinity or a value too large for dtype('float64')."
        )


def _not_numbers() -> InvalidParameterError:
    return InvalidParameterError(
        "The labels y of a regression must be numbers, not text or objects. Use a classifier, "
        "such as DPBoostClassifier, for classes; or convert text to numbers: y.astype(float)."
    )


def encode_classes(
    labels: NDArray[Any], classes: Sequence[Any]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the position of each label in a public list, and whether it is in there.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        From `read_class_labels`.
    classes : sequence
        Declared, assumed or released classes.

    Returns
    -------
    indices : ndarray of shape (n_rows,), int64
        0 where the label is not in the list.
    present : ndarray of shape (n_rows,), bool

    Privacy
    -------
    A row-wise map with a public list; labels outside it are not reported.
    """
    indices = np.zeros(len(labels), dtype=np.int64)
    present = np.zeros(len(labels), dtype=bool)
    for first in range(0, len(labels), ROWS_AT_ONCE):
        here = slice(first, first + ROWS_AT_ONCE)
        for index, value in enumerate(classes):
            if isinstance(value, str) != (labels.dtype.kind == "U"):
                continue  # numbers and text are never equal
            mine = labels[here] == value
            np.maximum(indices[here], mine * np.int64(index), out=indices[here])
            present[here] |= mine
    return indices, present
