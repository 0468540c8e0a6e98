"""Public text uses the terms of the field: phrases that readers stopped at do not come back.

Spelling and single words are checked by codespell (``.ci/run``, ``.ci/words.txt``).
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("*.md", "docs/**/*.md", "dpboost/**/*.md", "examples/**/*.md", "examples/**/*.rst")
PROGRAMS = ("dpboost/**/*.py", "examples/**/*.py")
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


def messages(source: str) -> list[str]:
    """Return the strings of a program that are no docstrings."""
    nodes = list(ast.walk(ast.parse(source)))
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = [node for node in nodes if isinstance(node, ast.Constant) and id(node) not in alone]
    return [node.value for node in texts if isinstance(node.value, str) and " " in node.value]


def prose(path: Path) -> str:
    """Return the text of a page without its code, or the messages of a program.

    Of an example also what its docstring says.
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        docstring = ast.get_docstring(ast.parse(text)) if "examples" in path.parts else None
        text = "\n\n".join([docstring or "", *messages(text)])
    text = re.sub(r"^(`{3,})[^\n]*\n.*?^\1[ \t]*$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"`[^`\n]*`", "", text))


def found_in(text: str) -> list[str]:
    return [
        f"...{text[max(found.start() - 30, 0) : found.end() + 20]}...: write {better!r}"
        for phrase, better in PHRASES.items()
        for found in re.finditer(rf"\b{phrase}\b", text, re.IGNORECASE)
    ]


def texts(patterns: tuple[str, ...]) -> list[Path]:
    paths = {path for pattern in patterns for path in ROOT.glob(pattern)}
    parts = {path: path.relative_to(ROOT).parts for path in paths}
    return sorted(p for p in paths if parts[p][0] != "docs" or not set(parts[p]) & set(MADE))


@pytest.mark.parametrize("patterns", [PAGES, PROGRAMS], ids=["pages", "programs"])
def test_public_text_has_none_of_the_phrases(patterns):
    found = {path.relative_to(ROOT).as_posix(): found_in(prose(path)) for path in texts(patterns)}
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
        'def f(books):  # in earnest\n    """In earnest."""\n    return "Pay for it."\n'
    )
    assert len(found_in(prose(program))) == 1
