"""A private view of the rows of any kind of table, and its public columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from dpboost._utils.schema_checks import is_date
from dpboost._utils.validation import InvalidParameterError, worded
from dpboost.data.columns import (
    BOOLEAN_KIND,
    WHOLE_KINDS,
    canonical,
    category_codes,
    category_list,
    check_shape,
    frame_column,
    is_categorical,
    is_stored,
    is_text,
    number_kind,
    numeric_column,
    open_categories,
    opened,
    stored_column,
    text_cure,
    to_float,
)
from dpboost.data.sparse import StoredColumns, StoredRows
from dpboost.schema import ResolvedSchema, Schema, lightgbm_name

# Values converted at a time where a table is not made of floats: 32 MB, enough that starting
# the threads once for each part does not show.
_CONVERTED_AT_ONCE = 1 << 22
# LightGBM reads values up to this size as zero.
LARGEST_ZERO = float(np.float32(1e-35))


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnFacts:
    """Names and kinds of columns, public by assumption; equal for all parties."""

    feature_names: tuple[str, ...]
    #: Positions of the columns that are read by position in a list of categories. The lists are not
    #: here: what a table lists undeclared is part of its rows.
    categorical: frozenset[int] = frozenset()
    #: Those of them whose pandas type is ordered and whose categories are not declared: LightGBM
    #: compares their codes as numbers.
    ordered: frozenset[int] = frozenset()
    #: Positions of the columns of integer or boolean type. Lists have no type.
    integer: frozenset[int] = frozenset()
    #: Those of them of boolean type.
    boolean: frozenset[int] = frozenset()
    #: Whether zeros in columns of numbers are missing.
    zero_as_missing: bool = False

    @property
    def key(self) -> Hashable:
        """Names and types, by which a process knows a table again."""
        kinds = (self.categorical, self.integer, self.boolean)
        return (self.feature_names, *map(frozenset, kinds))

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.feature_names)

    def lists(self, schema: ResolvedSchema) -> dict[int, list[Any]]:
        """Return the lists of categories by position, from a complete schema."""
        return {
            position: list(schema.categories[position]) for position in sorted(self.categorical)
        }


class Table:
    """Private rows; created by `read_table`.

    ``repr`` shows no cell and no number of rows; a table has no length and cannot be pickled or
    iterated over.

    Attributes
    ----------
    n_rows : int
        Private.
    columns : ColumnFacts
        What is public of the columns.
    n_features, feature_names, ordered, integer, boolean, zero_as_missing
        As in ``columns``.
    categorical : dict of int to list
        Positions of the columns that are read by position in a list of categories, with that
        list: the declared one, or else the private one of the column's pandas type.
    stored : StoredColumns, StoredRows or None
        The cells that a sparse table stores; None for a dense one.
    kept_bins : callable or None
        ``kept_bins(binner)`` returns the bins of a table of which nothing else was kept.

    Privacy
    -------
    ``columns`` depends on names and types of columns and on parameters only, which are public by
    assumption. Everything else is private, undeclared lists of categories too.
    """

    __slots__ = (
        "_dense",
        "_frame",
        "_number_codes",
        "boolean",
        "categorical",
        "columns",
        "feature_names",
        "integer",
        "kept_bins",
        "n_features",
        "n_rows",
        "ordered",
        "stored",
        "zero_as_missing",
    )

    def __init__(
        self,
        columns: ColumnFacts,
        *,
        n_rows: int,
        dense: NDArray[Any] | None = None,
        stored: StoredColumns | StoredRows | None = None,
        frame: Any = None,
        categorical: Mapping[int, list[Any]] | None = None,
        number_codes: frozenset[int] = frozenset(),
        kept_bins: Callable[[Any], NDArray[np.uint8]] | None = None,
    ) -> None:
        self.n_rows = n_rows
        self.columns = columns
        self.n_features = columns.n_features
        self.feature_names = columns.feature_names
        self.categorical = dict(categorical or {})
        self.ordered = columns.ordered
        self.integer = columns.integer
        self.boolean = columns.boolean
        self.zero_as_missing = columns.zero_as_missing
        self.stored = stored
        self.kept_bins = kept_bins
        self._dense = dense
        self._frame = frame
        self._number_codes = number_codes

    def column(self, feature: int) -> NDArray[np.float64]:
        """Return one column as LightGBM sees it: numbers, or codes of categories.

        Returns
        -------
        ndarray of shape (n_rows,), float64
            NaN where the cell is missing or not in the list of categories.
        """
        if self.stored is not None:
            values = self.stored.column(feature)
        elif self._dense is not None:
            values = to_float(self._dense[:, feature]).astype(np.float64, copy=False)
        else:
            values = frame_column(self._frame, feature, self.categorical, self.feature_names)
            values = values.astype(np.float64, copy=False)
        nominal = feature in self.categorical or feature in self._number_codes
        return values if nominal or not self.zero_as_missing else _without_zeros(values)

    def largest(self, features: Sequence[int]) -> NDArray[np.float64]:
        """Return the largest absolute value of every row among some columns of numbers.

        Returns
        -------
        ndarray of shape (n_rows,), float64
            NaN where all of them are missing.
        """
        if self.stored is not None:
            result = self.stored.largest(features)
            return _without_zeros(result) if self.zero_as_missing else result
        result = np.full(self.n_rows, np.nan)
        for feature in features:
            np.fmax(result, np.abs(self.column(feature)), out=result)
        return result

    def pieces(self) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """Go through the numbers of a table that is not sparse, as its memory likes best.

        Yields
        ------
        first_row : int
        first_feature : int
        values : ndarray of shape (n, m), float32 or float64
            Rows ``first_row:first_row + n`` of features ``first_feature:first_feature + m``,
            any strides, maybe read-only. Together the pieces hold every cell once, but for those
            of the columns that `coded` goes through.
        """
        if self._dense is None:
            for feature, (_, column) in enumerate(self._frame.items()):
                if feature not in self.categorical:
                    values = numeric_column(column, self.feature_names[feature])
                    yield 0, feature, values[:, np.newaxis]
            return
        if self._dense.dtype in (np.float32, np.float64):
            yield 0, 0, self._dense
            return
        rows = max(1, _CONVERTED_AT_ONCE // self.n_features)
        for first in range(0, self.n_rows, rows):
            yield first, 0, to_float(self._dense[first : first + rows])

    def parts(self) -> Iterator[Table]:
        """Go through the tables that are in memory: this one alone."""
        yield self

    def coded(self, feature: int) -> tuple[NDArray[np.integer], NDArray[np.float64]]:
        """Return a column of a dense table that is read by position in a list of categories.

        Parameters
        ----------
        feature : int
            One of ``categorical``.

        Returns
        -------
        codes : ndarray of shape (n_rows,), any integer type
            -1 for missing cells.
        values : ndarray of shape (n_codes + 1,), float64
            What `column` returns for each code, and at the end for code -1.
        """
        column, name = self._frame.iloc[:, feature], self.feature_names[feature]
        codes, positions = category_codes(column, self.categorical[feature], name)
        return codes, np.where(positions < 0, np.nan, positions)

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


def _without_zeros(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers with NaN instead of what LightGBM reads as zero."""
    return np.where(np.abs(values) <= LARGEST_ZERO, np.nan, values)


