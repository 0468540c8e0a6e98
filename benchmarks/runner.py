"""Experiments as runs: every fit that one lists is a unit, and its page is made of their rows."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks import figure, peer_page, report, verdicts
from benchmarks.alone import fit_alone
from benchmarks.errors import BenchmarkError, DataFileError, PeerUnavailableError
from benchmarks.experiments import Experiment, Method
from benchmarks.guarantees.marks import marks
from benchmarks.guarantees.readings import releases
from benchmarks.harness.page import SEPARATOR
from benchmarks.harness.results import Result, Results
from benchmarks.harness.run import RESULTS, Plan, Request, Run, Unit, digest
from benchmarks.libraries import Library, load_library
from benchmarks.metrics import METRICS, accuracy, measure
from benchmarks.problems import PROBLEMS, Problem
from benchmarks.problems.problem import Table, take
from benchmarks.rows import Cell, Row, rows_of

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What an experiment runs on.

    Attributes
    ----------
    problems : mapping of str to Problem
        Data sets by name.
    load_library : callable
        From the name of a library to its module.
    n_jobs : int
        Threads of a fit.
    """

    problems: Mapping[str, Problem] = dataclasses.field(default_factory=lambda: PROBLEMS)
    load_library: Callable[[str], Library] = load_library
    n_jobs: int = 1


def quick(experiment: Experiment) -> Experiment:
    """Return the experiment on its first split alone, and where it is large on smaller tables."""
    return dataclasses.replace(
        experiment,
        splits=experiment.splits[:1],
        problems=experiment.quick_problems or experiment.problems,
        epsilons=experiment.quick_epsilons or experiment.epsilons,
    )


def without_missing_peers(
    experiment: Experiment, bench: Bench
) -> tuple[Experiment, dict[str, str]]:
    """Leave out the methods whose library cannot be installed here.

    Returns
    -------
    experiment : Experiment
        With the other methods, and the comparisons and targets among them.
    missing : dict of str to str
        Why each library left out is missing.
    """
    missing = {}
    for name in _library_names(experiment):
        try:
            bench.load_library(name)
        except PeerUnavailableError as error:
            missing[name] = str(error)
    methods = tuple(method for method in experiment.methods if method.library not in missing)
    names = {method.name for method in methods}
    left = dataclasses.replace(
        experiment,
        methods=methods,
        targets=tuple(item for item in experiment.targets if item.method in names),
        comparisons=tuple(
            item for item in experiment.comparisons if {item.method, item.reference} <= names
        ),
    )
    return left, missing


def cells(experiment: Experiment) -> dict[Cell, Method]:
    """Return the fits of an experiment in the order in which they run."""
    return {
        Cell(problem=problem, method=method.name, epsilon=epsilon, split=split): method
        for problem in experiment.problems
        for split in experiment.splits
        for method in experiment.methods_on(problem)
        if split in experiment.splits[: method.n_splits.get(problem)]
        for epsilon in (experiment.epsilons if method.private else (None,))
    }


def as_run(experiment: Experiment, bench: Bench | None = None) -> Run:
    """Return the run of an experiment."""
    bench = bench or Bench()
    return Run(
        name=experiment.name,
        title=experiment.title,
        group=experiment.group,
        description=experiment.description,
        plan=lambda request: _plan(experiment, bench, request),
        body=lambda results: _body(experiment, bench, results),
        finding=lambda results: _finding(experiment, bench, results),
        draw=(lambda results: _draw(experiment, bench, results)) if experiment.figure else None,
        timed=True,
    )


def _plan(experiment: Experiment, bench: Bench, request: Request) -> Plan:
    """Return every fit as a unit.

    Its settings are method, threads, data files, declarations, the protocol of the splits, and the
    versions that the library states.
    """
    bench = dataclasses.replace(bench, n_jobs=request.n_jobs)
    experiment = quick(experiment) if request.quick else experiment
    if request.repeats is not None:
        experiment = dataclasses.replace(experiment, splits=experiment.splits[: request.repeats])
    experiment, missing = without_missing_peers(experiment, bench)
    libraries = {name: bench.load_library(name) for name in _library_names(experiment)}
    data, gone = {}, {}
    for name in experiment.problems:
        try:
            data[name] = bench.problems[name].local_digests()
        except DataFileError as error:
            gone[name] = str(error)
    if not data:
        raise BenchmarkError(" ".join(gone.values()))
    experiment = dataclasses.replace(experiment, problems=tuple(data))
    load = functools.lru_cache(maxsize=1)(lambda name: bench.problems[name].load())

    def measure(cell: Cell, method: Method) -> list[Result]:
        X, y = load(cell.problem)
        return _measured(bench, experiment, libraries[method.library], cell, X, y).results()

    units = [
        Unit(
            name=cell.name,
            settings=_digest(
                bench, method, libraries[method.library], cell.problem, data[cell.problem]
            ),
            measure=functools.partial(measure, cell, method),
        )
        for cell, method in cells(experiment).items()
    ]
    others = [name for name in data if not bench.problems[name].is_published(data[name])]
    names = {method.name for method in experiment.methods}
    omitted = [
        f"{method} on {problem}: {reason}"
        for (problem, method), reason in experiment.omitted.items()
        if problem in experiment.problems and method in names
    ]
    # Where files were looked for is a matter of this machine.
    absent = [f"{name}: its file is not at hand" for name in gone]
    facts = {
        "not run": SEPARATOR.join([*missing.values(), *absent, *omitted]),
        "other files": ", ".join(others),
    }
    if experiment.alone:
        facts["marks"] = json.dumps(marks(RESULTS))
        facts["releases"] = json.dumps(releases())
    return Plan(units=units, facts=facts)


