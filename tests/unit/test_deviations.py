"""The page of deviations names every file with the mark, and files that are there."""

from __future__ import annotations

import re
from pathlib import Path

from tests import numbered

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "deviations.md"


def named() -> tuple[set[str], set[str]]:
    """Return the paths of code and of tests that the tables of the page name."""
    claims, _, _ = PAGE.read_text(encoding="utf-8").partition("## Recipes beside")
    lines = [line for line in claims.splitlines() if line.startswith("|")]
    # A bar inside a cell is escaped.
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    assert {len(row) for row in rows} == {5}
    code, tests = (
        {path for row in rows for path in re.findall(r"`([^`]+)`", row[k])} for k in (3, 4)
    )
    return code, tests


def test_every_file_with_the_mark_is_on_the_page():
    code, _ = named()
    package = ROOT / "dpboost"
    marked = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "Deviation:" in path.read_text(encoding="utf-8")
    }
    assert marked
    assert marked <= code


def test_every_path_of_the_page_is_there():
    code, tests = named()
    places = (ROOT / "dpboost", ROOT)
    assert [path for path in sorted(code) if not any((p / path).exists() for p in places)] == []
    assert [path for path in sorted(tests) if not (ROOT / "tests" / path).exists()] == []


def test_every_numbered_statement_has_one_mark_and_no_other():
    found = [(mark.paper, mark.statement) for mark in numbered.marks()]
    assert sorted(found) == sorted(numbered.wanted())


def test_a_mark_says_what_became_of_it_and_where_it_is_tested():
    for mark in numbered.marks():
        assert mark.state in numbered.STATES
        assert mark.words
        tested = mark.state in ("as printed", "corrected")
        assert (mark.test != "-") or not tested, mark.statement
        assert mark.test == "-" or (ROOT / "tests" / mark.test).exists(), mark.test


def test_the_page_has_the_tables_of_the_marks():
    page = PAGE.read_text(encoding="utf-8")
    assert numbered.written(page) == page
