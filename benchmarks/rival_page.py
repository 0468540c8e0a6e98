"""The page of ``run rivals``: where best is behind, how far LightGBM is, and every table."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.experiments import Experiment, Method
from benchmarks.harness.results import Results
from benchmarks.harness.style import Panel
from benchmarks.harness.style import draw as draw_panels
from benchmarks.metrics import METRICS
from benchmarks.peer_page import marked, promises
from benchmarks.problems import Problem
from benchmarks.rows import Row, rows_of
from benchmarks.runner import measured_part
from benchmarks.summary import Summary, span, summarize, table
from benchmarks.verdicts import NO, YES, verdict

OURS = "best"
_LIGHTGBM, _CONSTANT = "LightGBM", "constant"
#: Of a panel above LightGBM and beyond a constant, as parts of what is between them.
_ROOM, _BEYOND = 0.05, 0.2
_COLUMNS = 3


@dataclass(frozen=True, kw_only=True)
class Point:
    """A table and a budget at which best stands beside a rival, on the splits of both.

    Attributes
    ----------
    problem, rival : str
        Names.
    epsilon : float
        Budget.
    own, other : Summary
        The measure of best and of the rival.
    advantage : Summary
        Of best, split by split; positive where it is better.
    n_splits : int
    """

    problem: str
    rival: str
    epsilon: float
    own: Summary
    other: Summary
    advantage: Summary
    n_splits: int

    @property
    def verdict(self) -> str:
        """Whether best is at least as good."""
        return verdict(self.advantage)


class Rivals:
    """The results of a run with what is asked of them.

    Parameters
    ----------
    results : Results
    experiment : Experiment
    problems : mapping of str to Problem
    """

    def __init__(
        self, results: Results, experiment: Experiment, problems: Mapping[str, Problem]
    ) -> None:
        self.marks: dict[str, list[str]] = json.loads(results.facts.get("marks", "{}"))
        rows = rows_of(results.rows)
        names = {row.cell.method for row in rows}
        self.marks = {name: found for name, found in self.marks.items() if name in names}
        self.rows, self.experiment = marked(rows, measured_part(experiment, rows), self.marks)
        self.problems = problems
        self.values: dict[tuple[str, str, float | None], dict[int, Row]] = {}
        for row in self.rows:
            cell = row.cell
            own = self.values.setdefault((cell.problem, cell.method, cell.epsilon), {})
            own[cell.split] = row

    def others(self) -> Iterator[Method]:
        """Yield the private rivals."""
        for method in self.experiment.methods:
            if method.private and method.name != OURS:
                yield method

    def point(self, problem: str, rival: str, epsilon: float) -> Point | None:
        """Return how best and another compare; ``None`` where the other was not run."""
        own = self.values.get((problem, OURS, epsilon), {})
        other = self.values.get((problem, rival, epsilon)) or self.values.get(
            (problem, rival, None), {}
        )
        splits = sorted(own.keys() & other.keys())
        if not splits:
            return None
        pairs = [(own[split].value, other[split].value) for split in splits]
        sign = 1 if METRICS[self.problems[problem].task].higher_is_better else -1
        return Point(
            problem=problem,
            rival=rival,
            epsilon=epsilon,
            own=summarize([mine for mine, _ in pairs]),
            other=summarize([theirs for _, theirs in pairs]),
            advantage=summarize([sign * (mine - theirs) for mine, theirs in pairs]),
            n_splits=len(splits),
        )

    def points(self, rival: str | None = None) -> list[Point]:
        """Return all points, or those of one rival."""
        names = [method.name for method in self.others()] if rival is None else [rival]
        found = (
            self.point(problem, name, epsilon)
            for problem in self.experiment.problems
            for epsilon in self.experiment.epsilons
            for name in names
        )
        return [point for point in found if point is not None]


def finding(rivals: Rivals) -> str:
    """Return at how many points best is behind, and how far LightGBM is, in one sentence."""
    by_point: dict[tuple[str, float], list[str]] = {}
    for point in rivals.points():
        by_point.setdefault((point.problem, point.epsilon), []).append(point.verdict)
    if not by_point:
        return ""
    ahead = sum(all(item == YES for item in found) for found in by_point.values())
    behind = [item for found in by_point.values() for item in found].count(NO)
    at = sum(NO in found for found in by_point.values())
    return (
        f"`best` is at least as good as every private rival at {ahead} of {len(by_point)} points "
        f"(a table and an epsilon); in {behind} of {len(rivals.points())} comparisons, at {at} "
        "points, it is worse by more than two standard errors."
    )


def body(rivals: Rivals) -> list[str]:
    """Return the lines of the page between description and notes."""
    parts = [*_counts(rivals), *_behind(rivals), *_strongest(rivals), *_distance(rivals)]
    parts += [*_extent(rivals), *promises(rivals.marks)]
    for problem in rivals.experiment.problems:
        parts += _section(rivals, problem)
    return parts


def _counts(rivals: Rivals) -> list[str]:
    lines = []
    for method in rivals.others():
        points = rivals.points(method.name)
        found = [point.verdict for point in points]
        ahead, behind = found.count(YES), found.count(NO)
        counts = (len(found), ahead, len(found) - ahead - behind, behind)
        lines.append([method.name, *map(str, counts)])
    header = ["best against", "tables x epsilons", "at least as good"]
    header += ["worse, within two standard errors", "worse"]
    return ["## In short", "", *table(header, lines), ""]


def _behind(rivals: Rivals) -> list[str]:
    found = [point for point in rivals.points() if point.verdict == NO]
    heading = ["## Where best is behind by more than two standard errors", ""]
    if not found:
        return [*heading, "Nowhere.", ""]
    lines = []
    for point in found:
        digits = _digits(rivals, point.problem)
        lines.append(
            [
                point.problem,
                f"{point.rival}",
                f"{point.epsilon:g}",
                METRICS[rivals.problems[point.problem].task].name,
                format(point.own, digits),
                format(point.other, digits),
                format(point.advantage, digits),
                str(point.n_splits),
            ]
        )
    header = ["table", "rival", "epsilon", "measure", "best", "rival's", "advantage", "splits"]
    return [
        *heading,
        "Differences are taken split by split; an RMSE is better where it is lower.",
        "",
        *table(header, lines, n_texts=2),
        "",
    ]


def _strongest(rivals: Rivals) -> list[str]:
    """Return the lead over the strongest rival of each point."""
    lines = []
    for problem in rivals.experiment.problems:
        cells = [problem, METRICS[rivals.problems[problem].task].name]
        for epsilon in rivals.experiment.epsilons:
            found = [
                point
                for method in rivals.others()
                if (point := rivals.point(problem, method.name, epsilon)) is not None
            ]
            if not found:
                cells.append("")
                continue
            least = min(found, key=lambda point: point.advantage.mean)
            lead = _lead(rivals, least)
            shown = f"**{lead}**" if least.verdict == NO else lead
            cells.append(f"{shown} {least.rival}")
        lines.append(cells)
    return [
        "## Lead over the strongest rival",
        "",
        "The rival with the best mean at each point, on the splits of both, and by how much best "
        "is better: AUC and accuracy in points of a hundred, RMSE in per cent of the rival's. "
        "Bold: behind by more than two standard errors.",
        "",
        *table(["table", "measure", *_epsilons(rivals)], lines, n_texts=2),
        "",
    ]


def _lead(rivals: Rivals, point: Point) -> str:
    if METRICS[rivals.problems[point.problem].task].higher_is_better:
        return f"{100 * point.advantage.mean:+.1f}"
    return f"{100 * point.advantage.mean / point.other.mean:+.1f} %"


def _distance(rivals: Rivals) -> list[str]:
    """Return how far best is from LightGBM without privacy."""
    lines = []
    for problem in rivals.experiment.problems:
        cells = [problem, METRICS[rivals.problems[problem].task].name]
        for epsilon in rivals.experiment.epsilons:
            point = rivals.point(problem, _LIGHTGBM, epsilon)
            cells.append("" if point is None else _lead(rivals, point))
        lines.append(cells)
    return [
        "## Distance from LightGBM without privacy",
        "",
        "In the same units; what is negative is lost.",
        "",
        *table(["table", "measure", *_epsilons(rivals)], lines, n_texts=2),
        "",
    ]


def _extent(rivals: Rivals) -> list[str]:
    """Return on how many tables and splits each was run, and how long a fit took."""
    lines = []
    for method in rivals.experiment.methods:
        splits: dict[int, list[str]] = {}
        for problem in rivals.experiment.problems:
            keys = [key for key in rivals.values if key[:2] == (problem, method.name)]
            if keys:
                n_splits = min(len(rivals.values[key]) for key in keys)
                splits.setdefault(n_splits, []).append(problem)
        usual = max(splits, key=lambda number: len(splits[number]))
        shown = [f"{usual}"]
        shown += [
            f"{number} on {', '.join(names)}"
            for number, names in sorted(splits.items())
            if number != usual
        ]
        medians = [
            statistics.median(row.fit_seconds for row in own)
            for problem in rivals.experiment.problems
            if (own := _rows(rivals, problem, method.name))
        ]
        there = {name for names in splits.values() for name in names}
        missing = [name for name in rivals.experiment.problems if name not in there]
        lines.append(
            [
                method.name,
                "; ".join(shown),
                ", ".join(missing),
                f"{span(medians, '.2f')}",
            ]
        )
    header = ["method", "splits", "not run on", "seconds of a fit"]
    return [
        "## What was run",
        "",
        "Splits at every epsilon. Seconds: the medians of the tables, from the quickest to the "
        "slowest.",
        "",
        *table(header, lines, n_texts=3),
        "",
    ]


def _section(rivals: Rivals, problem: str) -> list[str]:
    """Return the measure of every method on a table."""
    task = rivals.problems[problem].task
    metric = METRICS[task]
    direction = "higher" if metric.higher_is_better else "lower"
    row = next(row for row in rivals.rows if row.cell.problem == problem)
    lines = []
    for method in rivals.experiment.methods:
        own = _rows(rivals, problem, method.name)
        if not own:
            continue
        figures, n_splits = [], []
        for epsilon in rivals.experiment.epsilons:
            key = (problem, method.name, epsilon if method.private else None)
            found = [row.value for row in rivals.values.get(key, {}).values()]
            n_splits.append(len(found))
            figures.append(f"{format(summarize(found), _digits(rivals, problem))}" if found else "")
        lines.append([method.name, span(n_splits, "d"), *figures])
    return [
        f"## {problem}",
        "",
        f"{metric.name} on held-out rows ({direction} is better), mean ± standard error; "
        f"{row.n_train_rows:,} training and {row.n_test_rows:,} held-out rows.",
        "",
        *table(["method", "splits", *_epsilons(rivals)], lines),
        "",
    ]


def _rows(rivals: Rivals, problem: str, method: str) -> list[Row]:
    wanted = (problem, method)
    return [row for row in rivals.rows if (row.cell.problem, row.cell.method) == wanted]


def _epsilons(rivals: Rivals) -> Sequence[str]:
    return [f"epsilon {epsilon:g}" for epsilon in rivals.experiment.epsilons]


def _digits(rivals: Rivals, problem: str) -> str:
    """Return how many decimals a measure is shown with: none where it is large."""
    least = min(row.value for row in rivals.rows if row.cell.problem == problem)
    return "0" if least > 1000 else "4" if least < 1 else "3"


def draw(rivals: Rivals) -> bytes:
    """Return a picture with a panel for each table, without bands: its lines are many.

    Raises
    ------
    BenchmarkError
        If matplotlib is not installed.
    """
    panels = [_panel(rivals, problem) for problem in rivals.experiment.problems]
    return draw_panels(panels, columns=_COLUMNS)


def _panel(rivals: Rivals, problem: str) -> Panel:
    """Return the panel of a table, from LightGBM to somewhat beyond a constant."""
    metric = METRICS[rivals.problems[problem].task]
    rows = [row for row in rivals.rows if row.cell.problem == problem]
    groups: dict[tuple[str, float | None], list[float]] = {}
    for row in rows:
        groups.setdefault((row.cell.method, row.cell.epsilon), []).append(row.value)
    means = {key: statistics.fmean(found) for key, found in groups.items()}
    top = (max if metric.higher_is_better else min)(means.values())
    end = means.get((_CONSTANT, None), top)
    limits = (top + _ROOM * (top - end), end + _BEYOND * (end - top))
    return Panel(
        title=problem,
        x_label="epsilon",
        y_label=f"{metric.name} ({'higher' if metric.higher_is_better else 'lower'} is better)",
        rows=[row.result for row in rows],
        log_x=True,
        limits=(min(limits), max(limits)) if end != top else None,
        ticks=True,
        bands=False,
        main=OURS,
    )
