"""The replay auditor on budgets with periods: somebody with a row in each of two quarters."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpboost.audit import replay_budget
from dpboost.audit.budget_session import QUARTERS, of_periods, of_quarters, person
from dpboost.budgeting.periods import Overlap
from dpboost.budgeting.windows import Window

pytestmark = pytest.mark.filterwarnings("ignore")


def audits():
    return [
        replay_budget(of_periods, pair, seed=0, group=2, compare_visible=False)
        for each in ((0, 1), (0,), (1,))
        for pair in (person(each), person(each).swapped)
    ]


def test_rows_in_two_quarters_cost_no_more_than_the_records_have():
    found = audits()
    assert [audit.violations for audit in found] == [()] * 6
    assert {audit.booked["Gaussian"] for audit in found} == {Fraction(24, 40)}
    # The releases of the bins of both quarters reach their charge: four times that of a row.
    assert max(audit.measured["Gaussian"] for audit in found) > 0.4


@pytest.mark.parametrize(
    "bug",
    [
        pytest.param((Overlap, "factor", lambda own, n, account: n), id="rows add up"),
        pytest.param((Overlap, "factor", lambda own, n, account: min(n, 1)), id="rows cost once"),
        pytest.param(
            (Window, "part", property(lambda own: (("periods", own.periods[-1]),))),
            id="the last period alone pays",
        ),
    ],
)
def test_a_charge_that_forgets_rows_or_periods_would_be_found(bug, monkeypatch):
    monkeypatch.setattr(*bug)
    told = [found for audit in audits() for found in audit.violations]
    assert any("of the account, recorded" in str(found) for found in told)


def life(periods):
    pair = person(periods, QUARTERS)
    return replay_budget(of_quarters, pair, seed=0, group=2, compare_visible=False)


def test_ten_quarters_cost_no_more_than_the_whole_budget():
    """Rows in neighboring quarters, which one fit reads together, or far from each other."""
    together, apart = life((4, 5)), life((0, QUARTERS - 1))
    for audit in (together, apart):
        assert audit.violations == ()
        assert audit.booked["Gaussian"] == 1
        assert {entry.label for entry in audit.entries} >= {"start value", "leaf sums"}
    # Four sixths and two, against two for the first quarter's row and one for the last one's.
    assert 0.8 < together.measured["Gaussian"] <= 1
    assert 0.4 < apart.measured["Gaussian"] <= 0.5


def test_a_window_that_forgets_the_quarter_before_would_be_found(monkeypatch):
    part = property(lambda own: (("periods", own.periods[-1]),))
    monkeypatch.setattr(Window, "part", part)
    assert any("of the account, recorded" in str(found) for found in life((4, 5)).violations)
