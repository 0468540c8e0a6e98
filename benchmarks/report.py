"""Tables of measured rows, for people: Markdown with all that is needed to make them again."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Mapping, Sequence

from benchmarks.experiments import Experiment, Method
from benchmarks.metrics import METRICS, Metric
from benchmarks.problems import Problem
from benchmarks.rows import Row
from benchmarks.summary import summarise, table
from benchmarks.verdicts import comparison_lines, target_lines
from benchmarks.versions import versions

_NOT_BETTER = "°"
_NOISE = (
    "Splits and public randomness have fixed seeds. The noise of the private methods is fresh "
    "entropy of the operating system in each fit, as in use: a second run gives other figures, "
    "off by about as much as the standard errors say."
)


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
    lines = []
    for method in experiment.methods:
        mine = [row for row in rows if row.cell.method == method.name]
        if not mine:
            continue
        figures = [_figure(mine, method, epsilon, metric, reference) for epsilon in epsilons]
        trees = sorted({row.n_trees for row in mine})
        counts = f"{trees[0]}" if len(trees) == 1 else f"{trees[0]} to {trees[-1]}"
        seconds = statistics.median(row.fit_seconds for row in mine)
        lines.append([method.name, *figures, counts, f"{seconds:.3f}"])
    header = ["method", *(f"epsilon {epsilon:g}" for epsilon in epsilons), "trees", "fit (s)"]
    return table(header, lines)


def markdown(
    rows: Sequence[Row],
    experiment: Experiment,
    problems: Mapping[str, Problem],
    *,
    n_jobs: int,
    published: Mapping[str, bool],
    missing: Mapping[str, str] | None = None,
    notes: str = "",
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
    missing : mapping of str to str, optional
        Why a library was left out.
    notes : str
        What is kept beside the figures and put before the last section.
    """
    parts = [f"# {experiment.name}", "", experiment.description, ""]
    if experiment.figure:
        parts += [f"![accuracy against epsilon]({experiment.name}.png)", ""]
    parts += target_lines(rows, experiment, problems)
    for comparison in experiment.comparisons:
        parts += comparison_lines(rows, experiment, comparison, problems)
    parts += gaps(experiment, missing or {})
    if experiment.details:
        for name in experiment.problems:
            mine = [row for row in rows if row.cell.problem == name]
            parts += section(problems[name], mine, experiment, published[name])
    else:
        parts += _sources(experiment, problems, published)
    if notes:
        parts += [notes.strip(), ""]
    parts += how(experiment, n_jobs)
    return "\n".join(parts) + "\n"


def how(experiment: Experiment, n_jobs: int) -> list[str]:
    """Return the section that says how the figures were made."""
    stated = ", ".join(f"{package} {version}" for package, version in versions().items())
    return [
        "## How",
        "",
        f"* Command: `{command(experiment, n_jobs)}`",
        f"* Versions: {stated}",
        f"* Machine: {machine_class()}; {n_jobs} thread{'s' if n_jobs > 1 else ''} a fit",
        f"* Seeds: {_NOISE}",
        "* Fit seconds: median wall time of `fit` alone, over all splits and epsilons; load: "
        f"{machine_load()}",
    ]


def gaps(experiment: Experiment, missing: Mapping[str, str]) -> list[str]:
    """Return what was not run, and why."""
    names = {method.name for method in experiment.methods}
    lines = [f"* Not run: {reason}" for reason in missing.values()]
    lines += [
        f"* Not run: {method} on {problem}: {reason}."
        for (problem, method), reason in experiment.omitted.items()
        if problem in experiment.problems and method in names
    ]
    return [*lines, ""] if lines else []


def _sources(
    experiment: Experiment, problems: Mapping[str, Problem], published: Mapping[str, bool]
) -> list[str]:
    lines = ["## Data", "", "All figures are on held-out rows, a fifth of all.", ""]
    for name in experiment.problems:
        lines.append(f"* {name}: {problems[name].source}" + _origin(published[name]))
    return [*lines, ""]


def _origin(published: bool) -> str:
    return "" if published else "; **the files used are not those of the publisher**"


def section(
    problem: Problem, rows: Sequence[Row], experiment: Experiment, published: bool
) -> list[str]:
    """Return the section of one problem: its measure by method and epsilon."""
    metric = METRICS[problem.task]
    constant = [row.value for row in rows if row.cell.method == "constant"]
    reference = statistics.fmean(constant) if constant else None
    direction = "higher" if metric.higher_is_better else "lower"
    n_splits = len(experiment.splits)
    lines = problem_table(rows, experiment, metric, reference)
    notes = [
        f"{metric.name} on held-out rows ({direction} is better), mean"
        + (f" ± standard error of {n_splits} splits" if n_splits > 1 else " of one split")
        + f" with {rows[0].n_train_rows:,} training and {rows[0].n_test_rows:,} held-out rows."
        + (f" {_NOT_BETTER}: no better than the constant predictor." if constant else ""),
        f"Data: {problem.source}" + _origin(published),
    ]
    return [f"## {problem.name}", "", notes[0], "", *lines, "", notes[1], ""]


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
