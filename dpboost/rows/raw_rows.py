"""The rows of one row store before binning, and queries of labels before the first tree.

A row whose label is not a public class takes no part, and a model of such rows only would look like
any other. Therefore queries with classes have an additional last coordinate: the number of rows
that take no part, each with weight one.

It does not increase the charge. Proof: docs/proofs/start-value.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.integer_units import to_integer_units
from dpboost._utils.threads import Threads
from dpboost.data.binner import Binner
from dpboost.data.containers import object_number
from dpboost.data.labels import encode_classes
from dpboost.data.table import BatchedTable, Table
from dpboost.losses import Loss, MeanLoss, SquaredLoss
from dpboost.privacy.queries import SumQuery
from dpboost.privacy.sensitivity.bound import ContributionBound, Neighbors, Sensitivity
from dpboost.privacy.sensitivity.constants import counts, newton_sums
from dpboost.rows.boosting_state import BoostingState
from dpboost.rows.category_counts import count_codes, count_values
from dpboost.rows.class_node_rows import ClassRows
from dpboost.rows.label_node_rows import LabelRows
from dpboost.rows.row_attributes import WEIGHT_ONE, RowExtras, Weighting
from dpboost.schema import ResolvedSchema
from dpboost.trees.bin_layout import Layout
from dpboost.trees.split_candidates import Candidates

# Largest category in a column of numbers.
LARGEST_CODE = 65535
CODES = tuple(map(float, range(LARGEST_CODE + 1)))


@dataclass(frozen=True, kw_only=True, eq=False)
class RawRows:
    """Private rows before binning.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        float64 for regression, class labels otherwise.
    counted : slice or ndarray of intp, optional
        Rows that stability histograms count: one of each user.
    read_again : callable, optional
        ``read_again(schema)`` reads the table with other lists of categories.
    first_row : int, default=0
        Number of the first row among the rows of all row stores.
    """

    table: Table
    labels: NDArray[Any]
    extras: RowExtras = field(default_factory=RowExtras)
    counted: slice | NDArray[np.intp] = field(default_factory=lambda: slice(None))
    read_again: Callable[[ResolvedSchema], Table] | None = None
    first_row: int = 0
    threads: Threads = field(default_factory=lambda: Threads(1))

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
            n_classes=len(classes),
            first_row=self.first_row,
            threads=self.threads,
        )

    def answers(self, queries: Sequence[SumQuery]) -> list[NDArray[np.int64]] | None:
        """Answer queries in one reading, where the table is read again by each of them.

        Returns
        -------
        list of ndarray, or None
            None if the rows are in memory.
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
    """Counts of the categories of nominal columns without declared categories.

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
    """Return a number as a double, None if it is infinite, anything else as it is.

    Integers become floats in numpy and pandas as soon as one row holds a fraction: a category of
    either type would tell whether such a row exists.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number = object_number(value)
        return number if number is not None and math.isfinite(number) else None
    return value


#: The command by which rows go into bins, which are then all that is kept of them.
BINNING = "bin"


@dataclass(frozen=True, kw_only=True, eq=False)
class EncodedRows:
    """Private rows with labels on the grid of a loss.

    Parameters
    ----------
    table : Table or None
        None if only labels are asked for.
    targets : ndarray of shape (n_rows,), int64
        Labels on the grid.
    present : ndarray of shape (n_rows,), bool
        Rows with a label that counts.
    indices : ndarray of shape (n_rows,), int64
        Class of each row; zeros in a regression.
    n_classes : int, default=0
        0 in a regression.
    first_row : int, default=0
        Number of the first row among the rows of all row stores.
    """

    table: Table | None
    targets: NDArray[np.int64]
    present: NDArray[np.bool_]
    indices: NDArray[np.int64]
    extras: RowExtras
    n_classes: int = 0
    first_row: int = 0
    threads: Threads = field(default_factory=lambda: Threads(1))

    def weights(self, weighting: Weighting | None) -> NDArray[np.int32] | None:
        """Return the weight of each row in units of 2^-16 of the largest one."""
        if weighting is None:
            return None
        return self.extras.weight_units(weighting, self.indices, self.targets)

    def bin(
        self,
        binner: Binner,
        loss: Loss,
        weighting: Weighting | None,
        candidates: Candidates | None,
    ) -> BoostingState | ClassRows | LabelRows:
        """Return the rows in bins, as trees are grown on them.

        Parameters
        ----------
        loss : Loss
            With its start value.
        candidates : Candidates or None
            The splits of a single tree, at whose root the rows then are: it counts classes, or adds
            up labels, scaled to [-1, 1]. None for boosting, with scores at their start.
        """
        assert self.table is not None
        bins, weights = self.table.bins(binner, self.threads.now()), self.weights(weighting)
        if candidates is None:
            return BoostingState(
                bins,
                self.targets,
                self.present,
                loss,
                Layout.of(binner),
                self.threads,
                weights=weights,
                init_scores=self.extras.scores_for(loss.n_outputs),
                first_row=self.first_row,
            )
        if self.n_classes:
            return ClassRows(
                bins,
                to_integer_units(self.indices, 0, 255, dtype=np.uint8),
                self.present,
                n_classes=self.n_classes,
                candidates=candidates,
                threads=self.threads,
                weights=weights,
            )
        assert isinstance(loss, SquaredLoss)
        return LabelRows(
            bins,
            loss.scaled_labels(self.targets),
            candidates=candidates,
            threads=self.threads,
            weights=weights,
        )


