"""Held-out rows, evaluated by two stages of a released model.

Machine-checked: docs/proofs/machine-checked.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.integer_units import to_integer_units
from dpboost.privacy.exact_arithmetic import root_up
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity


@dataclass(frozen=True, kw_only=True, eq=False)
class TwiceJudged:
    """The loss of each row under a released model, and under a later stage of it.

    Privacy
    -------
    Private. Both are functions of the row and of released numbers.
    """

    #: Of shape (n_rows,). Finite. Equal for rows that take no part.
    before: NDArray[np.float64]
    now: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class LossChange:
    """The decrease of the loss, with clipped changes of each row.

    Proof: docs/proofs/early-stopping.md.
    """

    #: Public: the change of a row is clipped to it in absolute value.
    bound: float
    #: Units that the bound is worth.
    units: int

    shape: ClassVar[tuple[int, ...]] = (1,)

    @property
    def unit(self) -> float:
        """Worth of one unit."""
        return self.bound / self.units

    def evaluate(self, rows: TwiceJudged) -> NDArray[np.int64]:
        """Return the sum over the rows of one site."""
        # A loss that is not finite must not show itself by a warning.
        with np.errstate(all="ignore"):
            change = (rows.before - rows.now) / self.bound * self.units
        total = to_integer_units(change, -self.units, self.units).sum()
        return np.array([total], dtype=np.int64)

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the sensitivity: a row moves the sum by its own clipped change."""
        moved = self.units * neighbors.rows
        reason = "the change of a row is clipped"
        return (
            Sensitivity("l1", moved, reason, 1),
            Sensitivity("l2", root_up(Fraction(moved**2)), reason, 1),
        )
