"""Arrays of numbers as in LightGBM, and what containers of tables hold."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from dpboost._utils.sparse_checks import checked_sparse
from dpboost._utils.validation import InvalidParameterError, worded
from dpboost.schema import lightgbm_name

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
        raise _no_numbers()
    result = np.empty(array.size, dtype=np.float64)
    numeric = True
    for position, value in enumerate(array.flat):
        number = object_number(value)
        if number is None:
            numeric = False
            break
        result[position] = number
    if not numeric:
        raise _no_numbers()
    return result.reshape(array.shape)


def _no_numbers() -> InvalidParameterError:
    """Build the error for text and objects, which names no cell."""
    return InvalidParameterError(
        worded("The cells of the 'X' argument", "The cells of the file")
        + " must be numbers or missing, but there is a string or another object that is not a "
        "number. "
        + worded(
            "A DataFrame may hold text in columns whose categories are declared in "
            "Schema(categories=...).",
            "Give columns of text the type 'category' in the schema, or the role 'ignore'.",
        )
    )


def object_number(value: Any) -> float | None:
    """Return a Python object as a float, or None if it is no number."""
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


def as_array(X: Any, *, may_be_empty: bool = False) -> NDArray[Any]:
    """Return a list or array as a 2-D numpy array of numbers, without a copy where it is one.

    Only an array has a type of its own: whole numbers in a list become floats.
    """
    ragged = False
    try:
        if isinstance(X, np.ma.MaskedArray):
            X = np.ma.filled(X.astype(np.float64), np.nan)
        array = np.asarray(X)
        if not hasattr(X, "dtype") and array.dtype.kind in WHOLE_KINDS:
            array = array.astype(np.float64)  # what numpy makes of a list depends on its cells
    except ValueError:
        ragged = True
    if ragged:
        raise InvalidParameterError(
            "The 'X' argument must be a table of numbers with rows of equal length."
        )
    if array.dtype.kind == "c":
        raise InvalidParameterError(COMPLEX)
    if array.ndim < 2:
        raise InvalidParameterError(
            f"Expected 2D array, got {'1D' if array.ndim else 'scalar'} array instead. "
            "Reshape your data either using array.reshape(-1, 1) if your data has a single "
            "feature or array.reshape(1, -1) if it contains a single sample."
        )
    if array.ndim > 2:
        raise InvalidParameterError(
            f"Found array with dim {array.ndim}, while dim <= 2 is required: pass one row per "
            "sample and one column per feature."
        )
    check_shape(array.shape, may_be_empty=may_be_empty)
    if array.dtype.kind not in "biuf":
        array = to_float(array)
    return array


def canonical(X: Any, layout: str) -> Any:
    """Return a sparse matrix in this layout, of floats, without duplicates; X where it is one."""
    if X.dtype.kind == "c":
        raise InvalidParameterError(COMPLEX)
    if X.dtype.kind not in "biuf":
        raise _no_numbers()
    X = checked_sparse(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    result = X.asformat(layout)
    if not result.has_canonical_format:
        result = result.copy() if result is X else result
        result.sum_duplicates()
    return result


def check_shape(shape: tuple[int, ...], *, may_be_empty: bool = False) -> None:
    """Refuse tables without columns, and without rows unless these were assigned at random."""
    if shape[0] == 0 and not may_be_empty:
        raise InvalidParameterError(
            f"Found array with 0 sample(s) (shape={tuple(shape)}) while a minimum of 1 is required."
        )
    if shape[1] == 0:
        raise InvalidParameterError(
            f"Found array with 0 feature(s) (shape={tuple(shape)}) while a minimum of 1 is "
            "required."
        )


def opened(X: Any, *, may_be_empty: bool = False) -> tuple[Any, list[str] | None]:
    """Return what a container of a table holds, in one of three kinds.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features), scipy sparse matrix or DataFrame
        Shapes of matrices and DataFrames are not checked yet.
    names : list of str or None
        The feature names given to a ``lightgbm.Dataset``.
    """
    names = dataset_names(X) if is_dataset(X) else None
    X = unpack(X)
    if not is_frame(X) and not scipy.sparse.issparse(X):
        X = as_array(X, may_be_empty=may_be_empty)
    return X, names


def column_names(
    given: Sequence[str] | None, n_features: int, own: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Return the names of the columns as LightGBM writes them."""
    if given is not None:
        if isinstance(given, str) or len(given) != n_features:
            raise InvalidParameterError(
                "The 'feature_names' parameter must be a list with one name for each of the "
                f"{n_features} columns of X."
            )
        own = [str(name) for name in given]
    if own is None:
        return tuple(f"Column_{position}" for position in range(n_features))
    names = tuple(lightgbm_name(name) for name in own)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InvalidParameterError(
                f"The column name {name!r} appears more than once (blanks are read as '_'): "
                "column names must differ."
            )
        seen.add(name)
        if not name or any(letter in '",:[]{}\\' or not letter.isprintable() for letter in name):
            raise InvalidParameterError(
                f"The column name {name!r} is not allowed in a LightGBM model: rename it, "
                f'without any of " , : [ ] {{ }} \\ and without line breaks or other invisible '
                "characters."
            )
    return names


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
                f"The sequence X, of type {type(sequence).__name__}, returns a wrong number of "
                "rows for a slice: return as many rows as the slice and len() state."
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
            "The lightgbm.Dataset has freed its raw data, which private training needs: create "
            "it with free_raw_data=False, or do not construct it before."
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
            f"Expected 2D array: an object of type {type(X).__name__} does not export a table "
            "of columns to Arrow. Pass a pyarrow.Table."
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
            f"The 'X' argument must be a table; pyarrow's {type(X).__name__} is not supported: "
            "pass a pyarrow.Table."
        )
    pd = _pandas("pyarrow")
    columns = {}
    for position, column in enumerate(X.columns):
        if pa.types.is_dictionary(column.type):
            columns[position] = _categorical(column)
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
        result.isetitem(position, _categorical(column))
    return result


