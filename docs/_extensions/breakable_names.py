"""Lets long names of code break after an underscore, a slash or a word, and nowhere else.

A browser knows no place to break ``privacy/sensitivity/constants.py``: it cuts a column off, or
breaks the name in the middle of a word.
"""

from __future__ import annotations

import re

#: Shorter names stay whole.
SHORTEST = 12
_NAME = re.compile(r'(<span class="pre">)([^<]+)')
_CELL = re.compile(r"<(td|th|h1)\b.*?</\1>", re.S)
_WORD = re.compile(r"&\w+;|[^\s<>&]+(?=[^<>]*<)")
_PLACE = re.compile(r"(?<=[A-Za-z0-9)\]])(?:[_/=,:(]+|\.)(?=[A-Za-z])|(?<=[a-z0-9])(?=[A-Z])")
_PART = re.compile(r"_|[a-z][A-Z]")
# A browser would break an option after its hyphens.
_OPTION = re.compile(r"--?[a-z][a-z-]*")


def broken(name: str) -> str:
    """Return a name with the places where it may break."""
    if option := _OPTION.match(name):
        return f'<span class="option">{option[0]}</span>{name[option.end() :]}'
    if len(name) < SHORTEST:
        return name
    return _PLACE.sub(lambda place: place[0] + "<wbr>", name)


def breakable(body: str) -> str:
    """Return a page whose names of code, and whose words in titles and tables, may break."""
    body = _NAME.sub(lambda found: found[1] + broken(found[2]), body)
    return _CELL.sub(lambda cell: _WORD.sub(_in_cell, cell[0]), body)


def _in_cell(word: re.Match[str]) -> str:
    entity = word[0].startswith("&")
    return broken(word[0]) if _PART.search(word[0]) and not entity else word[0]


def change(app, name: str, template: str, context: dict, doctree) -> None:
    """Change a page before it is written."""
    if "body" in context:
        context["body"] = breakable(context["body"])


def setup(app) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", change)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
