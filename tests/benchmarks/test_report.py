from __future__ import annotations

import dataclasses
import math
import socket

import pytest

from benchmarks.report import markdown
from benchmarks.runner import quick, run
from benchmarks.summary import summarise
from benchmarks.versions import versions


def test_summary():
    summary = summarise([1.0, 2.0, 3.0])
    assert summary.mean == 2.0
    assert summary.standard_error == pytest.approx(1 / math.sqrt(3))
    assert f"{summary:4}" == "2.0000 ± 0.5774"
    assert f"{summarise([1.0]):4}" == "1.0000"


@pytest.fixture
def page(experiment, bench, tmp_path):
    rows = run(experiment, tmp_path / "rows.csv", bench)
    return rows, markdown(rows, experiment, bench.problems, n_jobs=1, published={"ramp": True})


def test_the_table_holds_every_method_in_order(page):
    rows, text = page
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert lines[0] == "| method | epsilon 0.5 | epsilon 2 | trees | fit (s) |"
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| constant", "| shifted"]
    mean = summarise([row.value for row in rows if row.cell.epsilon == 0.5]).mean
    assert lines[3].split(" | ")[1].startswith(f"{mean:.4f} ± ")
    assert lines[3].endswith(" | 3 | 0.250 |")


def test_what_does_not_beat_the_constant_is_marked(page):
    _, text = page
    constant, shifted = (line for line in text.splitlines() if line.startswith(("| c", "| s")))
    assert shifted.count("°") == 2
    assert "°" not in constant


def test_the_page_says_how_it_was_made(page):
    _, text = page
    assert "`python -m benchmarks run trial`" in text
    assert "RMSE" in text
    assert "fresh entropy" in text
    for package, version in versions().items():
        assert f"{package} {version}" in text
    assert not {"python", "dpboost", "lightgbm", "numpy", "scikit-learn"} - set(versions())
    assert " cores" in text
    assert socket.gethostname() not in text


def test_files_that_are_not_published_are_told(experiment, bench, tmp_path):
    short = quick(experiment)
    rows = run(short, tmp_path / "rows.csv", bench)
    text = markdown(rows, short, bench.problems, n_jobs=2, published={"ramp": False})
    assert "not those of the publisher" in text
    assert "`python -m benchmarks run trial --quick --n-jobs 2`" in text
    assert "±" not in text.split("## How")[0]


def test_notes_and_gaps_are_on_the_page(experiment, bench, tmp_path):
    gaps = dataclasses.replace(experiment, omitted={("ramp", "shifted"): "it is too large"})
    rows = run(gaps, tmp_path / "rows.csv", bench)
    text = markdown(
        rows,
        gaps,
        bench.problems,
        n_jobs=1,
        published={"ramp": True},
        missing={"peer": "The environment of peer cannot be made: no wheel"},
        notes="## Tried\n\nNothing.\n",
    )
    assert "Not run: shifted on ramp: it is too large." in text
    assert "no wheel" in text
    assert text.index("## ramp") < text.index("## Tried") < text.index("## How")


def test_a_page_without_details_names_the_data(experiment, bench, tmp_path):
    short = dataclasses.replace(experiment, details=False)
    rows = run(short, tmp_path / "rows.csv", bench)
    text = markdown(rows, short, bench.problems, n_jobs=1, published={"ramp": False})
    assert "## ramp" not in text
    assert "* ramp: https://example.org/ramp; **the files used are not" in text
