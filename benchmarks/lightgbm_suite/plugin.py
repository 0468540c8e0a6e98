"""What pytest loads when it runs a copy: another budget, and a line for every test."""

from __future__ import annotations

import contextlib
import json
import linecache
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

#: The settings of a run, as JSON: file of the lines, tests to leave out, epsilon, noise, seconds.
VARIABLE = "DPBOOST_LIGHTGBM_SUITE"

_LONGEST = 4000


class _OvertimeError(Exception):
    """A test takes too long."""


def settings() -> dict[str, Any]:
    """Return the settings of the run."""
    found: dict[str, Any] = json.loads(os.environ[VARIABLE])
    return found


def pytest_configure(config: pytest.Config) -> None:
    """Set the budget of every fit that names none."""
    if settings()["epsilon"] is not None:
        set_defaults(settings()["epsilon"], settings()["noise_seed"])


def set_defaults(epsilon: float, noise_seed: int | None) -> None:
    """Change the default budget of the estimators, by which ``train`` and ``cv`` go as well."""
    import dpboost
    from dpboost.sklearn import DPBoostClassifier, DPBoostRegressor

    kinds: list[Any] = [DPBoostClassifier, DPBoostRegressor]
    with contextlib.suppress(AttributeError):  # Dask is not installed
        kinds += [dpboost.DaskDPBoostClassifier, dpboost.DaskDPBoostRegressor]
    for kind in kinds:
        kind.__init__.__kwdefaults__.update(epsilon=epsilon, noise_seed=noise_seed)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests that are done, or that no one asks for."""
    done, only = set(settings()["done"]), settings()["only"]
    items[:] = [
        item for item in items if item.nodeid not in done and (only is None or item.nodeid in only)
    ]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Say that a test begins, so that one that ends the process is known; stop it in time."""
    _write({"test": item.nodeid, "outcome": "begun"})

    def stop(*_: Any) -> None:
        raise _OvertimeError(f"The test takes longer than {settings()['seconds']} s.")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, settings()["seconds"])
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[Any]:
    """Write down how a test went."""
    report = yield
    failed = report.failed
    if failed or report.skipped or report.when == "call":
        outcome = "failed" if failed else "skipped" if report.skipped else "passed"
        error = call.excinfo.value if failed and call.excinfo else None
        line = _line(call, item.path) if failed else ""
        _write({"test": item.nodeid, "outcome": outcome, "errors": _chain(error), "line": line})
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[Any]:
    """Write down files that cannot be imported."""
    report = yield
    if report.failed:
        message = str(report.longrepr)[-_LONGEST:]
        errors = [{"types": ["collection"], "message": message}]
        _write({"test": collector.nodeid, "outcome": "failed", "errors": errors, "line": ""})
    return report


def _chain(error: BaseException | None) -> list[dict[str, Any]]:
    """Return the error and those that it came from: names of their classes, and messages."""
    found: list[dict[str, Any]] = []
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        types = [f"{each.__module__}.{each.__qualname__}" for each in type(error).__mro__]
        found.append({"types": types, "message": str(error)[:_LONGEST]})
        error = error.__cause__ or error.__context__
    return found


def _line(call: pytest.CallInfo[Any], path: Path) -> str:
    """Return the last line of the test's own file on the way to the error."""
    entries = [] if call.excinfo is None else call.excinfo.traceback
    lines = [linecache.getline(str(path), each.lineno + 1) for each in entries if each.path == path]
    return lines[-1].strip() if lines else ""


def _write(line: dict[str, Any]) -> None:
    with Path(settings()["lines"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
