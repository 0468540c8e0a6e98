"""The tables and figures of the LPDT paper as runs."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

from benchmarks.errors import DataFileError
from benchmarks.files import locate
from benchmarks.harness.claims import Verdict, finding, sections
from benchmarks.harness.claims import judged as judge_all
from benchmarks.harness.groups import Group
from benchmarks.harness.page import SEPARATOR
from benchmarks.harness.results import Result, Results
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.harness.style import draw
from benchmarks.libraries import dpboost_recipes
from benchmarks.reproductions.lpdt import figure1, figure2, figure4, speed, table2, table3
from benchmarks.reproductions.lpdt.problems import LOCAL_PROBLEMS
from dpboost.local.registry import MECHANISMS

_NOISE = (
    "Divisions of the rows have fixed seeds. The noise of the reports is fresh entropy of the "
    "operating system, as in use: a second run gives other figures."
)
_TUNING_DIVISIONS = 3

Arguments = tuple[Any, ...]


def _by_repeat(repeats: int) -> Iterator[Arguments]:
    yield from ((repeat,) for repeat in range(repeats))


def _missing() -> list[str]:
    """Return the tables whose files are not at hand."""
    found = []
    for name, problem in LOCAL_PROBLEMS.items():
        try:
            for file in problem.files:
                locate(file)
        except DataFileError:
            found.append(name)
    return found


def _by_table(repeats: int) -> Iterator[Arguments]:
    missing = _missing()
    for name in (name for name in LOCAL_PROBLEMS if name not in missing):
        yield from ((name, repeat, min(repeats, _TUNING_DIVISIONS)) for repeat in range(repeats))


def _by_mechanism(repeats: int) -> Iterator[Arguments]:
    yield from ((name, repeat) for repeat in range(repeats) for name in MECHANISMS)


@dataclass(frozen=True, kw_only=True)
class LocalPaper:
    """A table or figure.

    Attributes
    ----------
    name, title, description : str
    module : module
        With ``measure(*arguments)``, ``page(rows)``, perhaps ``panels(rows)``, and
        ``claims(rows)``, perhaps about ``derived(rows)`` besides, or ``finding(rows)``.
    repeats, quick_repeats : int
        In full and in the short form.
    arguments : callable
        From the number of repeats to the arguments of every unit.
    columns : int
        Panels beside each other.
    timed : bool
    group : Group
    """

    name: str
    title: str
    description: str
    module: ModuleType
    repeats: int
    quick_repeats: int
    arguments: Callable[[int], Iterator[Arguments]] = _by_repeat
    columns: int = 2
    timed: bool = False
    group: Group = Group.PAPERS

    def run(self) -> Run:
        """Return the run."""
        return Run(
            name=self.name,
            title=self.title,
            group=self.group,
            description=self.description,
            plan=self._plan,
            body=self._body,
            finding=lambda results: _finding(self.module, results.rows),
            draw=self._draw if hasattr(self.module, "panels") else None,
            noise=_NOISE,
            timed=self.timed,
        )

    def _plan(self, request: Request) -> Plan:
        repeats = request.repeats or (self.quick_repeats if request.quick else self.repeats)
        code = hashlib.sha256(inspect.getsource(self.module).encode()).hexdigest()[:12]
        stated = {"run": self.name, "code": code, "versions": dpboost_recipes.versions()}
        units = [
            Unit(
                name=", ".join(map(str, own)),
                settings=digest(stated),
                measure=partial(self.module.measure, *own),
            )
            for own in self.arguments(repeats)
        ]
        gone: list[str] = []
        if self.arguments is _by_table:
            gone = [f"{name}: its file is not at hand" for name in _missing()]
        return Plan(units=units, facts={"repeats": str(repeats), "not run": SEPARATOR.join(gone)})

    def _body(self, results: Results) -> list[str]:
        rows = results.rows
        lines = list(self.module.page(rows))
        if hasattr(self.module, "claims"):
            lines = [*sections(judged(self.module, rows)), *lines]
        return [f"{results.facts['repeats']} repeats.", "", *lines]

    def _draw(self, results: Results) -> bytes:
        return draw(self.module.panels(results.rows), columns=self.columns)


def _finding(module: ModuleType, rows: Sequence[Result]) -> str:
    if hasattr(module, "finding"):
        return str(module.finding(rows))
    return finding(judged(module, rows))


def judged(module: ModuleType, rows: Sequence[Result]) -> list[Verdict]:
    """Return the verdicts on the claims of a table or figure."""
    derived = module.derived(rows) if hasattr(module, "derived") else []
    return judge_all(module.claims(rows), [*rows, *derived])


PAPERS = (
    LocalPaper(
        name="lpdt-table2",
        title="LPDT paper, table 2: error on real tables with public rows like the private ones",
        description="Table 2 of the LPDT paper: public rows like the private ones.",
        module=table2,
        repeats=50,
        quick_repeats=3,
        arguments=_by_table,
    ),
    LocalPaper(
        name="lpdt-table3",
        title="LPDT paper, table 3: error with public rows unlike the private ones",
        description="Table 3 of the LPDT paper, on wine instead of taxi trips: red wines are "
        "public, white ones private.",
        module=table3,
        repeats=100,
        quick_repeats=3,
    ),
    LocalPaper(
        name="lpdt-figure1",
        title="LPDT paper, figure 1: error with and without public rows",
        description="Figure 1 of the LPDT paper: the same model with and without public rows.",
        module=figure1,
        repeats=50,
        quick_repeats=10,
    ),
    LocalPaper(
        name="lpdt-figure2",
        title="LPDT paper, figure 2: error against depth, leaf size and epsilon",
        description="Figure 2 of the LPDT paper: error against depth, leaf size and epsilon.",
        module=figure2,
        repeats=100,
        quick_repeats=2,
        columns=3,
    ),
    LocalPaper(
        name="lpdt-figure4",
        title="LPDT paper, figure 4: error against the share of public rows",
        description="Figure 4 of the LPDT paper, wine: error against the share of public rows of "
        "another distribution.",
        module=figure4,
        repeats=100,
        quick_repeats=2,
    ),
    LocalPaper(
        name="lpdt-speed",
        title="Time to encode and to add up a million local reports",
        description="A million reports, encoded and added up on one thread.",
        module=speed,
        repeats=3,
        quick_repeats=1,
        arguments=_by_mechanism,
        timed=True,
        group=Group.SPEED,
    ),
)
