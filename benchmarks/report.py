"""Tables of an experiment, for people."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from benchmarks.experiments import Experiment, Method
from benchmarks.metrics import METRICS, Metric
from benchmarks.problems import Problem
from benchmarks.rows import Row
from benchmarks.summary import summarize, table
from benchmarks.verdicts import comparison_lines, target_lines

_NOT_BETTER = "°"


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


def body(
    rows: Sequence[Row],
    experiment: Experiment,
    problems: Mapping[str, Problem],
    others: Sequence[str] = (),
) -> list[str]:
    """Return the lines of the page of an experiment between description and notes.

    Parameters
    ----------
    rows : sequence of Row
        Every row of the experiment.
    experiment : Experiment
        What was run.
    problems : mapping of str to Problem
        Data sets by name.
    others : sequence of str
        Problems whose files were not, byte for byte, those of the publisher.
    """
    parts = target_lines(rows, experiment, problems)
    for comparison in experiment.comparisons:
        parts += comparison_lines(rows, experiment, comparison, problems)
    if not experiment.details:
        return [*parts, *_sources(experiment, problems, others)]
    for name in experiment.problems:
        mine = [row for row in rows if row.cell.problem == name]
        parts += section(problems[name], mine, experiment, published=name not in others)
    return parts


def _sources(
    experiment: Experiment, problems: Mapping[str, Problem], others: Sequence[str]
) -> list[str]:
    lines = ["## Data", "", "All figures are on held-out rows, a fifth of all.", ""]
    for name in experiment.problems:
        lines.append(f"* {name}: {problems[name].source}" + _origin(name not in others))
    return [*lines, ""]


def _origin(published: bool) -> str:
    return "" if published else "; **the files used are not those of the publisher**"


def section(
    problem: Problem, rows: Sequence[Row], experiment: Experiment, *, published: bool
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
    summary = summarize([row.value for row in rows if row.cell.epsilon == key])
    text = f"{summary:4}"
    if method.private and reference is not None and not metric.better(summary.mean, reference):
        text += f" {_NOT_BETTER}"
    return text
