from __future__ import annotations

import pytest

pytest.importorskip("pandas")

from benchmarks.__main__ import main
from benchmarks.harness.groups import Group
from benchmarks.harness.page import head, parts_of
from benchmarks.harness.run import RESULTS
from benchmarks.other_pages import OTHER_PAGES, headed, write_heads
from benchmarks.registry import runs
from benchmarks.results_page import NAME, entries, results_page, write_results_page

BEST = """# Accuracy of a recipe

**Better than LightGBM in 3 of 4 cases.**

What the best does.

* Command: `python -m benchmarks run best`
"""
COST = """| | CPU, s | time, s |
| :-- | --: | --: |
| the fit | 16.3 | 51.4 |
| six that import a party | 14.6 | 38.5 |
| six that import LightGBM | 11.4 | 29.8 |
"""


def test_an_entry_is_title_finding_and_files_in_its_group(tmp_path):
    folder, notes = tmp_path / "results", tmp_path / "notes"
    for path in (folder, notes):
        path.mkdir()
    (folder / "best.md").write_text(BEST)
    (folder / "best-quick.md").write_text("# Accuracy of a recipe\n\nNothing was found.\n")
    (folder / "best.csv").write_text("")
    (folder / "attacks.md").write_text("# Attacks\n\n**Nothing is won.**\n\nMore.\n")
    (folder / "attacks.png").write_text("")
    (folder / "nightly.txt").write_text("rest: passed in 3 s\nwindows: FAILED in 4 s\n")
    (notes / "README-before.md").write_text("Read this first.\n")
    page = results_page(folder, notes)
    assert [line for line in page.splitlines() if line.startswith("* [")][:4] == [
        "* [Accuracy of a recipe](best.md). Better than LightGBM in 3 of 4 cases. "
        "(`best`, [values](best.csv))",
        "* [Accuracy of a recipe, short form](best-quick.md). (`best-quick`)",
        "* [Attacks](attacks.md). Nothing is won. (`attacks`, [figure](attacks.png))",
        "* [Last results of the nightly tests](nightly.txt). 1 of 2 nightly steps passed when they "
        "last ran; failed: windows. (`.ci/nightly`)",
    ]
    headings = [f"## {group.value}" for group in Group]
    assert [line for line in page.splitlines() if line.startswith("## ")] == headings
    assert page.index("Read this first.") < page.index(headings[0])


def test_every_page_is_in_exactly_one_of_six_groups():
    assert len(Group) == 6
    listed = [path.name for paths in entries(RESULTS).values() for path in paths]
    assert len(listed) == len(set(listed))
    pages = [*RESULTS.glob("*.md"), *RESULTS.glob("*.txt")]
    assert {path.name for path in pages} - {NAME} == set(listed)
    names = [f"{name}.md" for name in runs()] + [page.file for page in OTHER_PAGES]
    assert len(names) == len(set(names))


def test_titles_are_of_one_page_each():
    titles = [run.title for run in runs().values()] + [page.title for page in OTHER_PAGES]
    assert len(titles) == len(set(titles))
    assert all(title[0].isupper() and not title.endswith(".") for title in titles)


def test_every_page_begins_with_its_title_and_finding():
    known = {f"{name}.md": run.title for name, run in runs().items()}
    known |= {page.file: page.title for page in OTHER_PAGES}
    for path in RESULTS.glob("*.md"):
        if path.name != NAME:
            title, finding, rest = parts_of(path.read_text(encoding="utf-8"))
            assert title == known[path.name]
            assert finding.endswith(".")
            assert rest.strip()


@pytest.mark.parametrize("finding", ["", "One of **two** holds."])
def test_a_head_is_read_as_it_was_written(finding):
    text = "\n".join([*head("A title", finding), "**Bold** words begin.", ""])
    assert parts_of(text) == ("A title", finding, "**Bold** words begin.\n")


def test_other_pages_in_the_results_have_the_heads_of_their_texts():
    shown = 0
    for page in OTHER_PAGES:
        path = RESULTS / page.file
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            if path.suffix == ".md":
                assert headed(page.file, parts_of(text)[2]) == text
                text = parts_of(text)[2]
            assert page.finding(text).endswith("."), page.file
            shown += 1
    assert shown > 5


