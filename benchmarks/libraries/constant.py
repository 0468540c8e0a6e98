"""The mean label of the training rows for everyone: what a weak model must beat.

With several classes it is the share of each. The figures are exact, hence not private.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.libraries.result import Result
from benchmarks.meter import Meter

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.problems.problem import Problem


def fit_predict(
    problem: Problem,
    train_X: pd.DataFrame,
    train_y: np.ndarray,
    test_X: pd.DataFrame,
    *,
    epsilon: None,
    seed: int,
    n_jobs: int,
) -> Result:
    """Predict the mean of the training labels; see the package for the signature."""
    with Meter() as meter:
        if problem.task == "multiclass":
            mean = np.bincount(train_y, minlength=problem.n_classes) / len(train_y)
        else:
            mean = np.mean(train_y)
    prediction = np.repeat(mean[None], test_X.shape[0], axis=0)
    return Result(
        prediction=prediction, fit_seconds=meter.seconds, n_trees=0, peak_mb=meter.peak_mb
    )


def versions() -> dict[str, str]:
    """Return what the figures depend on besides the settings."""
    return {"numpy": np.__version__}
