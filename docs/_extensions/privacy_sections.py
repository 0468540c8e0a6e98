"""Prepares docstrings for numpydoc: the section *Privacy*, unknown to it, goes among the notes."""

from __future__ import annotations

import re

RULE = "-------"
_SECTION = ["Privacy", RULE]
# The initial of an author, which would begin a list: item P.
_INITIAL = re.compile(r"^(\s*)(?=[A-Z]\. [A-Z])")


def moved(lines: list[str]) -> list[str]:
    """Return a docstring with its section *Privacy* at the head of its notes.

    Parameters
    ----------
    lines : list of str

    Returns
    -------
    list of str
    """
    start = _find(lines, "Privacy")
    if start is None:
        return lines
    end = _end(lines, start)
    body, rest = lines[start + 2 : end], lines[:start] + lines[end:]
    text = [".. rubric:: Privacy", "", *_trimmed(body), ""]
    notes = _find(rest, "Notes")
    if notes is not None:
        return [*rest[: notes + 2], "", *text, ".. rubric:: Details", "", *rest[notes + 2 :]]
    examples = _find(rest, "Examples")
    at = len(rest) if examples is None else examples
    return [*rest[:at], "", "Notes", "-----", *text, *rest[at:]]


def _find(lines: list[str], name: str) -> int | None:
    for position in range(len(lines) - 1):
        if lines[position].strip() == name and _is_rule(lines[position + 1]):
            return position
    return None


def _is_rule(line: str) -> bool:
    return len(line.strip()) >= 3 and set(line.strip()) <= {"-", "="}


def _end(lines: list[str], start: int) -> int:
    for position in range(start + 2, len(lines) - 1):
        if lines[position].strip() and _is_rule(lines[position + 1]):
            return position
    return len(lines)


def _trimmed(lines: list[str]) -> list[str]:
    text = "\n".join(lines).strip("\n")
    return text.split("\n")


def process(app, what, name, thing, options, lines: list[str]) -> None:
    """Move the section, and drop LightGBM's versions, before numpydoc reads the docstring."""
    kept = [line for line in moved(lines) if not line.strip().startswith(".. versionadded::")]
    lines[:] = [_INITIAL.sub(r"\1\\", line) for line in kept]


def setup(app) -> dict[str, bool]:
    """Register with Sphinx, ahead of numpydoc."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", process, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
