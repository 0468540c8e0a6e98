"""One column of a DataFrame as the numbers that LightGBM sees."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.dates import column_in_days, is_date
from dpboost._utils.interface import worded
from dpboost._utils.validation import InvalidParameterError
from dpboost.schema.declared_types import is_text

NOT_NUMBERS = (
    "The cells of the 'X' argument must be numbers or missing, but X holds a string or "
    "another object that is no number. A DataFrame may hold text in columns whose categories "
    "are declared in Schema(categories=...)."
)
# Letters of numpy, and of pandas, for types of booleans and of whole numbers.
BOOLEAN_KIND = "b"
WHOLE_KINDS = "biu"
COMPLEX = "Complex data not supported"


def is_frame(X: Any) -> bool:
    """Return whether ``X`` is a pandas DataFrame, without importing pandas."""
    return type(X).__module__.partition(".")[0] == "pandas" and hasattr(X, "columns")


def to_float(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of any numeric or object type as floats; float32 and float64 as they are.

    ``None`` and ``pandas.NA`` are missing, integers beyond the range of a double infinite.

    Raises
    ------
    InvalidParameterError
        For text, dates, complex numbers and objects that are no numbers.
    """
    kind = array.dtype.kind
    if kind == "c":
        raise InvalidParameterError(COMPLEX)
    if kind in "biuf":
        native = array.dtype.newbyteorder("=")
        if native in (np.float32, np.float64):
            return np.require(array, native, ["A"])
        with np.errstate(over="ignore"):
            return array.astype(np.float64)
    if kind != "O":
        raise InvalidParameterError(NOT_NUMBERS)
    result = np.empty(array.size, dtype=np.float64)
    numeric = True
    for position, value in enumerate(array.flat):
        number = object_number(value)
        if number is None:
            numeric = False
            break
        result[position] = number
    if not numeric:
        raise InvalidParameterError(NOT_NUMBERS)
    return result.reshape(array.shape)


def object_number(value: Any) -> float | None:
    """Return a Python object as a float, or None where it is no number."""
    if value is None or type(value).__name__ == "NAType":
        return math.nan
    if isinstance(value, (str, bytes, bytearray)):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return None


def is_categorical(column: Any) -> bool:
    """Return whether a Series has pandas' categorical type."""
    return type(column.dtype).__name__ == "CategoricalDtype"


def number_kind(dtype: Any) -> str:
    """Return numpy's letter for the values of a pandas type, nullable, Arrow or sparse."""
    return str(getattr(dtype, "subtype", dtype).kind)


def is_stored(dtype: Any) -> bool:
    """Return whether a pandas type is a sparse one of numbers."""
    return type(dtype).__name__ == "SparseDtype" and dtype.subtype.kind in "biuf"


def stored_column(column: Any) -> tuple[NDArray[np.integer], NDArray[Any], float]:
    """Return a sparse Series: rows of the stored cells, their values, the value elsewhere."""
    array = column.array
    fill = to_float(np.asarray([array.fill_value]))[0]
    return array.sp_index.to_int_index().indices, to_float(array.sp_values), float(fill)


def category_list(column: Any, name: str) -> list[Any]:
    """Return the categories of a categorical Series as plain Python values.

    Raises
    ------
    InvalidParameterError
        For categories that a model file cannot hold, such as dates or intervals.
    """
    values = [
        value.item() if isinstance(value, np.generic) else value
        for value in column.dtype.categories
    ]
    if not all(isinstance(value, (str, int, float)) for value in values):
        raise InvalidParameterError(
            f"The categories of column {name!r} must be text, numbers or booleans: "
            "turn them into text first, for instance by rename_categories(str)."
        )
    return values


