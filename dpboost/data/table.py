"""One private view of the rows, whatever kind of table they come in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from dpboost._validation import InvalidParameterError
from dpboost.data.columns import (
    COMPLEX,
    NOT_NUMBERS,
    category_list,
    category_positions,
    is_categorical,
    is_frame,
    is_text,
    numeric_column,
    to_float,
)
from dpboost.schema import ResolvedSchema, Schema, lightgbm_name

# Values converted at a time where a table is not made of floats: 32 MB, enough that starting
# the threads once for each part does not show.
_CONVERTED_AT_ONCE = 1 << 22


class Table:
    """The private rows. Made by `read_table`.

    Nothing about a cell or the number of rows is shown by ``repr``; a table has no length,
    cannot be pickled or iterated over.

    Attributes
    ----------
    n_rows : int
        Private.
    n_features : int
        Number of columns.
    feature_names : tuple of str
        As LightGBM writes them.
    categorical : dict of int to list
        Positions of the columns that are read by position in a list of categories, with that
        list: the declared one, or else the one of the column's pandas type.
    ordered : frozenset of int
        Those of them whose pandas type is ordered and whose categories are not declared:
        LightGBM compares their codes as numbers.

    Privacy
    -------
    ``n_features``, ``feature_names``, ``categorical`` and ``ordered`` depend on names and
    types of columns only, which are public by assumption. Everything else is private.
    """

    __slots__ = ("_csc", "_dense", "_frame", "categorical", "feature_names", "n_rows", "ordered")

    def __init__(
        self,
        *,
        n_rows: int,
        feature_names: tuple[str, ...],
        dense: NDArray[Any] | None = None,
        csc: Any = None,
        frame: Any = None,
        categorical: Mapping[int, list[Any]] | None = None,
        ordered: frozenset[int] = frozenset(),
    ) -> None:
        self.n_rows = n_rows
        self.feature_names = feature_names
        self.categorical = dict(categorical or {})
        self.ordered = ordered
        self._dense = dense
        self._csc = csc
        self._frame = frame

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.feature_names)

    @property
    def csc(self) -> Any:
        """The rows as a canonical CSC matrix of floats where they came sparse, else None."""
        return self._csc

    def column(self, feature: int) -> NDArray[np.float64]:
        """Return one column as LightGBM sees it: numbers, or codes of categories.

        Parameters
        ----------
        feature : int
            Position of the column.

        Returns
        -------
        ndarray of shape (n_rows,), float64
            NaN where the cell is missing or not in the list of categories.
        """
        if self._csc is not None:
            start, end = self._csc.indptr[feature : feature + 2]
            result = np.zeros(self.n_rows)
            result[self._csc.indices[start:end]] = self._csc.data[start:end]
            return result
        if self._dense is not None:
            return to_float(self._dense[:, feature]).astype(np.float64, copy=False)
        return self._read_frame(feature).astype(np.float64, copy=False)

    def pieces(self) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """Go through a dense table in the order its memory likes best.

        Yields
        ------
        first_row : int
        first_feature : int
        values : ndarray of shape (n, m), float32 or float64
            Rows ``first_row:first_row + n`` of features ``first_feature:first_feature + m``,
            any strides, maybe read-only. Together the pieces hold every cell once.
        """
        if self._dense is None:
            width = max(1, _CONVERTED_AT_ONCE // self.n_rows)
            for first in range(0, self.n_features, width):
                yield 0, first, self._read_columns(first, min(first + width, self.n_features))
            return
        rows = self.n_rows
        if self._dense.dtype not in (np.float32, np.float64):
            rows = max(1, _CONVERTED_AT_ONCE // self.n_features)
        for first in range(0, self.n_rows, rows):
            yield first, 0, to_float(self._dense[first : first + rows])

    def _read_columns(self, first: int, last: int) -> NDArray[Any]:
        if last - first == 1:
            return self._read_frame(first)[:, np.newaxis]
        values = np.empty((self.n_rows, last - first), order="F")
        for place in range(first, last):
            values[:, place - first] = self._read_frame(place)
        return values

    def _read_frame(self, feature: int) -> NDArray[Any]:
        column = self._frame.iloc[:, feature]
        name = self.feature_names[feature]
        values = self.categorical.get(feature)
        if values is None:
            return numeric_column(column, name)
        codes = category_positions(column, values, name).astype(np.float64)
        codes[codes < 0] = np.nan
        return codes

    def __repr__(self) -> str:
        return f"<Table with {self.n_features} features>"

    def __len__(self) -> NoReturn:
        raise TypeError("a Table does not show its number of rows")

    def __bool__(self) -> NoReturn:
        raise TypeError("a Table has no truth value")

    def __iter__(self) -> NoReturn:
        raise TypeError("a Table cannot be iterated over")

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("a Table is not converted to an array")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Table holds private rows and cannot be pickled or copied")


def read_table(
    X: Any,
    *,
    schema: Schema | ResolvedSchema | None = None,
    feature_names: Sequence[str] | None = None,
) -> Table:
    """Take a table of any supported kind as private rows, without converting all of it.

    Parameters
    ----------
    X : array-like, scipy sparse matrix or DataFrame of shape (n_rows, n_features)
        numpy arrays of any numeric type and memory order, object arrays and lists of numbers,
        scipy matrices (what is not stored is 0), pandas DataFrames.
    schema : Schema or ResolvedSchema, optional
        Declared categories decide how text and categorical columns are read.
    feature_names : sequence of str, optional
        Default: the columns of a DataFrame, else ``Column_0``, ``Column_1``, ...

    Returns
    -------
    Table

    Raises
    ------
    InvalidParameterError
        For anything that is no table of numbers or declared categories. Not for missing,
        infinite, huge or constant values, a single row or categories never seen: these depend
        on cells, and a message would tell.

    Privacy
    -------
    Nothing is released. A message names columns and types, never a cell or a row; the two
    messages about empty tables show the shape.
    """
    if is_frame(X):
        names = _names(feature_names, X.shape[1], [str(name) for name in X.columns])
        _check_shape(X.shape)
        return _read_frame(X, names, _resolve(schema, names))
    if scipy.sparse.issparse(X):
        if X.ndim != 2:
            raise InvalidParameterError("Expected 2D array, got 1D sparse array instead.")
        _check_shape(X.shape)
        names = _names(feature_names, X.shape[1])
        _check_number_codes(_resolve(schema, names))
        return Table(n_rows=X.shape[0], feature_names=names, csc=canonical(X, "csc"))
    array = as_array(X)
    names = _names(feature_names, array.shape[1])
    _check_number_codes(_resolve(schema, names))
    return Table(n_rows=array.shape[0], feature_names=names, dense=array)


def as_array(X: Any) -> NDArray[Any]:
    """Return a list or array as a 2-D numpy array of numbers, without a copy where it is one."""
    room = type(X).__module__.partition(".")[0]
    if room in ("pyarrow", "polars"):
        raise InvalidParameterError(
            f"A table of {room} is not supported yet: pass X.to_pandas() or X.to_numpy()."
        )
    ragged = False
    try:
        if isinstance(X, np.ma.MaskedArray):
            X = np.ma.filled(X.astype(np.float64), np.nan)
        array = np.asarray(X)
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
    _check_shape(array.shape)
    if array.dtype.kind not in "biuf":
        array = to_float(array)
    return array


def _read_frame(X: Any, names: tuple[str, ...], schema: ResolvedSchema) -> Table:
    """Take a DataFrame: as one array where it is a single block of rows, else by column."""
    categorical: dict[int, list[Any]] = {}
    ordered = set()
    numeric_declared = []
    for feature, dtype in enumerate(X.dtypes):
        column = X.iloc[:0, feature]
        declared = schema.categories.get(feature)
        if is_categorical(column) or (declared is not None and is_text(column)):
            if feature in schema.bounds or feature in schema.edges:
                raise InvalidParameterError(
                    f"The column {names[feature]!r} of X is categorical, but Schema declares "
                    "bounds or edges for it: declare categories, or make it numeric."
                )
            if declared is not None:
                categorical[feature] = list(declared)
            else:
                categorical[feature] = category_list(column, names[feature])
                if dtype.ordered:
                    ordered.add(feature)
        else:
            numeric_column(column, names[feature])
            if declared is not None:
                numeric_declared.append(feature)
    _check_number_codes(schema, numeric_declared)
    if not categorical and _is_row_block(X):
        return Table(n_rows=X.shape[0], feature_names=names, dense=X.to_numpy())
    return Table(
        n_rows=X.shape[0],
        feature_names=names,
        frame=X,
        categorical=categorical,
        ordered=frozenset(ordered),
    )


def _is_row_block(X: Any) -> bool:
    """Tell whether a DataFrame wraps one row-ordered array, where columns are slow to read."""
    dtype = X.dtypes.iloc[0]
    if not isinstance(dtype, np.dtype) or dtype.kind != "f" or not (X.dtypes == dtype).all():
        return False
    return bool(X.iloc[:, 0].to_numpy().strides[0] > dtype.itemsize)


def canonical(X: Any, layout: str) -> Any:
    """Return a sparse matrix in this layout, of floats, without duplicates; X where it is one."""
    if X.dtype.kind == "c":
        raise InvalidParameterError(COMPLEX)
    if X.dtype.kind not in "biuf":
        raise InvalidParameterError(NOT_NUMBERS)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    # The kernels trust the indices of a matrix, so a damaged one must not get there.
    sound = True
    try:
        if hasattr(X, "check_format"):
            X.check_format(full_check=True)
        result = X.asformat(layout)
    except ValueError:
        sound = False
    if not sound:
        raise InvalidParameterError("The sparse matrix X is damaged: its indices make no sense.")
    if not result.has_canonical_format:
        result = result.copy() if result is X else result
        result.sum_duplicates()
    return result


def _names(
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
        return tuple(f"Column_{place}" for place in range(n_features))
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
                f"The column name {name!r} cannot stand in a LightGBM model: rename it, without "
                'any of " , : [ ] { } \\ and without line breaks or other invisible characters.'
            )
    return names


def _check_shape(shape: tuple[int, ...]) -> None:
    if shape[0] == 0:
        raise InvalidParameterError(
            f"Found array with 0 sample(s) (shape={tuple(shape)}) while a minimum of 1 is required."
        )
    if shape[1] == 0:
        raise InvalidParameterError(
            f"Found array with 0 feature(s) (shape={tuple(shape)}) while a minimum of 1 is "
            "required."
        )


def _resolve(schema: Schema | ResolvedSchema | None, names: tuple[str, ...]) -> ResolvedSchema:
    if isinstance(schema, ResolvedSchema):
        if schema.n_features != len(names):
            raise InvalidParameterError(
                f"X has {len(names)} features, but the schema was resolved for {schema.n_features}."
            )
        return schema
    return Schema.coerce(schema).resolve(names)


def _check_number_codes(schema: ResolvedSchema, features: Sequence[int] | None = None) -> None:
    """Refuse declared categories that a column of plain numbers cannot hold."""
    for feature in schema.categories if features is None else features:
        number_codes(schema.categories[feature], schema.feature_names[feature])


def number_codes(values: Sequence[Any], name: str) -> tuple[int, ...]:
    """Return declared categories as the integers that stand in a column of numbers.

    Raises
    ------
    InvalidParameterError
        For text, fractions, negative numbers and numbers above 65535.
    """
    for value in values:
        if isinstance(value, str) or value != int(value) or not 0 <= value <= 65535:
            raise InvalidParameterError(
                f"The categories declared for column {name!r} must be integers from 0 to 65535, "
                "because X holds numbers in that column. Encode the column as 0, 1, 2, ... or "
                f"pass it as text in a DataFrame. Got {value!r} in the declared list instead."
            )
    return tuple(int(value) for value in values)
