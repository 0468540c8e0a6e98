"""One way of drawing: a color for each method everywhere, bands, and names at the ends of lines.

Images are 1,000 pixels wide. Numbers of a paper are dashed, in the color of their method, and end
with "paper". Where panels are many, methods are named once for all of them. A series that lies
outside its panel is named at the edge with its value, instead of flattening the others.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks._compat import import_matplotlib
from benchmarks.harness.claims import interval
from benchmarks.harness.colors import color
from benchmarks.harness.results import Result, curves

#: Panels from which on the methods are named once for all, not at the ends of lines.
_MANY = 9
_BAND = 0.08
_STYLES = ("-", "--", "-.")
_PAPER = (0, (5, 2))
#: Variants that are told apart by more than their number.
_VARIANTS = {
    "without noise": "-.",
    "histograms, saving": "-",
    "10 bins": "-.",
    "numeric": "-",
    ", decay": "-.",
    ", secure sum": "-",
}
#: Letters in a line of a name: longer ones would leave little room for the panel.
_LETTERS = 34
_WIDTH = 10.0
_MAIN_WIDTH = 2.6
_DPI = 100
#: Of the axis above and below the lines, as a part of their range.
_ROOM = 0.4


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
    bands : bool
        Whether lines have bands; of many lines in a small panel they would hide the others.
    main : str
        Method whose line is drawn thicker, above the others.
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
    bands: bool = True
    main: str = ""


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
    once = len(panels) >= _MANY
    image = Figure(figsize=(_WIDTH, height), dpi=_DPI, layout="constrained")
    FigureCanvasAgg(image)
    grid = image.subplots(lines, columns, squeeze=False).ravel()
    drawn: dict[str, Any] = {}
    for axes, panel in zip(grid, panels, strict=False):
        _fill(axes, panel, drawn if once else None)
    if once:
        image.legend(
            drawn.values(),
            drawn.keys(),
            loc="outside upper center",
            ncols=2 if max(map(len, drawn)) > _LETTERS else 3,
            fontsize=8,
            frameon=False,
        )
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    stream = io.BytesIO()
    image.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()


def _fill(axes: Any, panel: Panel, drawn: dict[str, Any] | None) -> None:
    """Draw a panel; with ``drawn`` its lines are named there, and beside it only the paper's."""
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
        own = color(method)
        axes.plot(
            positions, heights, color=own, linestyle=_PAPER, linewidth=1.0, zorder=1, label="paper"
        )
        ends.names.append((heights[-1], "paper", own))
        spots = sorted({*spots, *positions})
    for method, points in measured:
        _line(axes, method, points, spots, panel, ends)
    if panel.limits is not None:
        axes.set_ylim(*panel.limits)
    elif not panel.log_y:
        _look_at_the_lines(axes, [*panel.rows, *panel.published])
    axes.set_title(panel.title, fontsize=10, loc="left")
    axes.set_xlabel(panel.x_label, fontsize=8)
    axes.set_ylabel(panel.y_label, fontsize=8)
    axes.tick_params(labelsize=8)
    if panel.ticks and spots:
        axes.set_xticks(spots, [f"{spot:g}" for spot in spots])
        axes.minorticks_off()
    axes.grid(alpha=0.25)
    if drawn is not None:
        for line in axes.get_lines():
            drawn.setdefault(line.get_label(), line)
        drawn.pop("paper", None)
        ends.names = [end for end in ends.names if end[1] == "paper"]
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
        positions,
        means,
        color=own,
        linestyle=shown,
        linewidth=_MAIN_WIDTH if method == panel.main else 1.4,
        zorder=3 if method == panel.main else 2,
        marker=marker,
        markersize=3,
        label=method,
    )
    if panel.bands and (halves > 0).any():
        # A band that fills its panel says nothing that its absence does not, and hides the others.
        seen = np.inf if panel.limits is None else panel.limits[1] - panel.limits[0]
        axes.fill_between(
            positions,
            means - halves,
            means + halves,
            where=halves < seen,
            color=own,
            alpha=_BAND,
            linewidth=0,
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
        axes.text(1.015, spot, text, transform=axes.transAxes, fontsize=7, color=own, va="center")
    axes.set_ylim(low, high)
    for number, (text, arrow, own) in enumerate(ends.outside):
        spot = 0.97 - 0.06 * number if arrow == "↑" else 0.03 + 0.06 * number
        axes.text(
            0.02,
            spot,
            text,
            transform=axes.transAxes,
            fontsize=7,
            color=own,
            va="top" if arrow == "↑" else "bottom",
            # On top of lines and bands, which would strike it through.
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.9, "pad": 1.5},
            zorder=10,
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