def read_table(
    X: Any,
    *,
    schema: Schema | ResolvedSchema | None = None,
    feature_names: Sequence[str] | None = None,
    zero_as_missing: bool = False,
    may_be_empty: bool = False,
) -> Table:
    """Take a table of any supported kind as private rows, without converting all of it.

    Parameters
    ----------
    X : table of shape (n_rows, n_features)
        numpy arrays of any numeric type and memory order, object arrays and lists of numbers,
        scipy matrices (what is not stored is 0, what is stored twice is added up), pandas
        DataFrames, and all that `dpboost.data.columns.unpack` takes: pyarrow and polars
        tables and all that speaks Arrow's PyCapsule interface, ``lightgbm.Dataset`` and
        ``lightgbm.Sequence``, lists of 2-D arrays.
    schema : Schema or ResolvedSchema, optional
        Declared categories decide how text and categorical columns are read.
    feature_names : sequence of str, optional
        Default: the columns of a DataFrame or the names given to a Dataset, else ``Column_0``,
        ``Column_1``, ...
    zero_as_missing : bool, default=False
        Whether zeros in columns of numbers are missing, stored or not.
    may_be_empty : bool, default=False
        Whether a table without rows is one: where rows were assigned by secret random assignment,
        an error would tell.

    Raises
    ------
    InvalidParameterError
        For anything that is no table of numbers, dates with declared bounds, or declared
        categories; one error for all columns of a DataFrame. Not for missing,
        infinite, huge or constant values, a single row or categories never seen: these depend
        on cells, and a message would tell.

    Privacy
    -------
    Nothing is released. A message names columns and types, never a cell or a row; the two
    messages about empty tables show the shape.
    """
    X, own_names = opened(X, may_be_empty=may_be_empty)
    feature_names = own_names if feature_names is None else feature_names
    kinds: dict[str, Any] = {}
    if isinstance(X, np.ndarray):
        kinds["dense"] = np.require(X, requirements="A")
        kind = X.dtype.kind
    elif scipy.sparse.issparse(X):
        kind = X.dtype.kind
        if X.ndim != 2:
            raise InvalidParameterError("Expected 2D array, got 1D sparse array instead.")
        check_shape(X.shape, may_be_empty=may_be_empty)
        if X.format == "csc":
            kinds["stored"] = StoredColumns.of_matrix(canonical(X, "csc"))
        else:
            kinds["stored"] = StoredRows(canonical(X, "csr"))
    else:
        names = column_names(feature_names, X.shape[1], [str(name) for name in X.columns])
        check_shape(X.shape, may_be_empty=may_be_empty)
        return _read_frame(X, names, _resolve(schema, names), zero_as_missing)
    names = column_names(feature_names, X.shape[1])
    resolved = _resolve(schema, names)
    _check_number_codes(resolved)
    for feature in _open(resolved):
        raise _no_text(names[feature])
    every = frozenset(range(X.shape[1]))
    columns = ColumnFacts(
        feature_names=names,
        integer=every if kind in WHOLE_KINDS else frozenset(),
        boolean=every if kind == BOOLEAN_KIND else frozenset(),
        zero_as_missing=zero_as_missing,
    )
    codes = frozenset(resolved.categories)
    return Table(columns, n_rows=X.shape[0], number_codes=codes, **kinds)


