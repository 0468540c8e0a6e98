"""Replays every recorded call of a run of the tests, and compares what came out.

`python -m pytest --replay` turns it on. A call whose replay differs raises in its own test.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from dpboost.model_selection.replaying import replay
from dpboost.transcripts import recorded

#: Tests that count ledgers, or calls of code, which a replay makes again.
COUNTING = (
    "test_what_a_row_may_cost_adds_up_to_the_budget",
    "test_weights_and_earlier_models_reach_every_fit",
    "test_rows_of_a_user_share_a_fold_and_are_limited",
    "test_public_rows_leave_the_whole_budget_to_the_fits",
    "test_histograms_of_every_fit_may_fail",
    "test_a_budget_has_all_fits_and_metrics_as_one_line",
)

#: Arguments by which tests make a fit look elsewhere, or count what is called: code with a state.
STATEFUL = ("callbacks",)


class ReplayDiffersError(AssertionError):
    """The replay of a call is not what the call returned."""


def install() -> None:
    """Compare each call with its replay from now on."""
    recorded.finished = compare


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


def compare(result: Any, transcript: Any) -> None:
    """Raise unless the replay of a call shows the same."""
    call = transcript.call
    if any(name in os.environ.get("PYTEST_CURRENT_TEST", "") for name in COUNTING):
        return
    if any(name in call.arguments for name in STATEFUL):
        return
    before = visible(result)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = visible(replay(transcript))
    for name, value in before.items():
        if again[name] != value:
            raise ReplayDiffersError(
                f"{transcript!r}: {name} differs: {value} | {again[name]}"[:3000]
            )
