"""The mixture of Gaussians of Gubler (2023), section 4.1.1.

Each of two classes has five components of equal weight, whose means have the coordinates i / 5 and
-i / 5 for i = 1, ..., 5; the covariance of features i and j is rho^|i - j|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

#: Public range of every feature: four standard deviations.
LOW, HIGH = -4.0, 4.0

_COMPONENTS = 5


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """A population.

    Attributes
    ----------
    n_features : int
    correlation : float
        rho.
    """

    n_features: int
    correlation: float

    def schema(self) -> dict[str, Any]:
        """Return what is public."""
        return {"bounds": dict.fromkeys(range(self.n_features), (LOW, HIGH)), "classes": (0, 1)}

    def sample(self, n_rows: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw as many rows of either class, in random order."""
        steps = np.arange(self.n_features)
        covariance = self.correlation ** np.abs(np.subtract.outer(steps, steps))
        y = np.arange(n_rows) % 2
        component = random.integers(1, _COMPONENTS + 1, n_rows) / _COMPONENTS
        noise = random.normal(size=(n_rows, self.n_features)) @ np.linalg.cholesky(covariance).T
        X = noise + np.where(y == 0, component, -component)[:, np.newaxis]
        order = random.permutation(n_rows)
        return X[order], y[order]
