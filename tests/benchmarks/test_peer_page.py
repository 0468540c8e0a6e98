from __future__ import annotations

import dataclasses

import pytest

from benchmarks import __main__ as command_line
from benchmarks.__main__ import run_and_write
from benchmarks.experiments import Method
from benchmarks.peer_page import markdown, marked
from benchmarks.runner import run


@pytest.fixture
def peers(experiment):
    constant, shifted = experiment.methods
    return dataclasses.replace(
        experiment,
        methods=(
            dataclasses.replace(shifted, name="best"),
            dataclasses.replace(shifted, name="worse", settings={"shift": 60.0}),
            dataclasses.replace(shifted, name="better", settings={"shift": 1.0}),
            constant,
        ),
        omitted={("other", "worse"): "it is too large"},
        figure=True,
    )


@pytest.fixture
def page(peers, bench, tmp_path):
    rows = run(peers, tmp_path / "rows.csv", bench)
    rows = [
        dataclasses.replace(row, peak_mb=10.0 + place, accuracy=0.25)
        for place, row in enumerate(rows)
    ]

    def make(**options):
        given = {
            "n_jobs": 1,
            "published": {"ramp": True},
            "missing": {},
            "notes": "",
            "marks": {},
            "releases": {},
        }
        return markdown(rows, peers, bench.problems, **{**given, **options})

    return make


def test_names_are_marked_everywhere(peers, bench, tmp_path):
    rows = run(peers, tmp_path / "rows.csv", bench)
    renamed, experiment = marked(rows, peers, {"worse": ["it leaks"]})
    assert [method.name for method in experiment.methods] == [
        "best",
        "worse*",
        "better",
        "constant",
    ]
    assert {row.cell.method for row in renamed} == {"best", "worse*", "better", "constant"}
    assert dict(experiment.omitted) == {("other", "worse*"): "it is too large"}


def test_the_page_counts_where_best_is_ahead(page):
    text = page(marks={"worse": ["worse, case: it leaks"]})
    assert "| best against worse | 2 | 2 | 0 | 0 |" in text
    assert "| best against better | 2 | 0 | 0 | 2 |" in text
    assert "* worse, case: it leaks" in text
    assert "| worse* | " in text
    assert "No audit is recorded" not in text


def test_the_page_has_accuracy_time_and_memory(page):
    lines = page().splitlines()
    assert "No audit is recorded: `python -m benchmarks audit-peers`." in lines
    assert "| accuracy | epsilon 0.5 | epsilon 2 |" in lines
    assert "| best | 0.2500 ± 0.0000 | 0.2500 ± 0.0000 |" in lines
    assert "| ramp | 0.250 | 0.250 | 0.250 | 0.250 |" in lines
    # Rows are in the order of splits, methods and epsilons: the last split has the largest.
    assert "| ramp | 18 | 20 | 22 | 23 |" in lines
    assert any(line.startswith("* Memory: ") for line in lines)


def test_the_page_says_what_is_not_measured(page):
    text = page(
        missing={"peer": "no wheel"}, releases={"privatree": "ERROR: none"}, notes="## Notes\n"
    )
    assert "* Not run: no wheel" in text
    assert "* Not measured: PrivaTree: ERROR: none" in text
    assert text.index("## Megabytes") < text.index("## Notes") < text.index("## How")


def test_a_run_of_peers_takes_its_marks_from_the_folder(
    peers, bench, library, tmp_path, monkeypatch
):
    pytest.importorskip("matplotlib")
    library.prepare = lambda: None
    monkeypatch.setattr(command_line, "releases", lambda: {"sbdt": "ERROR: none"})
    monkeypatch.setattr(command_line, "marks", lambda folder: {"worse": ["worse: it leaks"]})
    drawn = []

    def draw(rows, experiment, problems):
        drawn.extend(method.name for method in experiment.methods)
        return b"image"

    monkeypatch.setattr(command_line, "draw", draw)
    alone = dataclasses.replace(peers, alone=True)
    page = run_and_write(alone, tmp_path, bench, fresh=False)
    assert "* Not measured: S-BDT: ERROR: none" in page
    assert drawn == ["best", "worse*", "better", "constant"]
    assert "worse*" not in (tmp_path / "trial.csv").read_text()


def test_ours_alone_need_no_counts(page, peers, bench, tmp_path):
    only = dataclasses.replace(
        peers, methods=(Method(name="constant", library="fake", private=False),)
    )
    rows = run(only, tmp_path / "only.csv", bench)
    text = markdown(
        rows,
        only,
        bench.problems,
        n_jobs=1,
        published={"ramp": True},
        missing={},
        notes="",
        marks={},
        releases={},
    )
    assert "## In short" not in text
    assert "accuracy |" not in text
