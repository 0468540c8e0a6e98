"""Second moments of numeric columns, and the sums of gradients times columns.

Proof: docs/proofs/linear-start.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.data.sparse import dense_columns
from dpboost.losses import Loss
from dpboost.losses.newton_loss import GRADIENT_ONE
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity
from dpboost.privacy.sensitivity.constants import gradient_moments, second_moments
from dpboost.rows.boosting_state import BoostingState

# One standard deviation of a column, or the constant 1, in units.
ONE = 32
# Values are cut at so many.
MOST = 2 * ONE
# Coarser grids of gradients and hessians than those of leaves: noise is far larger than both, and
# must not be too large to be drawn.
GRADIENT_STEP, HESSIAN_STEP = 4, 256
# Rows whose products are added as doubles, all of them integers below 2^53.
_ROWS_AT_ONCE = 2**15


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearColumns:
    """Public values of the bins of some columns.

    A row's vector has the constant `ONE` and the value of its bin in each column. A longer vector
    than ``root(squares)`` is shortened to that length.
    """

    #: Of shape (n_columns,). Positions of the columns.
    columns: NDArray[np.int32]
    #: Of shape (n_columns, 256). Value of each bin, at most `MOST` in absolute value.
    values: NDArray[np.int64]
    #: Bound of the squared length of a row's vector.
    squares: int

    @classmethod
    def of_length_one(cls, columns: NDArray[np.int32], values: NDArray[np.int64]) -> LinearColumns:
        """Return columns whose vectors are at most as long as one of entries of one deviation."""
        return cls(columns=columns, values=values, squares=(len(columns) + 1) * ONE**2)

    @property
    def size(self) -> int:
        """Entries of a row's vector."""
        return len(self.columns) + 1

    def vectors(self, rows: BoostingState, part: slice) -> NDArray[np.float64]:
        """Return the vectors of some rows, integers as doubles; shape (size, n_rows)."""
        n_rows = part.stop - part.start
        found = np.full((self.size, n_rows), float(ONE))
        for own, column, values in zip(found[1:], self.columns, self.values, strict=True):
            bins, lines = dense_columns(rows.bins, np.array([column]))
            own[:] = values[bins[lines[0], part]]
        length = np.einsum("ij,ij->j", found, found)
        # Cut toward zero, as no vector may be longer. The quotient is rounded, but the squared
        # length of the result is an integer, so that it is below `squares + 1` only if it is no
        # more than `squares`.
        found *= np.minimum(np.sqrt(self.squares / length), 1.0)
        return np.trunc(found, out=found)


@dataclass(frozen=True, kw_only=True, eq=False)
class SecondMoments:
    """Sums of the products of two entries of a row's vector, times the row's hessian."""

    #: Makes the vectors.
    design: LinearColumns
    #: Of one output; bounds a row's hessian.
    loss: Loss

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result: the upper triangle, line by line."""
        return (self.design.size * (self.design.size + 1) // 2,)

    @property
    def unit(self) -> float:
        """Value of one unit of the result."""
        return HESSIAN_STEP * self.loss.hessian_unit / ONE**2

    def evaluate(self, rows: BoostingState) -> NDArray[np.int64]:
        """Return the sums for the rows of one place."""
        size = self.design.size
        found = np.zeros((size, size), dtype=np.int64)
        for vectors, _, hessians in _in_parts(rows, self.design, 1.0):
            found += ((vectors * (hessians // HESSIAN_STEP)) @ vectors.T).astype(np.int64)
        return found[np.triu_indices(size)]

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the L2 sensitivity of the vector."""
        most = self.loss.hessian_reach.l1 // HESSIAN_STEP
        return (second_moments(self.design.squares, MOST, most, neighbors),)

    def matrix(self, released: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the symmetric matrix of a released triangle."""
        size = self.design.size
        found = np.zeros((size, size))
        found[np.triu_indices(size)] = released
        return np.where(np.tri(size, k=-1, dtype=bool), found.T, found)


@dataclass(frozen=True, kw_only=True, eq=False)
class GradientMoments:
    """Sums of the products of a row's gradient and its vector."""

    #: Makes the vectors.
    design: LinearColumns
    #: Of one output; bounds a row's gradient.
    loss: Loss
    #: Public clip of a row's gradient, as the loss takes it.
    gradient_limit: float

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the result."""
        return (self.design.size,)

    @property
    def unit(self) -> float:
        """Value of one unit of the result."""
        return GRADIENT_STEP / (GRADIENT_ONE * ONE)

    def evaluate(self, rows: BoostingState) -> NDArray[np.int64]:
        """Return the sums for the rows of one place."""
        found = np.zeros(self.shape, dtype=np.int64)
        for vectors, gradients, _ in _in_parts(rows, self.design, self.gradient_limit):
            found += (vectors @ np.trunc(gradients / GRADIENT_STEP)).astype(np.int64)
        return found

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the L2 sensitivity of the vector."""
        most = self.loss.gradient_reach(self.gradient_limit).l1 // GRADIENT_STEP
        return (gradient_moments(self.design.squares, most, self.design.size, neighbors),)


def _in_parts(
    rows: BoostingState, design: LinearColumns, gradient_limit: float
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]]:
    """Yield vectors, gradients and hessians of some rows after the other, as doubles."""
    n_rows = rows.bins.shape[1]
    for first in range(0, n_rows, _ROWS_AT_ONCE):
        part = slice(first, min(first + _ROWS_AT_ONCE, n_rows))
        packed = rows.packed(np.arange(part.start, part.stop, dtype=np.int32), gradient_limit)
        # The loss has one output.
        gradients = (packed[0] + (1 << 31)) >> 32
        hessians = packed[0] - (gradients << 32)
        yield design.vectors(rows, part), gradients.astype(float), hessians.astype(float)
