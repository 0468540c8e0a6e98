"""Time and instructions of the hot kernels beside what the memory allows."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.errors import BenchmarkError
from benchmarks.harness.results import Result
from benchmarks.summary import table
from benchmarks.timing.kernel_cases import CASES, PLAIN, Case
from benchmarks.timing.measure import ROOT

_THREADS = (1, 2)
_REPEATS = 15
_GAIN = 1.5
_MEMORY = "memory"
_INSTRUCTIONS = "instructions"


@dataclass(frozen=True, kw_only=True)
class KernelFigure:
    """One figure of a kernel.

    Attributes
    ----------
    case : str
        Name of the case, or ``memory``.
    what : str
        ``nanoseconds`` of a unit, those of the plain build where there is a second one,
        ``instructions`` of a unit, or ``GB/s``.
    threads : int
    value : float
    """

    case: str
    what: str
    threads: int
    value: float


def measure(*, quick: bool, repeats: int | None) -> list[KernelFigure]:
    """Time all kernels in one process, and count their instructions in another."""
    number = repeats or (3 if quick else _REPEATS)
    task = {"task": "measure", "threads": _THREADS, "repeats": number}
    task["shrink"] = 20 if quick else 1
    found = [KernelFigure(**line) for line in json.loads(_child([sys.executable], task))]
    if not quick:
        found += _instructions()
    return found


def _child(start: Sequence[str], task: dict[str, Any]) -> str:
    """Run `benchmarks.timing.kernel_cases` and return the last line that it printed."""
    command = [*start, "-m", "benchmarks.timing.kernel_cases", json.dumps(task)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode:
        raise BenchmarkError(" | ".join(done.stderr.strip().splitlines()[-3:]))
    return done.stdout.strip().splitlines()[-1]


def _instructions() -> list[KernelFigure]:
    """Count the instructions of a unit with callgrind, where it is installed."""
    if not (shutil.which("valgrind") and shutil.which("callgrind_annotate")):
        return []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind"
        start = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", sys.executable]
        try:
            units = json.loads(_child(start, {"task": "count"}))
        except BenchmarkError:
            return []
        report = subprocess.run(
            ["callgrind_annotate", "--inclusive=yes", "--threshold=100", str(out)],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
    found = []
    for case in CASES:
        total = _inclusive(report, case) if case.counted else 0
        if total:
            value = total / units[case.name]
            found.append(KernelFigure(case=case.name, what=_INSTRUCTIONS, threads=1, value=value))
    return found


def _inclusive(report: str, case: Case) -> int:
    """Return the instructions of a function of a kernel and of all that it calls."""
    function = case.function.replace(".", r"_\d+")
    name = rf"_kernels_{len(case.kernel)}{case.kernel}_\d+{function}\b"
    lines = [line for line in report.splitlines() if re.search(name, line)]
    counts = [re.match(r"\s*([\d,]+)", line) for line in lines]
    return max((int(found[1].replace(",", "")) for found in counts if found), default=0)


def results_of(figures: Sequence[KernelFigure]) -> list[Result]:
    """Return figures as results."""
    return [
        Result(
            data=figure.case,
            x=f"{figure.threads} threads",
            measure=figure.what,
            value=figure.value,
        )
        for figure in figures
    ]


def figures_of(results: Sequence[Result]) -> list[KernelFigure]:
    """Return the figures that results are of."""
    return [
        KernelFigure(
            case=row.data, what=row.measure, threads=int(row.x.split()[0]), value=row.value
        )
        for row in results
    ]


def finding(figures: Sequence[KernelFigure]) -> str:
    """Return what a second thread gains."""
    values = {(figure.case, figure.what, figure.threads): figure.value for figure in figures}
    gains = [
        values[case.name, "nanoseconds", 1] / values[case.name, "nanoseconds", 2]
        for case in CASES
        if (case.name, "nanoseconds", 1) in values
    ]
    parallel = sum(gain > _GAIN for gain in gains)
    return (
        f"Two threads make {parallel} of {len(gains)} kernels more than {_GAIN:g} times as fast as "
        f"one thread, and the best of them {max(gains):.2f} times."
    )


def page(figures: Sequence[KernelFigure]) -> list[str]:
    """Return the table of kernels and the speed of the memory."""
    values = {(figure.case, figure.what, figure.threads): figure.value for figure in figures}
    speed = {number: values[_MEMORY, "GB/s", number] for number in _THREADS}
    lines = []
    for case in CASES:
        if (case.name, "nanoseconds", 1) not in values:
            continue  # of a later version than the results
        times = [values[case.name, "nanoseconds", number] for number in _THREADS]
        plain = values.get((case.name, PLAIN, 1))
        instructions = values.get((case.name, _INSTRUCTIONS, 1))
        lines.append(
            [
                f"{case.name} (`{case.kernel}.{case.function}`)",
                case.unit,
                *(f"{time:.2f}" for time in times),
                f"{times[0] / times[1]:.2f}",
                "" if plain is None else f"{plain:.2f}",
                f"{case.n_bytes / speed[1]:.2f}",
                "" if instructions is None else f"{instructions:.1f}",
            ]
        )
    header = ["kernel", "unit", "1 thread (ns)", "2 threads (ns)", "gain", "plain (ns)"]
    header += ["memory (ns)", "instructions"]
    note = (
        f"The best of several runs. Memory is what a unit's bytes would take at the speed at which "
        f"one thread reads here, {speed[1]:.1f} GB/s (two: {speed[2]:.1f} GB/s); inputs that stay "
        "in a cache can be faster. Instructions are callgrind's, one thread, everything included. "
        "Plain is the build for every x86-64 processor with one thread, where a second one for "
        "those with AVX2 gains a tenth or more. The exponential mechanism and the noise are "
        "sequential on purpose: one stream of bits."
    )
    return [note, "", *table(header, lines)]
