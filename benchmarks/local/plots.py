"""Panels of lines with error bars."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks._compat import import_matplotlib


def figure_of(n_rows: int, n_columns: int, fill: Callable[[Any], None]) -> bytes:
    """Return a PNG image of a grid of panels, which ``fill`` draws on."""
    import_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = (4.2 * n_columns, 3.6 * n_rows)
    figure = Figure(figsize=size, dpi=90, layout="constrained")
    FigureCanvasAgg(figure)
    fill(figure.subplots(n_rows, n_columns, squeeze=False))
    stream = io.BytesIO()
    figure.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()


def line(panel: Any, x: Sequence[float], means: Sequence[Any], label: str) -> None:
    """Draw means with a standard error each."""
    panel.errorbar(
        x,
        [mean.mean for mean in means],
        yerr=[mean.standard_error for mean in means],
        marker="o",
        markersize=3,
        linewidth=1.2,
        label=label,
    )
