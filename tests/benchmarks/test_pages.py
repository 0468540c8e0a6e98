"""Every page is made of its file of results, and says nothing that the results do not."""

from __future__ import annotations

import pytest

pytest.importorskip("pandas")

from benchmarks.harness.groups import Group  # noqa: E402
from benchmarks.harness.results import Result, Results, read, to_text  # noqa: E402
from benchmarks.harness.run import NOTES, QUICK, RESULTS, page_of  # noqa: E402
from benchmarks.registry import runs  # noqa: E402
from benchmarks.reproductions import agreement, claims_page, inventory  # noqa: E402
from benchmarks.reproductions.lpdt import figure1  # noqa: E402
from benchmarks.reproductions.lpdt.synthetic import MECHANISMS  # noqa: E402
from benchmarks.results_page import NAME, results_page  # noqa: E402

FILES = sorted(RESULTS.glob("*.csv"))
#: Written by commands that keep no numbers of their own beside the page.
NO_NUMBERS = {"claims", "https-cost", "mutants", "timing-leak", "transcript-cost"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_page_is_that_of_its_results_byte_for_byte(path):
    run = runs()[path.stem.removesuffix(QUICK)]
    assert page_of(run, read(path)).encode() == path.with_suffix(".md").read_bytes()


#: Claims of the papers that have a verdict; none is ever removed.
CLAIMS = 714


def test_every_page_has_results_and_the_page_over_all_is_theirs():
    pages = {path.stem for path in RESULTS.glob("*.md")} - {"README"}
    assert pages - NO_NUMBERS == {path.stem for path in FILES}
    assert results_page(RESULTS, NOTES).encode() == (RESULTS / NAME).read_bytes()


def test_the_list_of_claims_is_that_of_the_pages():
    page = claims_page.claims_page(RESULTS)
    assert page.encode() == (RESULTS / claims_page.NAME).read_bytes()
    every = sum(claims_page.counts_of(paper, RESULTS).total() for paper in claims_page.UNJUDGED)
    assert every >= CLAIMS
    for paper in claims_page.UNJUDGED:
        counted = claims_page.counts_of(paper, RESULTS)
        assert sum(counted.values()) > 0
        assert all(bool(reason) == (word == "undecided") for word, reason in counted)
        assert f"## {paper}" in page


def test_every_claim_of_a_paper_has_its_sentence_and_numbers():
    for name, run in runs().items():
        path = RESULTS / f"{name}.md"
        if run.group is Group.PAPERS and path.is_file():
            words = {word for word, _ in claims_page.verdicts_of(path.read_text())}
            assert "not measured" not in words, name


def test_every_figure_and_table_of_the_papers_is_listed_with_its_state():
    lines = list(inventory.lines(RESULTS))
    assert len(lines) == len(set(lines)) == len(inventory.ITEMS) + len(inventory.MISSING)
    expected = {
        inventory.DPBOOST: {f"figure {n}" for n in range(1, 9)} | {f"table {n}" for n in (1, 2, 3)},
        inventory.LPDT: {
            "figure 1", "figure 2", "figure 3", "figure 4 (a)", "figure 4 (b)",
            "table 1", "table 2", "table 3",
        },
        inventory.TOPDOWN: {
            f"figure {number} ({where}{more})"
            for number in range(1, 7)
            for where in ("one machine", "data holders")
            for more in ((", tables", ", KDD Cup, MNIST") if number in (2, 5) else ("",))
        },
        inventory.FEDERATED: {"figure 1", "figure 2"}
        | {f"figure {n} (depth {depth})" for n in (3, 4, 5) for depth in (5, 10)},
        inventory.FRIEDMAN: {f"figure {n}" for n in range(1, 9)} | {"table 1"},
    }  # fmt: skip
    found: dict[str, set[str]] = {}
    for item in inventory.ITEMS:
        found.setdefault(item.paper, set()).add(item.name)
        assert bool(item.run) != bool(item.nothing)
        assert not item.run or item.run in runs()
    assert found == expected


@pytest.mark.parametrize(("public_error", "word"), [(0.5, "holds"), (2.0, "the other way round")])
def test_sentences_follow_the_results(tmp_path, public_error, word):
    rows = [
        Result(
            data="sine",
            method=f"{label}, {kind}",
            epsilon=figure1.EPSILON,
            x=depth,
            repeat=repeat,
            measure="mean squared error",
            value=error + repeat / 1000 * (1 + len(depth)),
        )
        for label in MECHANISMS.values()
        for kind, depth, error in (
            ("with public rows", "", public_error),
            ("without public rows", "3", 1.0),
            ("without public rows", "4", 1.1),
        )
        for repeat in range(10)
    ]
    (tmp_path / "lpdt-figure1.csv").write_text(to_text(Results(rows=rows)), encoding="utf-8")
    said = [line for line in agreement.lines(tmp_path) if "public rows help" in line]
    assert len(said) == len(MECHANISMS)
    assert all(f": {word} (" in line for line in said)
