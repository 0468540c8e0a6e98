"""Hill climbing from a random pair of neighbors to a pair with a larger privacy loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.audit.neighboring_pairs import Pair, pair_of
from dpboost.audit.pair_replay import Fit, PairAudit, replay_pair
from dpboost.privacy.sensitivity.bound import Neighbors


@dataclass(frozen=True, kw_only=True, eq=False)
class Climb:
    """The pair with the largest loss of a climb, its audit, and the loss after each step."""

    pair: Pair
    audit: PairAudit
    heights: tuple[float, ...]


#: Labels to choose from.
LABELS = (-1.0, -0.5, 0.0, 0.5, 1.0)


def largest_part(label: str) -> Callable[[PairAudit], float]:
    """Return the goal "part of the charge that releases of this label reach"."""

    def goal(audit: PairAudit) -> float:
        return max((entry.reached for entry in audit.entries if entry.label == label), default=0.0)

    return goal


def climb(
    fit: Fit,
    *,
    n_rows: int,
    n_features: int,
    neighbors: Neighbors,
    goal: Callable[[PairAudit], float],
    n_steps: int,
    seed: int,
) -> Climb:
    """Change one cell, one label or the number of equal rows, and keep what raises the goal.

    Parameters
    ----------
    fit : callable
        As in ``replay_pair``; takes features that are bits, and ``LABELS``.
    n_rows, n_features : int
        Shape of the table to start from, drawn at random.
    goal : callable
        From an audit to the number to be raised.
    n_steps : int
        Changes tried. Any violation ends the climb.
    seed : int
        Of the climb and of the fits.
    """
    generator = np.random.default_rng(seed)
    X = generator.integers(0, 2, size=(n_rows + 1, n_features)).astype(np.float64)
    y = generator.choice(LABELS, size=n_rows + 1)
    best, audit = _audited(fit, X, y, neighbors, seed)
    height = goal(audit)
    heights = [height]
    for _ in range(n_steps):
        if audit.violations:
            break
        trial_X, trial_y = _changed(X, y, generator)
        pair, trial = _audited(fit, trial_X, trial_y, neighbors, seed)
        if trial.violations or goal(trial) >= height:
            X, y, best, audit, height = trial_X, trial_y, pair, trial, goal(trial)
        heights.append(height)
    return Climb(pair=best, audit=audit, heights=tuple(heights))


def _audited(
    fit: Fit, X: NDArray[Any], y: NDArray[Any], neighbors: Neighbors, seed: int
) -> tuple[Pair, PairAudit]:
    """Audit the table whose last row is the one that differs."""
    pair = pair_of(X[:-1], y[:-1], X[-1], y[-1], neighbors, coin=0.01)
    return pair, replay_pair(fit, pair, seed=seed, compare_visible=False)


def _changed(
    X: NDArray[Any], y: NDArray[Any], generator: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a copy with a cell or a label changed, or the shared rows doubled or halved."""
    X, y = X.copy(), y.copy()
    kind = generator.integers(4)
    row = generator.integers(len(y))
    if kind == 0:
        y[row] = generator.choice(LABELS)
    elif kind == 1 and 2 < len(y) < 2000:
        keep = np.arange(len(y) - 1)
        keep = np.concatenate([keep, keep]) if generator.integers(2) else keep[::2]
        X, y = np.vstack([X[keep], X[-1:]]), np.append(y[keep], y[-1])
    else:
        column = generator.integers(X.shape[1])
        X[row, column] = 1 - X[row, column]
    return X, y
