from __future__ import annotations

import dataclasses
import math
import socket

import pytest

from benchmarks.harness.machine import machine_class
from benchmarks.report import body
from benchmarks.runner import quick
from benchmarks.summary import summarize
from benchmarks.versions import versions
from tests.benchmarks.conftest import measured


def test_summary():
    summary = summarize([1.0, 2.0, 3.0])
    assert summary.mean == 2.0
    assert summary.standard_error == pytest.approx(1 / math.sqrt(3))
    assert f"{summary:4}" == "2.0000 ± 0.5774"
    assert f"{summarize([1.0]):4}" == "1.0000"


@pytest.fixture
def page(experiment, bench):
    rows = measured(experiment, bench)
    return rows, "\n".join(body(rows, experiment, bench.problems))


def test_the_table_holds_every_method_in_order(page):
    rows, text = page
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert lines[0] == "| method | epsilon 0.5 | epsilon 2 | trees | fit (s) |"
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| constant", "| shifted"]
    mean = summarize([row.value for row in rows if row.cell.epsilon == 0.5]).mean
    assert lines[3].split(" | ")[1].startswith(f"{mean:.4f} ± ")
    assert lines[3].endswith(" | 3 | 0.250 |")


def test_what_does_not_beat_the_constant_is_marked(page):
    _, text = page
    constant, shifted = (line for line in text.splitlines() if line.startswith(("| c", "| s")))
    assert shifted.count("°") == 2
    assert "°" not in constant


def test_versions_are_stated():
    assert not {"python", "dpboost", "lightgbm", "numpy", "scikit-learn"} - set(versions())
    assert socket.gethostname() not in machine_class()
    assert " cores" in machine_class()


def test_files_that_are_not_published_are_told(experiment, bench):
    short = quick(experiment)
    text = "\n".join(body(measured(short, bench), short, bench.problems, ["ramp"]))
    assert "not those of the publisher" in text
    assert "RMSE" in text
    assert "±" not in text


def test_a_page_without_details_names_the_data(experiment, bench):
    short = dataclasses.replace(experiment, details=False)
    text = "\n".join(body(measured(short, bench), short, bench.problems, ["ramp"]))
    assert "## ramp" not in text
    assert "* ramp: https://example.org/ramp; **the files used are not" in text
