"""Sarus' fork of XGBoost, in an environment of its own.

It knows the declared bounds; a category is its position in the declared list, which it fits more
closely than a column for each. Labels are scaled to the interval that its constants assume.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.environments import interpreter, requirements_digest
from benchmarks.libraries.result import Result
from benchmarks.peers import encoded, fit_in_peer

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.problems.problem import Problem

_NAME = "sarus_xgboost"


def prepare() -> None:
    """Make the environment, or raise ``PeerUnavailableError``."""
    interpreter(_NAME)


def epsilon_of_a_tree(epsilon: float, n_trees: int, subsample: float) -> float:
    """Return what each tree may spend, by the library's own formula for the sum.

    Parameters
    ----------
    epsilon : float
        What all trees may spend together.
    n_trees : int
        How many there are.
    subsample : float
        Share of the rows that each takes.
    """
    return math.log1p(math.expm1(epsilon / n_trees) / subsample)


def fit_predict(
    problem: Problem,
    train_X: pd.DataFrame,
    train_y: np.ndarray,
    test_X: pd.DataFrame,
    *,
    epsilon: float,
    seed: int,
    n_jobs: int,
    n_estimators: int,
    subsample: float,
    classification_rate: float,
    regression_rate: float,
    **settings: Any,
) -> Result:
    """Fit with the declared bounds; see the package for the signature.

    The rows of each tree are drawn by a secret seed; the library seeds its noise itself.
    """
    known = problem.dictionary
    ends = [
        (0.0, float(len(known.categories[name])))
        if name in known.categories
        else known.bounds[name]
        for name in train_X.columns
    ]
    low, high = known.label_bounds or (-1.0, 1.0)
    middle, half = (low + high) / 2, (high - low) / 2
    regression = problem.task == "regression"
    arrays = {
        "train_X": encoded(train_X, known),
        "train_y": np.clip((train_y - middle) / half, -1, 1),
        "test_X": encoded(test_X, known),
        "bounds": np.array(ends, dtype=float).T,
    }
    options = {
        "n_estimators": n_estimators,
        "subsample": subsample,
        "dp_epsilon_per_tree": epsilon_of_a_tree(epsilon, n_estimators, subsample),
        "base_score": 0.0 if regression else 0.5,
        "learning_rate": regression_rate if regression else classification_rate,
        **settings,
    }
    result = fit_in_peer(_NAME, arrays, options, n_jobs)
    prediction = result.prediction.astype(np.float64)
    if regression:
        prediction = middle + half * prediction
    return dataclasses.replace(result, prediction=prediction, epsilon_spent=epsilon)


def versions() -> dict[str, str]:
    """Return what the figures depend on besides the settings."""
    return {"requirements": requirements_digest(_NAME)}
