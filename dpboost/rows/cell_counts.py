"""Counts of rows in cells of numbers that are the same for every table.

`Magnitudes` counts in 257 cells: zero, and the intervals between neighboring powers of two of
either sign, 2^-64 to 2^64. `RangeCounts` counts labels in cells of a range. Proofs:
docs/proofs/learned-bounds.md and docs/proofs/label-range.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.queries import QueryInUnits
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity
from dpboost.privacy.sensitivity.constants import counts

#: Cell of exponent e holds 2**(e - 1) <= abs(x) < 2**e; magnitudes out of this public range belong
#: to the first and the last cell.
SMALLEST_EXPONENT = -63
LARGEST_EXPONENT = 64

_PER_SIGN = LARGEST_EXPONENT - SMALLEST_EXPONENT + 1

#: Number of cells: negative numbers from large to small, zero, positive numbers.
N_CELLS = 2 * _PER_SIGN + 1

#: Equal cells of a range, and how often the width of cells that begin at zero is halved.
CELL_NUMBERS = (8, 16, 32, 64)
RANGE_CELLS = CELL_NUMBERS[-1]
HALVINGS = 20


def magnitude_cells(values: NDArray[np.floating]) -> NDArray[np.intp]:
    """Return the cell of each number; NaN gets the cell number ``N_CELLS``, which no one counts.

    Numbers are any floats, infinities and denormals included, and each cell depends on its own row
    alone. Cells are in ascending order of the numbers they hold.
    """
    exponents = np.frexp(values)[1].astype(np.intp, casting="safe")
    exponents[np.isinf(values)] = LARGEST_EXPONENT
    steps = np.clip(exponents, SMALLEST_EXPONENT, LARGEST_EXPONENT) - SMALLEST_EXPONENT + 1
    missing = np.isnan(values)
    signs = (values > 0).astype(np.intp, casting="safe")
    signs -= values < 0
    return np.where(missing, N_CELLS, _PER_SIGN + signs * steps)


def cell_edges(cell: int) -> tuple[float, float]:
    """Return the two edges of a cell, the lower one first."""
    step = abs(cell - _PER_SIGN)
    if step == 0:
        return 0.0, 0.0
    exponent = SMALLEST_EXPONENT + step - 1
    inner = 0.0 if step == 1 else 2.0 ** (exponent - 1)
    outer = 2.0**exponent
    return (inner, outer) if cell > _PER_SIGN else (-outer, -inner)


class HasColumns(Protocol):
    """Private rows with readable columns."""

    @property
    def labels(self) -> NDArray[Any]:
        """Labels of the rows."""

    def column(self, feature: int) -> NDArray[np.floating]:
        """Return a column of numbers."""

    def largest(self, features: Sequence[int]) -> NDArray[np.floating]:
        """Return the largest absolute value of every row among some columns."""


@dataclass(frozen=True, kw_only=True)
class Magnitudes(QueryInUnits):
    """Rows in every cell: of one column, of the labels, or of each row's largest number."""

    #: One column; several, of which a row's largest absolute value counts; None for labels.
    columns: int | tuple[int, ...] | None

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""
        return (N_CELLS,)

    def evaluate(self, rows: HasColumns) -> NDArray[np.int64]:
        """Count the rows of one site; NaN is in no cell."""
        if self.columns is None:
            values = rows.labels
        elif isinstance(self.columns, int):
            values = rows.column(self.columns)
        else:
            values = rows.largest(self.columns)
        histogram = np.bincount(magnitude_cells(values), minlength=N_CELLS + 1)[:N_CELLS]
        return histogram.astype(np.int64, casting="safe") * self.units

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the sensitivity: a row is in one cell at most."""
        return counts(neighbors, self.units)


@dataclass(frozen=True, kw_only=True)
class RangeCounts(QueryInUnits):
    """Counts of labels in cells of a range; the outermost cells include values outside.

    Proof: docs/proofs/label-range.md.
    """

    #: The range, ``low < high``.
    low: float
    high: float
    #: Equal cells; with 1, rows are counted. None for cells around the number of the range that
    #: is nearest to zero: their edges are at the width of the range times powers of two from it,
    #: 1 to 2^-20.
    n_cells: int | None = RANGE_CELLS

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""
        return (len(self.edges) - 1,)

    @property
    def edges(self) -> NDArray[np.float64]:
        """Edges of the cells in ascending order, one more than there are cells."""
        if self.n_cells is not None:
            parts = np.arange(self.n_cells + 1) / self.n_cells
            return self.low * (1 - parts) + self.high * parts
        middle = min(max(0.0, self.low), self.high)
        # Halves: the distance of two doubles may not be one.
        steps = (self.high / 2 - self.low / 2) * 2.0 ** (1.0 - np.arange(HALVINGS + 1))
        edges = np.concatenate([[self.low, middle, self.high], middle - steps, middle + steps])
        return np.unique(edges[(edges >= self.low) & (edges <= self.high)])

    def evaluate(self, rows: HasColumns) -> NDArray[np.int64]:
        """Count the rows of one site; each cell depends on its own row alone."""
        labels = np.asarray(rows.labels, dtype=np.float64)
        positions = np.searchsorted(self.edges[1:-1], labels, side="right")
        histogram = np.bincount(positions, minlength=self.shape[0])
        return histogram.astype(np.int64, casting="safe") * self.units

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the sensitivity: a row is in one cell."""
        return counts(neighbors, self.units)
