"""dpboost's estimators; which recipe they follow is a setting."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lightgbm
import numpy as np

import dpboost
from benchmarks.libraries.result import Result, by_class
from benchmarks.meter import Meter
from benchmarks.versions import version_of

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
    declare: bool = True,
    **settings: Any,
) -> Result:
    """Fit a dpboost estimator, by default with the declared schema; see the package.

    The noise comes from the operating system, as in use: ``seed`` decides public randomness
    only, and a second run gives other figures.
    """
    regression = problem.task == "regression"
    estimator = dpboost.DPBoostRegressor if regression else dpboost.DPBoostClassifier
    model = estimator(
        epsilon=epsilon,
        schema=problem.dictionary.schema() if declare else None,
        random_state=seed,
        n_jobs=n_jobs,
        verbosity=0,  # its progress bar would break the one of the run
        **settings,
    )
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
        epsilon_spent=model.privacy_report_.epsilon_spent,
    )


def versions() -> dict[str, str]:
    """Return what the figures depend on besides the settings."""
    return {
        "dpboost": version_of("dpboost"),
        "dpboost files": _digest_of_package(),
        "lightgbm": lightgbm.__version__,
        "numpy": np.__version__,
    }


@cache
def _digest_of_package() -> str:
    # The version number stands still between releases while the code moves: without this,
    # rows of an older working copy would be resumed as if they were of this one.
    folder = Path(dpboost.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in {".py", ".so", ".pyd"}:
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0")
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
