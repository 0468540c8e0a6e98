from __future__ import annotations

import dataclasses
import math

from benchmarks.rows import Cell, Row, rows_of


def make_row(epsilon, split=0, value=0.1 + 0.2) -> Row:
    return Row(
        cell=Cell(problem="p", method="m", epsilon=epsilon, split=split),
        metric="AUC",
        value=value,
        fit_seconds=1 / 3,
        n_trees=2,
        epsilon_spent=epsilon,
        n_train_rows=8,
        n_test_rows=2,
    )


def test_fits_are_results_and_back():
    rows = [make_row(0.5), make_row(None), make_row(math.inf, split=7)]
    rows.append(dataclasses.replace(make_row(0.5, split=3), accuracy=1 / 3, peak_mb=2 / 3))
    many = dataclasses.replace(make_row(1.0, split=4), metric="accuracy", accuracy=0.1 + 0.2)
    rows.append(many)
    assert rows_of([result for row in rows for result in row.results()]) == rows
