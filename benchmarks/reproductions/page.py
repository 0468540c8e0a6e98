"""The page of a reproduction, and its figure."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks._compat import import_matplotlib
from benchmarks.report import machine_class, machine_load
from benchmarks.reproductions.measure import Claim, Measured, curves, judge
from benchmarks.summary import table
from benchmarks.versions import versions

_MARKERS = "osD^vPXd*<>h"


def markdown(
    rows: Sequence[Measured],
    claims: Sequence[Claim],
    axes: Mapping[str, str],
    *,
    name: str,
    title: str,
    command: str,
    seconds: float,
) -> str:
    """Return the page: what became of the claims, then a table for every panel."""
    parts = [f"# {name}", "", f"{title}.", "", f"![accuracy]({name}.png)", ""]
    parts += ["## What the paper reports", ""]
    parts += [
        "Mean difference of the accuracies of two methods on the same rows, and its 95 % interval "
        "by Student's t over the repeats, corrected where repeats share rows.",
        "",
        *_verdicts(rows, claims),
        "",
    ]
    for figure, axis in axes.items():
        for data, xs, means in curves(rows, figure):
            parts += [f"## {figure}: {data}", "", f"Accuracy against {axis}, ± standard error.", ""]
            lines = [
                [method, *(f"{found[x]:3}" if x in found else "" for x in xs)]
                for method, found in means.items()
            ]
            parts += [*table([axis, *(f"{x:g}" for x in xs)], lines), ""]
    stated = ", ".join(f"{package} {version}" for package, version in versions().items())
    parts += [
        "## How",
        "",
        f"* Command: `{command}`",
        f"* Versions: {stated}",
        f"* Machine: {machine_class()}; 1 thread a fit; {len(rows)} figures in {seconds:.0f} s; "
        f"load: {machine_load()}",
        "* Seeds: training and held-out rows have fixed seeds. The noise is fresh entropy of the "
        "operating system in each fit: a second run gives other figures.",
    ]
    return "\n".join(parts) + "\n"


def _verdicts(rows: Sequence[Measured], claims: Sequence[Claim]) -> list[str]:
    lines = []
    for claim in claims:
        verdict = judge(claim, rows)
        found = "" if math.isnan(verdict.mean) else f"{verdict.mean:+.4f}"
        interval = "" if math.isnan(verdict.low) else f"{verdict.low:+.4f} to {verdict.high:+.4f}"
        lines.append([claim.text, claim.figure, f"{verdict.n}", found, interval, verdict.word])
    header = ["claim", "figure", "repeats", "difference", "95 % interval", "verdict"]
    return table(header, lines)


def draw(rows: Sequence[Measured], axes: Mapping[str, str]) -> bytes:
    """Return a PNG image with a panel for each figure and data set."""
    import_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = [
        (figure, axis, *panel) for figure, axis in axes.items() for panel in curves(rows, figure)
    ]
    n_columns = min(3, len(panels))
    n_rows = -(-len(panels) // n_columns)
    image = Figure(figsize=(6.0 * n_columns, 4.6 * n_rows), dpi=80, layout="constrained")
    FigureCanvasAgg(image)
    grid = image.subplots(n_rows, n_columns, squeeze=False).ravel()
    for panel, (figure, axis, data, xs, means) in zip(grid, panels, strict=False):
        _curves(panel, means)
        panel.set_title(f"{figure}: {data}", fontsize=10)
        panel.set_xlabel(axis)
        panel.set_ylabel("accuracy")
        if xs[-1] > 20 * xs[0] and xs[-1] > 1:
            panel.set_xscale("log")
        panel.grid(alpha=0.3)
        panel.legend(fontsize=6)
    for panel in grid[len(panels) :]:
        panel.set_axis_off()
    stream = io.BytesIO()
    image.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()


def _curves(panel: Any, means: Mapping[str, Mapping[float, Any]]) -> None:
    for place, (method, found) in enumerate(means.items()):
        errors = [0.0 if math.isnan(s.standard_error) else s.standard_error for s in found.values()]
        panel.errorbar(
            list(found),
            [item.mean for item in found.values()],
            yerr=errors,
            marker=_MARKERS[place % len(_MARKERS)],
            markersize=4,
            linewidth=1.2,
            capsize=2,
            label=method,
        )
