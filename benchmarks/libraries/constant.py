"""The mean label of the training rows for everyone: what a weak model must beat.

It is the exact mean, hence not private.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.libraries.result import Result

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
    start = time.perf_counter()
    mean = float(np.mean(train_y))
    seconds = time.perf_counter() - start
    return Result(prediction=np.full(len(test_X), mean), fit_seconds=seconds, n_trees=0)


def versions() -> dict[str, str]:
    """Return what the figures depend on besides the settings."""
    return {"numpy": np.__version__}
