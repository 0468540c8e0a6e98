"""One way of drawing: a color for each method everywhere, bands, and names at the ends of lines.

Images are 1,000 pixels wide. Numbers of a paper are gray. A series that lies outside its panel is
named at the edge with its value, instead of flattening the others.
"""

from __future__ import annotations

import io
import math
import textwrap
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks._compat import import_matplotlib
from benchmarks.harness.claims import interval
from benchmarks.harness.results import Result, curves

#: First words of a method, whatever else its name says.
_COLORS = {
    "constant": "#9a9a9a",
    "NP": "black",
    "LightGBM": "black",
    "best": "#2ca02c",
    "our best tree": "#2ca02c",
    "best tree": "#2ca02c",
    "DPBoost": "#1f77b4",
    "dpboost": "#1f77b4",
    "PARA": "#ff7f0e",
    "para": "#ff7f0e",
    "SEQ": "#d62728",
    "seq": "#d62728",
    "DP-EBM": "#9467bd",
    "Max": "#1f77b4",
    "Gini": "#ff7f0e",
    "InfoGain": "#2ca02c",
    "SuLQ": "#d62728",
    "histograms": "#d62728",
    "saving as printed": "#8c564b",
    "saving, 0.1 for the bounds": "#1f77b4",
    "saving, 0.25 for the bounds": "#17becf",
    "saving, 0.5 for the bounds": "#2ca02c",
    "saving, 0.75 for the bounds": "#ff7f0e",
    "saving, 0.9 for the bounds": "#9467bd",
    "CART of one party": "#2ca02c",
    "CART of all rows": "#1f77b4",
    "CART of all 2n rows": "#17becf",
    "decay": "#1f77b4",
    "uniform": "#ff7f0e",
    "NoisyCounts": "#d62728",
    "LocalRNM": "#9467bd",
    "SingleMachine": "#1f77b4",
    "100% of the rows": "#1f77b4",
    "20% of the rows": "#2ca02c",
    "5% of the rows": "#ff7f0e",
    "1% of the rows": "#d62728",
    "DP-TopDown": "#1f77b4",
    "signed cell": "#2ca02c",
    "paper's mechanism": "#1f77b4",
    "paper's mechanism and estimate": "#ff7f0e",
    "PHIST": "#8c564b",
    "APHIST": "#e377c2",
}
_OTHERS = (
    "#17becf", "#bcbd22", "#7f3c8d", "#11a579", "#3969ac", "#e68310", "#80ba5a", "#e73f74",
    "#008695", "#cf1c90", "#a5aa99",
)  # fmt: skip
_PUBLISHED = "#8a8a8a"
_STYLES = ("-", "--", "-.")
#: Variants that are told apart by more than their number.
_VARIANTS = {"without noise": "-.", "10 bins": "-.", "numeric": "-", ", decay": "-."}
#: Letters in a line of a name: longer ones would leave little room for the panel.
_LETTERS = 34
_WIDTH = 10.0
_DPI = 100
#: Of the axis above and below the lines, as a part of their range.
_ROOM = 0.4


def color(method: str) -> str:
    """Return the color of a method; the same for its variants, whose names begin alike."""
    first = method.removesuffix("*").split(",")[0]
    if method.endswith("for the bounds"):
        first = method  # a division of the budget, not a variant
    if first in _COLORS:
        return _COLORS[first]
    return _OTHERS[zlib.crc32(first.encode()) % len(_OTHERS)]


