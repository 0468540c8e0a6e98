"""A document that is rendered as text, Markdown or HTML."""

from __future__ import annotations

import os
import re
import textwrap
from dataclasses import dataclass
from html import escape
from importlib import resources

from dpboost._utils.displays import aligned
from dpboost._utils.files import write_atomically

_WIDTH = 96
# A time, or a number with what belongs to it.
_NUMBER = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:+]+|(?:\b(?:epsilon|delta|mu) = )?\d+(?:\.\d+)?(?:e-?\d+)?(?: %)?"
)
# A word as long as this, such as a hash, breaks where its cell ends.
_LONG = re.compile(r"[^\s<>&;]{24,}")
# A table of more columns shows each row as a card on a narrow screen.
_MOST_COLUMNS = 4
#: No colors of the reader's system, no fonts from elsewhere; one printed sheet is A4.
_STYLE = "document.css"


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of running text."""

    text: str


@dataclass(frozen=True)
class Heading:
    """A heading."""

    text: str


@dataclass(frozen=True)
class Answers:
    """Terms, each with one or more paragraphs."""

    rows: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Grid:
    """A table with a header."""

    #: Names of the columns.
    head: tuple[str, ...]
    #: The cells.
    rows: tuple[tuple[str, ...], ...]
    #: Columns that are aligned to the right.
    numbers: frozenset[int] = frozenset()
    #: Length in [0, 1] of the bar of each row in HTML; empty for no bars.
    bars: tuple[float, ...] = ()


@dataclass(frozen=True)
class Charts:
    """SVG charts in HTML; text and Markdown have one line for each instead."""

    #: ``<svg>`` elements without external resources.
    drawings: tuple[str, ...]
    #: A summary of each chart.
    lines: tuple[str, ...]


Block = Paragraph | Heading | Answers | Grid | Charts


@dataclass(frozen=True)
class Document:
    """A title and blocks."""

    title: str
    blocks: tuple[Block, ...]

    def text(self) -> str:
        """Return lines of at most 96 characters, except in tables."""
        return "\n".join([self.title, *(line for block in self.blocks for line in _text(block))])

    def markdown(self) -> str:
        """Return GitHub-flavored Markdown."""
        parts = [f"# {_plain(self.title)}", *(_markdown(block) for block in self.blocks)]
        return "\n\n".join(parts) + "\n"

    def fragment(self) -> str:
        """Return an HTML fragment with its style."""
        body = "\n".join(_html(block) for block in self.blocks)
        style = resources.files(__package__).joinpath(_STYLE).read_text("utf-8")
        return (
            f"<style>\n{style}</style>\n"
            f'<div class="dpboost">\n<h1>{escape(self.title)}</h1>\n{body}\n</div>'
        )

    def page(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Return a self-contained HTML page, or write it to a file.

        The file is in UTF-8; without a path the page is returned. OSError if the file cannot be
        written; an existing file is then unchanged.
        """
        page = (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(self.title)}</title>\n</head>\n"
            f'<body style="margin: 0; background: #fff">\n{self.fragment()}\n</body>\n</html>\n'
        )
        if path is None:
            return page
        write_atomically(path, page.encode(errors="replace"))
        return None


def _text(block: Block) -> list[str]:
    if isinstance(block, Heading):
        return ["", block.text]
    if isinstance(block, Paragraph):
        return ["", *textwrap.wrap(block.text, _WIDTH)]
    if isinstance(block, Charts):
        return ["", *block.lines]
    if isinstance(block, Grid):
        return ["", *aligned((block.head, *block.rows), block.numbers)]
    width = max(len(question) for question, _ in block.rows) + 2
    lines = [""]
    for question, answer in block.rows:
        first = question.ljust(width)
        for paragraph in answer:
            lines += textwrap.wrap(
                paragraph, _WIDTH, initial_indent=first, subsequent_indent=" " * width
            )
            first = " " * width
    return lines


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"## {_plain(block.text)}"
    if isinstance(block, Paragraph):
        return _plain(block.text)
    if isinstance(block, Answers):
        return "\n\n".join(
            f"**{_plain(question)}.** " + "\n\n".join(_plain(text) for text in answer)
            for question, answer in block.rows
        )
    if isinstance(block, Charts):
        return "\n".join(f"* {_plain(line)}" for line in block.lines)
    rule = tuple("---:" if column in block.numbers else "---" for column in range(len(block.head)))
    rows = (tuple(map(_plain, row)) for row in (block.head, *block.rows))
    head, *rest = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join((head, f"| {' | '.join(rule)} |", *rest))


def _html(block: Block) -> str:
    if isinstance(block, Heading):
        return f"<h2>{escape(block.text)}</h2>"
    if isinstance(block, Paragraph):
        return f"<p>{_whole_numbers(block.text)}</p>"
    if isinstance(block, Answers):
        rows = (
            f"<dt>{escape(question)}</dt>\n<dd>"
            + "".join(f"<p>{_whole_numbers(text)}</p>" for text in answer)
            + "</dd>"
            for question, answer in block.rows
        )
        return "<dl>\n" + "\n".join(rows) + "\n</dl>"
    if isinstance(block, Charts):
        return '<div class="charts">\n' + "\n".join(block.drawings) + "\n</div>"
    wide = len(block.head) > _MOST_COLUMNS
    figures = len(block.head) == 2 and bool(block.numbers) and not block.bars
    kind = ' class="wide"' if wide else ' class="figures"' if figures else ""
    marks = [
        'class="number"' * (k in block.numbers) + f' data-label="{escape(name)}"' * wide
        for k, name in enumerate(block.head)
    ]
    head = "".join(
        f"<th {mark}>{escape(name)}</th>" for mark, name in zip(marks, block.head, strict=True)
    )
    if block.bars:
        head += "<th></th>"
    lines = []
    for number, row in enumerate(block.rows):
        cells = "".join(
            f"<td {mark}>{_LONG.sub(_breaking, escape(cell))}</td>"
            for mark, cell in zip(marks, row, strict=True)
        )
        if block.bars:
            length = 100 * block.bars[number]
            cells += f'<td width="40%"><span class="bar" style="width: {length:.1f}%"></span></td>'
        lines.append(f"<tr>{cells}</tr>")
    body = "\n".join(lines)
    return f"<table{kind}>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def _breaking(word: re.Match[str]) -> str:
    return f'<span class="long">{word[0]}</span>'


def _whole_numbers(text: str) -> str:
    """Escape a text for HTML, without line breaks inside numbers and their names."""
    return _NUMBER.sub(
        lambda found: (
            f'<span class="whole">{found[0]}</span>' if {" ", "-"} & set(found[0]) else found[0]
        ),
        escape(text),
    )


def _plain(text: str) -> str:
    """Escape markup of Markdown and HTML."""
    text = escape(" ".join(text.split()), quote=False)
    return "".join(f"\\{sign}" if sign in "\\`*_[]|#~" else sign for sign in text)