# One row, and a scaled label of one, in units of the released vector.
ROW_UNITS = 2**18
# Rows are added up in pieces: whole columns of helping numbers would come from fresh memory.
ROWS_AT_ONCE = 2**14


@dataclass(frozen=True, kw_only=True, eq=False)
class RowCount:
    """Number of rows that take part, or the sum of their weights.

    Parameters
    ----------
    others : bool, default=False
        Whether the rows that take no part are counted as well, at the end.
    """

    weighting: Weighting | None = None
    others: bool = False

    unit: ClassVar[float] = 1 / ROW_UNITS

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""
        return (1 + self.others,)

    def evaluate(self, rows: EncodedRows) -> NDArray[np.int64]:
        """Count the rows of one place."""
        found = np.zeros(self.shape, dtype=np.int64)
        found[0] = sum(int(units.sum()) for _, _, units in _pieces(rows, self.weighting))
        return with_others(found, rows) if self.others else found

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the sensitivity: a row is in one of the groups, with a weight of at most 1."""
        return counts(neighbors, ROW_UNITS)


@dataclass(frozen=True, kw_only=True, eq=False)
class PresentRows:
    """Number of rows that take part, regardless of weights.

    Proof: docs/proofs/counts.md.
    """

    unit: ClassVar[float] = 1.0
    shape: ClassVar[tuple[int, ...]] = (1,)

    def evaluate(self, rows: EncodedRows) -> NDArray[np.int64]:
        """Count the rows of one place."""
        return np.array([np.count_nonzero(rows.present)], dtype=np.int64)

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the sensitivity: a row counts one."""
        return counts(neighbors)


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassSizes:
    """Number of rows of each class, or sums of their weights, and of rows without a class."""

    n_classes: int
    weighting: Weighting | None = None

    unit: ClassVar[float] = 1 / ROW_UNITS

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""
        return (self.n_classes + 1,)

    def evaluate(self, rows: EncodedRows) -> NDArray[np.int64]:
        """Count the rows of one place."""
        sizes = np.zeros(self.shape, dtype=np.int64)
        for here, present, units in _pieces(rows, self.weighting):
            np.add.at(sizes, rows.indices[here][present], units)
        return with_others(sizes, rows)

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the sensitivity: a row is in one class or in none, with a weight of at most 1."""
        return counts(neighbors, ROW_UNITS)


@dataclass(frozen=True, kw_only=True, eq=False)
class MeanAndRows:
    """Sum of the scaled labels of rows that take part, and their number.

    Parameters
    ----------
    loss : MeanLoss
        Scales labels to [-1, 1].
    weighting : Weighting, optional
        A row's part is multiplied by its weight, in units of the largest one, then rounded.
    others : bool, default=False
        Whether the rows that take no part are counted as well, at the end.
    """

    loss: MeanLoss
    weighting: Weighting | None = None
    others: bool = False

    unit: ClassVar[float] = 1 / ROW_UNITS

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""
        return (2 + self.others,)

    def evaluate(self, rows: EncodedRows) -> NDArray[np.int64]:
        """Sum over the rows of one place."""
        sums = np.zeros(self.shape, dtype=np.int64)
        for here, present, units in _pieces(rows, self.weighting):
            scaled = self.loss.scaled_labels(rows.targets[here][present]) * units
            scaled = to_integer_units(scaled, -ROW_UNITS, ROW_UNITS)
            sums[:2] += (scaled.sum(), units.sum())
        return with_others(sums, rows) if self.others else sums

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the sensitivity: a row adds at most (1, 1), or 1 to those that take no part."""
        reach = ContributionBound.single(ROW_UNITS)
        return newton_sums(reach, reach, neighbors)


def with_others(sums: NDArray[np.int64], rows: EncodedRows) -> NDArray[np.int64]:
    """Write the number of rows that take no part, in units, into the last place."""
    sums[-1] = ROW_UNITS * (len(rows.present) - np.count_nonzero(rows.present))
    return sums


def _pieces(
    rows: EncodedRows, weighting: Weighting | None
) -> Iterator[tuple[slice, NDArray[np.bool_], NDArray[np.int64]]]:
    """Go through the rows in pieces that stay in the cache.

    Yields
    ------
    here : slice
    present : ndarray of bool
        Which rows of the piece take part.
    units : ndarray of int64
        Weight of each that does, in units of the released vector.
    """
    weights = rows.weights(weighting)
    for first in range(0, len(rows.present), ROWS_AT_ONCE):
        here = slice(first, first + ROWS_AT_ONCE)
        present = rows.present[here]
        if weights is None:
            units = np.full(np.count_nonzero(present), ROW_UNITS, dtype=np.int64)
        else:
            units = weights[here][present].astype(np.int64, casting="safe") * (
                ROW_UNITS // WEIGHT_ONE
            )
        yield here, present, units
