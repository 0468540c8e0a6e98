"""dpboost's single trees; which recipe they follow is a setting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import dpboost
from benchmarks.libraries import dpboost_recipes
from benchmarks.libraries.result import Result, by_class
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
    epsilon: float,
    seed: int,
    n_jobs: int,
    **settings: Any,
) -> Result:
    """Fit a single tree with the declared schema; see the package for the signature.

    The noise comes from the operating system, and there is no public randomness to be seeded.
    """
    model = dpboost.DPTreeClassifier(
        epsilon=epsilon, schema=problem.dictionary.schema(), n_jobs=n_jobs, **settings
    )
    with Meter() as meter:
        model.fit(train_X, train_y)
    prediction = by_class(model.predict_proba(test_X), model.classes_, problem.n_classes)
    return Result(
        prediction=prediction[:, 1] if problem.task == "binary" else prediction,
        fit_seconds=meter.seconds,
        peak_mb=meter.peak_mb,
        n_trees=model.booster_.num_trees(),
        epsilon_spent=model.privacy_report_.epsilon_spent,
    )


def versions() -> dict[str, str]:
    """Return what the figures depend on besides the settings."""
    return dpboost_recipes.versions()
