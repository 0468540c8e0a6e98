"""Runs on a cluster: what is written of them, and what the pages make of it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from benchmarks.cluster import __main__ as command
from benchmarks.cluster.one import Measured, Run, generated, loopback
from benchmarks.cluster.pages import Costs, memory_page, rows_page, speed_page
from benchmarks.cluster.plan import LARGE, MILLION, SPEED, Row, find, from_text, to_text
from benchmarks.errors import BenchmarkError

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


def test_rows_are_read_as_they_were_written():
    assert from_text(to_text(ROWS)) == ROWS
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
    page = speed_page(ROWS)
    assert page.count("| best |") == sum(run.method == "best" for run in SPEED)
    assert "with two workers a round takes 0.5" in page
    page = rows_page(ROWS, LARGE_ROW)
    assert "1,000,000,000" in page
    assert "130 bytes" in page  # 80 features more
    page = memory_page([LARGE_ROW])
    assert "2,000 MB" in page
    assert "50 bytes" in page


def test_the_pages_of_an_unfinished_run_wait(tmp_path):
    (tmp_path / "dask-speed.csv").write_text(to_text(ROWS[:-1]))
    assert command.main(["pages", "--results", str(tmp_path)]) == 0
    assert not (tmp_path / "dask-speed.md").exists()
    (tmp_path / "dask-speed.csv").write_text(to_text(ROWS))
    (tmp_path / "dask-memory.csv").write_text(to_text([LARGE_ROW]))
    command.main(["pages", "--results", str(tmp_path)])
    assert (tmp_path / "dask-rows.md").exists()


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
