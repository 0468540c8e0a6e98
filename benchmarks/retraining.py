"""Many fits on two tables, for the audit; runs in the environment of the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def retrain(
    fit: Callable[[np.ndarray, np.ndarray], Any],
    tell: Callable[[Any], Any],
    arrays: Mapping[str, np.ndarray],
    runs: int,
    *,
    fingerprint: Callable[[Any], Any],
    pause: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Fit ``runs`` models on each of two tables.

    Parameters
    ----------
    fit : callable
        ``fit(X, y)`` returns a model with fresh noise.
    tell : callable
        ``tell(model)`` returns the numbers in which the tables are to be distinguished.
    arrays : mapping of str to ndarray
        X and y, and those of the neighboring table as other_X and other_y.
    runs : int
        Fits on each table.
    fingerprint : callable
        ``fingerprint(model)`` returns numbers that two models with noise of their own share with
        probability zero.
    pause : callable
        Called before the fits of each run.

    Returns
    -------
    dict of str to ndarray or bool
        ``here`` and ``there`` of shape (runs, n_numbers), a row of NaN where a fit raised; and
        ``repeats``: whether two fits in turn on one table had the same noise.
    """
    tables = (arrays["X"], arrays["y"]), (arrays["other_X"], arrays["other_y"])
    pause()
    twice = [np.ravel(fingerprint(fit(*tables[0]))) for _ in range(2)]
    told: tuple[list[Any], list[Any]] = [], []
    for _ in range(runs):
        pause()
        for side, table in zip(told, tables, strict=True):
            try:
                side.append(np.ravel(tell(fit(*table))).astype(np.float64))
            except Exception:  # noqa: BLE001 - that a fit fails is an outcome like any other
                side.append(None)
    width = max(len(numbers) for side in told for numbers in side if numbers is not None)
    lost = np.full(width, np.nan)
    here, there = (
        np.array([lost if numbers is None else numbers for numbers in side]) for side in told
    )
    return {"here": here, "there": there, "repeats": np.array_equal(*twice)}
