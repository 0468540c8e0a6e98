"""All output and side effects of a fit."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import pickle
import random
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dpboost._utils import warnings as own_warnings
from dpboost.audit.claims import false_claims
from dpboost.audit.pair_replay import FAULTS, Fit
from dpboost.budgeting import claim

MakeEstimator = Callable[[], Any]


class _Listener(logging.Handler):
    """Collects the text of all log records."""

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
    claim.forget()
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
    """Return the pickle of an estimator, or None if there can be none.

    An objective of the user that is a lambda or stands inside a function has no pickle.
    """
    try:
        return pickle.dumps(estimator)
    except (AttributeError, TypeError, pickle.PicklingError):
        return None


def shown(estimator: Any, heard: dict[str, Any]) -> dict[str, Any]:
    """Return what a fitted estimator shows without rows to predict: text, report and pickle.

    False claims of its report are added to the faults that were heard.
    """
    heard[FAULTS] += [("claim", told) for told in false_claims(estimator)]
    return {
        **heard,
        "model text": estimator.booster_.model_to_string(),
        "report": estimator.privacy_report_.details(),
        "pickle": pickled(estimator),
    }


def _more_of(estimator: Any, probe: Any) -> dict[str, Any]:
    """Return what else an estimator of ours shows, with its predictions of public rows."""
    booster = estimator.booster_
    return {
        "dump": repr(booster.dump_model()),
        "report fields": repr(estimator.privacy_report_.to_dict()),
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


def estimator_fit(make_estimator: MakeEstimator, *, probe: Any = None) -> Fit:
    """Turn an estimator into what the replay auditor runs.

    Parameters
    ----------
    make_estimator : callable
        Returns a new estimator.
    probe : table, optional
        Public rows to predict; without them model text, report and pickle are compared.

    Returns
    -------
    callable
        Trains on ``(X, y)`` and returns all that was visible.
    """

    def fit(X: Any, y: Any) -> Mapping[str, Any]:
        heard: dict[str, Any] = {}
        with overhear(heard):
            estimator = make_estimator().fit(X, y)
        more = {} if probe is None else _more_of(estimator, probe)
        return {**shown(estimator, heard), **more}

    return fit


#: Opened for writing, by the flags of the operating system.
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND

#: Where writing hides nothing: terminals and the null device.
_HARMLESS = (os.devnull, "/dev/tty", "/dev/shm", "/proc", "/sys")

_listening: list[list[str]] = []
_installed = False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    """Note a file that is opened for writing; hooks cannot be taken away, so this one may idle."""
    if not _listening or event not in ("open", "os.remove", "os.rename", "os.mkdir"):
        return
    if event == "open" and not _is_written(*arguments):
        return
    path = arguments[0]
    if isinstance(path, (str, bytes)):
        told = os.fsdecode(path)
        if not told.startswith(_HARMLESS) and not told.endswith(".pyc"):
            _listening[-1].append(told)


def _is_written(path: Any, mode: Any, flags: Any) -> bool:
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(flags, int) and bool(flags & _WRITES)


@contextlib.contextmanager
def side_effects() -> Iterator[list[str]]:
    """Collect, in words, what the code inside does to the world around it.

    The list is filled when the block is left: files that were written, and global generators that
    were drawn from.
    """
    global _installed
    if not _installed:
        sys.addaudithook(_hook)
        _installed = True
    written: list[str] = []
    found: list[str] = []
    numpy_state, python_state = _numpy_state(), random.getstate()
    _listening.append(written)
    try:
        yield found
    finally:
        _listening.pop()
        found += [f"opens {path} for writing" for path in dict.fromkeys(written)]
        if _numpy_state() != numpy_state:
            found.append("draws from NumPy's global generator")
        if random.getstate() != python_state:
            found.append("draws from Python's global generator")


def _numpy_state() -> tuple[bytes, int]:
    state: Any = np.random.get_state()  # noqa: NPY002 - whether anybody has drawn from it
    return np.asarray(state[1]).tobytes(), int(state[2])