def line_style(method: str) -> str:
    """Return the line of a variant: dotted for what is not private, else dashed in some way."""
    if "not private" in method or "over budget" in method:
        return ":"
    for words, style in _VARIANTS.items():
        if words in method:
            return style
    return _STYLES[min(method.count(","), len(_STYLES) - 1)]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One panel of a figure.

    Attributes
    ----------
    title : str
    x_label, y_label : str
        With units.
    rows : sequence of Result
        Measured numbers of one measure.
    published : sequence of Result
        Numbers of a paper; they are named like the methods.
    log_x, log_y : bool
    limits : (float, float), optional
        Of the vertical axis.
    ticks : bool
        Whether every position has a tick.
    """

    title: str
    x_label: str
    y_label: str
    rows: Sequence[Result]
    published: Sequence[Result] = ()
    log_x: bool = False
    log_y: bool = False
    limits: tuple[float, float] | None = None
    ticks: bool = False


@dataclass
class _Ends:
    """Names that stand at the ends of lines, and series that are off the scale."""

    names: list[tuple[float, str, str]] = field(default_factory=list)
    outside: list[tuple[str, str, str]] = field(default_factory=list)


def draw(panels: Sequence[Panel], *, columns: int = 2) -> bytes:
    """Return a PNG image of some panels.

    Raises
    ------
    BenchmarkError
        If matplotlib is not installed.
    """
    import_matplotlib()
    # A canvas of its own: pyplot would ask for a display and keep the figure.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = [panel for panel in panels if panel.rows]
    columns = max(1, min(columns, len(panels)))
    lines = max(1, math.ceil(len(panels) / columns))
    height = {1: 5.0, 2: 3.4}.get(columns, 2.8) * lines
    image = Figure(figsize=(_WIDTH, height), dpi=_DPI, layout="constrained")
    FigureCanvasAgg(image)
    grid = image.subplots(lines, columns, squeeze=False).ravel()
    for axes, panel in zip(grid, panels, strict=False):
        _fill(axes, panel)
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    stream = io.BytesIO()
    image.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()


def _fill(axes: Any, panel: Panel) -> None:
    ends = _Ends()
    if panel.log_x:
        axes.set_xscale("log")
    if panel.log_y:
        axes.set_yscale("log")
    measured = list(curves(panel.rows))
    spots = sorted({x for _, points in measured for x in points if x is not None})
    for method, points in curves(panel.published):
        positions = [position for position in points if position is not None]
        heights = [float(np.mean(points[position])) for position in positions]
        axes.plot(positions, heights, "o-", color=_PUBLISHED, markersize=3, linewidth=0.8, zorder=1)
        ends.names.append((heights[-1], f"paper: {method}", _PUBLISHED))
        spots = sorted({*spots, *positions})
    for method, points in measured:
        _line(axes, method, points, spots, panel, ends)
    if panel.limits is not None:
        axes.set_ylim(*panel.limits)
    elif not panel.log_y:
        _look_at_the_lines(axes, [*panel.rows, *panel.published])
    axes.set_title(panel.title, fontsize=9, loc="left")
    axes.set_xlabel(panel.x_label, fontsize=8)
    axes.set_ylabel(panel.y_label, fontsize=8)
    axes.tick_params(labelsize=7)
    if panel.ticks and spots:
        axes.set_xticks(spots, [f"{spot:g}" for spot in spots])
        axes.minorticks_off()
    axes.grid(alpha=0.25)
    _name(axes, ends)


def _look_at_the_lines(axes: Any, rows: Sequence[Result]) -> None:
    """Cut off wide bands of few repeats, which would leave the lines flat."""
    means = [float(np.mean(own)) for _, points in curves(rows) for own in points.values()]
    low, high = axes.get_ylim()
    room = _ROOM * (max(means) - min(means))
    if room > 0:
        axes.set_ylim(max(low, min(means) - room), min(high, max(means) + room))


def _line(
    axes: Any,
    method: str,
    points: Mapping[float | None, Sequence[float]],
    spots: Sequence[float],
    panel: Panel,
    ends: _Ends,
) -> None:
    """Draw means with bands; a method without a position is a line across."""
    shown, own = line_style(method), color(method)
    if None in points:
        mean, half = float(np.mean(points[None])), interval(points[None])
        positions = list(spots) or [0.0, 1.0]
        if len(positions) == 1:
            positions = [positions[0], positions[0] * 1.01 + 1e-9]
        means, halves = np.full(len(positions), mean), np.full(len(positions), half)
    else:
        positions = [position for position in points if position is not None]
        means = np.array([np.mean(points[position]) for position in positions])
        halves = np.array([interval(points[position]) for position in positions])
    if panel.limits is not None:
        low, high = panel.limits
        if (means > high).all() or (means < low).all():
            arrow = "↑" if means[0] > high else "↓"
            ends.outside.append((f"{arrow} {method}: {means.min():.3g}", arrow, own))
            if means.max() > means.min():
                text = f"{arrow} {method}: {means.min():.3g} to {means.max():.3g}"
                ends.outside[-1] = (text, arrow, own)
            return
    marker = "o" if None not in points and len(positions) <= 14 else None
    axes.plot(
        positions, means, color=own, linestyle=shown, linewidth=1.3, marker=marker, markersize=3
    )
    if (halves > 0).any():
        axes.fill_between(
            positions, means - halves, means + halves, color=own, alpha=0.15, linewidth=0
        )
    ends.names.append((float(means[-1]), method, own))


def _name(axes: Any, ends: _Ends) -> None:
    """Write every name beside the end of its line, apart from the others."""
    low, high = axes.get_ylim()
    to_share = axes.transAxes.inverted().transform
    shares = []
    for height, text, own in ends.names:
        share = float(to_share(axes.transData.transform((1.0, height)))[1])
        shares.append((min(max(share, 0.0), 1.0), textwrap.fill(text, _LETTERS), own))
    lines = max((text.count("\n") + 1 for _, text, _ in shares), default=1)
    gap = min(0.055 * lines, 1.1 / max(1, len(shares)))
    placed = spread([share for share, *_ in sorted(shares)], gap)
    for spot, (_, text, own) in zip(placed, sorted(shares), strict=True):
        axes.text(1.015, spot, text, transform=axes.transAxes, fontsize=6.2, color=own, va="center")
    axes.set_ylim(low, high)
    for number, (text, arrow, own) in enumerate(ends.outside):
        spot = 0.97 - 0.06 * number if arrow == "↑" else 0.03 + 0.06 * number
        axes.text(
            0.02,
            spot,
            text,
            transform=axes.transAxes,
            fontsize=6.2,
            color=own,
            va="top" if arrow == "↑" else "bottom",
        )


def spread(shares: Sequence[float], gap: float) -> list[float]:
    """Return ascending positions at least ``gap`` apart, as near to the given ones as they go.

    Parameters
    ----------
    shares : sequence of float
        Ascending, in [0, 1].
    gap : float
    """
    blocks: list[list[float]] = []  # sum of wished starts, number
    for number, share in enumerate(shares):
        blocks.append([share - number * gap, 1.0])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            total, size = blocks.pop()
            blocks[-1] = [blocks[-1][0] + total, blocks[-1][1] + size]
    found: list[float] = []
    for total, size in blocks:
        for _ in range(int(size)):
            found.append(total / size + len(found) * gap)
    if not found:
        return found
    shift = max(0.0, -found[0]) - max(0.0, found[-1] - 1.0)
    return [position + shift for position in found]


def panels_of(rows: Iterable[Result], x_label: str, y_label: str, **options: Any) -> list[Panel]:
    """Return a panel for each part and data set."""
    rows = list(rows)
    return [
        Panel(
            title=": ".join(word for word in (part, data) if word),
            x_label=x_label,
            y_label=y_label,
            rows=[row for row in rows if (row.part, row.data) == (part, data)],
            **options,
        )
        for part, data in dict.fromkeys((row.part, row.data) for row in rows)
    ]
