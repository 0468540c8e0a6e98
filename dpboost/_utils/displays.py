"""Displays of results: text and HTML tables, data frames, and axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from typing import Any

from dpboost._utils.validation import refuse

#: Rows of a table that a terminal and a notebook show; `to_frame` has all of them.
MOST_ROWS = 25


def aligned(rows: Sequence[tuple[str, ...]], numbers: frozenset[int] = frozenset()) -> list[str]:
    """Return the lines of a table in columns.

    Rows have equally many cells each; the head is among them. The columns ``numbers`` are set to
    the right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            text.rjust(width) if column in numbers else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def text_table(
    head: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    numbers: frozenset[int] = frozenset(),
) -> list[str]:
    """Return the lines of a table, its first `MOST_ROWS` rows, and how many more there are."""
    lines = aligned([head, *map(_short, rows[:MOST_ROWS])], numbers)
    return lines + _more(rows)


def html_table(
    head: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    *,
    caption: str = "",
    notes: Iterable[str] = (),
    numbers: frozenset[int] = frozenset(),
) -> str:
    """Return a table for notebooks, its first `MOST_ROWS` rows, in the notebook's own style."""

    def line(tag: str, cells: tuple[str, ...]) -> str:
        marks = (' style="text-align: right"' if k in numbers else "" for k in range(len(cells)))
        found = (
            f"<{tag}{mark}>{escape(cell)}</{tag}>" for mark, cell in zip(marks, cells, strict=True)
        )
        return f"<tr>{''.join(found)}</tr>"

    body = "".join(line("td", _short(row)) for row in islice(rows, MOST_ROWS))
    title = f"<p><b>{escape(caption)}</b></p>" if caption else ""
    below = "".join(f"<p>{escape(note)}</p>" for note in (*_more(rows), *notes) if note)
    return f"{title}<table><thead>{line('th', head)}</thead><tbody>{body}</tbody></table>{below}"


def data_frame(owner: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> Any:
    """Return a table as a data frame of pandas.

    The ``owner`` is the class whose ``to_frame`` is called.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            f"{owner}.to_frame() needs pandas: pip install 'dpboost[pandas]'."
        ) from error
    return pd.DataFrame([tuple(row) for row in rows], columns=list(head))


def new_axes(what: str, ax: Any = None, **options: Any) -> Any:
    """Return the given axes, or new ones.

    ``what`` is drawn: the message begins with it. Options are those of ``pyplot.subplots``.
    """
    if ax is not None:
        if not hasattr(ax, "get_figure"):
            raise refuse("ax", what, "matplotlib axes, such as pyplot.gca()", ax)
        return ax
    return pyplot(what).subplots(**options)[1]


def pyplot(what: str) -> Any:
    """Return matplotlib's pyplot."""
    try:
        from matplotlib import pyplot as found
    except ImportError as error:
        raise ImportError(f"{what} needs matplotlib: pip install 'dpboost[plot]'.") from error
    return found


def _short(row: tuple[str, ...]) -> tuple[str, ...]:
    """Cut long cells, such as lists of many categories."""
    return tuple(cell if len(cell) <= 60 else f"{cell[:56]} ..." for cell in row)


def _more(rows: Sequence[Any]) -> list[str]:
    left = len(rows) - MOST_ROWS
    return [f"... and {left} more: to_frame() has all of them"] if left > 0 else []
