"""The run ``spark``: seconds, bytes and memory of rounds in one barrier stage."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial

from benchmarks.cluster.spark_one import SparkMeasured, SparkRun
from benchmarks.errors import BenchmarkError
from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.summary import table

_MILLION = 1_000_000
#: A fit is to take at most so many times as long as the local one, and so many seconds more.
TIMES, SECONDS_MORE = 3.0, 20.0
ROUNDS = 800
#: What the page says of larger clusters, and of how many rows.
EXECUTORS = 100
MANY_ROWS = (10 * _MILLION, 100 * _MILLION, 1000 * _MILLION)

#: The comparison with one process, rows that are many, and what a round depends on.
LOCAL = SparkRun(method="local", rows=200_000, features=20, partitions=2, rounds=ROUNDS)
SAME = SparkRun(method="best", rows=200_000, features=20, partitions=2, rounds=ROUNDS)
LARGE = SparkRun(method="best", rows=10 * _MILLION, features=20, partitions=2, rounds=100)
FITS = (
    LOCAL,
    SAME,
    LARGE,
    SparkRun(method="best", rows=_MILLION, features=20, partitions=2, rounds=60),
    SparkRun(method="best", rows=20_000, features=20, partitions=1, rounds=200),
    SparkRun(method="best", rows=20_000, features=20, partitions=2, rounds=200),
    SparkRun(method="best", rows=20_000, features=20, partitions=8, rounds=200),
    SparkRun(method="best", rows=20_000, features=100, partitions=2, rounds=200),
    SparkRun(method="dpboost", rows=_MILLION, features=20, partitions=2, rounds=6),
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A run and what it took."""

    run: SparkRun
    measured: SparkMeasured


