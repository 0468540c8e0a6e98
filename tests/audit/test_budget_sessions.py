"""The replay auditor on whole budgets, on users, and on what a stopped fit gives back."""

from __future__ import annotations

import importlib
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dpboost import Budget, DPBoostClassifier, evaluate
from dpboost.audit import pair_of, replay_budget
from dpboost.audit.budget_session import QUICK, audit_sessions, sessions
from dpboost.audit.neighboring_pairs import Pair
from dpboost.budgeting.claim import Claim
from dpboost.privacy.sensitivity.bound import Neighbors

pytestmark = pytest.mark.filterwarnings("ignore")

HALF = Fraction(1, 2)
SCHEMA = {"bounds": {0: (-1, 1)}, "classes": [0, 1]}
X0 = np.linspace(-1, 1, 50).reshape(-1, 1)
PUBLIC = DPBoostClassifier(schema=SCHEMA, n_estimators=1, verbosity=-1, epsilon=100)
PUBLIC.fit(X0, (X0[:, 0] > 0).astype(int))
MOST = 2


def with_a_user_of(n_rows: int) -> Pair:
    """Eight users of one row each, and a ninth one of the other class; the last column says who."""
    X = np.column_stack([np.full(8, -0.5), np.arange(8)])
    own = np.tile([1.0, 8.0], (n_rows, 1))
    return Pair(
        X=X,
        y=np.zeros(8, dtype=int),
        X_other=np.vstack([X, own]),
        y_other=np.append(np.zeros(8, dtype=int), np.ones(n_rows, dtype=int)),
        ids=np.arange(8),
        other_ids=np.arange(8 + n_rows),
        steering={},
    )


def evaluated(X, y):
    budget = Budget(epsilon=1, delta=1e-5, rows_per_user=MOST)
    found = evaluate(
        PUBLIC,
        X[:, :1],
        y,
        user_ids=X[:, 1].astype(int),
        groups=(0, [-0.5, 1.0]),
        budget=budget,
        fraction=HALF,
    )
    return {"evaluation": str(found), "report": found.report.details()}


def audited(n_rows: int):
    pair = with_a_user_of(n_rows)
    return [replay_budget(evaluated, each, seed=0, group=MOST) for each in (pair, pair.swapped)]


@pytest.mark.parametrize("n_rows", [MOST, 6])
def test_new_rows_of_a_user_cost_what_the_records_say(n_rows) -> None:
    for audit in audited(n_rows):
        assert audit.violations == ()
        # The user reaches the charge: as many rows take part as may.
        assert 0.4 <= audit.measured["Gaussian"] <= 0.5 + 1e-9


def test_new_rows_of_a_user_without_a_cap_are_found(monkeypatch) -> None:
    module = importlib.import_module("dpboost.evaluating.evaluate")
    monkeypatch.setattr(module, "sample_rows", lambda users, most, coins: np.arange(len(users)))
    # Who has no more rows than may take part is not seen, who has more is.
    assert not any(audit.violations for audit in audited(MOST))
    found = {each.check for audit in audited(6) for each in audit.violations}
    assert {"entry cost", "records"} <= found


# -- what a stopped fit gives back -------------------------------------------------------------


TRAINED = 0.75


def stopped(X, y):
    """Learn a list of categories, and stop at the second look."""
    budget = Budget(epsilon=4, delta=1e-3)
    model = DPBoostClassifier(
        schema={"bounds": {"x": (0, 1)}, "classes": [0, 1]},
        assume_public=("column_types",),
        n_estimators=40,
        max_depth=1,
        early_stopping_round=1,
        random_state=0,
        n_jobs=1,
        verbosity=-1,
    )
    model.fit(X, y, budget=budget, fraction=HALF, holdout=HALF)
    return {"model": model.booster_.model_to_string(), "left": str(budget.remaining)}


def of_a_lone_category():
    kind = pd.Categorical(["up", "down"] * 200, categories=["up", "down", "elsewhere"])
    X = pd.DataFrame({"x": np.full(400, 0.5), "kind": kind})
    return pair_of(
        X,
        np.tile([0, 1], 200),
        [0.5, "elsewhere"],
        1,
        Neighbors.ADD_REMOVE,
        coin=TRAINED,
        steering={("change of the loss", number): [0] for number in range(7)},
    )


def checks_of_stopped():
    pair = of_a_lone_category()
    audits = [replay_budget(stopped, each, seed=1) for each in (pair, pair.swapped)]
    return audits, {each.check for audit in audits for each in audit.violations}


def test_a_stopped_fit_gives_back_what_it_never_charged_and_no_more() -> None:
    audits, found = checks_of_stopped()
    assert found == set()
    for audit in audits:
        assert audit.booked["Gaussian"] < HALF
        # The chance that a rare category fails to stay hidden is the larger part.
        assert audit.measured["Gaussian"] < audit.failures["Gaussian"]
        assert audit.failures["Gaussian"] >= 0.99 * audit.booked["Gaussian"]


def test_a_reserve_that_forgets_learned_categories_is_found(monkeypatch) -> None:
    charged = Claim._charged

    def without_failures(claim, total, capacity):
        return charged(claim, type(total)(total.cost, Fraction(0), total.lattice_error), capacity)

    monkeypatch.setattr(Claim, "_charged", without_failures)
    assert checks_of_stopped()[1] == {"records"}


# -- whole sessions ----------------------------------------------------------------------------


def session(name: str):
    return next(each for each in sessions() if each.name == name)


def fails(each, *checks: str) -> bool:
    """Whether a session fails one of some checks, in one direction or the other."""
    for pair in (each.pair, each.pair.swapped):
        audit = replay_budget(each.run, pair, seed=1, group=each.group, compare_visible=False)
        if {found.check for found in audit.violations} & set(checks):
            return True
    return False


def test_the_quick_sessions_hold_and_see_every_call() -> None:
    found = audit_sessions(quick=True)
    assert found.violations == []
    assert found.n_runs == 2 * len(QUICK)
    assert found.largest <= 1 + 1e-9
    for label in ("change of the loss", "scores by label", "rows by bin", "leaf sums"):
        assert 0 < found.reached[label] <= 1 + 1e-9


@pytest.mark.nightly
def test_all_sessions_hold() -> None:
    found = audit_sessions()
    assert found.violations == []
    assert {"conformal balance", "label range", "magnitudes of errors"} <= set(found.reached)
    assert min(found.reached.values()) > 0.8


@pytest.mark.parametrize(
    ("where", "name"),
    [
        ("dpboost.evaluating.drift", "users, trained on"),
        ("dpboost.model_selection.refitting", "users, trained on"),
        ("dpboost.model_selection.cross_validation", "users, trained on"),
        ("dpboost.evaluating.evaluate", "users, held out"),
        ("dpboost.training.local_fit", "users, held out"),
        ("dpboost.training.local_fit", "users, trained on"),
    ],
)
def test_a_call_that_lets_a_user_have_all_rows_is_found(where, name, monkeypatch) -> None:
    module = importlib.import_module(where)
    monkeypatch.setattr(module, "sample_rows", lambda users, most, coins: np.arange(len(users)))
    assert fails(session(name), "entry cost", "records")


@pytest.mark.parametrize("call", ["cv", "feature_histograms"])
def test_a_call_that_nobody_books_is_found(call, monkeypatch) -> None:
    book = Claim.reserve
    monkeypatch.setattr(Claim, "reserve", lambda claim: claim.what == call or book(claim))
    assert fails(session("classes, add_remove, row trained on"), "records")
