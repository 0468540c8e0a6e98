"""The run on what to fit each quarter, and the page that quotes it."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pandas")

from benchmarks import quarters  # noqa: E402
from benchmarks.harness.results import Result, Results, read  # noqa: E402
from benchmarks.harness.run import RESULTS  # noqa: E402
from dpboost import Budget  # noqa: E402

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "next-months-rows.md"


@pytest.fixture
def short(monkeypatch):
    """Five quarters of a few rows."""
    monkeypatch.setattr(quarters, "QUARTERS", 5)
    monkeypatch.setattr(quarters, "N_ROWS", 150)
    stream = dataclasses.replace(
        quarters.STREAMS["drift"], read=lambda seed: quarters.drifting(seed, [0.0] * 5), fixed=True
    )
    monkeypatch.setitem(quarters.STREAMS, "drift", stream)


def test_no_strategy_spends_more_than_the_budget_of_an_individual(short):
    rows = quarters.measured("drift", quarters.ONE, 4.0, 0)
    assert {row.method for row in rows} == set(quarters.OF_PART[quarters.ONE])
    spent = {}
    for row in rows:
        if row.measure == quarters.SPENT:
            spent.setdefault(row.method, {})[row.x] = row.value
    assert all(value <= 4 for own in spent.values() for value in own.values())
    assert spent[quarters.NEWEST]["1"] == pytest.approx(4)
    assert spent["window of 4"]["1"] < 2.5 < spent["window of 4"]["4"]
    assert spent["window of 4"]["4"] == pytest.approx(4)
    assert list(spent[quarters.TOGETHER]) == ["4"]
    scores = [row.value for row in rows if row.measure == quarters.AUC]
    assert len(scores) == 4 * 8 + 1
    assert all(0.3 < value < 1 for value in scores)


def test_labels_follow_other_columns_at_the_end():
    first, last = quarters.drifting(0, [0.0, 1.5])
    for column, (X, y) in ((0, first), (2, last)):
        other = X[:, 2 - column]
        assert np.corrcoef(X[:, column], y)[0, 1] > 0.3 > abs(np.corrcoef(other, y)[0, 1])


def made(data, measure, of_method):
    """Results of two splits, which differ by 0.02."""
    return [
        Result(
            part=part, data=data, method=method, epsilon=1.0, x=str(quarter), repeat=split,
            measure=what, value=of_method(method) + 0.02 * split if what == measure else 0.5,
        )
        for part in quarters.OF_PART
        for method in quarters.methods_of(part, data)
        for quarter in (3, 4, 5)
        for split in (0, 1)
        for what in (measure, quarters.SPENT)
    ]  # fmt: skip


def test_the_page_counts_where_a_strategy_is_better():
    def value(method):
        return 0.8 if method == "window of 4" else 0.6 if method == quarters.ONCE else 0.7

    rows = made("bank", quarters.AUC, value) + made("bike_sharing", quarters.RMSE, value)
    results = Results(facts={"splits": "2"}, rows=rows)
    better = quarters.against_newest(results, quarters.ONE, "window of 4")
    assert better == (1, 1, 2)
    assert quarters.against_newest(results, quarters.ONE, quarters.CONTINUED) == (0, 0, 1)
    found = quarters.standing(results, quarters.ONE, "window of 4")
    assert (found.place, found.n_places) == (5, 9)  # the first of 8, and the last of 9
    assert found.loss == pytest.approx(found.largest_loss / 2) == pytest.approx(0.1 / 0.61)
    page = "\n".join(quarters.body(results))
    assert "| window of 4 | 5.0 | 16.4% | 32.8% | 1 of 2 | 1 of 2 |" in page
    assert "| window of 4, rows in 4 | 1/44 |" in page
    assert "the best is newest quarter (mean place 2.0 of 9)" in quarters.finding(results)


def test_the_page_of_the_guide_quotes_what_was_measured():
    results = read(RESULTS / "quarters.csv")
    text = PAGE.read_text(encoding="utf-8")
    lines = re.findall(r"^\| (\w+), (RMSE|AUC) \| ([0-9.]+) \| (.*) \|$", text, re.MULTILINE)
    names = {data.split(",")[0]: data for data in quarters.STREAMS}
    points = [
        (part, *point) for part in quarters.OF_PART for point in quarters._points(results, part)
    ]
    assert [(names[name], float(epsilon)) for name, _, epsilon, _ in lines] == [
        (data, epsilon) for _, data, epsilon in points
    ]
    for (part, data, epsilon), (*_, cells) in zip(points, lines, strict=True):
        expected = []
        for method in quarters.OF_PART[part]:
            found = quarters.scores(results, part, data, method, epsilon)
            digits = 0 if quarters.STREAMS[data].regression else 3
            expected.append(f"{found.mean():.{digits}f}" if found.size else "")
        assert cells.split(" | ") == expected, (part, data, epsilon)
    for method, cells in re.findall(r"^\| ([a-z0-9 ,]+) \| ([0-9. |%]*) \|$", text, re.MULTILINE):
        shown = []
        for part, methods in quarters.OF_PART.items():
            found = quarters.standing(results, part, method) if method in methods else None
            shown += ["", ""] if found is None else [
                f"{found.place:.1f}", f"{found.largest_loss:.1%}"
            ]  # fmt: skip
        assert cells.split(" | ") == shown, method


def test_what_is_planned_is_what_was_best():
    results = read(RESULTS / "quarters.csv")
    for part, best in ((quarters.ONE, "window of 4"), (quarters.FOUR, quarters.MEAN)):
        places = {
            method: quarters.standing(results, part, method).place
            for method in quarters.OF_PART[part]
        }
        assert min(places, key=lambda method: places[method]) == best
        plan = Budget(epsilon=1, delta=1e-5, periods=int(part)).next_fit(*map(str, range(8)))
        found = (len(plan.periods), plan.average)
        assert found == ((1, 4) if best == quarters.MEAN else (quarters.WINDOWS[best], 1))
