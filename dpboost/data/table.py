"""Private rows of any kind of table, in memory or in batches, and their public columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from dpboost._kernels import binning
from dpboost._utils.validation import InvalidParameterError
from dpboost.data.batches import Batch, Batches
from dpboost.data.binner import Binner
from dpboost.data.columns import (
    category_codes,
    column_list,
    columns_of_kind,
    frame_column,
    is_row_block,
    is_stored,
    no_text,
    numeric_column,
    open_categories,
    stored_frame,
    text_cure,
    unlisted_columns,
    unreadable,
)
from dpboost.data.containers import (
    BOOLEAN_KIND,
    WHOLE_KINDS,
    canonical,
    check_shape,
    column_names,
    opened,
    to_float,
)
from dpboost.data.feature_bins import number_codes
from dpboost.data.sparse import (
    VALUES_A_THREAD,
    BinnedRows,
    StoredColumns,
    StoredRows,
    dense_matrix,
    stored_bins,
)
from dpboost.schema import ResolvedSchema, Schema
from dpboost.schema.declared_types import is_text

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

    def bins(self, binner: Binner, n_threads: int = 1) -> BinnedRows:
        """Return the bins of the rows, by column.

        Parameters
        ----------
        binner : Binner
            Of the same columns.
        n_threads : int
            The result is the same for any number.

        Returns
        -------
        ndarray of shape (n_features, n_rows), uint8
            Of a dense table.
        SparseBins
            Of a sparse one: the stored cells only.

        Raises
        ------
        InvalidParameterError
            For another number of columns, other lists of categories, and rows of which other
            bins were kept.

        Privacy
        -------
        The bins are private; each depends on its own row and on public numbers.
        """
        self._check(binner)
        if self.kept_bins is not None:
            return self.kept_bins(binner)
        if self.stored is not None:
            return stored_bins(self.stored, binner.kernel_arguments, n_threads)
        out = np.empty((self.n_features, self.n_rows), dtype=np.uint8)
        for row, first, values in self.pieces():
            last = first + values.shape[1]
            useful = min(n_threads, 1 + values.size // VALUES_A_THREAD)
            maps = binner.kernel_arguments(first, last)
            binning.bin_dense(values, **maps, out=out[first:last], first_row=row, n_threads=useful)
        for feature in self.categorical:
            codes, categories = self.coded(feature)
            # Each category is binned once; code -1 finds the last bin.
            np.take(binner.bin_values(feature, categories), codes, out=out[feature], mode="wrap")
        return out

    def _check(self, binner: Binner) -> None:
        """Raise unless bins are of such columns."""
        if self.n_features != binner.n_features:
            raise InvalidParameterError(
                f"X has {self.n_features} features, but Binner is expecting {binner.n_features} "
                "features as input."
            )
        for position, values in self.categorical.items():
            own = list(binner.labels.get(position, ()))
            if list(values)[: len(own) or None] != own:
                raise InvalidParameterError(
                    f"The categories of column {self.feature_names[position]!r} differ from those "
                    "of the bins: read the table after `conform`."
                )

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


class BatchedTable(Table):
    """A table whose methods read the rows again; of a new one, only the first batch has been read.

    Parameters
    ----------
    schema : Schema or ResolvedSchema
        As in `read_table`.
    reading : Reading
        Where lists of categories are public by assumption, all batches must list the same.
        Otherwise each batch is read by its own lists.

    Privacy
    -------
    As a `Table`: its public attributes come from the types of the first batch, and every other
    batch must have the same.
    """

    __slots__ = ("_batches", "_reading", "_schema")

    def __init__(self, batches: Batches, schema: Schema | ResolvedSchema, reading: Reading) -> None:
        first = read(batches.first.X, schema, reading)
        super().__init__(first.columns, n_rows=0, categorical=first.categorical)
        self._batches = batches
        self._schema = schema
        self._reading = reading

    def check(self) -> None:
        """Look at all batches, whose types could differ, and count rows, before any is used."""
        self._batches.check(self.part)
        self.n_rows = self._batches.n_rows

    def parts(self) -> Iterator[Table]:
        """Read the batches, one table at a time."""
        for batch in self._batches:
            yield self.part(batch)

    def part(self, batch: Batch) -> Table:
        """Read one batch, which must have the columns of the first."""
        if batch.X.ndim != 2 or batch.X.shape[1] != self.n_features:
            raise InvalidParameterError(
                "The parts of X must be 2-D arrays with the same number of columns."
            )
        table = read(batch.X, self._schema, self._reading)
        if table.feature_names != self.feature_names:
            raise InvalidParameterError("The batches of X must have the same names of columns.")
        for position in sorted({*table.categorical, *self.categorical}):
            own, first = table.categorical.get(position), self.categorical.get(position)
            if own is None or first is None or (self._reading.lists_assumed and own != first):
                raise InvalidParameterError(
                    f"The column {self.feature_names[position]!r} has another type or other "
                    "categories in some of the batches of X: give all of them the same categorical "
                    "type, or declare Schema(categories=...)."
                )
        return table

    def column(self, feature: int) -> NDArray[np.float64]:
        """Return one column, as `Table.column` does."""
        return np.concatenate([part.column(feature) for part in self.parts()])

    def largest(self, features: Sequence[int]) -> NDArray[np.float64]:
        """Return the largest absolute value of every row, as `Table.largest` does."""
        return np.concatenate([part.largest(features) for part in self.parts()])

    def bins(self, binner: Binner, n_threads: int = 1) -> NDArray[np.uint8]:
        """Return the bins of all rows, as `Table.bins` does of a dense table."""
        out = np.empty((self.n_features, self.n_rows), dtype=np.uint8)
        first_row = 0
        for part in self.parts():
            last_row = first_row + part.n_rows
            if last_row > self.n_rows:
                raise _other_length()
            out[:, first_row:last_row] = dense_matrix(part.bins(binner, n_threads))
            first_row = last_row
        if first_row != self.n_rows:
            raise _other_length()
        return out

    def pieces(self) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """Go through the batches, as `Table.pieces` does."""
        first_row = 0
        for part in self.parts():
            for row, feature, values in part.pieces():
                yield first_row + row, feature, values
            first_row += part.n_rows


def _other_length() -> InvalidParameterError:
    return InvalidParameterError(
        "The batches of X do not have the number of rows that len(X) states: make both agree."
    )


def _without_zeros(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers with NaN instead of what LightGBM reads as zero."""
    return np.where(np.abs(values) <= LARGEST_ZERO, np.nan, values)