def category_codes(
    column: Any, values: Sequence[Any], name: str
) -> tuple[NDArray[np.integer], NDArray[np.int64]]:
    """Return a code for every cell, and for every code the position in ``values``.

    Parameters
    ----------
    column : pandas.Series
        Text, objects or categorical.
    values : sequence
        Declared categories.
    name : str
        Name of the column, for the error.

    Returns
    -------
    codes : ndarray of shape (n_rows,), any integer type
        Of a categorical column its own, without a copy; -1 for a cell that is missing.
    positions : ndarray of shape (n_codes + 1,), int64
        -1 for categories that are not listed, and at the end, where code -1 finds it.
    """
    if is_categorical(column):
        code_of = {value: code for code, value in enumerate(values)}
        own = [code_of.get(category, -1) for category in column.dtype.categories.tolist()]
        return column.array.codes, np.array([*own, -1], dtype=np.int64)
    import pandas as pd

    positions = None
    # An error raised inside the handler would carry the first one, which names a cell.
    with contextlib.suppress(TypeError):
        listed = pd.Index(list(values), dtype=object)
        positions = listed.get_indexer(pd.Index(column.astype(object), dtype=object))
    if positions is None:
        raise InvalidParameterError(
            f"The column {name!r} of X must hold text, numbers or booleans: it holds objects "
            "that cannot be compared with the declared categories."
        )
    return positions, np.array([*range(len(values)), -1], dtype=np.int64)


def category_positions(column: Any, values: Sequence[Any], name: str) -> NDArray[np.int64]:
    """Return the position of every cell in ``values``, -1 where it is missing or not listed.

    Parameters as in `category_codes`.

    Returns
    -------
    ndarray of shape (n_rows,), int64
    """
    codes, positions = category_codes(column, values, name)
    return positions[codes]


def numeric_column(column: Any, name: str) -> NDArray[Any]:
    """Return a numeric, boolean, nullable or sparse Series as a float array, dates in days.

    float32 and float64 columns are views; anything else is converted.

    Raises
    ------
    InvalidParameterError
        For a type that is not numeric; the message names the column.
    """
    dtype = column.dtype
    if is_date(dtype):
        return column_in_days(column)
    if isinstance(dtype, np.dtype):
        if dtype.kind in "biufc":
            return to_float(column.to_numpy())
    elif type(dtype).__name__ == "SparseDtype" and dtype.subtype.kind in "biufc":
        return to_float(np.asarray(column.array.to_dense()))
    elif getattr(dtype, "_is_numeric", False) or getattr(dtype, "_is_boolean", False):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    cure = text_cure(name) if is_text(column) else "make it numeric"
    raise InvalidParameterError(f"The column {name!r} of X has the type {dtype}: {cure}.")


def text_cure(name: str) -> str:
    """Return what helps a column of text of which nothing is declared, or several of them.

    Parameters
    ----------
    name : str
        That of the first one.
    """
    return worded(
        f"declare its values, Schema(categories={{{name!r}: [...]}}); or None in the place of the "
        "list, and they are learned with part of the budget where delta > 0; or make it numeric; "
        "or leave it out. dpboost.schema_template(X, 'dictionary.csv') writes a data dictionary "
        "in which a column gets the type 'category' or the role 'ignore'; pass its path as schema",
        "give it the type 'category' in the data dictionary, and without values they are learned "
        "with part of the budget where delta > 0; or the role 'ignore'",
    )


def open_categories(column: Any, name: str) -> Any:
    """Return a Series of text as a categorical one, whose list is private.

    Raises
    ------
    InvalidParameterError
        For objects that are no categories; the message names the column.
    """
    found = None
    # An error raised inside the handler would carry the first one, which names a cell.
    with contextlib.suppress(TypeError):
        found = column.astype("category")
    if found is None:
        raise InvalidParameterError(
            f"The column {name!r} of X must hold text, numbers or booleans: turn its objects into "
            "text first, for instance by astype(str)."
        )
    return found


def frame_column(
    frame: Any, feature: int, lists: Mapping[int, list[Any]], names: Sequence[str]
) -> NDArray[Any]:
    """Return a column of a DataFrame as numbers, or as positions in its list of categories."""
    column = frame.iloc[:, feature]
    values = lists.get(feature)
    if values is None:
        return numeric_column(column, names[feature])
    codes = category_positions(column, values, names[feature]).astype(np.float64)
    codes[codes < 0] = np.nan
    return codes
