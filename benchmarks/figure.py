"""A figure of the measure against epsilon, one panel a problem and one line a method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.experiments import Experiment
from benchmarks.harness.style import Panel
from benchmarks.harness.style import draw as draw_panels
from benchmarks.metrics import METRICS, Metric
from benchmarks.problems import Problem
from benchmarks.rows import Row

# An error this many times the least one is off the scale: some baselines are off by hundreds.
_LARGEST_RATIO = 4.0


def draw(rows: Sequence[Row], experiment: Experiment, problems: Mapping[str, Problem]) -> bytes:
    """Return a PNG image; a method without privacy is a line across.

    Raises
    ------
    BenchmarkError
        If matplotlib is not installed.
    """
    panels = [
        _panel(name, METRICS[problems[name].task], [r for r in rows if r.cell.problem == name])
        for name in experiment.problems
    ]
    return draw_panels(panels)


def _panel(name: str, metric: Metric, rows: Sequence[Row]) -> Panel:
    direction = "higher" if metric.higher_is_better else "lower"
    limits = None
    if not metric.higher_is_better:
        best = min(row.value for row in rows)
        limits = (0.9 * best, _LARGEST_RATIO * best)
    return Panel(
        title=name,
        x_label="epsilon",
        y_label=f"{metric.name} on held-out rows ({direction} is better)",
        rows=[row.result for row in rows],
        log_x=True,
        limits=limits,
        ticks=True,
    )
