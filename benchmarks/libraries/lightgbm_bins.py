"""LightGBM without privacy, on the bins of a dpboost model.

Its features are the bin numbers, so it can split only where dpboost can: between two bins of
a numeric column, or between one category and the rest.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import lightgbm
import numpy as np

import dpboost
from benchmarks.libraries import dpboost_recipes
from benchmarks.libraries.result import Result
from dpboost.data.table import read_table

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
    max_bin: int,
    **settings: Any,
) -> Result:
    """Fit LightGBM with ``settings`` on declared bins; see the package for the signature.

    The bins are those of a dpboost fit without noise, of one tree: they depend on the schema alone.
    """
    regression = problem.task == "regression"
    estimator = dpboost.DPBoostRegressor if regression else dpboost.DPBoostClassifier
    binning = estimator(
        epsilon=float("inf"),
        recipe="seq",
        schema=problem.dictionary.schema(),
        n_estimators=1,
        max_depth=1,
        max_bin=max_bin,
        verbosity=0,
        n_jobs=n_jobs,
    ).fit(train_X, train_y)
    binner = binning.ensemble_.binner
    nominal = [
        position
        for position, name in enumerate(train_X.columns)
        if name in problem.dictionary.categories
    ]
    parameters = {"random_state": seed, "n_jobs": n_jobs, "verbosity": -1, **settings}
    kind = lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier
    model = kind(max_bin=256, **parameters)
    train_bins, test_bins = (_bins(binner, binning.schema_, X) for X in (train_X, test_X))
    start = time.perf_counter()
    model.fit(train_bins, train_y, categorical_feature=nominal)
    seconds = time.perf_counter() - start
    prediction = np.asarray(
        model.predict(test_bins) if regression else model.predict_proba(test_bins)[:, 1]
    )
    return Result(prediction=prediction, fit_seconds=seconds, n_trees=model.booster_.num_trees())


def _bins(binner: Any, schema: Any, X: pd.DataFrame) -> np.ndarray:
    return np.ascontiguousarray(read_table(X, schema=schema).bins(binner).T).astype(np.float64)


def versions() -> dict[str, str]:
    """Return what the figures depend on besides the settings."""
    return dpboost_recipes.versions()
