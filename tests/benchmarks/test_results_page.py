from __future__ import annotations

from benchmarks.__main__ import main
from benchmarks.results_page import results_page, write_results_page

TARGETS = """# best

What the best does
in two lines.

## Targets

3 of 4 targets are met, 1 of them only within two standard errors.

## best against LightGBM

best is to be as good. This holds in 2 of 5 rows.

* Command: `python -m benchmarks run best`
"""
CLAIMS = """# dp-topdown

![accuracy](dp-topdown.png)

Figures of a paper.

## What the paper reports

Claims: 2 confirmed, 1 undecided.
"""
COUNTED = """# figure2

Errors.

## What we add

Claims: 1 refuted.
"""


def test_every_result_is_listed_with_its_command_and_verdicts(tmp_path):
    folder, notes = tmp_path / "results", tmp_path / "notes"
    for path in (folder, notes):
        path.mkdir()
    for name, text in {"best": TARGETS, "dp-topdown": CLAIMS, "figure2": COUNTED}.items():
        (folder / f"{name}.md").write_text(text)
    (folder / "strange.md").write_text("# strange\n")
    (folder / "best.csv").write_text("")
    (folder / "dp-topdown.png").write_text("")
    (folder / "audit.txt").write_text("")
    (notes / "README-before.md").write_text("Read this first.\n")
    page = results_page(folder, notes)
    assert "What the best does in two lines. [page](best.md), [values](best.csv)." in page
    assert "    python -m benchmarks run best\n" in page
    assert "* Targets: 3 of 4 targets are met" in page
    assert "* best against LightGBM: best is to be as good. This holds in 2 of 5 rows." in page
    assert "[figure](dp-topdown.png)" in page
    assert "* What the paper reports: 2 confirmed, 1 undecided.\n" in page
    assert "* What we add: 1 refuted.\n" in page
    assert page.index("Read this first.") < page.index("### best")
    assert page.index("### figure2") < page.index("### dp-topdown") < page.index("### strange")
    assert "[audit.txt](audit.txt)" in page


def test_the_page_does_not_list_itself(tmp_path):
    (tmp_path / "best.md").write_text(TARGETS)
    first = write_results_page(tmp_path, tmp_path / "nowhere")
    assert write_results_page(tmp_path, tmp_path / "nowhere") == first
    assert (tmp_path / "README.md").read_text() == first


def test_the_page_is_a_command(tmp_path):
    (tmp_path / "best.md").write_text(TARGETS)
    assert main(["pages", "--output", str(tmp_path)]) == 0
    assert (tmp_path / "README.md").is_file()
