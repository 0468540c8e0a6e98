"""Tables that pandas and scikit-learn read, turned into features as they are declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from benchmarks._compat import import_pandas
from benchmarks.errors import DataFileError
from benchmarks.problems.problem import DataDictionary

if TYPE_CHECKING:
    import pandas as pd
    import scipy.sparse


def read_table(source: Path | IO[bytes], n_columns: int, **options: Any) -> pd.DataFrame:
    """Return a delimited text file as pandas reads it.

    Parameters
    ----------
    source : Path or binary stream
        A name that ends with ``.gz`` is decompressed.
    n_columns : int
        Columns that the file must have.
    **options
        Passed on to ``pandas.read_csv``.

    Raises
    ------
    DataFileError
        If the file does not read, has no rows or has another number of columns.
    """
    try:
        table = import_pandas().read_csv(source, **options)
    except (ValueError, OSError) as error:
        raise DataFileError(f"{source} does not read: {error}") from error
    if table.shape[1] != n_columns or not len(table):
        raise DataFileError(
            f"{source}: rows of {n_columns} values are expected, {len(table)} rows of "
            f"{table.shape[1]} are there."
        )
    return table


def declared_frame(raw: pd.DataFrame, dictionary: DataDictionary) -> pd.DataFrame:
    """Return the declared columns of ``raw``, in its order, in the types of `Problem.load`.

    Raises
    ------
    DataFileError
        If a numeric column does not hold numbers, or a categorical one a value not declared.
    """
    pandas = import_pandas()
    columns = {}
    for name in raw.columns:
        column = raw[name]
        if name in dictionary.bounds:
            columns[name] = numbers(column, str(name))
        elif name in dictionary.categories:
            declared = dictionary.categories[name]
            text = column.astype(object).where(column.isna(), column.astype(str))
            strange = sorted(set(text.dropna().unique()).difference(declared))
            if strange:
                raise DataFileError(f"Column {name!r} has a value not declared: {strange[0]!r}.")
            columns[name] = pandas.Categorical(text, categories=list(declared))
    return pandas.DataFrame(columns)


def numbers(column: Any, name: str) -> np.ndarray:
    """Return a column as float64.

    Raises
    ------
    DataFileError
        If a cell is not a number.
    """
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataFileError(f"Column {name!r} must hold numbers: {error}.") from error


def class_numbers(column: Sequence[Any], classes: Mapping[Any, int], name: str) -> np.ndarray:
    """Return labels as the numbers that ``classes`` gives them.

    Raises
    ------
    DataFileError
        If a label is not among them.
    """
    try:
        return np.array([classes[label] for label in column], dtype=np.int64)
    except KeyError as error:
        raise DataFileError(f"Column {name!r} has a label not declared: {error}.") from error


def array_frame(array: np.ndarray, names: Sequence[str]) -> pd.DataFrame:
    """Return an array of shape (n_rows, n_features) as a table with these column names.

    Raises
    ------
    DataFileError
        If the number of columns is another one.
    """
    if array.ndim != 2 or array.shape[1] != len(names):
        raise DataFileError(f"{len(names)} columns are expected, the shape {array.shape} is there.")
    return import_pandas().DataFrame(np.asarray(array, dtype=np.float64), columns=list(names))


def read_svmlight(path: Path, n_features: int) -> tuple[scipy.sparse.csr_matrix, np.ndarray]:
    """Return the features and labels of a file in LIBSVM's format, indices from 1.

    Raises
    ------
    DataFileError
        If the file does not read or has an index above ``n_features``.
    """
    from sklearn.datasets import load_svmlight_file

    try:
        features, labels = load_svmlight_file(
            str(path), n_features=n_features, zero_based=False, dtype=np.float64
        )
    except (ValueError, OSError, EOFError) as error:
        raise DataFileError(f"{path} does not read: {error}") from error
    return features, labels


def same_bounds(names: Sequence[str], low: float, high: float) -> dict[str, tuple[float, float]]:
    """Return one interval for several columns."""
    return dict.fromkeys(names, (low, high))


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text, for long lists of names."""
    return tuple(text.split())
