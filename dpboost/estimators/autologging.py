"""Support for MLflow's LightGBM autologging.

MLflow patches only LightGBM's ``train`` and ``fit``, so DPBoost's versions log to it themselves.

Privacy
-------
Parameters, results on evaluation rows, importances, the model and its report are logged; all are
public or released.
"""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from dpboost._utils.warnings import is_quiet, warn_user
from dpboost.budgeting.searches import running_search
from dpboost.lightgbm.parameters import ParameterWarning
from dpboost.privacy.recording import current

P = ParamSpec("P")
R = TypeVar("R")

_FLAVOR, _SWITCHES = "lightgbm", ".utils.autologging_utils"
# MLflow takes names of metrics of these characters, and values of a length.
_ODD = re.compile(r"[^\w\-./ ]")
_LONGEST = 500


def autologged(fit: Callable[P, R]) -> Callable[P, R]:
    """Have a function that returns an estimator or a Booster log it, unless it is one of many."""

    @wraps(fit)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        result = fit(*args, **kwargs)
        # Inside of another call that is recorded, of a replay or of a search it is one of many.
        if current() is None and not is_quiet() and not running_search(result)[1]:
            _log(result)
        return result

    return call


def _log(model: Any) -> None:
    """Log a fitted model to the active run, or to one of its own."""
    # Nobody has switched on what is not imported.
    switches, mlflow = (sys.modules.get(f"mlflow{part}") for part in (_SWITCHES, ""))
    if switches is None or mlflow is None or switches.autologging_is_disabled(_FLAVOR):
        return
    known = mlflow.active_run()
    if known is not None and switches.get_autologging_config(_FLAVOR, "exclusive", False):
        return
    try:
        with nullcontext() if known is not None else mlflow.start_run():
            _log_to_run(mlflow, model, switches.get_autologging_config(_FLAVOR, "log_models", True))
    except Exception as error:  # noqa: BLE001 - a fit that is paid for is not lost by a log
        warn_user(
            f"MLflow's autologging failed on this fit: {type(error).__name__}: {error}. Log it "
            "by mlflow.lightgbm.log_model(model.to_lightgbm(), name='model').",
            ParameterWarning,
        )


def _log_to_run(mlflow: Any, model: Any, log_models: bool) -> None:
    booster = getattr(model, "booster_", model)
    params: Mapping[str, Any] = booster.params if booster is model else model.get_params()
    mlflow.log_params({name: str(value)[:_LONGEST] for name, value in params.items()})
    results = getattr(booster.trained_by or model, "evals_result_", {})
    for data, metrics in results.items():
        for metric, values in metrics.items():
            name = _ODD.sub("_", f"{data}-{metric}")
            for step, value in enumerate(values):
                if not math.isnan(value):  # those of the training rows
                    mlflow.log_metric(name, float(value), step=step)
    if booster.best_iteration > 0:
        mlflow.log_metric("best_iteration", booster.best_iteration)
    names = booster.feature_name()
    for kind in ("split", "gain"):
        importance = map(float, booster.feature_importance(kind))
        mlflow.log_dict(
            dict(zip(names, importance, strict=True)), f"feature_importance_{kind}.json"
        )
    mlflow.log_text(booster.privacy_report.to_json(), "privacy_report.json")
    if log_models:
        log_model = mlflow.lightgbm.log_model
        named = "name" if "name" in inspect.signature(log_model).parameters else "artifact_path"
        log_model(model.to_lightgbm(), **{named: "model"})