def _read_frame(
    X: Any, names: tuple[str, ...], schema: ResolvedSchema, zero_as_missing: bool
) -> Table:
    """Take a DataFrame: one array where it is a block of rows, else by column or sparse."""
    categorical: dict[int, list[Any]] = {}
    ordered = set()
    numeric_declared = []
    problems = []
    unlisted = _unlisted(X, schema)
    text = [f for f in _open(schema) if is_text(X.iloc[:, f])]
    if text:
        X = X.copy(deep=False)
        for feature in text:
            X.isetitem(feature, open_categories(X.iloc[:, feature], names[feature]))
    for feature, (_, column) in enumerate(X.iloc[:0].items()):
        declared = schema.categories.get(feature)
        if feature in unlisted and len(unlisted) > 1:
            if feature == unlisted[0]:
                shown = ", ".join(repr(names[each]) for each in unlisted)
                cure = text_cure(names[feature])
                problems.append(f"Columns of X hold text or objects: {shown}. Of each {cure}.")
            continue
        try:
            listed = _column_list(column, feature, schema)
            if listed is not None:
                categorical[feature] = listed
                if declared is None and column.dtype.ordered:
                    ordered.add(feature)
            elif declared is not None:
                _check_number_codes(schema, [feature])
                numeric_declared.append(feature)
        except InvalidParameterError as error:
            problems.append(str(error))
    if problems:
        raise _unreadable(problems)
    kinds: dict[str, Any] = {"frame": X}
    if not categorical and _is_row_block(X):
        kinds = {"dense": X.to_numpy()}
    elif 2 * sum(map(is_stored, X.dtypes)) >= X.shape[1]:
        kinds = {"stored": _stored_frame(X, categorical, names)}
    columns = ColumnFacts(
        feature_names=names,
        categorical=frozenset(categorical),
        ordered=frozenset(ordered),
        integer=_of_kind(X, WHOLE_KINDS),
        boolean=_of_kind(X, BOOLEAN_KIND),
        zero_as_missing=zero_as_missing,
    )
    codes = frozenset(numeric_declared)
    return Table(columns, n_rows=X.shape[0], categorical=categorical, number_codes=codes, **kinds)


