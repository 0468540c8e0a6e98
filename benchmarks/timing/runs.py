"""The timed runs."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from benchmarks.harness.groups import Group
from benchmarks.harness.results import Results
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.harness.style import draw
from benchmarks.libraries import dpboost_recipes
from benchmarks.timing import busy, kernels, measure, scaling, speed

_NOISE = "Tables and public randomness have fixed seeds; the noise is fresh in each fit."


def _of_tasks(name: str, title: str, description: str, module: ModuleType) -> Run:
    """Return a run whose units are processes."""

    def figures(results: Results) -> Sequence[measure.Figure]:
        return measure.figures_of(results.rows)

    def plan(request: Request) -> Plan:
        tasks = module.tasks(quick=request.quick, repeats=request.repeats)
        return Plan(units=measure.units(tasks))

    drawn: dict[str, Any] = {}
    if hasattr(module, "panels"):
        drawn["draw"] = lambda results: draw(module.panels(figures(results)))
    return Run(
        name=name,
        title=title,
        group=Group.SPEED,
        description=description,
        plan=plan,
        body=lambda results: module.page(figures(results)),
        finding=lambda results: module.finding(figures(results)),
        noise=_NOISE,
        timed=True,
        **drawn,
    )


def _plan_kernels(request: Request) -> Plan:
    def measured() -> list[Any]:
        found = kernels.measure(quick=request.quick, repeats=request.repeats)
        return kernels.results_of(found)

    settings = digest({"quick": request.quick, "versions": dpboost_recipes.versions()})
    return Plan(units=[Unit(name="all kernels", settings=settings, measure=measured)])


TIMED_RUNS = (
    _of_tasks(
        "speed",
        "Time and memory of a fit against LightGBM",
        "Whole fits beside LightGBM's, from the raw table to the model: wall "
        "and CPU time, peak memory, one and two threads; prediction; import.",
        speed,
    ),
    _of_tasks(
        "scaling",
        "Time of a fit against rows, features, trees and threads",
        "Time of a fit against rows, features, trees and threads.",
        scaling,
    ),
    _of_tasks(
        "busy",
        "Time of a fit on a busy machine",
        "Default fits of Adult while other processes keep the processors busy, "
        "beside fits with one thread and LightGBM's.",
        busy,
    ),
    Run(
        name="kernels",
        title="Time and instructions of the compiled kernels",
        group=Group.SPEED,
        description="Time and instructions of the hot kernels by row, cell, candidate or "
        "value, beside what the memory of the machine allows.",
        plan=_plan_kernels,
        body=lambda results: kernels.page(kernels.figures_of(results.rows)),
        finding=lambda results: kernels.finding(kernels.figures_of(results.rows)),
        noise=_NOISE,
        timed=True,
    ),
)
