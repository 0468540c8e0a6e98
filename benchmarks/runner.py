"""Runs an experiment: every fit it lists, each once, resuming what is already measured."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from benchmarks.alone import fit_alone
from benchmarks.errors import PeerUnavailableError
from benchmarks.experiments import Experiment, Method
from benchmarks.libraries import Library, load_library
from benchmarks.metrics import METRICS, accuracy, measure
from benchmarks.problems import PROBLEMS, Problem
from benchmarks.problems.problem import Table, take
from benchmarks.rows import Cell, PartialRows, Row

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
    progress : bool
        Whether a bar is shown.
    """

    problems: Mapping[str, Problem] = dataclasses.field(default_factory=lambda: PROBLEMS)
    load_library: Callable[[str], Library] = load_library
    n_jobs: int = 1
    progress: bool = True


def quick(experiment: Experiment) -> Experiment:
    """Return the experiment on its first split alone, under a name of its own."""
    return dataclasses.replace(
        experiment,
        name=f"{experiment.name}-quick",
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
        for epsilon in (experiment.epsilons if method.private else (None,))
    }


def run(experiment: Experiment, partial_path: Path, bench: Bench) -> list[Row]:
    """Measure every fit of ``experiment`` that ``partial_path`` does not hold yet.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    partial_path : Path
        File of the rows measured so far. A row counts only when its settings digest is the same:
        method, settings, threads, data files, declarations, split protocol, and the versions that
        the library states.
    bench : Bench
        What to run it on.

    Returns
    -------
    list of Row
        One a fit, in the order of `cells`.

    Raises
    ------
    BenchmarkError
        If a data set or a library is not available.
    RuntimeError
        If a fit fails; the rows before it stay on disk.
    """
    plan = cells(experiment)
    libraries = {name: bench.load_library(name) for name in _library_names(experiment)}
    data = {name: bench.problems[name].local_digests() for name in experiment.problems}
    wanted = {
        cell: _digest(bench, method, libraries[method.library], cell.problem, data[cell.problem])
        for cell, method in plan.items()
    }
    partial = PartialRows(partial_path, wanted)
    if partial.n_dropped:
        tqdm.write(f"{partial.n_dropped} rows of other settings or versions are not taken over.")
    with tqdm(total=len(plan), initial=len(partial.rows), disable=not bench.progress) as bar:
        for problem in experiment.problems:
            todo = [item for item in plan if item.problem == problem and item not in partial.rows]
            if not todo:
                continue
            X, y = bench.problems[problem].load()
            for cell in todo:
                bar.set_description(f"{problem} {cell.method}")
                library = libraries[plan[cell].library]
                partial.add(_measured(bench, experiment, library, cell, X, y, wanted[cell]))
                bar.update()
    return [partial.rows[cell] for cell in plan]


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
    text = json.dumps(settings, sort_keys=True, allow_nan=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


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
    settings: str,
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
        settings=settings,
        accuracy=accuracy(problem.task, y[test], result.prediction),
        peak_mb=result.peak_mb if experiment.alone else None,
    )


def _check_budget(epsilon: float | None, spent: float | None) -> None:
    # A figure under a budget that it does not keep would be worse than none.
    if epsilon is None:
        return
    if spent is None or not spent <= epsilon:
        raise ValueError(f"The fit states that it has spent epsilon {spent}.")
