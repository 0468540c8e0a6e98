from __future__ import annotations

import numpy as np

from benchmarks.budgets.forecasts import Case
from benchmarks.budgets.intervals import measure, rows


def test_a_quarter_of_the_generated_labels_is_positive() -> None:
    _, labels = rows(50_000, np.random.default_rng(0), classes=True)
    assert 0.22 < labels.mean() < 0.28


def test_intervals_are_counted_and_errors_measured() -> None:
    found = measure(1000, 8, classes=True, names=["auc", "accuracy"])
    assert [metric.name for metric in found] == ["auc", "accuracy"]
    for metric in found:
        assert metric.covered in [position / 8 for position in range(9)]
        assert len(metric.errors) == 8
    assert 0.7 < found[0].truth < 0.85


def test_what_counts_as_near() -> None:
    case = {"table": "t", "n_rows": 1, "epsilon": 1.0, "low": 0.7, "high": 0.8, "on_public": 0.77}
    assert Case(metric="auc", forecast=0.764, fitted=0.75, **case).near
    assert not Case(metric="auc", forecast=0.766, fitted=0.75, **case).near
    assert Case(metric="auc", forecast=0.766, fitted=0.76, **case).public_near
    assert not Case(metric="auc", forecast=0.75, fitted=0.75, **case).public_near
    assert Case(metric="rmse", forecast=105.0, fitted=100.0, **case).near
    assert not Case(metric="rmse", forecast=107.0, fitted=100.0, **case).near
    assert not Case(metric="rmse", forecast=107.0, fitted=100.0, **case).inside
