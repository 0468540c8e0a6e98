"""The rows of one site as they come: a table, labels and what goes with them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.integer_units import to_integer_units
from dpboost._utils.threads import Threads
from dpboost.data.batched_table import BatchedTable
from dpboost.data.columns import object_number
from dpboost.data.labels import encode_classes
from dpboost.data.table import Table
from dpboost.losses import Loss
from dpboost.privacy.private_categories import count_codes, count_values
from dpboost.privacy.queries import SumQuery
from dpboost.rows.encoded_rows import EncodedRows
from dpboost.rows.row_attributes import RowExtras
from dpboost.schema import ResolvedSchema

# Largest category in a column of numbers.
LARGEST_CODE = 65535
CODES = tuple(map(float, range(LARGEST_CODE + 1)))


@dataclass(frozen=True, kw_only=True, eq=False)
class RawRows:
    """Private rows before anything is known of them.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        float64 for regression, class labels otherwise.
    counted : slice or ndarray of intp, optional
        Rows that stability histograms count: one of each user.
    read_again : callable, optional
        ``read_again(schema)`` reads the table with other lists of categories.
    first_row : int, default=0
        Number of the first row among the rows of all sites.
    threads : Threads, optional
        Of the kernels; one by default.
    """

    table: Table
    labels: NDArray[Any]
    extras: RowExtras = field(default_factory=RowExtras)
    counted: slice | NDArray[np.intp] = field(default_factory=lambda: slice(None))
    read_again: Callable[[ResolvedSchema], Table] | None = None
    first_row: int = 0
    threads: Threads = field(default_factory=lambda: Threads(1))

    @property
    def n_threads(self) -> int:
        """Threads that a kernel is to use now."""
        return self.threads.now()

    def column(self, feature: int) -> NDArray[np.float64]:
        """Return a column of numbers."""
        return self.table.column(feature)

    def largest(self, features: Sequence[int]) -> NDArray[np.float64]:
        """Return the largest absolute value of every row among some columns of numbers."""
        return self.table.largest(features)

    def read_with(self, schema: ResolvedSchema) -> RawRows:
        """Return the rows with the table read once more, by the categories of a whole schema."""
        assert self.read_again is not None
        return replace(self, table=self.read_again(schema))

    def encode_labels(self, loss: Loss, classes: tuple[Any, ...]) -> EncodedRows:
        """Return the rows with labels on the grid of a loss.

        Parameters
        ----------
        classes : tuple
            Public classes in their order, empty for a regression.
        """
        n_rows = len(self.labels)
        if classes:
            indices, present = encode_classes(self.labels, classes)
            targets = loss.encode_labels(indices)
        else:
            indices, present = np.zeros(n_rows, dtype=np.int64), np.ones(n_rows, dtype=bool)
            targets = loss.encode_labels(self.labels)
        return EncodedRows(
            table=self.table,
            targets=targets,
            present=present,
            indices=indices,
            extras=self.extras,
            first_row=self.first_row,
            threads=self.threads,
        )

    def answers(self, queries: Sequence[SumQuery]) -> list[NDArray[np.int64]] | None:
        """Answer questions in one reading, where the table is read again by each of them.

        Returns
        -------
        list of ndarray, or None
            None where the rows are in memory.
        """
        if not isinstance(self.table, BatchedTable) or not queries:
            return None
        totals = [np.zeros(query.shape, dtype=np.int64) for query in queries]
        for part in self.table.parts():
            here = replace(self, table=part)
            for total, query in zip(totals, queries, strict=True):
                total += query.evaluate(here)
        return totals


@dataclass(frozen=True, kw_only=True, eq=False)
class CategoryTally:
    """Counts of the categories of nominal columns whose lists are not known.

    Parameters
    ----------
    listed : tuple of int
        Columns that are read by position in a list, which is the table's own and not to be
        published: other sites, and other batches, may list other values.
    nominal : tuple of int
        Columns of numbers that hold categories.
    """

    listed: tuple[int, ...]
    nominal: tuple[int, ...]

    @property
    def positions(self) -> list[int]:
        """Positions of the columns in the order of the counts."""
        return [*self.listed, *self.nominal]

    @property
    def columns(self) -> tuple[str, ...]:
        """Public names of what is counted."""
        return tuple(map(str, self.positions))

    def count(self, rows: RawRows) -> list[Counter[Any]]:
        """Return one table of counts for each column."""
        tables: list[Counter[Any]] = [Counter() for _ in self.positions]
        for part in rows.table.parts():
            for position, table in zip(self.positions, tables, strict=True):
                cells = part.column(position)[rows.counted]
                if position in self.nominal:
                    table.update(count_codes(_whole_numbers(cells), CODES))
                else:
                    values = list(map(_plain, part.categorical[position]))
                    listed = np.where(np.isnan(cells), -1.0, cells)
                    codes = to_integer_units(listed, -1, len(values) - 1)
                    table.update(count_codes(codes, values))
        return tables


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassTally:
    """Counts of class labels."""

    columns: ClassVar[tuple[str, ...]] = ("label",)

    def count(self, rows: RawRows) -> list[Counter[Any]]:
        """Return one table of counts."""
        labels = rows.labels[rows.counted]
        kept = labels if labels.dtype.kind == "U" else labels.astype(np.float64)
        return [count_values(kept)]


def _whole_numbers(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return numbers as LightGBM reads them in a nominal column, -1 where they are no codes."""
    whole = np.trunc(values)
    known = (whole >= 0) & (whole <= LARGEST_CODE)
    return to_integer_units(np.where(known, whole, -1.0), -1, LARGEST_CODE)


def _plain(value: Any) -> Any:
    """Return a number as a double, None where it is infinite, anything else as it is.

    Integers become floats in numpy and pandas as soon as one row holds a fraction: a category of
    either type would tell whether such a row exists.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = object_number(value)
        return number if number is not None and math.isfinite(number) else None
    return value
