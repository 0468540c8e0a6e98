"""Replays every recorded call of a run of the tests, and compares what came out.

`python -m pytest --replay` turns it on. Calls are replayed when their test is over, so that what it
watches or counts is its own calls; a replay that differs is an error of the test's end. A test that
changes code of the package is left out.
"""

from __future__ import annotations

import warnings
from difflib import unified_diff
from pprint import pformat
from typing import Any

import numpy as np

from dpboost._utils import warnings as own_warnings
from dpboost.model_selection.replaying import replay
from dpboost.training import privacy_params
from dpboost.transcripts import recorded

#: Arguments by which tests make a fit look elsewhere, or count what is called: code with a state.
STATEFUL = ("callbacks",)

SEEDED = "the noise was drawn from a seed"

#: What every test changes, which no call shows.
CHANGED_FOR_ALL = ((own_warnings, "_is_new"), (privacy_params, "add_fit"))


class ReplayDiffersError(AssertionError):
    """The replay of a call is not what the call returned."""


#: What each call has returned since the last comparison, as its user saw it then.
_returned: list[tuple[dict[str, Any], Any]] = []


def install() -> None:
    """Remember each call from now on."""
    recorded.finished = lambda result, transcript: _returned.append((visible(result), transcript))


def patches_the_package(test: Any) -> bool:
    """Return whether a test has changed code of the package, of which its calls then tell."""
    patched = getattr(getattr(test, "funcargs", {}).get("monkeypatch"), "_setattr", ())
    return any(
        (getattr(place, "__module__", None) or getattr(place, "__name__", "")).startswith("dpboost")
        and (place, name) not in CHANGED_FOR_ALL
        for place, name, _ in patched
    )


def compare_all(*, skip: bool) -> None:
    """Raise unless the replay of each remembered call shows the same."""
    calls = _returned.copy()
    _returned.clear()
    for before, transcript in () if skip else calls:
        compare(before, transcript)


def visible(result: Any) -> dict[str, Any]:
    """Return all of a result that a user sees."""
    found: dict[str, Any] = {}
    booster = getattr(result, "booster_", result)
    if hasattr(booster, "model_to_string"):
        found["model text"] = booster.model_to_string()
    report = getattr(result, "privacy_report_", getattr(result, "report", None))
    found["report"] = None if report is None else report.to_dict()
    if isinstance(result, dict):
        found["results"] = {
            name: repr(value) for name, value in result.items() if name != "cvbooster"
        }
        found["report"] = result.privacy_report.to_dict()
    names = ("metrics", "groups", "counts", "evals_result_", "best_iteration_", "calibration_")
    for name in names:
        value = getattr(result, name, None)
        found[name] = np.array2string(value) if isinstance(value, np.ndarray) else repr(value)
    return found


def compare(before: dict[str, Any], transcript: Any) -> None:
    """Raise unless the replay of a call shows the same."""
    told = before["report"] or {}
    # An audit seeds the noise of its fits, which no argument of the call says.
    if SEEDED in told.get("reasons", ()) and SEEDED not in transcript.reasons:
        return
    if any(name in transcript.call.arguments for name in STATEFUL):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = visible(replay(transcript))
    _returned.clear()  # of the replay itself
    for name, value in before.items():
        if again[name] != value:
            raise ReplayDiffersError(
                f"{transcript!r}: {name} differs: {_difference(value, again[name])}"[:3000]
            )


def _difference(before: Any, after: Any) -> str:
    """Return the lines of what was shown that differ."""
    lines = [pformat(each).splitlines() for each in (before, after)]
    if isinstance(before, str) and isinstance(after, str):
        lines = [each.splitlines() for each in (before, after)]
    return "\n".join(unified_diff(*lines, n=0, lineterm=""))
