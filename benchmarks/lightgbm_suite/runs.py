"""Runs of a copy in processes of their own, however they end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.lightgbm_suite.plugin import VARIABLE

_ROOT = Path(__file__).parents[2]
_MOST_STARTS = 50
#: How pytest ends: all passed, some failed, a file cannot be imported, nothing to run.
_ORDERLY = (0, 1, 2, 5)
_LONGEST = 4000


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a test went.

    Parameters
    ----------
    outcome : {"passed", "skipped", "failed", "ended"}
        The last one where the process ended with it.
    errors : tuple of (types, message)
        The error and those that it came from: the names of its class and of that one's bases, and
        its message.
    line : str
        The line of the test at which it failed; empty where there is none.
    """

    outcome: str
    errors: tuple[tuple[tuple[str, ...], str], ...] = ()
    line: str = ""


def run_copy(
    folder: Path,
    *,
    scratch: Path,
    epsilon: float | None = None,
    noise_seed: int | None = None,
    seconds: float = 300.0,
    only: Collection[str] | None = None,
    report: Any = None,
) -> dict[str, Outcome]:
    """Run the tests of a copy.

    Parameters
    ----------
    folder : Path
        The tests.
    scratch : Path
        A folder for what the run writes.
    epsilon : float, optional
        Default budget of every fit; None where the copy is LightGBM's own.
    noise_seed : int, optional
        Default seed of the noise.
    seconds : float
        Longest time of a test.
    only : collection of str, optional
        The tests to run; all by default.
    report : callable, optional
        Is reported about each file that is begun.

    Returns
    -------
    dict of str to Outcome
        By test, or by file where one cannot be imported.
    """
    found: dict[str, Outcome] = {}
    for path in sorted(folder.glob("test_*.py")):
        if only is not None and not any(test.split("::")[0] == path.name for test in only):
            continue
        if report is not None:
            report(path.name)
        found |= _run_file(path, scratch, epsilon, noise_seed, seconds, only)
    return found


def _run_file(
    path: Path,
    scratch: Path,
    epsilon: float | None,
    noise_seed: int | None,
    seconds: float,
    only: Collection[str] | None,
) -> dict[str, Outcome]:
    """Run a file; a process that ends with a test is started again behind it."""
    lines = scratch / f"{path.stem}.lines"
    lines.unlink(missing_ok=True)
    setting: dict[str, Any] = {
        "lines": str(lines),
        "epsilon": epsilon,
        "noise_seed": noise_seed,
        "seconds": seconds,
        "only": None if only is None else sorted(only),
        "done": [],
    }
    found: dict[str, Outcome] = {}
    for _ in range(_MOST_STARTS):
        environment = {**os.environ, VARIABLE: json.dumps(setting)}
        environment["PYTHONPATH"] = os.pathsep.join(
            [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        command = [sys.executable, "-m", "pytest", path.name, "-q", "-p", _PLUGIN]
        command += ["-p", "no:cacheprovider", "--rootdir", str(path.parent), "--no-header"]
        command += ["--tb", "no", "-W", "ignore::UserWarning"]
        output = (scratch / f"{path.stem}.log").open("ab")
        with output:
            ended = subprocess.run(
                command, cwd=path.parent, env=environment, stdout=output, stderr=output, check=False
            )
        found, begun = _read(lines)
        if begun is None:
            if ended.returncode not in _ORDERLY:
                # Without this line a file that never began would count as one without mistakes.
                told = Path(output.name).read_text(encoding="utf-8", errors="replace")
                found[path.name] = Outcome(
                    outcome="failed", errors=((("collection",), told[-_LONGEST:]),)
                )
            break
        found[begun] = Outcome(outcome="ended")
        with lines.open("a", encoding="utf-8") as file:
            ending = {"test": begun, "outcome": "ended", "errors": [], "line": ""}
            file.write(json.dumps(ending) + "\n")
        setting["done"] = sorted(found)
    return found


_PLUGIN = "benchmarks.lightgbm_suite.plugin"


def _read(lines: Path) -> tuple[dict[str, Outcome], str | None]:
    """Return how the tests went, and the one that was begun and never ended."""
    found: dict[str, Outcome] = {}
    begun: str | None = None
    if not lines.is_file():
        return found, None
    for text in lines.read_text(encoding="utf-8").splitlines():
        line: Mapping[str, Any] = json.loads(text)
        test, outcome = line["test"], line["outcome"]
        if outcome == "begun":
            begun = test
            continue
        begun = None if begun == test else begun
        if found.get(test, Outcome(outcome="passed")).outcome == "failed":
            continue  # a test that fails twice, itself and when it is put away
        errors = tuple((tuple(each["types"]), each["message"]) for each in line["errors"])
        found[test] = Outcome(outcome=outcome, errors=errors, line=line["line"])
    return found, begun
