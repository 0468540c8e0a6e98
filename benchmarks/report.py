"""Tables of measured rows, for people: Markdown with all that is needed to make them again."""

from __future__ import annotations

import math
import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.experiments import Experiment, Method
from benchmarks.metrics import METRICS, Metric
from benchmarks.problems import Problem
from benchmarks.rows import Row
from benchmarks.versions import versions

_NOT_BETTER = "°"
_NOISE = (
    "Splits and public randomness have fixed seeds. The noise of the private methods is fresh "
    "entropy of the operating system in each fit, as in use: a second run gives other figures, "
    "off by about as much as the standard errors say."
)


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Mean of several values, and what it may be off by.

    Attributes
    ----------
    mean : float
        Arithmetic mean.
    standard_error : float
        Sample standard deviation over the root of the number of values; NaN for one value.
    """

    mean: float
    standard_error: float

    def __format__(self, digits: str) -> str:
        """Return the mean and the standard error, both with that many decimals."""
        text = f"{self.mean:.{digits}f}"
        if math.isnan(self.standard_error):
            return text
        return f"{text} ± {self.standard_error:.{digits}f}"


def summarise(values: Sequence[float]) -> Summary:
    """Return mean and standard error of at least one value."""
    error = math.nan
    if len(values) > 1:
        error = statistics.stdev(values) / math.sqrt(len(values))
    return Summary(mean=statistics.fmean(values), standard_error=error)


def machine_class() -> str:
    """Return what kind of machine this is, and nothing that tells which."""
    return f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}"


def machine_load() -> str:
    """Return how busy the machine is, this run included: seconds of a busy machine say little."""
    if not hasattr(os, "getloadavg"):
        return "unknown"
    return f"{os.getloadavg()[0]:.1f} running threads on {os.cpu_count()} cores at the end"


def command(experiment: Experiment, n_jobs: int) -> str:
    """Return the command that makes the table again."""
    name = experiment.name.removesuffix("-quick")
    text = f"python -m benchmarks run {name}"
    if name != experiment.name:
        text += " --quick"
    return text if n_jobs == 1 else f"{text} --n-jobs {n_jobs}"


def problem_table(
    rows: Sequence[Row], experiment: Experiment, metric: Metric, reference: float | None
) -> list[str]:
    """Return the lines of the Markdown table of one problem.

    Parameters
    ----------
    rows : sequence of Row
        The rows of the problem.
    experiment : Experiment
        Gives the order of methods and epsilons.
    metric : Metric
        The measure of the problem.
    reference : float or None
        Mean of the constant predictor; a figure that is no better is marked.
    """
    epsilons = experiment.epsilons
    lines = [
        _line(["method", *(f"epsilon {epsilon:g}" for epsilon in epsilons), "trees", "fit (s)"]),
        _line([":--", *("--:" for _ in epsilons), "--:", "--:"]),
    ]
    for method in experiment.methods:
        mine = [row for row in rows if row.cell.method == method.name]
        figures = [_figure(mine, method, epsilon, metric, reference) for epsilon in epsilons]
        trees = sorted({row.n_trees for row in mine})
        counts = f"{trees[0]}" if len(trees) == 1 else f"{trees[0]} to {trees[-1]}"
        seconds = statistics.median(row.fit_seconds for row in mine)
        lines.append(_line([method.name, *figures, counts, f"{seconds:.3f}"]))
    return lines


def markdown(
    rows: Sequence[Row],
    experiment: Experiment,
    problems: Mapping[str, Problem],
    *,
    n_jobs: int,
    published: Mapping[str, bool],
) -> str:
    """Return the page of an experiment.

    Parameters
    ----------
    rows : sequence of Row
        Every row of the experiment.
    experiment : Experiment
        What was run.
    problems : mapping of str to Problem
        Data sets by name.
    n_jobs : int
        Threads of a fit.
    published : mapping of str to bool
        Whether the files of each problem were, byte for byte, those of the publisher.
    """
    parts = [f"# {experiment.name}", "", experiment.description, ""]
    for name in experiment.problems:
        problem = problems[name]
        mine = [row for row in rows if row.cell.problem == name]
        parts += _section(problem, mine, experiment, published[name])
    stated = ", ".join(f"{package} {version}" for package, version in versions().items())
    parts += [
        "## How",
        "",
        f"* Command: `{command(experiment, n_jobs)}`",
        f"* Versions: {stated}",
        f"* Machine: {machine_class()}; {n_jobs} thread{'s' if n_jobs > 1 else ''} a fit",
        f"* Seeds: {_NOISE}",
        "* Fit seconds: median wall time of `fit` alone, over all splits and epsilons; load: "
        f"{machine_load()}",
    ]
    return "\n".join(parts) + "\n"


def _section(
    problem: Problem, rows: Sequence[Row], experiment: Experiment, published: bool
) -> list[str]:
    metric = METRICS[problem.task]
    constant = [row.value for row in rows if row.cell.method == "constant"]
    reference = statistics.fmean(constant) if constant else None
    direction = "higher" if metric.higher_is_better else "lower"
    n_splits = len(experiment.splits)
    table = problem_table(rows, experiment, metric, reference)
    notes = [
        f"{metric.name} on held-out rows ({direction} is better), mean"
        + (f" ± standard error of {n_splits} splits" if n_splits > 1 else " of one split")
        + f" with {rows[0].n_train_rows:,} training and {rows[0].n_test_rows:,} held-out rows."
        + (f" {_NOT_BETTER}: no better than the constant predictor." if constant else ""),
        f"Data: {problem.source}"
        + ("" if published else "; **the files used are not those of the publisher**"),
    ]
    return [f"## {problem.name}", "", notes[0], "", *table, "", notes[1], ""]


def _figure(
    rows: Sequence[Row],
    method: Method,
    epsilon: float,
    metric: Metric,
    reference: float | None,
) -> str:
    key = epsilon if method.private else None
    summary = summarise([row.value for row in rows if row.cell.epsilon == key])
    text = f"{summary:4}"
    if method.private and reference is not None and not metric.better(summary.mean, reference):
        text += f" {_NOT_BETTER}"
    return text


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
