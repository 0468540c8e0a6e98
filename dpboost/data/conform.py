"""Conversion of tables for prediction, so that LightGBM reads the same numbers as the binner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from dpboost._utils.schema_checks import is_date
from dpboost._utils.validation import InvalidParameterError
from dpboost.data.binner import Binner
from dpboost.data.columns import category_list, category_positions, is_categorical, numeric_column
from dpboost.data.containers import (
    as_array,
    canonical,
    is_dataset,
    is_frame,
    to_float,
    unpack,
)
from dpboost.schema.declared_types import is_text


def conform(X: Any, binner: Binner) -> Any:
    """Return a table that LightGBM reads as training read it.

    Parameters
    ----------
    X : table of shape (n_rows, n_features)
        Anything that `read_table` takes, but for a ``lightgbm.Dataset``: LightGBM itself wants
        raw rows here.
    binner : Binner
        Knows which columns are looked up in a list of categories.

    Returns
    -------
    ndarray, scipy.sparse.csr_matrix or DataFrame
        ``X`` itself, or a matrix around its arrays, where nothing has to be done. Columns of a
        DataFrame with a list of categories become categorical columns with that list, and those
        of dates and of pandas' Arrow types float64, which LightGBM does not read otherwise.
        Integer and object arrays become float64, since LightGBM would round integers to float32.
        Sparse matrices become CSR matrices of floats without duplicates.

    Notes
    -----
    LightGBM sends values up to float32(1e-35) in size the same way as zero in dense tables but
    not in CSR matrices; `Binner.thresholds` are chosen so that this makes no difference.
    """
    if is_dataset(X):
        raise InvalidParameterError(
            "A lightgbm.Dataset cannot be predicted: pass its rows, as in LightGBM."
        )
    X = unpack(X)
    if is_frame(X):
        return _conform_frame(X, binner)
    if scipy.sparse.issparse(X):
        return canonical(X, "csr")
    array = as_array(X)
    if array.dtype in (np.float32, np.float64):
        return array
    return to_float(array)


def as_numbers(X: Any) -> Any:
    """Return rows of which a Booster alone knows how they are read, or raise by their types.

    Parameters
    ----------
    X : table, or path of a file
        Of a table that LightGBM reads nothing is changed.

    Raises
    ------
    InvalidParameterError
        For text, dates and objects; it names the columns and no cell.
    """
    if isinstance(X, (str, Path)) or is_dataset(X) or scipy.sparse.issparse(X):
        return X
    first = X[0] if isinstance(X, (list, np.ndarray)) and len(X) else 0
    if isinstance(X, (list, np.ndarray)) and np.ndim(first) == 0:
        return X  # not a table, as LightGBM says
    if isinstance(X, list) or (isinstance(X, np.ndarray) and X.dtype.kind not in "biuf"):
        return to_float(as_array(X))
    frame = X if is_frame(X) else unpack(X)
    if not is_frame(frame):
        return X
    unread = [
        str(name)
        for name, column in frame.iloc[:0].items()
        if is_text(column) or is_date(column.dtype)
    ]
    if unread:
        raise InvalidParameterError(
            f"The columns {', '.join(map(repr, unread))} of X contain text, dates or objects, "
            "which Booster.predict does not read: predict with the estimator, which knows the "
            "schema; or convert text by X[column].astype('category'), and the rest to numbers."
        )
    return X


def laid_out_as(X: Any, found: Any) -> Any:
    """Return contributions in the layout that LightGBM gives those of ``X``.

    Parameters
    ----------
    X : table
        As the caller gave it, before `conform`.
    found : ndarray, sparse matrix or list of them
        What was predicted of `conform`'s rows.
    """
    if not (scipy.sparse.issparse(X) and X.format == "csc"):
        return found
    if isinstance(found, list):
        return [laid_out_as(X, each) for each in found]
    return found.tocsc() if scipy.sparse.issparse(found) else found


def _conform_frame(X: Any, binner: Binner) -> Any:
    import pandas as pd

    if X.shape[1] != binner.n_features:
        raise InvalidParameterError(
            f"X has {X.shape[1]} features, but the model is expecting {binner.n_features} "
            "features as input."
        )
    replaced: dict[int, Any] = {}
    for feature, name in enumerate(binner.feature_names):
        labels = binner.labels.get(feature)
        column = X.iloc[:, feature]
        if labels is None:
            if is_categorical(column):
                replaced[feature] = _category_values(column, name)
            elif type(column.dtype).__name__ == "ArrowDtype" or is_date(column.dtype):
                replaced[feature] = numeric_column(column, name)
            else:
                numeric_column(column.iloc[:0], name)
        elif not is_categorical(column) or list(column.cat.categories) != list(labels):
            codes = category_positions(column, labels, name)
            replaced[feature] = pd.Categorical.from_codes(codes, categories=list(labels))
    if not replaced:
        return X
    columns = [
        pd.Series(replaced[position], index=X.index)
        if position in replaced
        else X.iloc[:, position]
        for position in range(X.shape[1])
    ]
    result = pd.concat(columns, axis=1)
    result.columns = X.columns
    return result


def _category_values(column: Any, name: str) -> Any:
    """Return the numbers of a categorical column whose feature was trained on numbers."""
    values = category_list(column, name)
    if any(isinstance(value, str) for value in values):
        raise InvalidParameterError(
            f"The column {name!r} of X holds text categories, but the model was trained on "
            "numbers there."
        )
    codes = column.cat.codes.to_numpy()
    return np.append(np.asarray(values, dtype=np.float64), np.nan)[codes]
