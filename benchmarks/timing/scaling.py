"""How the time of a fit grows with rows, features, trees and threads."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.harness.results import Result
from benchmarks.harness.style import Panel
from benchmarks.summary import listed, table
from benchmarks.timing.measure import Figure, Task, fit_task, median

_TREES = {"best": 100, "dpboost": 50, "LightGBM": 100}
_LARGE = 10_000_000
_MILLION = 1_000_000
_FEATURES = 20
_REPEATS = 3


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """One panel: what is varied, and the sizes of each point.

    Attributes
    ----------
    name : str
        Label of the axis.
    values, quick : tuple of int
        Points, in full and in the quick form.
    """

    name: str
    values: tuple[int, ...]
    quick: tuple[int, ...]

    def sizes(self, value: int, method: str, *, quick: bool) -> tuple[int, int, int, int]:
        """Return rows, features, trees and threads of a point."""
        rows = 10_000 if quick else 100_000
        if self.name == "rows":
            return value, _FEATURES, _TREES[method], 1
        if self.name == "features":
            return rows, value, _TREES[method], 1
        if self.name == "trees":
            return rows, _FEATURES, value, 1
        return rows if quick else _MILLION, _FEATURES, _TREES[method], value


def _threads() -> tuple[int, ...]:
    cores = os.cpu_count() or 1
    return tuple(sorted({*(2**k for k in range(cores.bit_length())), cores} - {0}))


SWEEPS = (
    Sweep(
        name="rows",
        values=(1_000, 10_000, 100_000, _MILLION, 3_000_000, _LARGE),
        quick=(1_000, 10_000),
    ),
    Sweep(name="features", values=(5, 20, 100, 400), quick=(5, 20)),
    Sweep(name="trees", values=(10, 30, 100, 300, 1_000), quick=(10, 30)),
    Sweep(name="threads", values=_threads(), quick=_threads()),
)


def tasks(*, quick: bool, repeats: int | None) -> list[Task]:
    """Measure every point; LightGBM up to a million rows and once where it takes long."""
    number = repeats or (1 if quick else _REPEATS)
    return [
        _task(sweep, value, method, repeat, quick=quick)
        for repeat in range(number)
        for sweep in SWEEPS
        for value in (sweep.quick if quick else sweep.values)
        for method in _TREES
        if _is_measured(sweep, value, method, repeat, quick=quick)
    ]


def _is_measured(sweep: Sweep, value: int, method: str, repeat: int, *, quick: bool) -> bool:
    rows, features, trees, _ = sweep.sizes(value, method, quick=quick)
    work = rows * features * trees
    if method == "LightGBM" and work > _MILLION * _FEATURES * 100:
        return False
    # A second million rows or second fit of seconds says nothing new.
    return repeat == 0 or work <= 100_000 * _FEATURES * 100


def _task(sweep: Sweep, value: int, method: str, repeat: int, *, quick: bool) -> Task:
    rows, features, trees, threads = sweep.sizes(value, method, quick=quick)
    shown = f"{sweep.name} {value}"
    return fit_task(shown, "dense", (rows, features), method, [trees], threads, repeat)


def page(figures: Sequence[Figure]) -> list[str]:
    """Return a table for each sweep, and what a row costs at ten million."""
    lines = []
    for sweep in SWEEPS:
        lines += [f"## {sweep.name}", "", *_table(figures, sweep), ""]
    return lines + _large(figures)


def _points(figures: Sequence[Figure], sweep: Sweep) -> list[int]:
    names = {figure.table for figure in figures}
    return [value for value in sweep.values + sweep.quick if f"{sweep.name} {value}" in names]


def _table(figures: Sequence[Figure], sweep: Sweep) -> list[str]:
    lines = []
    for value in sorted(set(_points(figures, sweep))):
        shown = f"{sweep.name} {value}"
        seconds = [median(figures, table=shown, method=method) for method in _TREES]
        cpu = [median(figures, "cpu_seconds", table=shown, method=name) for name in _TREES]
        cells = [f"{time:.3f} / {work:.3f}" for time, work in zip(seconds, cpu, strict=True)]
        lines.append([f"{value:,}", *(cell.replace("nan / nan", "") for cell in cells)])
    return table([sweep.name, *(f"`{name}`: wall / CPU (s)" for name in _TREES)], lines)


def finding(figures: Sequence[Figure]) -> str:
    """Return what ten million rows cost, in that of a million, or nothing without them."""
    said = [f"{line[3]} times (`{line[0]}`)" for line in _costs(figures)]
    if not said:
        return ""
    return f"Per row, the CPU time at ten million rows is {listed(said)} that at a million."


def _costs(figures: Sequence[Figure]) -> list[list[str]]:
    lines = []
    for method in ("best", "dpboost"):
        costs = []
        for rows in (_MILLION, _LARGE):
            seconds = median(figures, "cpu_seconds", table=f"rows {rows}", method=method)
            costs.append(seconds / rows * 1e9)
        if not math.isnan(sum(costs)):
            holds = "yes" if costs[1] <= costs[0] else "no"
            lines.append(
                [method, *(f"{cost:.0f}" for cost in costs), f"{costs[1] / costs[0]:.2f}", holds]
            )
    return lines


def _large(figures: Sequence[Figure]) -> list[str]:
    """Compare the cost of a row at ten million rows with that at a million."""
    lines = _costs(figures)
    if not lines:
        return []
    header = ["recipe", "1,000,000 rows", "10,000,000 rows", "ratio", "<= 1"]
    note = (
        f"CPU nanoseconds a row of a whole fit, {_FEATURES} features, one thread: of all trees of "
        "`best`, each of which passes over all rows, and of all of `dpboost`, which share them."
    )
    return ["## A row at ten million", "", note, "", *table(header, lines), ""]


def panels(figures: Sequence[Figure]) -> list[Panel]:
    """Return a panel for each sweep, both axes logarithmic."""
    found = []
    for sweep in SWEEPS:
        points = {f"{sweep.name} {value}": value for value in _points(figures, sweep)}
        rows = [
            Result(
                method=figure.method,
                x=str(points[figure.table]),
                repeat=figure.repeat,
                measure="seconds",
                value=figure.seconds,
            )
            for figure in figures
            if figure.table in points
        ]
        found.append(
            Panel(
                title=sweep.name,
                x_label=sweep.name,
                y_label="seconds of a fit",
                rows=rows,
                log_x=sweep.name != "threads",
                log_y=True,
                ticks=sweep.name == "threads",
            )
        )
    return found
