"""Plant bugs by rule and see which tests find them.

    python -m tests.mutants map           # which test runs which line, once; needs coverage
    python -m tests.mutants run           # plant and test, goes on where it was stopped
    python -m tests.mutants page          # write benchmarks/results/mutants.md

A mutant is planted when its module is imported. The tests that run its line are tried, the quick
ones first, until one fails or the time for one mutant is used up.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.mutants.durations import VARIABLE as DURATIONS
from tests.mutants.plugin import VARIABLE
from tests.mutants.rules import Mutant, mutants

ROOT = Path(__file__).resolve().parents[2]
#: What is kept between runs; not in the repository.
WORK = ROOT / "build" / "mutants"
RESULTS = Path(__file__).with_name("mutants.jsonl")
PAGE = ROOT / "benchmarks" / "results" / "mutants.md"
#: Why a survivor does no harm, by its key; read by a person.
EXPLAINED = Path(__file__).with_name("explained.json")
FOLDERS = ("tests/unit", "tests/audit")
LEFT_OUT = ("tests/unit/dask", "tests/unit/federated", "tests/unit/cli", "tests/unit/local")
MOST_SECONDS = 90.0
FIRST_TESTS = 12


def write_map() -> None:
    """Run the tests once under coverage, and keep which test runs which line."""
    import coverage

    WORK.mkdir(parents=True, exist_ok=True)
    settings = WORK / "coveragerc"
    settings.write_text(
        f"[run]\nsource = dpboost\ndynamic_context = test_function\ndata_file = {WORK}/coverage\n"
    )
    ignored = [f"--ignore={folder}" for folder in LEFT_OUT]
    command = [
        *(sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest"),
        *("-q", "-p", "tests.mutants.durations", "-p", "no:cacheprovider", "-n", "0"),
        *("-m", "(unit or audit) and not nightly", *FOLDERS, *ignored),
    ]
    seconds = WORK / "seconds.json"
    subprocess.run(command, cwd=ROOT, env=os.environ | {DURATIONS: str(seconds)}, check=False)
    durations = json.loads(seconds.read_text())
    by_function: dict[str, list[str]] = defaultdict(list)
    for test in durations:
        path, _, name = test.partition("::")
        by_function[f"{Path(path).stem}.{name.partition('[')[0]}"].append(test)
    data = coverage.CoverageData(basename=str(WORK / "coverage"))
    data.read()
    lines: dict[str, dict[str, list[str]]] = {}
    for path in data.measured_files():
        own: dict[str, list[str]] = {}
        for line, contexts in data.contexts_by_lineno(path).items():
            functions = {".".join(context.split(".")[-2:]) for context in contexts if context}
            own[str(line)] = sorted(functions & set(by_function))
        lines[str(Path(path).relative_to(ROOT))] = own
    shortest = {
        name: min(tests, key=lambda test: durations[test]) for name, tests in by_function.items()
    }
    found = {
        "lines": lines,
        "tests": {name: [test, durations[test]] for name, test in shortest.items()},
    }
    (WORK / "map.json").write_text(json.dumps(found))
    print(f"{len(durations)} tests, {len(lines)} files")


def tests_of(mutant: Mutant, found: dict[str, Any]) -> list[str]:
    """Return the tests that run the line of a mutant, the quick ones first."""
    path = mutant.module.replace(".", "/") + ".py"
    own = found["lines"].get(path, {})
    names: list[str] = []
    for line in (mutant.line, mutant.line + 1, mutant.line - 1):
        names += [name for name in own.get(str(line), ()) if name not in names]
    ranked = sorted(names, key=lambda name: found["tests"][name][1])
    return [found["tests"][name][0] for name in ranked]


def tried(mutant: Mutant, tests: list[str]) -> dict[str, Any]:
    """Return what the tests say of a mutant."""
    result = {
        "key": mutant.key,
        "rule": mutant.rule,
        "module": mutant.module,
        "line": mutant.line,
        "text": mutant.text,
        "tests": len(tests),
    }
    if not tests:
        return {**result, "state": "no test runs it"}
    own = f"{mutant.rule}|{mutant.module}|{mutant.number}"
    environment = os.environ | {VARIABLE: own, "OMP_NUM_THREADS": "1"}
    started, done = time.monotonic(), 0
    for group in (tests[:FIRST_TESTS], tests[FIRST_TESTS:]):
        left = MOST_SECONDS - (time.monotonic() - started)
        if not group or left <= 0:
            break
        command = [
            *(sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "--no-header"),
            *("-p", "tests.mutants.plugin", "-p", "no:cacheprovider", "-W", "ignore", *group),
        ]
        try:
            run = subprocess.run(
                command,
                cwd=ROOT,
                env=environment,
                timeout=left,
                capture_output=True,
                text=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {**result, "state": "survived", "tried": done, "why": "time used up"}
        if run.returncode != 0:
            last = [
                line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))
            ]
            seen = last[-1][:200] if last else (run.stdout + run.stderr)[-200:]
            return {**result, "state": "seen", "by": seen}
        done += len(group)
    return {**result, "state": "survived", "tried": done}


def kept() -> dict[str, dict[str, Any]]:
    """Return the results so far, by key."""
    if not RESULTS.is_file():
        return {}
    lines = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    return {line["key"]: line for line in lines}


def run_all(rules: list[str], limit: float) -> None:
    """Try every mutant that has no result yet, for so many minutes."""
    found = json.loads((WORK / "map.json").read_text())
    done, stop = kept(), time.monotonic() + 60 * limit
    for mutant in mutants(ROOT / "dpboost"):
        if mutant.key in done or (rules and mutant.rule not in rules):
            continue
        if time.monotonic() > stop:
            break
        result = tried(mutant, tests_of(mutant, found))
        with RESULTS.open("a") as file:
            file.write(json.dumps(result) + "\n")
        print(f"{result['state']:>16}  {mutant.rule}: {mutant.module}:{mutant.line}", flush=True)


def page_lines() -> Iterator[str]:
    """Yield the page of the results."""
    results = list(kept().values())
    reasons = json.loads(EXPLAINED.read_text()) if EXPLAINED.is_file() else {}
    states = Counter(result["state"] for result in results)
    yield "# Bugs planted by rule"
    yield ""
    yield (
        f"Written by `python -m tests.mutants page` from `python -m tests.mutants run`: of "
        f"{len(results)} planted bugs, tests see {states['seen']}; {states['survived']} survive "
        f"the tests that run their line (at most {MOST_SECONDS:.0f} s of them); no test of the "
        f"unit and audit tiers runs {states['no test runs it']}."
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
    parser.add_argument("--rule", action="append", default=[], help="only this rule")
    parser.add_argument("--minutes", type=float, default=240.0, help="stop after so many")
    given = parser.parse_args()
    if given.command == "map":
        write_map()
    elif given.command == "run":
        run_all(given.rule, given.minutes)
    else:
        PAGE.write_text("\n".join(page_lines()))


if __name__ == "__main__":
    main()
