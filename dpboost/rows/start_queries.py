r"""What is asked of labels before the first tree: means, class sizes, a row count.

A row whose label is not among the public classes takes no part, and a model of nothing but such
rows looks like any other. Where there are classes, a question therefore has one coordinate more, at
its end: the number of rows that take no part, each of which counts as one whatever its weight.

It costs nothing. Proof: docs/proofs/start-value.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.integer_units import to_integer_units
from dpboost.losses import MeanLoss
from dpboost.privacy.contribution import ContributionBound
from dpboost.privacy.neighbors import Neighbors
from dpboost.privacy.sensitivity.bound import Sensitivity
from dpboost.privacy.sensitivity.constants import counts, newton_sums
from dpboost.rows.encoded_rows import EncodedRows
from dpboost.rows.row_attributes import WEIGHT_ONE, Weighting

# One row, and a scaled label of one, in units of the released vector.
ROW_UNITS = 2**18
# Rows are added up in pieces: whole columns of helping numbers would come from fresh memory.
ROWS_AT_ONCE = 2**14


@dataclass(frozen=True, kw_only=True, eq=False)
class RowCount:
    """Number of rows that take part, or the sum of their weights.

    Parameters
    ----------
    weighting : Weighting, optional
        A row counts as its weight, in units of the largest one.
    others : bool, default=False
        Whether the rows that take no part are counted as well, at the end.
    """

    weighting: Weighting | None = None
    others: bool = False

    @property
    def unit(self) -> float:
        """Worth of one unit in rows."""
        return 1 / ROW_UNITS

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the answer."""
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
    """Number of rows that take part, whatever their weights.

    Proof: docs/proofs/counts.md.
    """

    unit: ClassVar[float] = 1.0

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the answer."""
        return (1,)

    def evaluate(self, rows: EncodedRows) -> NDArray[np.int64]:
        """Count the rows of one place."""
        return np.array([np.count_nonzero(rows.present)], dtype=np.int64)

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the sensitivity: a row counts one."""
        return counts(neighbors)


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassSizes:
    """Number of rows of each class, or the sums of their weights, and of those of no class.

    Parameters
    ----------
    weighting : Weighting, optional
        A row counts as its weight, in units of the largest one.
    """

    n_classes: int
    weighting: Weighting | None = None

    @property
    def unit(self) -> float:
        """Worth of one unit in rows."""
        return 1 / ROW_UNITS

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the answer."""
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

    @property
    def unit(self) -> float:
        """Worth of one unit, in rows."""
        return 1 / ROW_UNITS

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the answer."""
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
