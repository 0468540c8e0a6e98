"""Tables in containers of their own, as the arrays and DataFrames that they hold."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from dpboost._utils.sparse_checks import checked_sparse
from dpboost._utils.validation import InvalidParameterError
from dpboost.data.columns import WHOLE_KINDS, is_frame

# Rows read at a time from a sequence that does not say how many it likes.
_BATCH = 4096


def is_distributed(X: Any) -> bool:
    """Return whether rows lie on a cluster: a Dask collection, or a DataFrame of Spark."""
    own = type(X)
    return (
        hasattr(X, "dask")
        or own.__module__.partition(".")[0] == "pyspark"
        or "public_example" in vars(own)
    )


def unpack(X: Any) -> Any:
    """Return what a container of a table holds; a table of a usual kind comes back as it is.

    Parameters
    ----------
    X : any object
        A pyarrow Table or RecordBatch, a polars DataFrame, or whatever else gives its rows by
        Arrow's PyCapsule interface (a relation of DuckDB, for instance) becomes a pandas
        DataFrame, column by column and mostly without a copy; of a DataFrame of narwhals the one
        that it wraps. Dictionaries of Arrow, also those inside a pandas
        DataFrame, and polars Categoricals become pandas categorical columns. A
        ``lightgbm.Sequence``, and a list of them or of 2-D arrays, is one table by its rows, from
        top to bottom. A ``lightgbm.Dataset`` gives its raw data.

    Returns
    -------
    ndarray, list, scipy sparse matrix or DataFrame

    Raises
    ------
    InvalidParameterError
        For a Dataset without raw data, a part that is not 2-D, parts of different width, and
        types of pyarrow or polars that are no table.

    Privacy
    -------
    A dictionary of Arrow, and a polars Categorical, lists what the rows hold, in the order in
    which they hold it; such lists are sorted here. The list of a categorical column is part of the
    rows, whatever container holds it.
    """
    if is_dataset(X):
        return unpack(_dataset_rows(X))
    room = type(X).__module__.partition(".")[0]
    if room == "pyarrow":
        return _from_arrow(X)
    if room == "polars":
        return _from_polars(X)
    if room == "narwhals" and hasattr(X, "to_native"):
        return unpack(X.to_native())
    if is_capsule(X):
        return _from_capsule(X)
    if is_sequence(X):
        return _stack([_read_sequence(X)])
    if isinstance(X, (list, tuple)) and len(X) > 0:
        if all(map(is_sequence, X)):
            return _stack([_read_sequence(part) for part in X])
        if all(isinstance(part, np.ndarray) and part.ndim == 2 for part in X):
            return _stack(X)
    return _from_pandas(X) if is_frame(X) else X


def is_dataset(X: Any) -> bool:
    """Return whether ``X`` is a ``lightgbm.Dataset``, without importing LightGBM."""
    return _descends(X, "Dataset")


def is_capsule(X: Any) -> bool:
    """Return whether ``X`` is a table of another library than pandas that Arrow can take over."""
    if type(X).__module__.partition(".")[0] in ("pandas", "numpy"):
        return False
    return hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")


def dataset_names(dataset: Any) -> list[str] | None:
    """Return the feature names given to a ``lightgbm.Dataset``, or None."""
    names = dataset.feature_name
    return None if names is None or isinstance(names, str) else list(names)


def _descends(X: Any, name: str) -> bool:
    return any(
        kind.__name__ == name and kind.__module__.partition(".")[0] == "lightgbm"
        for kind in type(X).__mro__
    )


def is_sequence(X: Any) -> bool:
    """Return whether ``X`` is a ``lightgbm.Sequence``, without importing LightGBM."""
    return _descends(X, "Sequence")


def sequence_slices(sequence: Any, size: int) -> Iterator[NDArray[Any]]:
    """Go through the rows of a sequence.

    Parameters
    ----------
    size : int
        Rows at a time where the sequence does not say how many it likes.

    Yields
    ------
    ndarray of shape (n, n_features)

    Raises
    ------
    InvalidParameterError
        For a slice that is no 2-D array or has another number of rows than were asked for.
    """
    size = int(getattr(sequence, "batch_size", None) or size)
    n_rows = len(sequence)
    for start in range(0, n_rows, size):
        asked = slice(start, min(start + size, n_rows))
        given = sequence[asked]
        rows = np.asarray(given)
        if not isinstance(given, np.ndarray) and rows.dtype.kind in WHOLE_KINDS:
            rows = rows.astype(np.float64)  # what numpy makes of a list depends on its cells
        if rows.ndim != 2:
            raise _other_parts()
        if len(rows) != asked.stop - asked.start:
            raise InvalidParameterError(
                f"The sequence X, of type {type(sequence).__name__}, returns more or fewer rows "
                "for a slice than were asked for: give as many as the slice and len() say."
            )
        yield rows


def _dataset_rows(dataset: Any) -> Any:
    """Return the raw data of a Dataset, or of the rows that a subset of one uses."""
    data, used = dataset.data, dataset.used_indices
    if data is None and used is not None and dataset.reference is not None:
        rows = unpack(dataset.reference)
        if hasattr(rows, "iloc"):
            return rows.iloc[used]
        if scipy.sparse.issparse(rows):
            return checked_sparse(rows).tocsr()[used]
        return np.asarray(rows)[used]
    if data is None:
        raise InvalidParameterError(
            "The lightgbm.Dataset has freed its raw data, which private training reads: make it "
            "with free_raw_data=False, or do not construct it before."
        )
    if isinstance(data, (str, os.PathLike)):
        raise InvalidParameterError(
            "The lightgbm.Dataset names a file, which is not read: pass its rows as an array or "
            "a DataFrame."
        )
    return data


def _read_sequence(sequence: Any) -> NDArray[Any]:
    parts = [*sequence_slices(sequence, _BATCH)]
    return _stack(parts) if parts else np.empty((0, 0))


def _stack(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Put 2-D arrays one below the other."""
    if any(part.ndim != 2 or part.shape[1] != parts[0].shape[1] for part in parts):
        raise _other_parts()
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _other_parts() -> InvalidParameterError:
    return InvalidParameterError(
        "The parts of X must be 2-D arrays with the same number of columns."
    )


