"""The run on laws of labels and widths of their bounds."""

from __future__ import annotations

import pytest

pytest.importorskip("pandas")

from benchmarks import label_grid  # noqa: E402
from benchmarks.harness.run import Request, carry_out  # noqa: E402
from benchmarks.label_laws import LAWS, generated  # noqa: E402


def test_every_cell_has_a_bar_and_as_many_fits_as_are_asked_for(tmp_path, monkeypatch):
    asked = []

    def ratio(law, width, n_rows, epsilon, seed):
        asked.append((law, width, n_rows, epsilon))
        return 1.5 if (law, width, seed) == ("counts", 100, 1) else 0.5

    monkeypatch.setattr(label_grid, "error", ratio)
    text = carry_out(label_grid.LABEL_BOUNDS, tmp_path, Request(repeats=2), progress=False)
    assert len(asked) == 2 * (10 * (2 * 16 + 2 * 10) + 9 * 4)
    assert all(n * epsilon >= (500 if 1 <= w <= 10 else 2_000) for _, w, n, epsilon in asked)
    assert "| 1.000 (1.5) |" in text
    assert "| prices, 20,000 rows | 0.500 | 0.500 | 0.500 | 0.500 | 1.000 |" in text


def test_the_page_marks_what_is_worse_than_the_mean(tmp_path, monkeypatch):
    bad = {("prices", 10, 3_000, 1.0): 1.03, ("constant", 1, 500, 8.0): 0.011}
    monkeypatch.setattr(label_grid, "error", lambda *cell: bad.get(cell[:4], 0.005))
    text = carry_out(label_grid.LABEL_BOUNDS, tmp_path, Request(quick=True), progress=False)
    assert text.count("**1.030** (1)") == 1
    assert text.count("**0.011** (0.011)") == 1
    assert text.count("This holds in 30 of 30 cells.") == 2
    assert text.count("This holds in 39 of 40 cells.") == 2


def test_widths_that_make_a_difference_are_marked(tmp_path, monkeypatch):
    monkeypatch.setattr(
        label_grid, "error", lambda law, width, *rest: 0.6 if (law, width) == ("delays", 0) else 0.5
    )
    text = carry_out(label_grid.LABEL_BOUNDS, tmp_path, Request(repeats=1), progress=False)
    assert "| delays, 20,000 rows | 0.500 | 0.500 | 0.500 | 0.600 | **1.200** |" in text
    assert "constant, 20,000 rows" not in text


def test_widened_bounds_keep_what_is_nearest_to_zero():
    assert LAWS["prices"].widened(10) == (0, 1e8)
    assert LAWS["years 1940 to 2010"].widened(3) == (1940, 2150)
    assert LAWS["two clusters"].widened(100) == (-600_000, 200_000)


@pytest.mark.parametrize("law", LAWS)
def test_labels_lie_between_the_bounds_of_a_dictionary(law):
    _, line, random = generated(20_000, 0)
    y = LAWS[law].labels(line, random)
    low, high = LAWS[law].bounds
    assert low <= y.min() <= y.max() <= high


def test_errors_are_those_of_the_mean_or_of_bounds_and_size():
    assert 0 <= label_grid.error("constant", 1, 500, 8.0, 0) < 0.05
    assert 0 <= label_grid.error("constant", 0, 500, 8.0, 0) < 0.05
    assert 0.1 < label_grid.error("prices", 10, 500, 8.0, 0) < 1.1
