"""Statements with a figure, drawn from the documents: ``python -m tests.statements --seed 2026``.

A reader checks the drawn sentences against the code and the records. No package is needed.

The pages are the README and every page of ``docs/``. A statement is a sentence of a paragraph or of
a list that contains a figure: a number in digits, or a number word of `WORDS`. These are no
figures:

* all of code (blocks and in backticks), formulas, tables, headings and addresses of links,
* digits inside or at the end of a name (``SHA-256``, ``L2``, ``C4.5``),
* versions of programs, dates, years, and the number of a theorem, figure, table or section
  (`NUMBERED`),
* a parameter with its value, as in an instruction (``epsilon 1``, ``delta = 1e-6``).
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
#: Written while the site is built.
MADE = ("_build", "outside", "gallery", "generated")

WORDS = (
    "three|four|five|six|seven|eight|nine|ten|eleven|twelve|twice|half|thirds?|fifths?|tenths?|"
    "hundreds?|thousands?|millions?|billions?"
)
PARAMETERS = "epsilons?|delta|lambda|gamma|alpha|rho|depth|seed|k|n|m|q|port|level"
PROGRAMS = "Python|LightGBM|NumPy|SciPy|pandas|scikit-learn|Cython|Spark|Dask|TLS|R|C|version"
NUMBERED = (
    "algorithms?|theorems?|lemmas?|corollar(?:y|ies)|propositions?|claims?|figures?|tables?|"
    "sections?|equations?|lines?|pages?|articles?|part|steps?|chapters?|appendix|releases?|formats?|"
    "rules?|class|arXiv|Semantic Versioning"
)
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
NUMBER = r"\d[\d,]*(?:\.\d+)*(?:e-?\d+)?"
NUMBERS = rf"{NUMBER}(?:(?:,| and| or| to|, and) {NUMBER})*"

#: Not prose, and code inside of sentences. Both are overwritten, so that places in the text stay.
NO_PROSE = re.compile(
    r"^([`~:]{3,})[^\n]*\n.*?^\1[ \t]*$"  # blocks of code and of directives
    r"|(?<=\n\n)(?: {4}|\t)[^\n]*(?:\n(?: {4}|\t)[^\n]*)*"  # indented code
    r"|^[ \t]*\|[^\n]*$|^#[^\n]*$|^[ \t]*(?:[-*+]|\d+\.)(?=\s)"  # tables, headings, bullets
    r"|\$\$.+?\$\$|\$[^$]+\$|!\[[^\]]*\]|(?<=\])\([^)]*\)|<[^<>\n]*>|https?://\S+",
    re.MULTILINE | re.DOTALL,
)
CODE = re.compile(r"`[^`\n]+`")
NO_FIGURE = re.compile(
    rf"\b(?:{PARAMETERS})(?: =| of)? {NUMBERS}|\b(?:{NUMBERED}) [A-Z]?\.?{NUMBERS}"
    rf"|\b(?:{PROGRAMS}) {NUMBERS}|\b\d+\.\d+\.\d+\b"
    rf"|\b\d{{1,2}} (?:{MONTHS})\b|\b(?:{MONTHS}) \d{{1,2}}\b|\d{{4}}-\d\d-\d\d"
    r"|\b(?:19|20)\d\d\b(?!,\d)",
    re.IGNORECASE,
)
FIGURE = re.compile(rf"(?<![\w.-]){NUMBER}(?!\w*-[A-Z])|\b(?:{WORDS})\b", re.IGNORECASE)
END = re.compile(r"\n\s*\n|(?<=[.!?])[)*\"]*\s+(?=[^\sa-z])|\n(?=[ \t]*(?:[-*+]|\d+\.) )")


class Statement(NamedTuple):
    """A sentence with a figure, and where it begins."""

    page: str
    line: int
    text: str


def statements_of(text: str, page: str) -> Iterator[Statement]:
    """Yield the statements of the text of a page."""
    prose = NO_PROSE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    prose = CODE.sub(lambda found: "`" * len(found[0]), prose)
    start = 0
    for end in (*(found.end() for found in END.finditer(prose)), len(prose)):
        sentence = prose[start:end]
        first = end - len(sentence.lstrip())
        last = start + len(sentence.rstrip())
        if FIGURE.search(NO_FIGURE.sub(" ", " ".join(sentence.split()))):
            line = text.count("\n", 0, first) + 1
            yield Statement(page, line, " ".join(text[first:last].split()))
        start = end


def statements() -> list[Statement]:
    """Return the statements of all pages."""
    paths = (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
    pages = {path.relative_to(ROOT).as_posix(): path for path in paths}
    return [
        statement
        for page in sorted(pages)
        if not set(page.split("/")) & set(MADE)
        for statement in statements_of(pages[page].read_text(encoding="utf-8"), page)
    ]


def draw(found: list[Statement], n: int, seed: int) -> list[Statement]:
    """Return `n` different statements in the order of their pages."""
    return sorted(random.Random(seed).sample(found, n))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("-n", type=int, default=40)
    options = parser.parse_args()
    everything = statements()
    print(f"{options.n} of {len(everything)} statements with a figure, seed {options.seed}")
    for number, each in enumerate(draw(everything, options.n, options.seed), 1):
        print(f"{number:3}  {each.page}:{each.line}  {each.text}")
