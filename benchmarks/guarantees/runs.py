"""The audit of the libraries that are measured, as a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

from benchmarks.guarantees.cases import CASES, Case
from benchmarks.guarantees.marks import NAME
from benchmarks.guarantees.page import body, finding
from benchmarks.guarantees.readings import releases
from benchmarks.guarantees.tester import audit, findings_of, results_of
from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes


def _measure(case: Case, n_runs: int) -> list[Result]:
    return results_of(audit(case, n_runs))


def plan(request: Request, cases: Sequence[Case] = CASES) -> Plan:
    """Return every case as a unit; few fits refute little, but show that all runs."""
    versions = dpboost_recipes.versions()
    units = []
    for case in cases:
        n_runs = case.quick_runs if request.quick else case.runs
        settings = digest({"runs": n_runs, "settings": str(case.settings), "versions": versions})
        units.append(
            Unit(name=case.name, settings=settings, measure=partial(_measure, case, n_runs))
        )
    return Plan(units=units, facts={"releases": json.dumps(releases())})


def _body(results: Results) -> list[str]:
    return body(findings_of(results), json.loads(results.facts.get("releases", "{}")))


AUDIT = Run(
    name=NAME,
    title="Audit of the privacy that tree libraries state",
    group=Group.PRIVACY,
    description="Each library is fitted again and again on two tables that differ in one row.",
    plan=plan,
    body=_body,
    finding=lambda results: finding(findings_of(results)),
    noise="The noise is that of each library in use: a second run gives other figures.",
)
