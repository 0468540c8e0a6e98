"""Columns of DataFrames as LightGBM reads them: numbers, or positions in lists of categories."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.schema_checks import column_in_days, is_date
from dpboost._utils.validation import InvalidParameterError, worded
from dpboost.data.containers import to_float
from dpboost.data.sparse import StoredColumns
from dpboost.schema import ResolvedSchema
from dpboost.schema.declared_types import is_text


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
    """Return the categories of a categorical Series as plain Python values."""
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
    """Return the remedy for undeclared text columns.

    Parameters
    ----------
    name : str
        Name of the first one.
    """
    return worded(
        f"declare its values, Schema(categories={{{name!r}: [...]}}); or pass None instead of the "
        "list to estimate them with part of the budget, if delta > 0; or make it numeric; or leave "
        "it out. dpboost.schema_template(X, 'dictionary.csv') writes a data dictionary in which a "
        "column gets the type 'category' or the role 'ignore'; pass its path as schema",
        "give it the type 'category' in the data dictionary (values that are not listed are "
        "estimated with part of the budget, if delta > 0), or the role 'ignore'",
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


def column_list(column: Any, feature: int, schema: ResolvedSchema) -> list[Any] | None:
    """Return the list of categories by which a column is read, None for a column of numbers.

    Raises
    ------
    InvalidParameterError
        For a column that cannot be read, by its type and the schema alone.
    """
    declared, name = schema.categories.get(feature), schema.feature_names[feature]
    if feature in schema.learned and declared is None and not is_categorical(column):
        raise no_text(name)
    bounded = feature in schema.bounds or feature in schema.edges
    if is_categorical(column) or (declared is not None and is_text(column)):
        if bounded:
            raise InvalidParameterError(
                f"The column {name!r} of X is categorical, but Schema declares "
                "bounds or edges for it: declare categories, or make it numeric."
            )
        return category_list(column, name) if declared is None else list(declared)
    numeric_column(column, name)
    if is_date(column.dtype) and not bounded:
        raise InvalidParameterError(
            f"The column {name!r} of X has the type {column.dtype}: declare where it begins and "
            "ends, "
            + worded(
                f"Schema(bounds={{{name!r}: ('2024-01-01', '2024-12-31')}}) or two durations, ",
                "lower and upper in the data dictionary, such as 2024-01-31, ",
            )
            + "and it is read in days, of dates those since 1970-01-01 in UTC; or make it numeric."
        )
    return None


def unlisted_columns(X: Any, schema: ResolvedSchema) -> list[int]:
    """Return the columns of text of which nothing is declared."""
    known = {*schema.categories, *schema.learned}
    return [
        feature
        for feature, dtype in enumerate(X.dtypes)
        if feature not in known and is_text(X.iloc[:0, feature])
    ]


def no_text(name: str) -> InvalidParameterError:
    """Return the error for numbers in a column whose categories are to be learned."""
    return InvalidParameterError(
        f"Schema leaves the categories of the column {name!r} to be learned, but X holds numbers "
        "in it: list them, or give the column as text in a DataFrame."
    )


def unreadable(problems: list[str]) -> InvalidParameterError:
    """Return one error for all columns that cannot be read."""
    if len(problems) == 1:
        return InvalidParameterError(problems[0])
    lines = "".join(f"\n* {problem}" for problem in problems)
    return InvalidParameterError(f"X has columns that cannot be read:{lines}")


def columns_of_kind(X: Any, kinds: str) -> frozenset[int]:
    """Return the positions of the columns of a DataFrame whose type is of one of these kinds."""
    return frozenset(
        position for position, dtype in enumerate(X.dtypes) if number_kind(dtype) in kinds
    )


def stored_frame(
    X: Any, categorical: Mapping[int, list[Any]], names: Sequence[str]
) -> StoredColumns:
    """Take what the sparse columns of a DataFrame store, and all cells of the others."""
    columns: list[tuple[NDArray[np.integer] | None, NDArray[Any], float]] = []
    for feature, dtype in enumerate(X.dtypes):
        if is_stored(dtype):
            columns.append(stored_column(X.iloc[:, feature]))
        else:
            columns.append((None, frame_column(X, feature, categorical, names), 0.0))
    return StoredColumns.of_columns(X.shape[0], columns)


def is_row_block(X: Any) -> bool:
    """Return whether a DataFrame wraps one row-ordered array, where columns are slow to read."""
    dtype, *others = X.dtypes
    if not isinstance(dtype, np.dtype) or dtype.kind != "f":
        return False
    if any(other != dtype for other in others):
        return False
    return bool(X.iloc[:, 0].to_numpy().strides[0] > dtype.itemsize)
