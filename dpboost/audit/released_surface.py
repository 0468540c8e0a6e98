"""Everything that a fit lets out of its process."""

from __future__ import annotations

import contextlib
import io
import logging
import pickle
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from dpboost._utils import warnings as own_warnings
from dpboost.audit.claims import false_claims
from dpboost.audit.replay import FAULTS, Fit
from dpboost.audit.side_effects import side_effects
from dpboost.budgeting import spent_outside

MakeEstimator = Callable[[], Any]


class _Listener(logging.Handler):
    """Keeps the text of all log records."""

    def __init__(self) -> None:
        super().__init__(level=logging.NOTSET)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record."""
        self.messages.append(f"{record.name} {record.levelname} {record.getMessage()}")


@contextlib.contextmanager
def overhear(heard: dict[str, Any]) -> Any:
    """Collect warnings, log records and printed text of a call, as in a new process."""
    own_warnings.forget()
    spent_outside.forget()
    listener, out, err = _Listener(), io.StringIO(), io.StringIO()
    root = logging.getLogger()
    level = root.level
    root.addHandler(listener)
    root.setLevel(logging.NOTSET)
    try:
        with (
            side_effects() as effects,
            warnings.catch_warnings(record=True) as caught,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            warnings.simplefilter("always")
            yield
    finally:
        root.removeHandler(listener)
        root.setLevel(level)
        heard["warnings"] = [f"{item.category.__name__}: {item.message}" for item in caught]
        heard["log"] = listener.messages
        heard["output"] = (out.getvalue(), err.getvalue())
        heard[FAULTS] = [("side effect", effect) for effect in effects]


def pickled(estimator: Any) -> bytes | None:
    """Return the pickle of an estimator, or None where there can be none.

    An objective of the user that is a lambda or stands inside a function has no pickle.
    """
    try:
        return pickle.dumps(estimator)
    except (AttributeError, TypeError, pickle.PicklingError):
        return None


def shown(estimator: Any, heard: dict[str, Any]) -> dict[str, Any]:
    """Return what a fitted estimator shows without rows to predict: text, report and pickle.

    Parameters
    ----------
    estimator : object
        Fitted, with a ``booster_`` and a ``privacy_report_``.
    heard : dict
        From `overhear`; false claims of the report are added to its faults.
    """
    heard[FAULTS] += [("claim", told) for told in false_claims(estimator)]
    return {
        **heard,
        "model text": estimator.booster_.model_to_string(),
        "report": estimator.privacy_report_.details(),
        "pickle": pickled(estimator),
    }


def parts_of(estimator: Any, probe: Any) -> dict[str, Any]:
    """Return what a fitted estimator of ours shows, by name.

    Parameters
    ----------
    estimator : DPBoostRegressor or DPBoostClassifier
        Fitted.
    probe : table
        Public rows to predict.

    Returns
    -------
    dict of str to object
        Model text, pickle, report, importances, predictions, SHAP values, fitted attributes.
    """
    booster = estimator.booster_
    return {
        "model text": booster.model_to_string(),
        "dump": repr(booster.dump_model()),
        "report": estimator.privacy_report_.details(),
        "report fields": repr(estimator.privacy_report_.to_dict()),
        "pickle": pickled(estimator),
        "importance by split": booster.feature_importance("split").tolist(),
        "importance by gain": booster.feature_importance("gain").tolist(),
        "predictions": estimator.predict(probe).tolist(),
        "SHAP values": estimator.predict(probe, pred_contrib=True).tolist(),
        "attributes": sorted(vars(estimator)),
        "plain attributes": {
            name: repr(value)
            for name, value in sorted(vars(estimator).items())
            if isinstance(value, (bool, int, float, str, tuple, list, dict))
        },
    }


def estimator_fit(
    make_estimator: MakeEstimator, *, probe: Any = None, before: Callable[[], Any] | None = None
) -> Fit:
    """Turn an estimator into what the replay auditor runs.

    Parameters
    ----------
    make_estimator : callable
        Returns a new estimator.
    probe : table, optional
        Public rows to predict; without them model text, report and pickle are compared.
    before : callable, optional
        Called before each fit.

    Returns
    -------
    callable
        Trains on ``(X, y)`` and returns all that was visible.
    """

    def fit(X: Any, y: Any) -> Mapping[str, Any]:
        if before is not None:
            before()
        heard: dict[str, Any] = {}
        with overhear(heard):
            estimator = make_estimator().fit(X, y)
        if probe is None:
            return shown(estimator, heard)
        return {**shown(estimator, heard), **parts_of(estimator, probe)}

    return fit
