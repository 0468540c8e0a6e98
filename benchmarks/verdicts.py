"""Figures against what they are to reach, and methods against each other."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.experiments import Comparison, Experiment, Target
from benchmarks.metrics import METRICS, Metric
from benchmarks.problems import Problem
from benchmarks.rows import Row
from benchmarks.summary import Summary, listed, span, summarize, table

YES = "yes"
_ALMOST = "within two standard errors"
NO = "**no**"
#: At which a sentence says what privacy costs.
_USUAL = 1.0


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
    lines = _targets(rows, experiment, problems)
    if not lines:
        return []
    verdicts = [line[-1] for line in lines]
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


def _targets(
    rows: Sequence[Row], experiment: Experiment, problems: Mapping[str, Problem]
) -> list[list[str]]:
    """Return a line for each target that was run; the verdict is last."""
    lines = []
    for target in experiment.targets:
        own = _rows_of(rows, target.problem, target.method, target.epsilon)
        if not own:
            continue
        metric = METRICS["multiclass" if target.of_classes else problems[target.problem].task]
        values = [
            row.accuracy if target.of_classes and row.accuracy is not None else row.value
            for row in own
        ]
        found = verdict(summarize([_advantage(value, target, metric) for value in values]))
        lines.append(
            [
                target.problem,
                target.method,
                f"{target.epsilon:g}",
                metric.name,
                f"{summarize(values):4}",
                f"{target.value:g}",
                found,
            ]
        )
    return lines


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


def finding(rows: Sequence[Row], experiment: Experiment, problems: Mapping[str, Problem]) -> str:
    """Return what an experiment has shown, in one sentence.

    That is what its comparisons say, or, where it has none, how its first private method compares
    with the other private ones, or else with what has no privacy; and how many targets are met.
    """
    asked = list(experiment.comparisons) or _comparisons(experiment)
    by_method: dict[str, list[tuple[Comparison, list[list[str]]]]] = {}
    for comparison in asked:
        lines = compared_rows(rows, experiment, comparison, problems)
        if lines:
            by_method.setdefault(comparison.method, []).append((comparison, lines))
    clauses = [
        f"{_called(method, experiment)} {listed(list(_said(found, experiment)))}"
        for method, found in by_method.items()
    ]
    if not experiment.comparisons:
        costs = list(_cost_of_privacy(rows, experiment, problems))
        # That it beats a constant is the least; how it compares with peers is not.
        only_constant = all(_is_constant(asked_of.reference, experiment) for asked_of in asked)
        clauses = [*costs, *clauses] if only_constant else [*clauses, *costs]
    verdicts = [line[-1] for line in _targets(rows, experiment, problems)]
    if verdicts:
        n_met = sum(item != NO for item in verdicts)
        clauses.append(f"{n_met} of {len(verdicts)} target figures are met")
    text = "; ".join(clauses)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _comparisons(experiment: Experiment) -> list[Comparison]:
    """Return the comparisons of the first private method where an experiment names none."""
    private = [method.name for method in experiment.methods if method.private]
    if not private:
        return []
    first = private[0]
    peers = [name for name in private if not name.startswith(first)]
    others = [m.name for m in experiment.methods if _is_constant(m.name, experiment)]
    return [Comparison(method=first, reference=name) for name in peers or others]


def _cost_of_privacy(
    rows: Sequence[Row], experiment: Experiment, problems: Mapping[str, Problem]
) -> Iterator[str]:
    """Yield by how much the first private method is off LightGBM, at one epsilon."""
    first = next((method.name for method in experiment.methods if method.private), None)
    plain = next((m.name for m in experiment.methods if m.library == "lightgbm_np"), None)
    if first is None or plain is None:
        return
    epsilon = _USUAL if _USUAL in experiment.epsilons else min(experiment.epsilons)
    apart: dict[str, list[float]] = {}
    for name in experiment.problems:
        mine = [row for row in rows if row.cell.problem == name]
        pair = [
            [r.value for r in mine if (r.cell.method, r.cell.epsilon) == wanted]
            for wanted in ((first, epsilon), (plain, None))
        ]
        if all(pair):
            own, theirs = map(statistics.fmean, pair)
            metric = METRICS[problems[name].task]
            by = own - theirs if metric.higher_is_better else 100 * (own / theirs - 1)
            apart.setdefault(metric.name, []).append(by)
    said = [
        f"by {span(found, '+.1f')} % in {name}"
        if name == METRICS["regression"].name
        else f"by {span(found, '+.3f')} in {name}"
        for name, found in apart.items()
    ]
    if said:
        name = _called(first, experiment)
        yield f"at epsilon {epsilon:g} {name} differs from {plain} without privacy {listed(said)}"


def _is_constant(name: str, experiment: Experiment) -> bool:
    return experiment.method(name).library == "constant"


def _called(name: str, experiment: Experiment) -> str:
    """Return the name of a method with that of its recipe as code."""
    if _is_constant(name, experiment):
        return "a constant prediction"
    recipe = experiment.method(name).settings.get("recipe", "")
    return f"`{recipe}`{name.removeprefix(recipe)}" if recipe and name.startswith(recipe) else name


def _said(
    found: Sequence[tuple[Comparison, list[list[str]]]], experiment: Experiment
) -> Iterator[str]:
    """Yield what the comparisons of a method say, after its name."""
    plain = []
    for comparison, lines in found:
        other, n = _called(comparison.reference, experiment), len(lines)
        held = f"in {_held(lines)} of {n} comparisons"
        if comparison.measure == "seconds":
            ratios = span((float(line[-2]) for line in lines), ".2f")
            yield f"takes {ratios} times as long to fit as {other}"
        elif n == 1:
            name, _, metric, epsilon, own, theirs, *_ = lines[0]
            where = name if epsilon in ("", "inf") else f"{name}, epsilon {epsilon}"
            yield f"has {metric} {own}, and {other} {theirs} ({where})"
        elif comparison.two_sided:
            yield f"is within {comparison.margin:g} of {other} {held}"
        elif comparison.margin:
            yield f"is at most {comparison.margin:g} worse than {other} {held}"
        else:
            plain.append((other, lines))
    if plain:
        against = listed([f"{other} in {_held(lines)} of {len(lines)}" for other, lines in plain])
        behind = sum(line[-1] == NO for _, lines in plain for line in lines)
        yield (
            f"is at least as good as {against} comparisons (one for each table and epsilon), and "
            f"worse by more than two standard errors in {behind} of them"
        )


def _held(lines: Sequence[Sequence[str]]) -> int:
    return sum(line[-1] == YES for line in lines)


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
    # A slow method may have run on some splits alone.
    differences = [
        sign * (value - by_split[1][split])
        for split, value in by_split[0].items()
        if split in by_split[1]
    ]
    advantage = summarize(differences)
    if comparison.two_sided:
        found = YES if abs(advantage.mean) <= comparison.margin else NO
    else:
        found = verdict(summarize([value + comparison.margin for value in differences]))
    figures = [_figure([row.value for row in part]) for part in pair]
    return [problem.name, n_rows, metric.name, shown, *figures, _signed(advantage), found]


def _figure(values: Sequence[float]) -> str:
    return f"{summarize(values):4}"


def _signed(summary: Summary) -> str:
    return f"{summary:4}" if summary.mean < 0 else f"+{summary:4}"


def _rows_of(rows: Sequence[Row], problem: str, method: str, epsilon: float) -> list[Row]:
    wanted = (problem, method, epsilon)
    return [row for row in rows if (row.cell.problem, row.cell.method, row.cell.epsilon) == wanted]
