"""The runs that are measured, and their rows in a file."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields

from benchmarks.cluster.one import Measured, Run
from benchmarks.errors import BenchmarkError
from benchmarks.harness.results import Result

MILLION = 1_000_000

#: More rows than memory is given for them as floats.
LARGE = Run(
    method="best",
    rows=20 * MILLION,
    features=20,
    partition=MILLION // 2,
    workers=2,
    rounds=100,
    memory="1600MB",
)


def _run(method: str, rows: int, features: int, workers: int) -> Run:
    return Run(
        method=method,
        rows=rows,
        features=features,
        # Partitions of one size where memory is compared: those in hand are part of it.
        partition=min(rows // 8, MILLION // 16 if features == 100 else MILLION),
        workers=workers,
        rounds={"best": 60, "dpboost": 6, "lightgbm": 30}[method],
    )


#: Few rows show what a message costs, many what a row costs.
SPEED = (
    *(_run("best", rows, 20, 2) for rows in (20_000, 2 * MILLION, 8 * MILLION)),
    *(_run("best", rows, 20, 1) for rows in (20_000, 8 * MILLION)),
    *(_run("dpboost", 2 * MILLION, 20, workers) for workers in (1, 2)),
    *(_run("lightgbm", MILLION, 20, workers) for workers in (1, 2)),
    *(
        _run(method, rows, 100, 2)
        for method in ("best", "lightgbm")
        for rows in (20_000, MILLION // 2, MILLION)
    ),
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A run and what it took."""

    run: Run
    measured: Measured


def measure_apart(run: Run) -> Row:
    """Measure a run in a process of its own, so that runs share no memory.

    Raises
    ------
    BenchmarkError
        If it fails.
    """
    command = [sys.executable, "-m", "benchmarks.cluster.one", json.dumps(asdict(run))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        raise BenchmarkError(f"The run {run} has failed:\n{done.stderr[-2000:]}")
    return Row(run=run, measured=Measured(**json.loads(lines[-1])))


def results_of(part: str, row: Row) -> list[Result]:
    """Return a run and what it took as results, one for each number."""
    run = asdict(row.run)
    method = run.pop("method")
    settings = " ".join(f"{name}={value}" for name, value in run.items())
    return [
        Result(part=part, method=method, x=settings, measure=name, value=float(value))
        for name, value in asdict(row.measured).items()
    ]


def rows_of(results: Iterable[Result]) -> list[Row]:
    """Return the runs that results are of."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in results:
        found.setdefault((row.method, row.x), {})[row.measure] = row.value
    rows = []
    for (method, settings), numbers in found.items():
        texts = dict(part.split("=", 1) for part in settings.split(" "))
        run = Run(
            method=method,
            rows=int(texts["rows"]),
            features=int(texts["features"]),
            partition=int(texts["partition"]),
            workers=int(texts["workers"]),
            rounds=int(texts["rounds"]),
            memory=texts["memory"],
            persist=texts["persist"] == "True",
        )
        kinds = {field.name: field.type for field in fields(Measured)}
        whole = {
            name: int(value) if kinds[name] == "int" else value for name, value in numbers.items()
        }
        rows.append(Row(run=run, measured=Measured(**whole)))
    return rows


def find(rows: Sequence[Row], method: str, n_rows: int, features: int, workers: int) -> Measured:
    """Return what one of the runs took."""
    wanted = (method, n_rows, features, workers)
    for row in rows:
        own = row.run
        if (own.method, own.rows, own.features, own.workers) == wanted:
            return row.measured
    raise BenchmarkError(f"There is no run {wanted} among the rows.")
