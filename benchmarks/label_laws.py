"""Generated tables whose labels follow many laws, and the bounds that a dictionary would give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

N_FEATURES = 5
#: Deviation of what the features do not tell.
NOISE = 0.3

Array = NDArray[np.float64]
Bounds = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Law:
    """A law of labels.

    Attributes
    ----------
    labels : callable
        ``labels(line, random)``: labels of a line ``g`` and of randomness.
    bounds : (float, float)
        What a data dictionary would say of them.
    """

    labels: Callable[[Array, np.random.Generator], Array]
    bounds: Bounds

    def widened(self, times: float) -> Bounds:
        """Return bounds so many times as wide; what is nearest to zero of them stays."""
        low, high = self.bounds
        fixed = min(max(0.0, low), high)
        return fixed + times * (low - fixed), fixed + times * (high - fixed)


LAWS: dict[str, Law] = {
    "line": Law(labels=lambda g, random: g, bounds=(-15, 15)),
    "years 1940 to 2010": Law(
        labels=lambda g, random: np.clip(np.round(1975 + 8 * g), 1940, 2010), bounds=(1940, 2010)
    ),
    "1e9 and the line": Law(labels=lambda g, random: 1e9 + g, bounds=(1e9 - 15, 1e9 + 15)),
    "tiny, 1e-9 of the line": Law(labels=lambda g, random: 1e-9 * g, bounds=(-1.5e-8, 1.5e-8)),
    "huge, around 1e13": Law(labels=lambda g, random: 1e12 * (10 + g), bounds=(-5e12, 2.5e13)),
    "constant": Law(labels=lambda g, random: np.full(len(g), 3.7), bounds=(0, 10)),
    "two clusters": Law(
        labels=lambda g, random: np.where(g > 0, 1000.0, -5000.0) + g, bounds=(-6000, 2000)
    ),
    "counts": Law(
        labels=lambda g, random: random.poisson(np.exp(g / 3)).astype(float), bounds=(0, 100)
    ),
    "heavy tails": Law(
        labels=lambda g, random: np.clip(g + random.standard_t(2, size=len(g)), -100, 100),
        bounds=(-100, 100),
    ),
    "prices": Law(
        labels=lambda g, random: np.clip(np.round(np.exp(13 + g / 6), -2), 0, 1e7), bounds=(0, 1e7)
    ),
    "delays": Law(
        labels=lambda g, random: np.clip(
            np.round(np.exp(2 + g / 4 + random.normal(size=len(g))) - 12), -120, 2000
        ),
        bounds=(-120, 2000),
    ),
}


def generated(
    n_rows: int, seed: int, *, law: str = "normal", noise: float = NOISE
) -> tuple[Array, Array, np.random.Generator]:
    """Return features and ``g = 3 x0 + x2 + noise``."""
    random = np.random.default_rng(seed)
    size = (n_rows, N_FEATURES)
    X = random.normal(size=size) if law == "normal" else random.uniform(-1, 1, size=size)
    return X, 3 * X[:, 0] + X[:, 2] + noise * random.normal(size=len(X)), random


def schema(law: str, label_bounds: Bounds | None) -> dict[str, Any]:
    """Declare the features, and labels where their bounds are given."""
    edge = 5 if law == "normal" else 1
    known: dict[str, Any] = {"bounds": dict.fromkeys(range(N_FEATURES), (-edge, edge))}
    return known if label_bounds is None else {**known, "label_bounds": label_bounds}
