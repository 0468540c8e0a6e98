"""The list of all claims of the five papers: ``results/claims.md``, and counts for ``list``.

Verdicts come from the pages of the runs, which are generated from their results. A claim over two
runs is evaluated here. The list names the claims that no page evaluates, with the reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.files import write_atomically
from benchmarks.harness.claims import HOLDS_MARGIN, HOLDS_ZERO, UNDECIDED, WORDS, Verdict, judged
from benchmarks.harness.claims import sections as sections_of
from benchmarks.harness.results import read
from benchmarks.other_pages import headed
from benchmarks.reproductions import inventory
from benchmarks.reproductions.federated_trees import figures as federated

NAME = "claims.md"

#: Claims of the texts that no page evaluates, and why.
UNJUDGED = {
    inventory.DPBOOST: (
        ("4.2: about 2 to 3 times slower than NP in other cases", "ratios, on the page of table 2"),
        ("B: the share of filtered instances is no more than 8 %", "shares, on that of table 3"),
    ),
    inventory.LPDT: (
        ("4.2: LPDT is reasonably close to DT", "no distance is said"),
        ("4.3: taxi trips that end in a zone are cheaper", "the trips are not at hand"),
    ),
    inventory.TOPDOWN: (
        ("4: private trees above those without noise on CTR", "Avazu is not at hand"),
    ),
    inventory.FEDERATED: (
        ("4.2: in some cases saving is above the centralized tree", "a case is on every panel"),
    ),
    inventory.FRIEDMAN: (
        ("5.1: the typical deviation is about 5 %", "deviations are beside the means"),
        ("5.1: Max has deeper trees without privacy", "depths are not recorded"),
    ),
}

#: Of sections, which stand lower where a page has several parts.
_TITLES = (" What the paper reports", " What we add")
_WIDE = (HOLDS_ZERO, HOLDS_MARGIN)
_ROW = re.compile(r"^\| .* \| ([a-z ]+)(?:: ([^|]+))? \|$")


def verdicts_of(page: str) -> Counter[tuple[str, str]]:
    """Return how many claims of the paper have each word and reason on a page."""
    found: Counter[tuple[str, str]] = Counter()
    for line in _reported(page):
        if (row := _ROW.match(line)) and row[1] in WORDS:
            found[row[1], (row[2] or "").strip()] += 1
    return found


def _reported(page: str) -> Iterator[str]:
    """Yield the lines of what the paper reports, of each part of a page."""
    inside = False
    for line in page.splitlines():
        if (title := line.lstrip("#")) in _TITLES or line.startswith("## "):
            inside = title == _TITLES[0]
        elif inside:
            yield line


def counts_of(paper: str, folder: Path) -> Counter[tuple[str, str]]:
    """Return the same over all pages of a paper, the claims over two runs among them."""
    found: Counter[tuple[str, str]] = Counter()
    for name in _runs_of(paper):
        path = folder / f"{name}.md"
        if path.is_file():
            found += verdicts_of(path.read_text(encoding="utf-8"))
    path = folder / NAME
    if paper == inventory.FEDERATED and path.is_file():
        found += verdicts_of(path.read_text(encoding="utf-8"))
    return found


def told(found: Counter[tuple[str, str]]) -> str:
    """Return counts as words, with the reasons of what is undecided."""
    parts = []
    for word in WORDS:
        n = sum(number for (said, _), number in found.items() if said == word)
        if n and word == UNDECIDED:
            wide = sum(number for (_, why), number in found.items() if why in _WIDE)
            parts.append(f"{n} {word} ({n - wide} too few repeats, {wide} wide intervals)")
        elif n:
            parts.append(f"{n} {word}")
    return ", ".join(parts) or "none measured"


def _runs_of(paper: str) -> list[str]:
    names = (item.run for item in inventory.ITEMS if item.paper == paper and item.run)
    return list(dict.fromkeys(names))


def over_depths(folder: Path) -> list[Verdict]:
    """Return the verdicts on what deeper trees do, which two runs show together."""
    found = []
    for shallow, deep in zip(federated.PAPERS[:3], federated.PAPERS[3:], strict=True):
        paths = [folder / f"{paper.name}.csv" for paper in (shallow, deep)]
        if all(path.is_file() for path in paths):
            rows = [row for path in paths for row in read(path).measured()]
            (figure,) = {row.part for row in rows} - {"figure 2"}
            found += judged(federated.depth_claims(figure), federated.derived(rows))
    return found


def claims_page(folder: Path) -> str:
    """Return the page: every sentence of a paper with what became of its claims."""
    lines = [
        "Every sentence of the papers' texts that the results can confirm or refute, with what "
        "became of its claims, one for each data set. Sentences, margins and tests are declared in "
        "the code, and none is removed after a run. The records of 22 November 2026 and before are "
        "older than the margins, the tests and the division of the error among the claims of a "
        "sentence. Those of before 28 November are older than the units of the tests (fits within "
        "a fold, runs on a given table) and than the signed ranks on all pages of LPDT. For these "
        "records all of this was chosen afterwards. Where many claims were undecided, runs or sets "
        "were fitted again with more repeats, without the fits from before. How many was decided "
        "after such a look, so that these claims had more than one test.",
        "",
    ]
    for paper in dict.fromkeys(item.paper for item in inventory.ITEMS):
        lines += [f"## {paper}", ""]
        for name in _runs_of(paper):
            path = folder / f"{name}.md"
            said = _sentences(path) if path.is_file() else []
            if said:
                lines += [f"[{name}]({name}.md):", "", *said, ""]
        if paper == inventory.FEDERATED:
            lines += sections_of([one for one in over_depths(folder) if not one.claim.ours])
        lines += ["Not evaluated:", "", *(f"* {text}: {why}." for text, why in UNJUDGED[paper]), ""]
    return headed(NAME, "\n".join(lines).rstrip() + "\n")


def _sentences(path: Path) -> list[str]:
    page = path.read_text(encoding="utf-8")
    return [line for line in _reported(page) if line.startswith("* ")]


def write_claims_page(folder: Path) -> None:
    """Write the page into the folder of the results."""
    write_atomically(folder / NAME, claims_page(folder).encode())
