"""Panels of error curves."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks._compat import import_matplotlib
from benchmarks.dpboost_paper.methods import METHODS
from benchmarks.dpboost_paper.rows import Value, numbers, pick
from benchmarks.summary import summarise

# Of a method, whatever its loss: the same colour in all figures.
_COLOURS = {
    "constant": "0.7",
    "NP": "black",
    "SEQ": "tab:red",
    "PARA": "tab:orange",
    "DPBoost": "tab:blue",
    "DPBoost without leaf clipping": "tab:cyan",
    "best": "tab:green",
    "best, pure epsilon": "tab:olive",
    "DPBoost, the text's accounting (not private)": "tab:purple",
    "DPBoost, the released code's (not private)": "tab:pink",
    "the same with its frozen noise (not private)": "tab:brown",
}
_LARGEST_RATIO = 3.0


def draw(
    values: Sequence[Value],
    panels: Sequence[tuple[str, Sequence[str]]],
    *,
    x_of: Callable[[Value], float | None],
    x_label: str,
) -> bytes:
    """Return a PNG image with a panel for each set and group of methods.

    Parameters
    ----------
    values : sequence of Value
        Errors.
    panels : sequence of (str, sequence of str)
        Name of a set, and the methods that are drawn; a panel without values is left out.
    x_of : callable
        From a value to where it stands; a value without a place is a horizontal line.
    x_label : str
    """
    import_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = []
    for data, methods in panels:
        mine = [v for v in pick(values, data=data) if v.job.method in methods]
        if mine:
            shown.append((data, methods, mine))
    n_columns = min(4, len(shown))
    n_rows = -(-len(shown) // n_columns)
    size = (4.4 * n_columns, 3.6 * n_rows + 1.0)
    image = Figure(figsize=size, dpi=75, layout="constrained")
    FigureCanvasAgg(image)
    grid = image.subplots(n_rows, n_columns, squeeze=False).ravel()
    labels: dict[str, Any] = {}
    for panel, (data, methods, mine) in zip(grid, shown, strict=False):
        for method in methods:
            own = pick(mine, method=method)
            if own:
                name = method.removesuffix(", logistic")
                labels.setdefault(name, _line(panel, own, _COLOURS[name], method, x_of))
        kind = ", logistic loss" if any(m.endswith(", logistic") for m in methods) else ""
        panel.set_title(f"{data}{kind}", fontsize=10)
        panel.set_xlabel(x_label)
        panel.set_ylabel(mine[0].measure)
        panel.grid(alpha=0.3)
        _limit(panel, mine, mine[0].measure, methods)
    for panel in grid[len(shown) :]:
        panel.set_axis_off()
    image.legend(
        labels.values(), labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9
    )
    stream = io.BytesIO()
    image.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()


def _line(
    panel: Any,
    values: Sequence[Value],
    colour: str,
    method: str,
    x_of: Callable[[Value], float | None],
) -> Any:
    style = "-" if METHODS[method].honest else ":"
    by_x: dict[float | None, list[Value]] = {}
    for value in values:
        by_x.setdefault(x_of(value), []).append(value)
    if None in by_x:
        mean = summarise(numbers(by_x[None])).mean
        return panel.axhline(mean, color=colour, linestyle="--", linewidth=1.2)
    means: Mapping[float, Any] = {x: summarise(numbers(by_x[x])) for x in sorted(by_x)}
    many = len(means) > 12
    return panel.errorbar(
        list(means),
        [item.mean for item in means.values()],
        yerr=None if many else [item.standard_error for item in means.values()],
        color=colour,
        marker=None if many else "o",
        markersize=3,
        capsize=2,
        linewidth=1.3,
        linestyle=style,
    )


def _limit(panel: Any, values: Sequence[Value], measure: str, methods: Sequence[str]) -> None:
    """Cut off errors that leave the others flat: some baselines are off by hundreds."""
    least = min(value.value for value in values)
    if measure == "RMSE":
        panel.set_ylim(0.9 * least, _LARGEST_RATIO * least)
        plain = [value.value for value in values if value.job.method == "constant"]
        if plain:
            panel.set_ylim(0.9 * least, max(1.5 * max(plain), 1.2 * least))
    else:
        panel.set_ylim(0.0, min(0.62, 1.1 * max(value.value for value in values)))
