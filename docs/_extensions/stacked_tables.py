"""Lets wide tables be read on a phone: each cell knows its column, and a row becomes a card.

A table of more than two columns may hide its last ones on a narrow screen. The style sheet
stacks the cells of such a table there, each behind the name of its column.
"""

from __future__ import annotations

import re
from html import escape, unescape

#: Tables of so many columns fit on a phone as they are.
FITS = 2
_TABLE = re.compile(r'<table class="[^"]*\btable\b[^"]*"[^>]*>.*?</table>', re.S)
_HEAD = re.compile(r"<thead>.*?</thead>", re.S)
_NAME = re.compile(r"<th\b[^>]*>(.*?)</th>", re.S)
_ROW = re.compile(r"<tr\b[^>]*>.*?</tr>", re.S)
_CELL = re.compile(r"<(td|th)(?=[\s>])")
_TAG = re.compile(r"<[^>]+>")


def stacked(body: str) -> str:
    """Return a page whose wide tables name the column of each cell."""
    return _TABLE.sub(lambda found: _of_table(found[0]), body)


def _of_table(table: str) -> str:
    head = _HEAD.search(table)
    if head is None or "colspan" in table or "rowspan" in table:
        return table
    names = [unescape(_TAG.sub("", name)).strip() for name in _NAME.findall(head[0])]
    if len(names) <= FITS:
        return table
    start = head.end()
    rows = _ROW.sub(lambda row: _of_row(row[0], names), table[start:])
    opened = table[:start].replace('<table class="', '<table class="stacked ', 1)
    return opened + rows


def _of_row(row: str, names: list[str]) -> str:
    position = -1

    def name(cell: re.Match[str]) -> str:
        nonlocal position
        position += 1
        label = names[position] if position < len(names) else ""
        return f'<{cell[1]} data-label="{escape(label)}"'

    return _CELL.sub(name, row)


def change(app, name: str, template: str, context: dict, doctree) -> None:
    """Change a page before it is written."""
    if "body" in context:
        context["body"] = stacked(context["body"])


def setup(app) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", change)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
