"""The page of ``run peers``: accuracy, time and memory of all, with the marks of the audit."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence

from benchmarks.experiments import Comparison, Experiment, Method
from benchmarks.guarantees.readings import READINGS
from benchmarks.problems import Problem
from benchmarks.report import section
from benchmarks.rows import Row
from benchmarks.summary import summarize, table
from benchmarks.verdicts import NO, YES, compared_rows

_MARK = "*"
_IMPLEMENTED = (
    "S-BDT, PrivaTree and the boosted trees of Maddock et al. are [implemented from their "
    "papers](peer-papers.md) instead."
)
_OURS = ("best", "best, pure epsilon")


def marked(
    rows: Sequence[Row], experiment: Experiment, marks: Mapping[str, Sequence[str]]
) -> tuple[list[Row], Experiment]:
    """Return rows and experiment with a mark at the name of every method that ``marks`` holds."""

    def name(plain: str) -> str:
        return f"{plain}{_MARK}" if plain in marks else plain

    methods = tuple(
        dataclasses.replace(method, name=name(method.name)) for method in experiment.methods
    )
    omitted = {(problem, name(item)): why for (problem, item), why in experiment.omitted.items()}
    renamed = [
        dataclasses.replace(row, cell=dataclasses.replace(row.cell, method=name(row.cell.method)))
        for row in rows
    ]
    return renamed, dataclasses.replace(experiment, methods=methods, omitted=omitted)


def body(
    rows: Sequence[Row],
    experiment: Experiment,
    problems: Mapping[str, Problem],
    others: Sequence[str] = (),
    *,
    marks: Mapping[str, Sequence[str]],
    releases: Mapping[str, str],
) -> list[str]:
    """Return the lines of the page between description and notes.

    Parameters
    ----------
    rows, experiment, problems, others
        As for `benchmarks.report.body`; methods have their plain names.
    marks : mapping of str to sequence of str
        What the audit refuted, by name of the method.
    releases : mapping of str to str
        What the package index said of each package that is not measured.
    """
    counts = _counts(rows, experiment, problems)
    rows, experiment = marked(rows, experiment, marks)
    parts = [*promises(marks), *counts, *_absent(releases)]
    for name in experiment.problems:
        mine = [row for row in rows if row.cell.problem == name]
        parts += section(problems[name], mine, experiment, published=name not in others)
        parts += _accuracy(mine, experiment)
    parts += _cost(rows, experiment, "Seconds of a fit, median", "fit_seconds", ".3f")
    parts += _cost(rows, experiment, "Megabytes that a fit takes, largest", "peak_mb", ".0f")
    return [
        *parts,
        "Memory: how far the resident size of a process of its own rose during `fit` above what "
        "it was with the data read; the largest of all splits and epsilons.",
    ]


def promises(marks: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what the audit says of the methods with a mark."""
    lines = [
        "## Promises",
        "",
        "[The audit](peers-audit.md) fits each library again and again on tables that differ in "
        f"one row. {_MARK}: it has shown more than was promised, so its figures are what it gives "
        "without the promise.",
        "",
    ]
    if not marks:
        return [*lines[:2], "No audit is recorded: `python -m benchmarks run peers-audit`.", ""]
    found = [f"* {item}" for reasons in marks.values() for item in reasons]
    return [*lines, *found, ""]


def _absent(releases: Mapping[str, str]) -> list[str]:
    names = {reading.package: reading.library for reading in READINGS}
    lines = [
        f"* Not measured: {names[package]}: {said}" for package, said in sorted(releases.items())
    ]
    if not lines:
        return []
    return [*lines, "", _IMPLEMENTED, ""]


def _counts(
    rows: Sequence[Row], experiment: Experiment, problems: Mapping[str, Problem]
) -> list[str]:
    """Return in how many tables and budgets ``best`` is ahead of each other private method."""
    names = [method.name for method in experiment.methods]
    lines = []
    for ours in (name for name in _OURS if name in names):
        for method in experiment.methods:
            if not method.private or method.name in _OURS:
                continue
            comparison = Comparison(method=ours, reference=method.name)
            lines.append([f"{ours} against {method.name}"])
            lines[-1] += _verdicts(compared_rows(rows, experiment, comparison, problems))
    header = ["", "tables x epsilons", "at least as good"]
    header += ["worse, within two standard errors", "worse"]
    return ["## In short", "", *table(header, lines), ""] if lines else []


def _verdicts(lines: Sequence[Sequence[str]]) -> list[str]:
    found = [line[-1] for line in lines]
    ahead, behind = found.count(YES), found.count(NO)
    return [str(count) for count in (len(found), ahead, len(found) - ahead - behind, behind)]


def _accuracy(rows: Sequence[Row], experiment: Experiment) -> list[str]:
    lines = []
    for method in experiment.methods:
        mine = [row for row in rows if row.cell.method == method.name and row.accuracy is not None]
        if mine:
            lines.append([method.name, *_accuracies(mine, method, experiment)])
    if not lines:
        return []
    header = ["accuracy", *(f"epsilon {epsilon:g}" for epsilon in experiment.epsilons)]
    return [*table(header, lines), ""]


def _accuracies(rows: Sequence[Row], method: Method, experiment: Experiment) -> list[str]:
    found = []
    for epsilon in experiment.epsilons:
        key = epsilon if method.private else None
        values = [row.accuracy for row in rows if row.cell.epsilon == key]
        found.append(f"{summarize([value for value in values if value is not None]):4}")
    return found


def _cost(
    rows: Sequence[Row], experiment: Experiment, title: str, what: str, digits: str
) -> list[str]:
    take = max if what == "peak_mb" else statistics.median
    lines = []
    for problem in experiment.problems:
        figures = []
        for method in experiment.methods:
            values = [
                getattr(row, what)
                for row in rows
                if (row.cell.problem, row.cell.method) == (problem, method.name)
                and getattr(row, what) is not None
            ]
            figures.append(format(take(values), digits) if values else "")
        lines.append([problem, *figures])
    header = ["problem", *(method.name for method in experiment.methods)]
    return [f"## {title}", "", *table(header, lines), ""]
