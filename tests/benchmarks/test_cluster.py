"""Runs on a cluster: what is written of them, and what the pages make of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from benchmarks.cluster.one import Measured, Run, generated, loopback
from benchmarks.cluster.pages import Costs, memory_page, rows_page, speed_page
from benchmarks.cluster.plan import LARGE, MILLION, SPEED, Row, find, results_of, rows_of
from benchmarks.cluster.runs import CLUSTER_RUNS
from benchmarks.errors import BenchmarkError
from benchmarks.harness.results import Results
from benchmarks.harness.run import Request

# A round takes 1 ms for each worker and 10 ns for a row; a row takes 50 bytes.
ROW_SECONDS, ROW_BYTES = 1e-8, 50


def took(run):
    seconds = 5e-3 + 1e-3 * run.workers + ROW_SECONDS * run.rows / run.workers
    return Measured(
        seconds=60.0,
        round_seconds=seconds,
        round_cpu=ROW_SECONDS * run.rows + 1e-3,
        least_seconds=5e-3,
        client_cpu=1e-3 * run.workers,
        round_bytes=3_000.0 * run.workers,
        message_bytes=2_000.0,
        sum_bytes=500.0,
        peak_bytes=2 * 10**9,
        worker_bytes=10**8 + ROW_BYTES * run.rows,
        idle_bytes=10**8,
    )


LARGE_ROW = Row(run=LARGE, measured=took(LARGE))
ROWS = [Row(run=run, measured=took(run)) for run in SPEED]


def results(rows, part="speed"):
    return [result for row in rows for result in results_of(part, row)]


def test_runs_are_results_and_back():
    assert rows_of(results([LARGE_ROW])) == [LARGE_ROW]
    assert rows_of(results(ROWS)) == ROWS
    with pytest.raises(BenchmarkError, match="no run"):
        find(ROWS, "best", 1, 1, 1)


def test_costs_are_those_of_a_row_and_of_a_message():
    costs = Costs(ROWS, "best", 100)
    assert costs.row_seconds == pytest.approx(ROW_SECONDS, rel=1e-3)
    assert costs.row_bytes == ROW_BYTES
    assert costs.round_bytes == 3_000
    run = Run(method="best", rows=64 * MILLION, features=100, partition=1, workers=16, rounds=1)
    assert costs.seconds(run.rows, run.workers) == pytest.approx(took(run).round_seconds, rel=0.05)


def test_pages_hold_what_was_measured():
    page = "\n".join(speed_page(ROWS))
    assert page.count("| best |") == sum(run.method == "best" for run in SPEED)
    assert "with two workers a round takes 0.5" in page
    page = "\n".join(rows_page(ROWS, LARGE_ROW))
    assert "1,000,000,000" in page
    assert "130 bytes" in page  # 80 features more
    page = "\n".join(memory_page([LARGE_ROW]))
    assert "2,000 MB" in page
    assert "50 bytes" in page


def test_the_page_has_a_section_for_what_was_run(monkeypatch):
    run = CLUSTER_RUNS[0]
    rows = [*results([LARGE_ROW], "memory"), *results(ROWS)]
    titles = ("## Memory of many rows", "## Seconds and bytes of a round", "## A billion rows")
    text = "\n".join(run.body(Results(rows=rows)))
    assert all(title in text for title in titles)
    text = "\n".join(run.body(Results(rows=results(ROWS))))
    assert [title in text for title in titles] == [False, True, False]
    monkeypatch.setattr(
        "benchmarks.cluster.runs.measure_apart", lambda own: Row(run=own, measured=took(own))
    )
    full, quick = (run.plan(Request(quick=quick)).units for quick in (False, True))
    assert len(full) == len(quick) + 1 == len(SPEED) + 1
    assert rows_of(full[0].measure()) == [LARGE_ROW]


def test_partitions_are_generated_alike_each_time():
    rows = generated(3, 1000, 4)
    assert rows.shape == (1000, 5)
    np.testing.assert_array_equal(rows, generated(3, 1000, 4))
    assert np.abs(rows[:, :4]).max() <= 1
    assert np.abs(rows[:, 4]).max() <= 2.5


def test_the_interface_is_counted():
    try:
        before = loopback()
    except OSError:
        pytest.skip("there is no /proc/net/dev")
    assert loopback() >= before >= 0


def test_every_run_has_partitions_for_its_workers():
    for run in (*SPEED, LARGE):
        assert run.rows // run.partition >= run.workers
        assert dataclasses.replace(run) == run


def test_the_page_of_spark_says_what_a_row_costs_and_what_many_would():
    from benchmarks.cluster.spark_runs import EXECUTORS, LARGE, MANY_ROWS, SPARK_RUN
    from benchmarks.harness.results import read

    stored = read(Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "spark.csv")
    assert LARGE.rows in MANY_ROWS
    page = "\n".join(SPARK_RUN.body(stored))
    row = float(page.split("`row` = ")[1].split(" ns")[0])
    cells = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")]
    rounds = {line[0]: line[2] for line in cells}
    many, fewer = (float(rounds[f"| {n_rows:,}"]) for n_rows in (MANY_ROWS[2], MANY_ROWS[1]))
    more = (MANY_ROWS[2] - MANY_ROWS[1]) / EXECUTORS
    assert abs(many - fewer - row * 1e-9 * more) < 0.02
