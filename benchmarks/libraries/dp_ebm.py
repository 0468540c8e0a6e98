"""DP-EBM: interpret's private additive model, in an environment of its own.

It knows what dpboost knows: bounds, which columns are categorical, and bounds of the label.
Missing numbers, which it refuses, become the middle of the declared interval.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.environments import interpreter, requirements_digest
from benchmarks.libraries.result import Result
from benchmarks.peers import encoded, fit_in_peer

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.problems.problem import Problem

_NAME = "dp_ebm"


def prepare() -> None:
    """Make the environment, or raise ``PeerUnavailableError``."""
    interpreter(_NAME)


def fit_predict(
    problem: Problem,
    train_X: pd.DataFrame,
    train_y: np.ndarray,
    test_X: pd.DataFrame,
    *,
    epsilon: float,
    seed: int,
    n_jobs: int,
    **settings: Any,
) -> Result:
    """Fit with the declared bounds and fresh noise; see the package for the signature.

    The library has one seed for public randomness and noise alike, so none is given.
    """
    known = problem.dictionary
    names = list(train_X.columns)
    arrays = {
        "train_X": encoded(train_X, known),
        "train_y": train_y,
        "test_X": encoded(test_X, known),
        "bounds": np.array([known.bounds.get(name, (0.0, 1.0)) for name in names], dtype=float),
        "is_category": np.array([name in known.categories for name in names]),
    }
    options = {
        "binary": problem.task == "binary",
        "label_bounds": known.label_bounds,
        "epsilon": epsilon,
        **settings,
    }
    result = fit_in_peer(_NAME, arrays, options, n_jobs)
    return dataclasses.replace(result, epsilon_spent=epsilon)


def versions() -> dict[str, str]:
    """Return what the figures depend on besides the settings."""
    return {"requirements": requirements_digest(_NAME)}
