"""The synthetic model of the paper: one feature, mostly in the middle, and a wave."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpboost import LPDTAggregator, LPDTPartition
from dpboost.boosting.ensemble import Ensemble
from dpboost.local.plan import ReportPlan

MECHANISMS = {"paper": "paper's mechanism", "signed_cell": "signed cell"}

#: Variance of the feature, "N(0.5, 0.025)".
FEATURE_VARIANCE = 0.025

#: Public bounds of the feature and of the label.
SCHEMA = {"bounds": {0: (0, 1)}, "label_bounds": (-4, 4)}


def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features of shape (n, 1) and labels sin(16 x) + N(0, 1)."""
    random = np.random.default_rng(seed)
    X = np.clip(random.normal(0.5, np.sqrt(FEATURE_VARIANCE), size=(n, 1)), 0.0, 1.0)
    return X, truth(X) + random.normal(size=n)


def truth(X: np.ndarray) -> np.ndarray:
    """Return the regression function."""
    return np.asarray(np.sin(16 * X[:, 0]))


def fitted(
    X: np.ndarray,
    y: np.ndarray,
    public: tuple[np.ndarray, np.ndarray],
    *,
    epsilon: float,
    mechanism: str,
    rule: str = "max_edge",
    **sizes: Any,
) -> tuple[Ensemble, LPDTPartition]:
    """Return LPDT on the synthetic model."""
    partition = LPDTPartition.from_public(
        *public,
        rule=rule,
        epsilon=epsilon,
        n_reports=len(y),
        mechanism=mechanism,
        schema=SCHEMA,
        **sizes,
    )
    server = LPDTAggregator(partition, epsilon, mechanism=mechanism)
    server.add_many(ReportPlan.of(partition, epsilon, mechanism).encode(X, y))
    return server.to_ensemble(), partition
