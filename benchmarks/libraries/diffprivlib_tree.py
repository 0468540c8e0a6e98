"""diffprivlib's decision tree, in an environment of its own.

It knows the declared bounds and classes; each declared category is a column of zeros and ones.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.environments import interpreter, requirements_digest
from benchmarks.libraries.result import Result
from benchmarks.peers import encoded, fit_in_peer, one_hot

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.problems.problem import Problem

_NAME = "diffprivlib_tree"


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
    """Fit with the declared bounds and fresh noise; see the package for the signature."""
    known = problem.dictionary
    ends: list[tuple[float, float]] = []
    for name in train_X.columns:
        categories = known.categories.get(name)
        ends += [(0, 1)] * len(categories) if categories else [known.bounds[name]]
    arrays = {
        "train_X": one_hot(encoded(train_X, known), train_X, known),
        "train_y": train_y,
        "test_X": one_hot(encoded(test_X, known), test_X, known),
        "bounds": np.array(ends, dtype=float).T,
    }
    options = {"n_classes": problem.n_classes, "epsilon": epsilon, **settings}
    result = fit_in_peer(_NAME, arrays, options, n_jobs)
    prediction = result.prediction[:, 1] if problem.task == "binary" else result.prediction
    return dataclasses.replace(result, prediction=prediction, epsilon_spent=epsilon)


def versions() -> dict[str, str]:
    """Return what the figures depend on besides the settings."""
    return {"requirements": requirements_digest(_NAME)}