def _categorical(column: Any) -> Any:
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
            "The 'X' argument is a polars LazyFrame, which has no rows yet: pass X.collect()."
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


def is_batched(X: Any) -> bool:
    """Return whether ``X`` gives its rows in batches.

    Parameters
    ----------
    X : any object
        Yes for a ``lightgbm.Sequence``; for a list of sequences, of 2-D arrays, of Arrow tables or
        of DataFrames; for ``pyarrow`` datasets, Parquet files and readers of record batches; for
        iterators and other objects that can only be gone through.
    """
    if is_sequence(X) or arrow_kind(X) is not None:
        return True
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and all(map(_is_part, X))
    if isinstance(X, (str, bytes, Mapping, Set)) or hasattr(X, "shape"):
        return False
    return isinstance(X, Iterable) and not hasattr(X, "__len__") and not hasattr(X, "__array__")


def _is_part(part: Any) -> bool:
    """Return whether an element of a list is a table of its own, and no row."""
    if isinstance(part, tuple):
        return 2 <= len(part) <= 3 and _is_part(part[0]) and np.ndim(part[1]) > 0
    if is_sequence(part) or is_frame(part):
        return True
    room = type(part).__module__.partition(".")[0]
    if room in ("pyarrow", "polars"):
        return hasattr(part, "columns")
    return hasattr(part, "ndim") and part.ndim == 2


def arrow_kind(X: Any) -> str | None:
    """Name the way in which an object of pyarrow gives batches, without importing it."""
    if type(X).__module__.partition(".")[0] != "pyarrow":
        return None
    for kind in type(X).__mro__:
        if kind.__name__ == "RecordBatchReader":
            return "reader"
        if kind.__name__ == "ParquetFile":
            return "file"
        if kind.__name__ == "Dataset":
            return "dataset"
    return None
