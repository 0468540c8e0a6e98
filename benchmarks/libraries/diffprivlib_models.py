"""diffprivlib's linear models and naive Bayes, in the environment of its forest.

They know the declared bounds, to which features are scaled: numbers lie in [-1, 1], and each
declared category is a column of zeros and ones.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.environments import interpreter, requirements_digest
from benchmarks.libraries.result import Result
from benchmarks.linear_rows import radius, scaled
from benchmarks.peers import fit_in_peer

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.problems.problem import Problem

_NAME, _ENVIRONMENT = "diffprivlib_models", "diffprivlib_forest"


def prepare() -> None:
    """Make the environment, or raise ``PeerUnavailableError``."""
    interpreter(_ENVIRONMENT)


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

    Logistic regression clips rows to the norm of `radius`; labels of a regression are declared.
    """
    known = problem.dictionary
    train, test = scaled(train_X, known)[:, 1:], scaled(test_X, known)[:, 1:]
    ends: list[tuple[float, float]] = []
    for name in train_X.columns:
        ends += [(0, 1)] * len(known.categories[name]) if name in known.categories else [(-1, 1)]
    arrays = {
        "train_X": train,
        "train_y": train_y,
        "test_X": test,
        "bounds": np.array(ends, dtype=float).T,
    }
    options = {
        "n_classes": problem.n_classes,
        "norm": radius(known),
        "label_bounds": known.label_bounds,
        "epsilon": epsilon,
        **settings,
    }
    result = fit_in_peer(_NAME, arrays, options, n_jobs, environment=_ENVIRONMENT)
    prediction = result.prediction
    if problem.n_classes:
        # Where it gives no class a chance that a float can hold, all have the same.
        lost = ~np.isfinite(prediction).all(axis=1)
        prediction = np.where(lost[:, None], 1 / problem.n_classes, prediction)
    if problem.task == "binary":
        prediction = prediction[:, 1]
    if known.label_bounds is not None:
        prediction = np.clip(prediction, *known.label_bounds)
    return dataclasses.replace(result, prediction=prediction, epsilon_spent=epsilon)


def versions() -> dict[str, str]:
    """Return what the figures depend on besides the settings."""
    return {"requirements": requirements_digest(_ENVIRONMENT)}
