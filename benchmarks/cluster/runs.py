"""Runs on clusters of this machine: memory, messages and time of rounds."""

from __future__ import annotations

from functools import partial

from benchmarks.cluster.one import Run as Fit
from benchmarks.cluster.pages import memory_finding, memory_page, rows_page, speed_page
from benchmarks.cluster.plan import LARGE, SPEED, measure_apart, results_of, rows_of
from benchmarks.cluster.spark_runs import SPARK_RUN
from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, pick
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes

_MEMORY, _SPEED = "memory", "speed"


def _measure(part: str, fit: Fit) -> list[Result]:
    return results_of(part, measure_apart(fit))


def _plan(request: Request) -> Plan:
    """Return every fit as a unit; the short form leaves the one with many rows out."""
    fits = [*((_SPEED, fit) for fit in SPEED)]
    if not request.quick:
        fits.insert(0, (_MEMORY, LARGE))
    versions = dpboost_recipes.versions()
    units = [
        Unit(
            name=f"{part}, {fit}",
            settings=digest({"fit": str(fit), "versions": versions}),
            measure=partial(_measure, part, fit),
        )
        for part, fit in fits
    ]
    return Plan(units=units)


def _body(results: Results) -> list[str]:
    large, rows = (rows_of(pick(results.rows, part=part)) for part in (_MEMORY, _SPEED))
    lines = memory_page(large) if large else []
    if len(rows) == len(SPEED):
        lines += speed_page(rows)
        if large:
            lines += rows_page(rows, large[0])
    return lines


def _finding(results: Results) -> str:
    large = rows_of(pick(results.rows, part=_MEMORY))
    return memory_finding(large) if large else ""


CLUSTER_RUNS = (
    Run(
        name="dask",
        title="Memory, messages and time on a Dask cluster",
        group=Group.SPEED,
        description="Fits on a Dask cluster of this machine: memory of many rows, seconds and "
        "bytes of a round, and what they come to for a billion rows (extra `dpboost[dask]`).",
        plan=_plan,
        body=_body,
        finding=_finding,
        noise="Tables are generated from fixed seeds; the noise is fresh in each fit.",
        timed=True,
    ),
    SPARK_RUN,
)
