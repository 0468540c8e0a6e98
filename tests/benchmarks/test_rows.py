from __future__ import annotations

import dataclasses
import math

import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.rows import Cell, PartialRows, Row, from_text, to_text


def make_row(epsilon, split=0, settings="a", value=0.1 + 0.2) -> Row:
    return Row(
        cell=Cell(problem="p", method="m", epsilon=epsilon, split=split),
        metric="AUC",
        value=value,
        fit_seconds=1 / 3,
        n_trees=2,
        epsilon_spent=epsilon,
        n_train_rows=8,
        n_test_rows=2,
        settings=settings,
    )


def test_rows_survive_the_way_there_and_back():
    rows = [make_row(0.5), make_row(None), make_row(math.inf, split=7)]
    rows.append(dataclasses.replace(rows[0], accuracy=1 / 3, peak_mb=2 / 3))
    assert from_text(to_text(rows)) == rows


def test_a_torn_last_line_is_no_row():
    text = to_text([make_row(0.5), make_row(1.0)])
    assert from_text(text[:-4]) == [make_row(0.5)]
    assert from_text("") == []


def test_a_row_is_on_disk_when_it_is_added(tmp_path):
    path = tmp_path / "p.csv"
    row = make_row(0.5)
    PartialRows(path, {row.cell: "a"}).add(row)
    assert PartialRows(path, {row.cell: "a"}).rows == {row.cell: row}


def test_rows_of_other_settings_or_of_no_fit_are_dropped(tmp_path):
    path = tmp_path / "p.csv"
    rows = [make_row(0.5), make_row(1.0, settings="b"), make_row(2.0)]
    path.write_text(to_text(rows))
    partial = PartialRows(path, {rows[0].cell: "a", rows[1].cell: "a"})
    assert list(partial.rows) == [rows[0].cell]
    assert partial.n_dropped == 2
    assert from_text(path.read_text()) == [rows[0]]


def test_the_torn_line_is_gone_before_the_next_row_is_added(tmp_path):
    path = tmp_path / "p.csv"
    rows = [make_row(0.5), make_row(1.0)]
    path.write_text(to_text(rows)[:-4])
    PartialRows(path, {row.cell: "a" for row in rows}).add(rows[1])
    assert from_text(path.read_text()) == rows


@pytest.mark.parametrize("text", ["some,other,table\n", to_text([make_row(0.5)]).replace("8", "x")])
def test_a_file_that_is_not_ours_is_refused_and_left_alone(tmp_path, text):
    path = tmp_path / "p.csv"
    path.write_text(text)
    with pytest.raises(BenchmarkError, match="--fresh"):
        PartialRows(path, {})
    assert path.read_text() == text