@dataclass(frozen=True, kw_only=True, eq=False)
class Reading:
    """Settings to read the table; public."""

    #: Instead of the table's own.
    feature_names: tuple[str, ...] | None = None
    #: Columns of numbers that hold categories.
    categorical: tuple[str | int, ...] = ()
    zero_as_missing: bool = False
    #: Whether the rows were assigned by secret random assignment, so that there may be none.
    may_be_empty: bool = False
    #: Whether the lists of categories that column types bring along are public by assumption: they
    #: then have to be the same in all batches and partitions.
    lists_assumed: bool = False


def read(X: Any, schema: Schema | ResolvedSchema, reading: Reading) -> Table:
    """Read a table as the user asks; one that comes in batches is read when it is used."""
    if isinstance(X, Table):  # in bins, as it was read
        return X
    if isinstance(X, Batches):
        table = BatchedTable(X, schema, reading)
        table.check()
        return table
    return read_table(
        X,
        schema=schema,
        feature_names=reading.feature_names,
        zero_as_missing=reading.zero_as_missing,
        may_be_empty=reading.may_be_empty,
    )


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
        DataFrames, and all that `dpboost.data.containers.unpack` takes: pyarrow and polars
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
    for feature, values in resolved.categories.items():
        number_codes(values, names[feature])
    for feature in _open(resolved):
        raise no_text(names[feature])
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
    unlisted = unlisted_columns(X, schema)
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
            listed = column_list(column, feature, schema)
            if listed is not None:
                categorical[feature] = listed
                if declared is None and column.dtype.ordered:
                    ordered.add(feature)
            elif declared is not None:
                number_codes(declared, names[feature])
                numeric_declared.append(feature)
        except InvalidParameterError as error:
            problems.append(str(error))
    if problems:
        raise unreadable(problems)
    kinds: dict[str, Any] = {"frame": X}
    if not categorical and is_row_block(X):
        kinds = {"dense": X.to_numpy()}
    elif 2 * sum(map(is_stored, X.dtypes)) >= X.shape[1]:
        kinds = {"stored": stored_frame(X, categorical, names)}
    columns = ColumnFacts(
        feature_names=names,
        categorical=frozenset(categorical),
        ordered=frozenset(ordered),
        integer=columns_of_kind(X, WHOLE_KINDS),
        boolean=columns_of_kind(X, BOOLEAN_KIND),
        zero_as_missing=zero_as_missing,
    )
    codes = frozenset(numeric_declared)
    return Table(columns, n_rows=X.shape[0], categorical=categorical, number_codes=codes, **kinds)


def _open(schema: ResolvedSchema) -> list[int]:
    """Return the columns whose categories are to be learned, and are not known yet."""
    return sorted(schema.learned - set(schema.categories))


def _resolve(schema: Schema | ResolvedSchema | None, names: tuple[str, ...]) -> ResolvedSchema:
    if isinstance(schema, ResolvedSchema):
        if schema.n_features != len(names):
            raise InvalidParameterError(
                f"X has {len(names)} features, but the schema was resolved for {schema.n_features}."
            )
        return schema
    return Schema.coerce(schema).resolve(names)