def _body(experiment: Experiment, bench: Bench, results: Results) -> list[str]:
    rows = rows_of(results.rows)
    experiment = measured_part(experiment, rows)
    others = results.facts.get("other files", "").split(", ")
    if not experiment.alone:
        return report.body(rows, experiment, bench.problems, others)
    found, said = (json.loads(results.facts.get(name, "{}")) for name in ("marks", "releases"))
    return peer_page.body(rows, experiment, bench.problems, others, marks=found, releases=said)


def _finding(experiment: Experiment, bench: Bench, results: Results) -> str:
    rows = rows_of(results.rows)
    return verdicts.finding(rows, measured_part(experiment, rows), bench.problems)


def _draw(experiment: Experiment, bench: Bench, results: Results) -> bytes:
    rows = rows_of(results.rows)
    experiment = measured_part(experiment, rows)
    if experiment.alone:
        found = json.loads(results.facts.get("marks", "{}"))
        rows, experiment = peer_page.marked(rows, experiment, found)
    return figure.draw(rows, experiment, bench.problems)


def measured_part(experiment: Experiment, rows: Sequence[Row]) -> Experiment:
    """Return the part of an experiment that rows are of: a short form, or without a library."""
    names = {row.cell.method for row in rows}
    problems = {row.cell.problem for row in rows}
    epsilons = {row.cell.epsilon for row in rows}
    return dataclasses.replace(
        experiment,
        problems=tuple(name for name in experiment.problems if name in problems),
        methods=tuple(method for method in experiment.methods if method.name in names),
        epsilons=tuple(epsilon for epsilon in experiment.epsilons if epsilon in epsilons),
        splits=tuple(sorted({row.cell.split for row in rows})),
        targets=tuple(item for item in experiment.targets if item.method in names),
        comparisons=tuple(
            item for item in experiment.comparisons if {item.method, item.reference} <= names
        ),
    )


def _library_names(experiment: Experiment) -> list[str]:
    return sorted({method.library for method in experiment.methods})


def _digest(
    bench: Bench, method: Method, library: Library, problem: str, data: Mapping[str, str]
) -> str:
    settings = {
        "problem": problem,
        "data": dict(data),
        "dictionary": _plain(bench.problems[problem].dictionary),
        "split": _plain(bench.problems[problem].split),
        "method": method.name,
        "library": method.library,
        "settings": dict(method.settings),
        "n_jobs": bench.n_jobs,
        "versions": dict(library.versions()),
    }
    return digest(settings)


def _plain(declared: Any) -> dict[str, Any]:
    # dataclasses.asdict would copy every one of thousands of intervals.
    fields = {item.name: getattr(declared, item.name) for item in dataclasses.fields(declared)}
    return {
        name: dict(value) if isinstance(value, Mapping) else value for name, value in fields.items()
    }


def _measured(
    bench: Bench,
    experiment: Experiment,
    library: Library,
    cell: Cell,
    X: Table,
    y: np.ndarray,
) -> Row:
    problem, method = bench.problems[cell.problem], experiment.method(cell.method)
    train, test = problem.split.indices(y, cell.split)
    fit = library.fit_predict
    # A library with an environment of its own gives each fit a process of its own there.
    if experiment.alone and not hasattr(library, "prepare"):
        fit = functools.partial(fit_alone, method.library)
    try:
        result = fit(
            problem,
            take(X, train),
            y[train],
            take(X, test),
            epsilon=cell.epsilon,
            seed=cell.split,
            n_jobs=bench.n_jobs,
            **method.settings,
        )
        _check_budget(cell.epsilon, result.epsilon_spent)
        value = measure(problem.task, y[test], result.prediction)
    except Exception as error:
        raise RuntimeError(
            f"{method.name} failed on {cell.problem} at epsilon {cell.epsilon}, split "
            f"{cell.split}. The rows before it are kept: the same command goes on from here."
        ) from error
    return Row(
        cell=cell,
        metric=METRICS[problem.task].name,
        value=value,
        fit_seconds=result.fit_seconds,
        n_trees=result.n_trees,
        epsilon_spent=result.epsilon_spent,
        n_train_rows=len(train),
        n_test_rows=len(test),
        accuracy=accuracy(problem.task, y[test], result.prediction),
        peak_mb=result.peak_mb if experiment.alone else None,
    )


def _check_budget(epsilon: float | None, spent: float | None) -> None:
    # A figure under a budget that it does not keep would be worse than none.
    if epsilon is None:
        return
    if spent is None or not spent <= epsilon:
        raise ValueError(f"The fit states that it has spent epsilon {spent}.")
