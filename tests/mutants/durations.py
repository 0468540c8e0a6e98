"""Keeps how long each test took, for the choice of tests: a plugin of pytest."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

VARIABLE = "DPBOOST_DURATIONS"
_seconds: dict[str, float] = {}


def pytest_runtest_logreport(report: Any) -> None:
    """Add up setup, call and teardown of a test that passed."""
    if report.outcome == "passed":
        _seconds[report.nodeid] = _seconds.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish() -> None:
    """Write them to the file that the environment names."""
    path = os.environ.get(VARIABLE)
    if path:
        Path(path).write_text(json.dumps(_seconds))