def test_heads_are_written_again_and_follow_the_text(tmp_path):
    path = tmp_path / "https-cost.md"
    path.write_text(f"# An old title\n\n{COST}")
    write_heads(tmp_path)
    text = path.read_text()
    assert text.startswith("# Cost of federated training over HTTPS\n\n**The processes of a fit ")
    assert "take 16.3 s of CPU. The same number of processes takes 14.6 s to import" in text
    path.write_text(text.replace("| 16.3 |", "| 26.3 |"))
    write_heads(tmp_path)
    assert path.read_text() == text.replace("16.3", "26.3")


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("audit.txt", "a 1 ok\nb 2 VIOLATION\nc 3 ok (by mu >= 1 of 2)\n", "1 of 3 audits find"),
        (
            "audit-repeats.txt",
            "9 passed in 1s\n1 failed, 8 passed in 1s\nseed 3: 5 replays, 2 violations\n",
            "1 of 2 repeats of the tests of the audit fail, and random replays find 2 violations",
        ),
        (
            "planted-bugs.txt",
            "7 bugs of kinds.\nAt first the audit saw 3 of them; now it sees 6.\n",
            "sees 6 of 7 planted bugs; at first it saw 3",
        ),
        ("planted-bugs.txt", "", ""),
        (
            "mutants.md",
            "| a | 5 | 4 | 1 | 0 |\n| b | 3 | 1 | 1 | 1 |\n\n| b | x | y | not explained yet |\n",
            "detect 5 of 8 planted bugs; of the other 3, the page explains for 2 why",
        ),
        (
            "timing-leak.md",
            "| a | 0.500 (+0.1) | 0.912 (-9.0, shows) |\n",
            "in 1 of 2 comparisons",
        ),
        (
            "transcript-cost.md",
            "| a | 0.990 (0.9 to 1.1) | 4.3 |\n| b | 1.010 (0.9 to 1.1) | 9.4 |\n",
            "takes 0.990 to 1.010 times the CPU time of one that does not, and at most 9.4 bytes",
        ),
        (
            "lightgbm-suite.md",
            "| file | passes | wrong |\n| :-- | --: | --: |\n| a | 3 | 0 |\n| all | 3 | 0 |\n",
            "Of 3 tests, passes: 3 and wrong: 0",
        ),
        ("first-hour.txt", " 51.6 s    73.8 s  4 commands; of 300 s\n", "4 commands lead from"),
        ("nightly.txt", "rest: passed in 3 s\n", "1 of 1 nightly steps passed"),
        (
            "release.txt",
            "Python 3.10\n  dpboost-1-cp310-cp310-x.whl: 5 bytes in 1 s\n  tests: 7 passed\n"
            "  44 model texts, as stored: sha256 aa\n\n"
            "Python 3.11\n  dpboost-1-cp311-cp311-x.whl: 5 bytes\n"
            "  44 model texts, as stored: sha256 aa\n",
            "Wheels for Python 3.10 and 3.11 were built and tried; stored models are the same",
        ),
        (
            "release.txt",
            "Python 3.10\n  dpboost-1-cp310-cp310-x.whl: 5 bytes\n"
            "  44 model texts, as stored: sha256 aa\n\n"
            "Python 3.11\n  dpboost-1-cp311-cp311-x.whl: 5 bytes\n"
            "FAILED in tests of what was installed, with Python 3.11; nothing after it was done.\n",
            "Wheels for Python 3.10 were built and tried; stored models are the same text with "
            "each; the run failed in tests of what was installed, with Python 3.11.",
        ),
        (
            "release.txt",
            "FAILED in the checks of the tag; nothing after it was done.\n",
            "No wheel was built and tried; the run failed in the checks of the tag.",
        ),
        ("release.txt", "", ""),
        ("windows.txt", "1 failed, 25 passed\n30 passed\n", "55 tests pass and 1 fail"),
    ],
)
def test_findings_of_other_pages_are_read_from_their_texts(file, text, words):
    found = next(page for page in OTHER_PAGES if page.file == file).finding(text)
    assert words in found
    assert bool(words) == found.endswith(".")


def test_the_page_does_not_list_itself(tmp_path):
    (tmp_path / "best.md").write_text(BEST)
    first = write_results_page(tmp_path, tmp_path / "nowhere")
    assert write_results_page(tmp_path, tmp_path / "nowhere") == first
    assert (tmp_path / "README.md").read_text() == first


def test_the_page_is_a_command(tmp_path):
    (tmp_path / "best.md").write_text(BEST)
    assert main(["pages", "--output", str(tmp_path)]) == 0
    assert (tmp_path / "README.md").is_file()
