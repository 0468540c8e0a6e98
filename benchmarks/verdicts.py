"""Figures against what they are to reach, and methods against each other."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from benchmarks.experiments import Comparison, Experiment, Target
from benchmarks.metrics import METRICS, Metric
from benchmarks.problems import Problem
from benchmarks.rows import Row
from benchmarks.summary import Summary, summarise, table

YES = "yes"
_ALMOST = "within two standard errors"
NO = "**no**"


def verdict(advantage: Summary) -> str:
    """Return whether a mean advantage is one, or could be one by its standard error."""
    if advantage.mean >= 0:
        return YES
    if not math.isnan(advantage.standard_error) and (
        advantage.mean + 2 * advantage.standard_error >= 0
    ):
        return _ALMOST
    return NO


def target_lines(
    rows: Sequence[Row], experiment: Experiment, problems: Mapping[str, Problem]
) -> list[str]:
    """Return the section that holds every target that was run, in Markdown."""
    lines = []
    verdicts = []
    for target in experiment.targets:
        own = _rows_of(rows, target.problem, target.method, target.epsilon)
        if not own:
            continue
        metric = METRICS["multiclass" if target.of_classes else problems[target.problem].task]
        values = [
            row.accuracy if target.of_classes and row.accuracy is not None else row.value
            for row in own
        ]
        found = verdict(summarise([_advantage(value, target, metric) for value in values]))
        verdicts.append(found)
        lines.append(
            [
                target.problem,
                target.method,
                f"{target.epsilon:g}",
                metric.name,
                f"{summarise(values):4}",
                f"{target.value:g}",
                found,
            ]
        )
    if not lines:
        return []
    header = ["problem", "method", "epsilon", "measure", "mean", "target", "met"]
    n_met = sum(item != NO for item in verdicts)
    return [
        "## Targets",
        "",
        f"{n_met} of {len(verdicts)} targets are met, "
        f"{sum(item == _ALMOST for item in verdicts)} of them only within two standard errors.",
        "",
        *table(header, lines),
        "",
    ]


def _advantage(value: float, target: Target, metric: Metric) -> float:
    return value - target.value if metric.higher_is_better else target.value - value


def comparison_lines(
    rows: Sequence[Row],
    experiment: Experiment,
    comparison: Comparison,
    problems: Mapping[str, Problem],
) -> list[str]:
    """Return the section of one comparison, in Markdown."""
    lines = compared_rows(rows, experiment, comparison, problems)
    first = "method" if comparison.measure == "metric" else "seconds"
    n_held = sum(line[-1] == YES for line in lines)
    return [
        f"## {comparison.method} against {comparison.reference}",
        "",
        _question(comparison) + f" This holds in {n_held} of {len(lines)} rows.",
        "",
        *table(
            [
                "problem",
                "rows",
                "measure" if first == "method" else "median of",
                "epsilon",
                comparison.method,
                comparison.reference,
                "advantage" if first == "method" else "ratio",
                "holds",
            ],
            lines,
        ),
        "",
    ]


def compared_rows(
    rows: Sequence[Row],
    experiment: Experiment,
    comparison: Comparison,
    problems: Mapping[str, Problem],
) -> list[list[str]]:
    """Return a line for each problem and epsilon on which both methods run; the verdict is last."""
    names = {comparison.method, comparison.reference}
    epsilons: Sequence[float | None] = experiment.epsilons
    if not any(experiment.method(name).private for name in names):
        epsilons = [None]
    lines = []
    for name in experiment.problems:
        if names - {method.name for method in experiment.methods_on(name)}:
            continue
        for epsilon in epsilons:
            mine = [row for row in rows if row.cell.problem == name]
            lines.append(_compared(mine, comparison, problems[name], epsilon))
    return lines


def _question(comparison: Comparison) -> str:
    name, other = comparison.method, comparison.reference
    if comparison.measure == "seconds":
        return f"A fit of {name} is to take less time than one of {other}."
    if comparison.two_sided:
        return f"The mean difference is to be at most {comparison.margin:g}."
    allowance = f"no more than {comparison.margin:g} worse than" if comparison.margin else "as"
    if comparison.margin:
        return f"{name} is to be {allowance} {other}, on the mean of the splits."
    return f"{name} is to be as good as {other}, on the mean of the splits."


def _compared(
    rows: Sequence[Row], comparison: Comparison, problem: Problem, epsilon: float | None
) -> list[str]:
    """Return one line: both figures, the difference split by split, and the verdict."""
    metric = METRICS[problem.task]
    n_rows = f"{rows[0].n_train_rows + rows[0].n_test_rows:,}"
    pair = [
        [row for row in rows if row.cell.method == name and row.cell.epsilon in (epsilon, None)]
        for name in (comparison.method, comparison.reference)
    ]
    shown = "" if epsilon is None else f"{epsilon:g}"
    if comparison.measure == "seconds":
        seconds = [statistics.median(row.fit_seconds for row in found) for found in pair]
        ratio = seconds[0] / seconds[1]
        figures = [f"{seconds[0]:.3f} s", f"{seconds[1]:.3f} s", f"{ratio:.2f}"]
        what = f"{len(pair[0])} fits"
        return [problem.name, n_rows, what, shown, *figures, YES if ratio < 1 else NO]
    by_split = [{row.cell.split: row.value for row in found} for found in pair]
    sign = 1 if metric.higher_is_better else -1
    differences = [sign * (by_split[0][split] - by_split[1][split]) for split in by_split[0]]
    advantage = summarise(differences)
    if comparison.two_sided:
        found = YES if abs(advantage.mean) <= comparison.margin else NO
    else:
        found = verdict(summarise([value + comparison.margin for value in differences]))
    figures = [_figure([row.value for row in part]) for part in pair]
    return [problem.name, n_rows, metric.name, shown, *figures, _signed(advantage), found]


def _figure(values: Sequence[float]) -> str:
    return f"{summarise(values):4}"


def _signed(summary: Summary) -> str:
    return f"{summary:4}" if summary.mean < 0 else f"+{summary:4}"


def _rows_of(rows: Sequence[Row], problem: str, method: str, epsilon: float) -> list[Row]:
    wanted = (problem, method, epsilon)
    return [row for row in rows if (row.cell.problem, row.cell.method, row.cell.epsilon) == wanted]
