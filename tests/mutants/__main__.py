"""Plant bugs by rule and see which tests find them.

    python -m tests.mutants map           # which test runs which line, once
    python -m tests.mutants map FILE ...  # the same of some test files, beside what is known
    python -m tests.mutants run           # plant and test, goes on where it was stopped
    python -m tests.mutants page          # write benchmarks/results/mutants.md

A mutant is planted when its module is imported; a changed kernel is built. The tests that run its
line are tried until one fails or the time of each group is used up: all cases of those in the file
that is named like its module, then one case of each of the others, the quick ones first.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.other_pages import headed
from tests.mutants import kernels
from tests.mutants.kernels import KernelMutant
from tests.mutants.plugin import SECONDS, VARIABLE
from tests.mutants.rules import Mutant, mutants
from tests.mutants.tracing import VARIABLE as TRACE

ROOT = Path(__file__).resolve().parents[2]
#: What is kept between runs; not in the repository.
WORK = ROOT / "build" / "mutants"
RESULTS = Path(__file__).with_name("mutants.jsonl")
PAGE = ROOT / "benchmarks" / "results" / "mutants.md"
#: Why a survivor does no harm, by its key; read by a person.
EXPLAINED = Path(__file__).with_name("explained.json")
FOLDERS = ("tests/unit", "tests/audit", "tests/checker")
LEFT_OUT = ("tests/unit/dask", "tests/unit/federated", "tests/unit/local", "tests/unit/spark")
#: Of one processor, for a group of tests: what else the machine does is not counted.
MOST_SECONDS = 25
FIRST_TESTS = 12


def write_map(files: list[str]) -> None:
    """Run the tests once with a probe at the line of each mutant, and keep which test runs it.

    Of some files, or of all: what is known of other files is kept with the first.
    """
    trace, kept_runs = WORK / "trace", WORK / "runs.json"
    shutil.rmtree(trace, ignore_errors=True)
    trace.mkdir(parents=True)
    runs: dict[str, Any] = {}
    if files and kept_runs.is_file():
        known = json.loads(kept_runs.read_text())
        runs = {test: run for test, run in known.items() if test.partition("::")[0] not in files}
    ignored = [f"--ignore={folder}" for folder in LEFT_OUT]
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-p", "tests.mutants.tracing"),
        *("-p", "no:cacheprovider", "-n", "2", "--dist", "worksteal"),
        *("-m", "(unit or audit) and not nightly", *(files or FOLDERS), *ignored),
    ]
    subprocess.run(command, cwd=ROOT, env=os.environ | {TRACE: str(trace)}, check=False)
    for path in trace.glob("trace-*.json"):
        runs |= json.loads(path.read_text())
    kept_runs.write_text(json.dumps(runs))
    # One test of a function stands for all of its cases: the quickest that runs the line.
    lines: dict[str, dict[str, str]] = defaultdict(dict)
    for test, run in runs.items():
        function = test.partition("[")[0]
        for line in run["lines"]:
            other = lines[line].get(function)
            if other is None or run["seconds"] < runs[other]["seconds"]:
                lines[line][function] = test
    found = {
        "lines": {line: list(tests.values()) for line, tests in lines.items()},
        "seconds": {test: run["seconds"] for test, run in runs.items()},
    }
    (WORK / "map.json").write_text(json.dumps(found))
    print(f"{len(runs)} tests, {len(lines)} lines")


def tests_of(mutant: Mutant, found: dict[str, Any]) -> list[list[str]]:
    """Return the tests that run the line of a mutant, in groups.

    A line that runs when its module is imported stands for all lines of the module, and where no
    other is known the tests of the file that is named like it.
    """
    running = found["lines"].get(f"{mutant.module}:{mutant.line}")
    if running is None:
        start = f"{mutant.module}:"
        running = {t for line, ts in found["lines"].items() if line.startswith(start) for t in ts}
    name = f"test_{mutant.module.rpartition('.')[2]}.py"
    quick = sorted(running or found["seconds"], key=lambda test: found["seconds"][test])
    named = [test for test in quick if Path(test.partition("::")[0]).name == name]
    # Another case than the quickest may be the one that sees it.
    own = list(dict.fromkeys(test.partition("[")[0] for test in named))
    others = [test for test in quick if running and test not in named]
    return [own, others[:FIRST_TESTS], others[FIRST_TESTS:]]


def tried(mutant: Mutant, groups: list[list[str]]) -> dict[str, Any]:
    """Return what the tests say of a mutant."""
    number = sum(map(len, groups))
    result = {
        "key": mutant.key,
        "rule": mutant.rule,
        "module": mutant.module,
        "line": mutant.line,
        "text": mutant.text,
        "tests": number,
    }
    if not number:
        return {**result, "state": "no test runs it"}
    return result | verdict(f"{mutant.rule}|{mutant.module}|{mutant.number}", groups)


def tried_kernel(mutant: KernelMutant) -> dict[str, Any]:
    """Return what the tests say of a changed kernel."""
    folder = kernels.built(mutant, ROOT, WORK / "kernels")
    tests = kernels.tests_of(mutant)
    result = {
        "key": mutant.key,
        "rule": kernels.RULE,
        "module": f"cython_ext/{mutant.source}",
        "line": kernels.line_of(mutant, ROOT),
        "text": f"{mutant.old} -> {mutant.new}",
        "tests": len(tests),
    }
    planted = "|".join(
        ["kernel", *(f"{name}={path}" for name, path in kernels.files(folder, mutant))]
    )
    found = result | verdict(planted, [tests[:1], tests[1:]])
    shutil.rmtree(folder)
    return found


def verdict(planted: str, groups: list[list[str]]) -> dict[str, Any]:
    """Return whether one of the tests fails with this bug planted, a group of tests at a time."""
    environment = os.environ | {
        VARIABLE: planted,
        SECONDS: str(MOST_SECONDS),
        "OMP_NUM_THREADS": "1",
    }
    done, why = 0, {}
    for group in groups:
        if not group:
            continue
        command = [
            *(sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "--no-header"),
            *("-p", "tests.mutants.plugin", "-p", "no:cacheprovider", "-W", "ignore", *group),
        ]
        try:
            run = subprocess.run(
                command,
                cwd=ROOT,
                env=environment,
                timeout=20 * MOST_SECONDS,
                capture_output=True,
                text=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"state": "survived", "tried": done, "why": "it waits"}
        if run.returncode == -signal.SIGXCPU:
            why = {"why": "time used up"}
            continue
        if run.returncode != 0:
            last = [
                line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))
            ]
            seen = last[-1][:200] if last else (run.stdout + run.stderr)[-200:]
            return {"state": "seen", "by": seen}
        done += len(group)
    return {"state": "survived", "tried": done, **why}


def kept() -> dict[str, dict[str, Any]]:
    """Return the results so far, by key."""
    if not RESULTS.is_file():
        return {}
    lines = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    return {line["key"]: line for line in lines}


def run_all(rules: list[str], limit: float, jobs: int) -> None:
    """Try every mutant that has no result yet, for so many minutes; drop results of no mutant."""
    found = json.loads((WORK / "map.json").read_text())
    known, stop = kept(), time.monotonic() + 60 * limit
    every: list[Mutant | KernelMutant] = [*kernels.KERNEL_MUTANTS, *mutants(ROOT / "dpboost")]
    done = {
        mutant.key: known[mutant.key] | {"line": line_of(mutant)}
        for mutant in every
        if mutant.key in known
    }
    RESULTS.write_text("".join(json.dumps(result) + "\n" for result in done.values()))
    left = [
        mutant
        for mutant in every
        if mutant.key not in done and (not rules or mutant.key.partition("|")[0] in rules)
    ]

    def one(mutant: Mutant | KernelMutant) -> dict[str, Any] | None:
        if time.monotonic() > stop:
            return None
        if isinstance(mutant, KernelMutant):
            return tried_kernel(mutant)
        return tried(mutant, tests_of(mutant, found))

    with ThreadPoolExecutor(jobs) as pool:
        for result in pool.map(one, left):
            if result is None:
                break
            with RESULTS.open("a") as file:
                file.write(json.dumps(result) + "\n")
            print(f"{result['state']:>16}  {result['rule']}: {result['module']}:{result['line']}")


def line_of(mutant: Mutant | KernelMutant) -> int:
    """Return where a mutant is now."""
    return mutant.line if isinstance(mutant, Mutant) else kernels.line_of(mutant, ROOT)


def page_lines() -> Iterator[str]:
    """Yield the page of the results."""
    results = list(kept().values())
    reasons = json.loads(EXPLAINED.read_text()) if EXPLAINED.is_file() else {}
    states = Counter(result["state"] for result in results)
    yield (
        f"Written by `python -m tests.mutants page` from `python -m tests.mutants run`: of "
        f"{len(results)} planted bugs, tests see {states['seen']}; {states['survived']} survive "
        f"the tests that run their line ({FIRST_TESTS} quick ones, and {MOST_SECONDS} s of the "
        "others); "
        f"no test of the unit and audit tiers runs {states['no test runs it']}."
    )
    yield ""
    yield "| rule | planted | seen | survived | not run |"
    yield "| :-- | --: | --: | --: | --: |"
    for rule in sorted({result["rule"] for result in results}):
        own = Counter(result["state"] for result in results if result["rule"] == rule)
        yield (
            f"| {rule} | {sum(own.values())} | {own['seen']} | {own['survived']} | "
            f"{own['no test runs it']} |"
        )
    yield ""
    yield "## Bugs that no test saw"
    yield ""
    yield "| rule | place | source | why it does no harm |"
    yield "| :-- | :-- | :-- | :-- |"
    for result in results:
        if result["state"] != "seen":
            text = " ".join(result["text"].split())[:90].replace("|", "\\|")
            why = reasons.get(result["key"], "not explained yet")
            place = f"`{result['module'].removeprefix('dpboost.')}:{result['line']}`"
            yield f"| {result['rule']} | {place} | `{text}` | {why} |"
    yield ""


def main() -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("command", choices=("map", "run", "page"))
    parser.add_argument("files", nargs="*", help="test files of a map; all if none is given")
    parser.add_argument("--rule", action="append", default=[], help="only this rule")
    parser.add_argument("--minutes", type=float, default=240.0, help="stop after so many")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    given = parser.parse_args()
    if given.command == "map":
        write_map(given.files)
    elif given.command == "run":
        run_all(given.rule, given.minutes, given.jobs)
    else:
        PAGE.write_text(headed(PAGE.name, "\n".join(page_lines())))


if __name__ == "__main__":
    main()
