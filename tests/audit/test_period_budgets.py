"""The replay auditor on budgets with periods: somebody with a row in each of two quarters."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpboost import Budget, DPBoostClassifier, bin_histograms, evaluate
from dpboost.audit import replay_budget
from dpboost.audit.neighbouring_pairs import Pair
from dpboost.budgeting.periods import Overlap
from dpboost.budgeting.windows import Window

pytestmark = pytest.mark.filterwarnings("ignore")

SCHEMA = {"bounds": {0: (-1.0, 1.0)}, "classes": [0, 1]}
X0 = np.linspace(-1, 1, 50).reshape(-1, 1)
PUBLIC = DPBoostClassifier(schema=SCHEMA, n_estimators=1, verbosity=-1, epsilon=100)
PUBLIC.fit(X0, (X0[:, 0] > 0).astype(int))
TENTH = Fraction(1, 10)


def a_person(quarters: tuple[int, ...]) -> Pair:
    """Eight rows in each of two quarters, and a person who may come; the last column says when."""
    X = np.column_stack([np.full(16, -0.5), np.repeat([0.0, 1.0], 8)])
    own = np.column_stack([np.ones(len(quarters)), quarters])
    return Pair(
        X=X,
        y=np.zeros(16, dtype=int),
        X_other=np.vstack([X, own]),
        y_other=np.append(np.zeros(16, dtype=int), np.ones(len(quarters), dtype=int)),
        ids=np.arange(16),
        other_ids=np.arange(16 + len(quarters)),
        steering={},
    )


def session(X, y):
    """Fits, drift and evaluations of each quarter and of both together."""
    budget = Budget(epsilon=2, delta=1e-5, periods=2)
    of_rows = np.array([f"q{int(each)}" for each in X[:, 1]])
    rows = X[:, :1]
    found = {}
    for names in (("q0",), ("q0", "q1"), ("q1",)):
        own = np.flatnonzero(np.isin(of_rows, names))
        window = budget.window(*names, of_rows=of_rows[own])
        part = {"budget": window, "fraction": Fraction(1, 24)}
        told = ", ".join(names)
        found[f"bins {told}"] = str(bin_histograms(PUBLIC, rows[own], **part).counts)
        found[f"figures {told}"] = str(evaluate(PUBLIC, rows[own], y[own], **part))
        model = DPBoostClassifier(schema=SCHEMA, n_estimators=2, max_depth=1, n_jobs=1)
        found[f"model {told}"] = model.fit(rows[own], y[own], **part).booster_.model_to_string()
    return found


def audits():
    return [
        replay_budget(session, pair, seed=0, group=2, compare_visible=False)
        for each in ((0, 1), (0,), (1,))
        for pair in (a_person(each), a_person(each).swapped)
    ]


def test_rows_in_two_quarters_cost_no_more_than_the_records_have():
    found = audits()
    assert [audit.violations for audit in found] == [()] * 6
    assert {audit.booked["Gaussian"] for audit in found} == {Fraction(18, 24)}
    # The releases of the bins of both quarters reach their charge: four times that of a row.
    assert max(audit.measured["Gaussian"] for audit in found) > 0.5


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
    assert any("of the account, booked" in str(found) for found in told)
