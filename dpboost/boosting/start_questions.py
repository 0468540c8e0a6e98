"""What is asked of labels before the first tree: means, class sizes, a row count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.boosting.taught_rows import TaughtRows
from dpboost.data.row_extras import WEIGHT_ONE, Weighting
from dpboost.losses import OneOutputLoss
from dpboost.privacy.constants import counts, newton_sums
from dpboost.privacy.reach import Reach
from dpboost.privacy.relation import Neighbours
from dpboost.privacy.sensitive import Bound

# One row, and a scaled label of one, in units of the released vector.
ROW_UNITS = 2**18


@dataclass(frozen=True, kw_only=True, eq=False)
class RowCount:
    """Number of rows that take part, or the sum of their weights.

    Parameters
    ----------
    weighting : Weighting, optional
        A row counts as its weight, in units of the largest one.
    """

    weighting: Weighting | None = None

    @property
    def unit(self) -> float:
        """Worth of one unit in rows."""
        return 1 / ROW_UNITS

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the answer."""
        return (1,)

    def answer(self, rows: TaughtRows) -> NDArray[np.int64]:
        """Count the rows of one place."""
        return np.array([int(_row_units(rows, self.weighting).sum())], dtype=np.int64)

    def bounds(self, neighbours: Neighbours) -> tuple[Bound, ...]:
        """Return the sensitivity: one row, whose weight is at most 1."""
        return counts(neighbours, ROW_UNITS)


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassSizes:
    """Number of rows of each class that take part, or the sums of their weights.

    Parameters
    ----------
    n_classes : int
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
        return (self.n_classes,)

    def answer(self, rows: TaughtRows) -> NDArray[np.int64]:
        """Count the rows of one place."""
        sizes = np.zeros(self.n_classes, dtype=np.int64)
        np.add.at(sizes, rows.indices[rows.present], _row_units(rows, self.weighting))
        return sizes

    def bounds(self, neighbours: Neighbours) -> tuple[Bound, ...]:
        """Return the sensitivity: a row is in one class, with a weight of at most 1."""
        return counts(neighbours, ROW_UNITS)


@dataclass(frozen=True, kw_only=True, eq=False)
class MeanAndRows:
    """Sum of the scaled labels of rows that take part, and their number.

    Parameters
    ----------
    loss : OneOutputLoss
        Scales labels to [-1, 1].
    weighting : Weighting, optional
        A row's part is multiplied by its weight, in units of the largest one, then rounded.
    """

    loss: OneOutputLoss
    weighting: Weighting | None = None

    @property
    def unit(self) -> float:
        """Worth of one unit, in rows."""
        return 1 / ROW_UNITS

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the answer."""
        return (2,)

    def answer(self, rows: TaughtRows) -> NDArray[np.int64]:
        """Sum over the rows of one place."""
        units = _row_units(rows, self.weighting)
        scaled = np.rint(self.loss.scaled_labels(rows.targets[rows.present]) * units)
        return np.array([int(scaled.astype(np.int64).sum()), int(units.sum())], dtype=np.int64)

    def bounds(self, neighbours: Neighbours) -> tuple[Bound, ...]:
        """Return the sensitivity: a row adds at most (1, 1)."""
        reach = Reach.single(ROW_UNITS)
        return newton_sums(reach, reach, neighbours)


def _row_units(rows: TaughtRows, weighting: Weighting | None) -> NDArray[np.int64]:
    """Return the weight of each row that takes part, in units of the released vector."""
    weights = rows.weights(weighting)
    if weights is None:
        return np.full(int(rows.present.sum()), ROW_UNITS, dtype=np.int64)
    return weights[rows.present].astype(np.int64) * (ROW_UNITS // WEIGHT_ONE)
