"""dpboost's own estimators, fitted again and again on the same tables as the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import dpboost
from benchmarks.retraining import retrain

_N_PROBES = 8


def answer(
    estimator: str, arrays: Mapping[str, np.ndarray], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Fit with everything declared that may be, and all else at its default.

    Parameters
    ----------
    estimator : {"regressor", "classifier"}
        Which one.
    arrays, settings
        As the scripts in ``benchmarks/workers`` get them.

    Returns
    -------
    dict of str to ndarray or bool
        As `benchmarks.retraining.retrain` gives it.
    """
    schema: dict[str, Any] = {"bounds": {0: tuple(arrays["bounds"][0])}}
    if "categories" in settings:
        schema = {"categories": {0: settings["categories"]}}
    if estimator == "regressor":
        make, schema["label_bounds"] = dpboost.DPBoostRegressor, settings["label_bounds"]
    else:
        make, schema["classes"] = dpboost.DPBoostClassifier, [0, 1]
    # The row that differs and others.
    probe = arrays["X"][::-1][:_N_PROBES]

    def fit(X: np.ndarray, y: np.ndarray) -> Any:
        return make(
            epsilon=settings["epsilon"],
            delta=settings["delta"],
            recipe=settings["recipe"],
            preset="paper" if settings["recipe"] == "dpboost" else None,
            neighbors=settings["neighbors"],
            schema=schema,
            n_jobs=1,
            verbosity=0,
        ).fit(X, y)

    def predictions(model: Any) -> np.ndarray:
        if estimator == "regressor":
            return np.asarray(model.predict(probe))
        return np.asarray(model.predict_proba(probe))[:, 1]

    return retrain(fit, predictions, arrays, settings["runs"], fingerprint=predictions)
