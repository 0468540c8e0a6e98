"""LightGBM without privacy, on the same columns: categories as it takes them by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lightgbm
import numpy as np

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
    epsilon: None,
    seed: int,
    n_jobs: int,
    **settings: Any,
) -> Result:
    """Fit a LightGBM estimator with ``settings``; see the package for the signature."""
    parameters = {"random_state": seed, "n_jobs": n_jobs, "verbosity": -1, **settings}
    regression = problem.task == "regression"
    estimator = lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier
    model = estimator(**parameters)
    with Meter() as meter:
        model.fit(train_X, train_y)
    if regression:
        prediction = np.asarray(model.predict(test_X))
    else:
        probability = np.asarray(model.predict_proba(test_X))
        prediction = by_class(probability, model.classes_, problem.n_classes)
    return Result(
        prediction=prediction[:, 1] if problem.task == "binary" else prediction,
        fit_seconds=meter.seconds,
        peak_mb=meter.peak_mb,
        n_trees=model.booster_.num_trees(),
    )


def versions() -> dict[str, str]:
    """Return what the figures depend on besides the settings."""
    return {"lightgbm": lightgbm.__version__, "numpy": np.__version__}