def _measure(run: SparkRun) -> list[Result]:
    command = [sys.executable, "-m", "benchmarks.cluster.spark_one", json.dumps(asdict(run))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        raise BenchmarkError(f"The run {run} has failed:\n{done.stderr[-2000:]}")
    settings = asdict(run)
    method = settings.pop("method")
    x = " ".join(f"{name}={value}" for name, value in settings.items())
    return [
        Result(part="spark", method=method, x=x, measure=name, value=float(value))
        for name, value in json.loads(lines[-1]).items()
    ]


def _plan(request: Request) -> Plan:
    """Return every fit as a unit; the short form leaves the one with many rows out."""
    versions = dpboost_recipes.versions()
    return Plan(
        units=[
            Unit(
                name=str(fit),
                settings=digest({"fit": str(fit), "versions": versions}),
                measure=partial(_measure, fit),
            )
            for fit in FITS
            if not (request.quick and fit == LARGE)
        ]
    )


def rows_of(results: Sequence[Result]) -> list[Row]:
    """Return the runs that results are of."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in results:
        found.setdefault((row.method, row.x), {})[row.measure] = row.value
    rows = []
    for (method, x), numbers in found.items():
        texts = dict(part.split("=", 1) for part in x.split(" "))
        run = SparkRun(method=method, **{name: int(value) for name, value in texts.items()})
        peak = int(numbers.pop("peak_bytes"))
        rows.append(Row(run=run, measured=SparkMeasured(**numbers, peak_bytes=peak)))
    return rows


def _body(results: Results) -> list[str]:
    rows = rows_of(results.rows)
    took = {row.run: row.measured for row in rows}
    lines = [
        "## Seconds, bytes and memory",
        "",
        "Fits in `local[n]` with n partitions, one thread each. Sent are the commands and "
        "queries of all tasks in a round, sums are their results. Memory is the largest sum of "
        "the resident sizes of driver, JVM and Python workers; the JVM takes up to 4 GB of it.",
        "",
        *table(
            [
                "method",
                "rows",
                "features",
                "partitions",
                "rounds",
                "fit (s)",
                "round (s)",
                "sent (bytes)",
                "sums (bytes)",
                "memory (MB)",
            ],
            [
                [
                    row.run.method,
                    f"{row.run.rows:,}",
                    str(row.run.features),
                    str(row.run.partitions),
                    str(row.run.rounds),
                    f"{row.measured.seconds:.1f}",
                    f"{row.measured.round_seconds:.4f}",
                    f"{row.measured.sent_bytes:,.0f}",
                    f"{row.measured.sum_bytes:,.0f}",
                    f"{row.measured.peak_bytes / 1e6:,.0f}",
                ]
                for row in rows
            ],
        ),
        "",
    ]
    if LOCAL in took and SAME in took:
        limit = TIMES * took[LOCAL].seconds + SECONDS_MORE
        own = took[SAME].seconds
        lines += [
            f"* {ROUNDS} rounds on 200,000 x 20: {own:.1f} s on Spark and "
            f"{took[LOCAL].seconds:.1f} s in one process. The limit, {TIMES:.0f} times the latter "
            f"plus {SECONDS_MORE:.0f} s, is {limit:.1f} s and "
            f"{'holds' if own <= limit else 'does not hold'}.",
            "",
        ]
    few = {row.run.partitions: row for row in rows if row.run.rows == 20_000}
    if {1, 8} <= set(few):
        one, eight = few[1].measured, few[8].measured
        per_task = (eight.round_seconds - one.round_seconds) / 7
        sent, sums = eight.sent_bytes / 8, eight.sum_bytes / 8
        lines += [
            f"## {EXECUTORS} executors, on paper",
            "",
            "The driver puts its question to one task after the other and adds up what comes back, "
            "so a round takes `few rows + driver * (tasks - 1) + row * rows / tasks` seconds and "
            f"`(sent + sums) * tasks` bytes. With {EXECUTORS} tasks, `few rows` = "
            f"{one.round_seconds * 1e3:.1f} ms and `driver` = {per_task * 1e3:.2f} ms from the "
            f"runs of 1 and 8 partitions above, a round of few rows would take "
            f"{one.round_seconds + per_task * (EXECUTORS - 1):.2f} s and "
            f"{(sent + sums) * EXECUTORS / 1e3:,.0f} kB. Eight tasks shared the cores of one "
            "machine, which counts against `driver`. Nothing of this was run on a cluster. "
            "[Dask's figures](dask.md) are of the same kinds of table.",
            "",
        ]
        if LARGE in took and 2 in few:
            fixed = one.round_seconds + per_task * (EXECUTORS - 1)
            lines += _many(took[LARGE], few[2].measured, fixed)
    return lines


def _many(large: SparkMeasured, small: SparkMeasured, fixed: float) -> list[str]:
    """Return what rounds and a fit of many rows would take, by what a row costs a task."""
    more = large.round_seconds - small.round_seconds
    row = more * LARGE.partitions / (LARGE.rows - 20_000)
    lines = [
        f"`row` = {row * 1e9:.1f} ns, from the two runs of 2 partitions with {LARGE.rows:,} and "
        f"20,000 rows. It is time on the clock: where other programs keep the machine busy (its "
        f"load is below), it is too large. With {EXECUTORS} tasks of one thread:",
        "",
    ]
    rounds = [fixed + row * n_rows / EXECUTORS for n_rows in MANY_ROWS]
    return lines + [
        *table(
            ["rows", "rows a task", "round (s)", f"{ROUNDS} rounds (s)"],
            [
                [f"{n_rows:,}", f"{n_rows // EXECUTORS:,}", f"{each:.2f}", f"{each * ROUNDS:,.0f}"]
                for n_rows, each in zip(MANY_ROWS, rounds, strict=True)
            ],
        ),
        "",
    ]


def _finding(results: Results) -> str:
    took = {row.run: row.measured for row in rows_of(results.rows)}
    if not {LOCAL, SAME} <= set(took):
        return ""
    return (
        f"{ROUNDS} rounds on 200,000 rows take {took[SAME].seconds:.1f} s on Spark and "
        f"{took[LOCAL].seconds:.1f} s in one process; a round costs "
        f"{took[SAME].round_seconds * 1e3:.0f} ms."
    )


SPARK_RUN = Run(
    name="spark",
    title="Memory, messages and time on Spark",
    group=Group.SPEED,
    description="Fits on Spark on this machine: seconds, bytes and memory of rounds in one barrier "
    "stage, beside a local fit (extra `dpboost[spark]`, and a Java runtime).",
    plan=_plan,
    body=_body,
    finding=_finding,
    noise="Tables are generated from fixed seeds; the noise is fresh in each fit.",
    timed=True,
)
