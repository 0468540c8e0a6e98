"""The synthetic model of the paper: one feature, mostly in the middle, and a wave."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.reproductions.lpdt.trees import Predict, collected, drawn_by
from dpboost import LPDTPartition

MECHANISMS = {
    "ratio": "paper's mechanism and estimate",
    "paper": "paper's mechanism",
    "signed_cell": "signed cell",
}

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
) -> Predict:
    """Return what LPDT predicts on the synthetic model.

    Parameters
    ----------
    X, y : ndarray
        Private rows.
    public : (ndarray, ndarray)
        Public rows.
    epsilon : float
    mechanism : str
        As in `benchmarks.reproductions.lpdt.trees.collected`.
    rule : {"max_edge", "variance"}
    **sizes
        ``max_depth`` and ``min_samples_leaf``; by default they are chosen on public rows.
    """
    partition = LPDTPartition.from_public(
        *public,
        rule=rule,
        epsilon=epsilon,
        n_reports=len(y),
        mechanism=drawn_by(mechanism),
        schema=SCHEMA,
        **sizes,
    )
    return collected(partition, mechanism, epsilon, X, y)
