"""A figure of the measure against epsilon, one panel a problem and one line a method."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks._compat import import_matplotlib
from benchmarks.experiments import Experiment, Method
from benchmarks.metrics import METRICS, Metric
from benchmarks.problems import Problem
from benchmarks.rows import Row
from benchmarks.summary import Summary, summarise

_MARKERS = "osD^vPX"
_COLUMNS = 5
# An error this many times that of LightGBM is cut off: some baselines are off by hundreds.
_LARGEST_RATIO = 4.0


def draw(rows: Sequence[Row], experiment: Experiment, problems: Mapping[str, Problem]) -> bytes:
    """Return a PNG image with error bars of one standard error.

    A method without privacy is a horizontal line.

    Raises
    ------
    BenchmarkError
        If matplotlib is not installed.
    """
    matplotlib = import_matplotlib()
    # A canvas of its own: pyplot would ask for a display and keep the figure.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    n_panels = len(experiment.problems)
    n_columns = min(n_panels, _COLUMNS)
    n_lines = math.ceil(n_panels / n_columns)
    figure = Figure(figsize=(5.2 * n_columns, 4.4 * n_lines), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(n_lines, n_columns, squeeze=False).ravel()
    panels = grid[:n_panels]
    for empty in grid[n_panels:]:
        empty.axis("off")
    colours = matplotlib.color_sequences["tab10"]
    for panel, name in zip(panels, experiment.problems, strict=True):
        metric = METRICS[problems[name].task]
        for place, method in enumerate(experiment.methods):
            mine = [
                row for row in rows if (row.cell.problem, row.cell.method) == (name, method.name)
            ]
            if mine:
                _line(panel, mine, method, experiment, colours[place], _MARKERS[place % 7])
        _axes(panel, name, metric, experiment, rows)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    stream = io.BytesIO()
    figure.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()


def _line(
    panel: Any,
    rows: Sequence[Row],
    method: Method,
    experiment: Experiment,
    colour: Any,
    marker: str,
) -> None:
    if not method.private:
        mean = summarise([row.value for row in rows]).mean
        panel.axhline(mean, color=colour, linestyle="--", label=method.name)
        return
    points: list[Summary] = [
        summarise([row.value for row in rows if row.cell.epsilon == epsilon])
        for epsilon in experiment.epsilons
    ]
    errors = [0.0 if math.isnan(item.standard_error) else item.standard_error for item in points]
    panel.errorbar(
        experiment.epsilons,
        [item.mean for item in points],
        yerr=errors,
        color=colour,
        marker=marker,
        markersize=5,
        capsize=3,
        linewidth=1.5,
        label=method.name,
    )


def _axes(
    panel: Any, name: str, metric: Metric, experiment: Experiment, rows: Sequence[Row]
) -> None:
    panel.set_xscale("log")
    panel.set_xticks(experiment.epsilons, [f"{epsilon:g}" for epsilon in experiment.epsilons])
    panel.minorticks_off()
    panel.set_xlabel("epsilon")
    direction = "higher" if metric.higher_is_better else "lower"
    panel.set_ylabel(f"{metric.name} on held-out rows ({direction} is better)")
    panel.set_title(name)
    panel.grid(alpha=0.3)
    if not metric.higher_is_better:
        best = min(row.value for row in rows if row.cell.problem == name)
        panel.set_ylim(0.9 * best, _LARGEST_RATIO * best)