def _pandas(room: str) -> Any:
    try:
        import pandas as pd
    except ImportError:
        pd = None
    if pd is None:
        raise InvalidParameterError(
            f"Reading a table of {room} needs pandas: pip install 'dpboost[pandas]', or pass a "
            "numpy array."
        )
    return pd


def _from_capsule(X: Any) -> Any:
    """Take over a table by Arrow's PyCapsule interface."""
    try:
        import pyarrow as pa
    except ImportError:
        pa = None
    if pa is None:
        raise InvalidParameterError(
            f"Reading a table of type {type(X).__name__} needs pyarrow: pip install "
            "'dpboost[arrow]', or pass a numpy array."
        )
    read = pa.table if hasattr(X, "__arrow_c_stream__") else pa.record_batch
    table = None
    # What it says of a column by itself, or of a source of its own, may name a cell.
    with contextlib.suppress(Exception):
        table = read(X)
    if table is None:
        raise InvalidParameterError(
            f"Expected 2D array: what an object of type {type(X).__name__} gives to Arrow is no "
            "table of columns. Pass a pyarrow.Table."
        )
    return _from_arrow(table)


def _from_arrow(X: Any) -> Any:
    """Return an Arrow table as a DataFrame of pandas' Arrow types."""
    import pyarrow as pa

    if isinstance(X, (pa.Array, pa.ChunkedArray)):
        raise InvalidParameterError(
            "Expected 2D array, got 1D array instead. Pass a pyarrow.Table."
        )
    if not isinstance(X, (pa.Table, pa.RecordBatch)):
        raise InvalidParameterError(
            f"The 'X' argument must be a table; pyarrow's {type(X).__name__} is none that is read "
            "here: pass a pyarrow.Table."
        )
    pd = _pandas("pyarrow")
    columns = {}
    for position, (name, column) in enumerate(zip(X.schema.names, X.columns, strict=True)):
        if pa.types.is_dictionary(column.type):
            columns[position] = _categorical(column, name)
        else:
            columns[position] = pd.arrays.ArrowExtensionArray(column.cast(_read_as(column.type)))
    frame = pd.DataFrame(columns, index=pd.RangeIndex(X.num_rows))
    frame.columns = list(X.schema.names)
    return frame


def _from_pandas(X: Any) -> Any:
    """Return a DataFrame in which dictionaries of Arrow are categorical columns."""
    arrow = [
        position for position, dtype in enumerate(X.dtypes) if type(dtype).__name__ == "ArrowDtype"
    ]
    listed = [
        position for position in arrow if str(X.dtypes.iloc[position]).startswith("dictionary<")
    ]
    if not listed:
        return X
    result = X.copy(deep=False)
    for position in listed:
        column = X.iloc[:, position].array.__arrow_array__()
        result.isetitem(position, _categorical(column, str(X.columns[position])))
    return result


def _categorical(column: Any, name: str) -> Any:
    """Return a dictionary of Arrow as a pandas categorical, its values sorted."""
    import pandas as pd
    import pyarrow as pa

    plain = column.cast(_read_as(column.type.value_type))
    # Chunks may have other dictionaries, with repeated, unused or missing values.
    if isinstance(plain, pa.ChunkedArray):
        plain = plain.combine_chunks()
    coded = plain.dictionary_encode()
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    values = coded.dictionary.to_pylist()
    listed = sorted(value for value in values if value == value)  # NaN is missing
    position = {value: number for number, value in enumerate(listed)}
    numbers = np.array([*(position.get(value, -1) for value in values), -1])
    return pd.Categorical.from_codes(numbers[codes], categories=listed)


def _read_as(kind: Any) -> Any:
    """Return the Arrow type in which pandas gets a column; which of them are read it says."""
    import pyarrow as pa

    types = pa.types
    if types.is_null(kind):
        return pa.float64()
    if "string" in str(kind) and not types.is_nested(kind):
        return pa.large_string()
    return kind


def _from_polars(X: Any) -> Any:
    """Return a polars DataFrame as one of pandas."""
    import polars as pl

    if isinstance(X, pl.LazyFrame):
        raise InvalidParameterError(
            "The 'X' argument is a polars LazyFrame, which holds no rows yet: pass X.collect()."
        )
    if isinstance(X, pl.Series):
        raise InvalidParameterError(
            "Expected 2D array, got 1D array instead. Pass a polars DataFrame."
        )
    pd = _pandas("polars")
    strange = [name for name, kind in X.schema.items() if kind == pl.Object]
    if strange:
        raise InvalidParameterError(
            f"The column {strange[0]!r} of X has the polars type Object: make it numeric."
        )
    frame = _from_arrow(X.to_arrow())
    for position, (name, kind) in enumerate(X.schema.items()):
        if isinstance(kind, pl.Enum):
            listed = kind.categories.to_list()
            codes = X[name].to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
            frame.isetitem(position, pd.Categorical.from_codes(codes, categories=listed))
    return frame
