"""SVG charts of feature effects for HTML pages, without a plotting library."""

from __future__ import annotations

from html import escape
from typing import Any

_WIDTH, _HEIGHT = 260, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 42, 8, 22, 24
_COLOR = "#2b6cb0"
# More categories are drawn without their names.
_MOST_NAMES = 4


def drawing(shape: Any) -> str:
    """Return a chart of a shape with its error band.

    The shape is one of ``model.explain()``, the chart an element ``<svg>``.
    """
    low, high = (end.tolist() for end in shape.band())
    effect = shape.effect[0].tolist()
    n_bins = len(effect) - 1
    bottom, top = min(*low[:n_bins], 0.0), max(*high[:n_bins], 0.0)
    room = (top - bottom) or 1.0

    def y(value: float) -> float:
        inside = _HEIGHT - _TOP - _BOTTOM
        return round(_TOP + inside * (top - value) / room, 1)

    ends = [*range(n_bins + 1)] if shape.is_categorical else shape.edges.tolist()
    wide = (ends[-1] - ends[0]) or 1.0

    def x(value: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * (value - ends[0]) / wide, 1)

    parts = [
        f'<text x="{_LEFT}" y="14" font-weight="600">{escape(shape.name)}</text>',
        f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(0)}" y2="{y(0)}" stroke="#9aa3ad"/>',
        *(
            f'<text x="{_LEFT - 4}" y="{y(value) + 4}" text-anchor="end">{value:.2g}</text>'
            for value in (bottom, top)
        ),
    ]
    if shape.is_categorical:
        parts += _whiskers(shape, effect, low, high, x, y)
    else:
        upper = [f"{x(ends[k + side])},{y(high[k])}" for k in range(n_bins) for side in (0, 1)]
        lower = [f"{x(ends[k + side])},{y(low[k])}" for k in range(n_bins) for side in (0, 1)]
        steps = [f"{x(ends[k + side])},{y(effect[k])}" for k in range(n_bins) for side in (0, 1)]
        band = " ".join([*upper, *lower[::-1]])
        parts += [
            f'<polygon points="{band}" fill="{_COLOR}" fill-opacity="0.25"/>',
            f'<polyline points="{" ".join(steps)}" fill="none" stroke="{_COLOR}" '
            'stroke-width="1.5"/>',
            *(
                f'<text x="{x(value)}" y="{_HEIGHT - 6}" text-anchor="{anchor}">{value:.4g}</text>'
                for value, anchor in ((ends[0], "start"), (ends[-1], "end"))
            ),
        ]
    label = escape(line(shape), quote=True)
    body = "\n".join(parts)
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">\n{body}\n</svg>'


def line(shape: Any) -> str:
    """Return the range of the effect of a feature as text."""
    effect = shape.effect[0][:-1]
    return (
        f"{shape.name}: effects from {effect.min():.2g} to {effect.max():.2g}, mean absolute "
        f"effect {shape.importance[0]:.2g} ± {shape.importance_error[0]:.1g}"
    )


def _whiskers(
    shape: Any, effect: list[float], low: list[float], high: list[float], x: Any, y: Any
) -> list[str]:
    """Draw a point with a whisker for each category."""
    parts = []
    for position, name in enumerate(shape.labels):
        at = x(position + 0.5)
        parts.append(
            f'<line x1="{at}" x2="{at}" y1="{y(low[position])}" y2="{y(high[position])}" '
            f'stroke="{_COLOR}" stroke-opacity="0.5" stroke-width="2"/>'
            f'<circle cx="{at}" cy="{y(effect[position])}" r="3" fill="{_COLOR}">'
            f"<title>{escape(name)}</title></circle>"
        )
        if len(shape.labels) <= _MOST_NAMES:
            short = name if len(name) <= 12 else name[:11] + "…"
            parts.append(
                f'<text x="{at}" y="{_HEIGHT - 6}" text-anchor="middle">{escape(short)}</text>'
            )
    if len(shape.labels) > _MOST_NAMES:
        text = f"{len(shape.labels)} categories"
        parts.append(f'<text x="{_LEFT}" y="{_HEIGHT - 6}">{text}</text>')
    return parts
