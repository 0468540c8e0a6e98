"""Public text uses the terms of the field: phrases that readers stopped at do not come back.

Of pages, codespell checks single words by ``.ci/words.txt`` (``.ci/run``); of programs, this file
does, in docstrings and messages.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    *("*.md", "docs/**/*.md", "dpboost/**/*.md", "examples/**/*.md", "examples/**/*.rst"),
    "benchmarks/**/*.md",
)
PROGRAMS = ("dpboost/**/*.py", "examples/**/*.py", "benchmarks/**/*.py")
#: Written while the site is built.
MADE = ("_build", "outside", "gallery", "generated")

#: What is not written, and what is written instead.
PHRASES = {
    r"in LightGBM's place": "drop-in replacement for LightGBM",
    r"(?:stands?|stood) where": "is a drop-in replacement for",
    r"how little": "the privacy guarantee of",
    r"pa(?:ys?|id) for": "charges",
    r"at (?:a|no) (?:further )?charge": "using part of the budget; at no cost",
    r"one door": "one audited function",
    # Names of scopes in stored reports and transcripts stay.
    r"(?<!dealt by )secret coins?": "secret random assignment",
    r"(?:th(?:is|at)|a) look (?:is|costs)": "this output",
    r"look at labels": "estimate of the label range",
    r"in earnest": "in production",
    r"what holds": "what is guaranteed",
    r"tells? of": "reveals about",
    r"whoever sees": "anyone who sees",
    r"cannot be had": "not applicable",
    r"stand-ins?": "substitute",
    r"put off": "deferred",
    r"made-up": "synthetic",
    r"in the words of": "formally",
    r"of one's own": "custom",
    r"demand directions": "set monotonic constraints",
    r"the books": "the ledger",
    r"who comes back": "readmission",
    r"next to nothing": "almost nothing",
    r"[<>]{7}": "one side of an unfinished merge",
}
#: The glossary has them for code, whose names docstrings explain; some are kept in stored files.
OF_CODE = {"coin", "coins"}
#: Not prose: code in double backticks, examples, the line of a parameter, names in stored files,
#: and a bank's product.
NO_PROSE = re.compile(
    r"``[^`]*``|^\s*(?:>>>|\.\.\.) .*$|^ *[\w, *]+ : .*$|rows dealt by secret coins"
    r"|more drawn than booked|term deposit",
    re.MULTILINE,
)


def words() -> dict[str, str]:
    """Return what is not written in docstrings and messages, and what is written instead."""
    lines = (ROOT / ".ci" / "words.txt").read_text(encoding="utf-8").splitlines()
    return {old: new for old, new in (line.split("->") for line in lines) if old not in OF_CODE}


def strings(source: str) -> list[str]:
    """Return the docstrings and messages of a program; programs in its strings are none."""
    found = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    texts = (text for text in found if isinstance(text, str) and " " in text)
    return [NO_PROSE.sub("", text) for text in texts if "\nimport " not in text]


def prose(path: Path) -> str:
    """Return the text of a page without its code, or docstrings and messages of a program."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = "\n\n".join(strings(text))
    text = re.sub(r"^(`{3,})[^\n]*\n.*?^\1[ \t]*$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"`[^`\n]*`", "", text))


def found_in(text: str, phrases: dict[str, str] = PHRASES) -> list[str]:
    return [
        f"...{text[max(found.start() - 30, 0) : found.end() + 20]}...: write {better!r}"
        for phrase, better in phrases.items()
        for found in re.finditer(rf"\b{phrase}\b", text, re.IGNORECASE)
    ]


def texts(patterns: tuple[str, ...]) -> list[Path]:
    paths = {path for pattern in patterns for path in ROOT.glob(pattern)}
    parts = {path: path.relative_to(ROOT).parts for path in paths}
    return sorted(p for p in paths if parts[p][0] != "docs" or not set(parts[p]) & set(MADE))


@pytest.mark.parametrize("patterns", [PAGES, PROGRAMS], ids=["pages", "programs"])
def test_public_text_has_none_of_the_phrases(patterns):
    phrases = PHRASES if patterns is PAGES else {**PHRASES, **words()}
    found = {
        path.relative_to(ROOT).as_posix(): found_in(prose(path), phrases)
        for path in texts(patterns)
    }
    assert len(found) > 30
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_a_phrase_would_be_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("`one door` is code.\n```python\n# in earnest\n```\nIt stands\nwhere it was.\n")
    assert [line.rpartition(": ")[2] for line in found_in(prose(page))] == [
        "write 'is a drop-in replacement for'"
    ]
    program = tmp_path / "program.py"
    program.write_text(
        "def f(books):  # in earnest\n"
        '    """In earnest.\n\n    told : int\n    >>> "a dealt b"\n    """\n'
        '    return "Nobody would pay for it."\n'
    )
    found = found_in(prose(program), {**PHRASES, **words()})
    assert [line.rpartition(": ")[2] for line in found] == [
        "write 'charges'",
        "write 'in production'",
        "write 'no one'",
    ]
