from __future__ import annotations

import dataclasses

import pytest

from benchmarks.harness.run import carry_out
from benchmarks.peer_page import body, marked
from benchmarks.runner import as_run
from tests.benchmarks.conftest import measured


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
def page(peers, bench):
    rows = measured(peers, bench)
    rows = [
        dataclasses.replace(row, peak_mb=10.0 + position, accuracy=0.25)
        for position, row in enumerate(rows)
    ]

    def make(**options):
        given = {"marks": {}, "releases": {}}
        return "\n".join(body(rows, peers, bench.problems, **{**given, **options}))

    return make


def test_names_are_marked_everywhere(peers, bench):
    rows = measured(peers, bench)
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
    assert "No audit is recorded: `python -m benchmarks run peers-audit`." in lines
    assert "| accuracy | epsilon 0.5 | epsilon 2 |" in lines
    assert "| best | 0.2500 ± 0.0000 | 0.2500 ± 0.0000 |" in lines
    assert "| ramp | 0.250 | 0.250 | 0.250 | 0.250 |" in lines
    # Rows are in the order of splits, methods and epsilons: the last split has the largest.
    assert "| ramp | 18 | 20 | 22 | 23 |" in lines
    assert any(line.startswith("Memory: ") for line in lines)


def test_the_page_says_what_is_not_measured(page):
    assert "* Not measured: PrivaTree: ERROR: none" in page(releases={"privatree": "ERROR: none"})


def test_a_run_in_processes_of_their_own_keeps_marks_and_releases(
    peers, bench, monkeypatch, tmp_path
):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("benchmarks.runner.marks", lambda folder: {"worse": ["it leaks"]})
    monkeypatch.setattr("benchmarks.runner.releases", lambda: {"privatree": "ERROR: none"})
    monkeypatch.setattr(
        "benchmarks.runner.fit_alone",
        lambda library, *arguments, **settings: bench.load_library(library).fit_predict(
            *arguments, **settings
        ),
    )
    run = as_run(dataclasses.replace(peers, alone=True, name="trial"), bench)
    text = carry_out(run, tmp_path, progress=False)
    assert "* it leaks" in text
    assert "| worse* | " in text
    assert "ERROR: none" in text
    assert (tmp_path / "trial.png").read_bytes().startswith(b"\x89PNG")
