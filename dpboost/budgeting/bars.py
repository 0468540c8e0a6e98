"""Bars of the parts of a whole, for pictures of budgets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#b83280")
_LEFT = "#cbd5e0"

#: Name, part of the whole, and whether it is what is left.
Bar = tuple[str, float, bool]


def draw_bars(title: str, bars: Sequence[Bar], ax: Any = None) -> Any:
    """Draw a bar for each part, from the top, and return the axes."""
    ax = axes_of(ax, height=1.2 + 0.35 * len(bars))
    for position, (_, part, is_left) in enumerate(bars):
        ax.barh(position, part, color=_LEFT if is_left else COLOURS[0])
        ax.annotate(
            f"{100 * part:.3g} %",
            (part, position),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
        )
    ax.set_yticks(range(len(bars)), [name for name, _, _ in bars])
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.12), xlabel="part of the budget", title=title)
    return ax


def axes_of(ax: Any, *, height: float) -> Any:
    """Return given axes, or new ones of a height.

    Raises
    ------
    ImportError
        Where matplotlib is not installed.
    """
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("This picture needs matplotlib: pip install 'dpboost[plot]'.") from error
    return pyplot.subplots(figsize=(7, height), layout="constrained")[1]
