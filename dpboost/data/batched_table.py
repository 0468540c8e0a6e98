"""Private rows that are read in batches on each access."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.batches import Batch, Batches
from dpboost.data.binner import Binner
from dpboost.data.sparse import dense_matrix
from dpboost.data.table import Table, read_table
from dpboost.schema import ResolvedSchema, Schema


class BatchedTable(Table):
    """A table whose methods read the rows again.

    Parameters
    ----------
    schema : Schema or ResolvedSchema
        As in `read_table`.
    same_lists : bool
        Whether all batches must list the same categories, because these are taken as public.
        Otherwise each batch is read by its own lists.

    Privacy
    -------
    As a `Table`: its public attributes come from the types of the first batch, and every other
    batch must have the same.
    """

    __slots__ = ("_batches", "_given_names", "_same_lists", "_schema")

    def __init__(
        self,
        batches: Batches,
        *,
        schema: Schema | ResolvedSchema,
        feature_names: Sequence[str] | None = None,
        zero_as_missing: bool = False,
        same_lists: bool = False,
    ) -> None:
        first = read_table(
            batches.first.X,
            schema=schema,
            feature_names=feature_names,
            zero_as_missing=zero_as_missing,
        )
        super().__init__(first.columns, n_rows=0, categorical=first.categorical)
        self._batches = batches
        self._schema = schema
        self._given_names = feature_names
        self._same_lists = same_lists

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
        table = read_table(
            batch.X,
            schema=self._schema,
            feature_names=self._given_names,
            zero_as_missing=self.zero_as_missing,
        )
        if table.feature_names != self.feature_names:
            raise InvalidParameterError("The batches of X must have the same names of columns.")
        for position in sorted({*table.categorical, *self.categorical}):
            own, first = table.categorical.get(position), self.categorical.get(position)
            if own is None or first is None or (self._same_lists and own != first):
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

    def bins(self, binner: Binner, n_threads: int) -> NDArray[np.uint8]:
        """Return the bins of all rows, of shape (n_features, n_rows)."""
        out = np.empty((self.n_features, self.n_rows), dtype=np.uint8)
        first_row = 0
        for part in self.parts():
            last_row = first_row + part.n_rows
            if last_row > self.n_rows:
                raise _other_length()
            out[:, first_row:last_row] = dense_matrix(binner.transform(part, n_threads))
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


def bin_while_reading(
    table: BatchedTable, batches: Batches, binner: Binner, n_threads: int
) -> tuple[Table, Any, Any]:
    """Read the rows once, keeping their bins, labels and weights.

    Parameters
    ----------
    table : BatchedTable
        Of the same batches; not read before.
    binner : Binner
        Public bins, known before any row is read.

    Returns
    -------
    table : Table
        Of which the bins are kept alone.
    labels, weights : ndarray of shape (n_rows,) or None
    """
    columns = [bytearray() for _ in range(binner.n_features)]
    beside = []
    for batch in batches:
        bins = dense_matrix(binner.transform(table.part(batch), n_threads))
        for column, more in zip(columns, bins, strict=True):
            column += more.data
        beside.append((batch.label, batch.weight))
    joined = np.empty((len(columns), len(columns[0])), dtype=np.uint8)
    for position, line in enumerate(joined):
        line[:] = np.frombuffer(columns[position], dtype=np.uint8)
        columns[position] = bytearray()  # its memory is free before the next one is copied
    return binned_table(table, binner, joined), *batches.joined(beside)


def binned_table(like: Table, binner: Binner, bins: NDArray[np.uint8]) -> Table:
    """Return a table of rows of which only the bins are kept.

    Parameters
    ----------
    bins : ndarray of shape (n_features, n_rows), uint8
    """

    def kept_bins(asked: object) -> NDArray[np.uint8]:
        if asked != binner:
            raise InvalidParameterError(
                "The rows of X were read once, into the bins that the schema gives, and this fit "
                "asks for others: pass X as a table."
            )
        return bins

    return Table(
        like.columns, n_rows=bins.shape[1], categorical=like.categorical, kept_bins=kept_bins
    )
