"""The command ``python -m benchmarks lightgbm-suite FOLDER``."""

from __future__ import annotations

import csv
import io
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import lightgbm

import dpboost
from benchmarks.files import write_atomically
from benchmarks.lightgbm_suite.copies import copy_suite
from benchmarks.lightgbm_suite.runs import run_copy
from benchmarks.lightgbm_suite.sorting import (
    FAULTS,
    KINDS,
    Verdict,
    proposals,
    read_differences,
    sort,
)
from benchmarks.other_pages import headed

NAME = "lightgbm-suite"


def run_suite(
    folder: Path, *, epsilon: float, seconds: float, only: str = ""
) -> dict[str, Verdict]:
    """Run LightGBM's tests against dpboost and sort them.

    Parameters
    ----------
    folder : Path
        LightGBM's ``tests/python_package_test``.
    epsilon : float
        Default budget of every fit.
    seconds : float
        Longest time of a test.
    only : str
        Files whose name holds this; all by default.

    Returns
    -------
    dict of str to Verdict

    Raises
    ------
    BenchmarkError
        If there are no tests in the folder.
    """
    differences = read_differences()
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        ours = copy_suite(folder, root / "dpboost", change=True)
        theirs = copy_suite(folder, root / "lightgbm", change=False)
        for copy in (ours, theirs):
            for path in copy.glob("test_*.py"):
                if only not in path.name:
                    path.unlink()
        say = partial(_say, "dpboost")
        first = run_copy(ours, scratch=root, epsilon=epsilon, seconds=seconds, report=say)
        failed = [test for test, each in first.items() if each.outcome in ("failed", "ended")]
        say = partial(_say, "dpboost without noise")
        quiet = run_copy(
            ours,
            scratch=root,
            epsilon=float("inf"),
            noise_seed=1,
            seconds=seconds,
            only=failed,
            report=say,
        )
        say = partial(_say, "LightGBM")
        original = run_copy(theirs, scratch=root, seconds=seconds, only=failed, report=say)
    return sort(first, quiet, original, differences)


def _say(what: str, file: str) -> None:
    print(f"{file}: {what}", file=sys.stderr, flush=True)


def write_suite(
    folder: Path, output: Path, *, epsilon: float, seconds: float, only: str = ""
) -> tuple[str, int]:
    """Run the suite and write its page, its table and what no one has classed.

    Returns
    -------
    page : str
    faults : int
        Tests that are wrong or unclassed.
    """
    verdicts = run_suite(folder, epsilon=epsilon, seconds=seconds, only=only)
    page = page_of(verdicts, epsilon)
    write_atomically(output / f"{NAME}.csv", table_of(verdicts).encode())
    write_atomically(output / f"{NAME}.md", page.encode())
    unclassed = json.dumps(proposals(verdicts), indent=1) + "\n"
    write_atomically(output / f"{NAME}-unclassed.json", unclassed.encode())
    return page, sum(each.kind in FAULTS for each in verdicts.values())


def table_of(verdicts: Mapping[str, Verdict]) -> str:
    """Return a line for each test."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["test", "verdict", "reason", "line", "digest"])
    writer.writerows([test, *verdict] for test, verdict in sorted(verdicts.items()))
    return buffer.getvalue()


def page_of(verdicts: Mapping[str, Verdict], epsilon: float) -> str:
    """Return the counts by file, the reasons, and what is wrong or unclassed."""
    files = sorted({test.split("::")[0] for test in verdicts})
    counts = Counter((test.split("::")[0], each.kind) for test, each in verdicts.items())
    lines = [
        f"The tests of LightGBM {lightgbm.__version__} with one import changed to dpboost "
        f"{dpboost.__version__}, at epsilon {epsilon:g} where a test names none. A test that fails "
        "runs again without noise, and with LightGBM itself. Whatever still differs is classed by "
        "`benchmarks/lightgbm_suite/differences.json`, where a reviewer has read it, or unclassed.",
        "",
        f"| file | {' | '.join(KINDS)} |",
        f"| :-- |{' --: |' * len(KINDS)}",
    ]
    for file in files:
        numbers = " | ".join(str(counts[file, kind]) for kind in KINDS)
        lines.append(f"| {file} | {numbers} |")
    total = Counter(each.kind for each in verdicts.values())
    lines.append(f"| all | {' | '.join(str(total[kind]) for kind in KINDS)} |")
    for kind in (*KINDS[1:4], *FAULTS):
        reasons = Counter(each.reason for each in verdicts.values() if each.kind == kind)
        if not reasons:
            continue
        lines += ["", f"## {kind}", ""]
        if kind in FAULTS:
            faults = sorted((test, each) for test, each in verdicts.items() if each.kind == kind)
            lines += [f"* `{test}`: {each.reason}" for test, each in faults]
        else:
            lines += [f"* {number}: {reason}" for reason, number in reasons.most_common()]
    lines += ["", "## How", "", f"* Command: `python -m benchmarks {NAME} FOLDER`", ""]
    return headed(f"{NAME}.md", "\n".join(lines))