def _column_list(column: Any, feature: int, schema: ResolvedSchema) -> list[Any] | None:
    """Return the list of categories by which a column is read, None for a column of numbers.

    Raises
    ------
    InvalidParameterError
        For a column that cannot be read, by its type and the schema alone.
    """
    declared, name = schema.categories.get(feature), schema.feature_names[feature]
    if feature in _open(schema) and not is_categorical(column):
        raise _no_text(name)
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


def _open(schema: ResolvedSchema) -> list[int]:
    """Return the columns whose categories are to be learned, and are not known yet."""
    return sorted(schema.learned - set(schema.categories))


def _unlisted(X: Any, schema: ResolvedSchema) -> list[int]:
    """Return the columns of text of which nothing is declared."""
    known = {*schema.categories, *schema.learned}
    return [
        feature
        for feature, dtype in enumerate(X.dtypes)
        if feature not in known and is_text(X.iloc[:0, feature])
    ]


def _no_text(name: str) -> InvalidParameterError:
    return InvalidParameterError(
        f"Schema leaves the categories of the column {name!r} to be learned, but X holds numbers "
        "in it: list them, or give the column as text in a DataFrame."
    )


def _unreadable(problems: list[str]) -> InvalidParameterError:
    """Return one error for all columns that cannot be read."""
    if len(problems) == 1:
        return InvalidParameterError(problems[0])
    lines = "".join(f"\n* {problem}" for problem in problems)
    return InvalidParameterError(f"X has columns that cannot be read:{lines}")


def _of_kind(X: Any, kinds: str) -> frozenset[int]:
    """Return the positions of the columns of a DataFrame whose type is of one of these kinds."""
    return frozenset(
        position for position, dtype in enumerate(X.dtypes) if number_kind(dtype) in kinds
    )


def _stored_frame(
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


def _is_row_block(X: Any) -> bool:
    """Return whether a DataFrame wraps one row-ordered array, where columns are slow to read."""
    dtype, *others = X.dtypes
    if not isinstance(dtype, np.dtype) or dtype.kind != "f":
        return False
    if any(other != dtype for other in others):
        return False
    return bool(X.iloc[:, 0].to_numpy().strides[0] > dtype.itemsize)


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
    """Return declared categories as the integers that stand in a column of numbers."""
    for value in values:
        if isinstance(value, str) or value != int(value) or not 0 <= value <= 65535:
            raise InvalidParameterError(
                f"The categories declared for column {name!r} must be integers from 0 to 65535, "
                "because X holds numbers in that column. Encode the column as 0, 1, 2, ... or "
                f"pass it as text in a DataFrame. Got {value!r} in the declared list instead."
            )
    return tuple(int(value) for value in values)


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
