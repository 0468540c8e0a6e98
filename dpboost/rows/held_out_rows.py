"""Held-out rows of a fit, and their queries after training."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity
from dpboost.privacy.sensitivity.quantiles import quantile_balance

# One row in units of the released sums: Gaussian noise wants a fine lattice.
ROW_UNITS = 2**18


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOutRows:
    """The nonconformity score of each held-out row under a released model.

    Privacy
    -------
    Private. A score is a function of its own row and of released numbers.
    """

    #: Of shape (n_rows,). Not NaN; the larger, the worse.
    scores: NDArray[np.float64]
    #: Of shape (n_rows,). False for rows that take no part.
    present: NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class QuantileBalance:
    """Whether a threshold is above or below a quantile of the scores.

    Proof: docs/proofs/conformal.md.

    The result is the sum of ``1 - level`` for each row at or below the threshold and ``-level`` for
    each row above it: nonnegative if at least this fraction of the rows is at or below.
    """

    #: Public or released.
    threshold: float
    #: In (0, 1).
    level: float

    unit: ClassVar[float] = 1 / ROW_UNITS
    shape: ClassVar[tuple[int, ...]] = (1,)

    def evaluate(self, rows: HeldOutRows) -> NDArray[np.int64]:
        """Return the balance of the rows of one place."""
        inside = np.count_nonzero((rows.scores <= self.threshold) & rows.present)
        outside = np.count_nonzero(rows.present) - inside
        below, above = self._parts
        return np.array([below * inside - above * outside], dtype=np.int64)

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the sensitivity: a row is on one side."""
        return quantile_balance(*self._parts, neighbors)

    @property
    def _parts(self) -> tuple[int, int]:
        """What a row below adds, and what one above takes away."""
        # Rounded down: a level that is kept exactly counts as kept.
        above = min(max(math.floor(self.level * ROW_UNITS), 1), ROW_UNITS - 1)
        return ROW_UNITS - above, above
