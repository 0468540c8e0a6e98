"""Calibration of prediction intervals and sets of a released model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Facts of a report: between which numbers intervals lie.
_ENDS = ("intervals from", "intervals to")


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The calibration of prediction sets and intervals; public."""

    #: Part of the rows that is to be covered.
    level: float
    #: Released quantile of the scores: half the width of an interval, or one less the least
    #: probability of a class in a set.
    threshold: float
    #: Of a regression: intervals are cut to them.
    label_bounds: tuple[float, float] | None = None

    @property
    def facts(self) -> dict[str, float]:
        """The same as facts of a report."""
        found = {"conformal": self.level, "conformal threshold": self.threshold}
        if self.label_bounds is not None:
            found |= dict(zip(_ENDS, self.label_bounds, strict=True))
        return found

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Calibration | None:
        """Return the calibration that facts of a report tell, None if they tell none."""
        if "conformal threshold" not in facts:
            return None
        return cls(
            level=float(facts["conformal"]),
            threshold=float(facts["conformal threshold"]),
            label_bounds=(float(facts[_ENDS[0]]), float(facts[_ENDS[1]]))
            if _ENDS[0] in facts
            else None,
        )

    def intervals(self, predictions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return lower and upper ends; shape (n_rows, 2)."""
        assert self.label_bounds is not None
        ends = np.column_stack([predictions - self.threshold, predictions + self.threshold])
        return np.clip(ends, *self.label_bounds)

    def sets(self, probabilities: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which classes are in each set; shape (n_rows, n_classes)."""
        return np.asarray(1 - probabilities <= self.threshold)
