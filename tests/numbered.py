"""The numbered statements of the five papers: ``python -m tests.numbered`` writes their tables.

A mark ``# Numbered: paper | statement | state | words | test`` in the code says what became of one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "deviations.md"
TITLE = "## The numbered statements of the five papers"

#: Kinds of statements, and the numbers that each paper has.
STATEMENTS = {
    "DPBoost": {
        "Algorithm": "1 2",
        "Theorem": "1 2 3 4 5 6 7 8",
        "Lemma": "1 2",
        "Corollary": "1 2",
    },
    "DP-TopDown": {
        "Algorithm": "1",
        "Theorem": "2 3 8 9 14 15",
        "Lemma": "4 6 10 11 12 13 17 18 19 20",
        "Corollary": "5 7 16",
    },
    "Friedman and Schuster": {"Algorithm": "1 2 3", "Theorem": "1", "Claim": "1"},
    "Gubler": {"Algorithm": "1 2 3 4 5 6", "Theorem": "1 2 3 4 5 6 7", "Lemma": "3.1 3.2"},
    "LPDT": {"Algorithm": "1", "Theorem": "3.1 3.4 3.5"},
}
STATES = ("as printed", "corrected", "not used", "not claimed", "not shipped")

_INTRODUCTION = (
    "Every algorithm, theorem, lemma and corollary, by its number. *As printed*: the code rests on "
    "it or does it. *Corrected*: the tables above say why. *Not used*: a step of a proof that the "
    "code does not need. *Not claimed*: no guarantee and no report of the library rests on it. "
    "Made from marks in the code by `python -m tests.numbered`."
)


@dataclass(frozen=True, kw_only=True)
class Mark:
    """What became of a statement, and where."""

    paper: str
    statement: str
    state: str
    words: str
    test: str
    path: str


def marks() -> list[Mark]:
    """Return the marks of the package."""
    found = []
    for path in sorted((ROOT / "dpboost").rglob("*.py")):
        text = re.sub(r"\n#   ", " ", path.read_text(encoding="utf-8"))
        for line in re.findall(r"^# Numbered: (.*)$", text, flags=re.MULTILINE):
            paper, statement, state, words, test = line.split(" | ")
            found.append(
                Mark(
                    paper=paper,
                    statement=statement,
                    state=state,
                    words=words,
                    test=test,
                    path=path.relative_to(ROOT / "dpboost").as_posix(),
                )
            )
    return found


def wanted() -> list[tuple[str, str]]:
    """Return paper and statement of all of them, in their order."""
    return [
        (paper, f"{kind} {number}")
        for paper, kinds in STATEMENTS.items()
        for kind, numbers in kinds.items()
        for number in numbers.split()
    ]


def section() -> str:
    """Return the section of the page."""
    by_statement = {(mark.paper, mark.statement): mark for mark in marks()}
    lines = [TITLE, "", _INTRODUCTION]
    for paper in STATEMENTS:
        lines += ["", f"### {paper}, by number", ""]
        lines += [
            "| statement | | what is shipped | code | test |",
            "| --- | --- | --- | --- | --- |",
        ]
        for key in wanted():
            if key[0] == paper:
                mark = by_statement[key]
                test = "" if mark.test == "-" else f"`{mark.test}`"
                cells = (mark.statement, mark.state, mark.words, f"`{mark.path}`", test)
                lines.append(f"| {' | '.join(cells)} |".replace("|  |", "| |"))
    return "\n".join(lines) + "\n"


def written(page: str) -> str:
    """Return the page with the section at its end."""
    before = page.partition(TITLE)[0].rstrip()
    return f"{before}\n\n{section()}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
