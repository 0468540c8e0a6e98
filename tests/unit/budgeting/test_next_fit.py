"""What a budget with periods says to fit next: it is never refused, and wastes nothing."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpboost import (
    Budget,
    BudgetExceededError,
    DPBoostClassifier,
    InvalidParameterError,
    NextFit,
    refit_leaves,
)
from dpboost.budgeting.periods import PERIODS, Overlap

pytestmark = pytest.mark.filterwarnings("ignore")

QUARTERS = [f"q{number}" for number in range(9)]


def opened(periods=1, **terms):
    return Budget(**({"epsilon": 4, "delta": 1e-5, "periods": periods} | terms))


def take(budget, plan):
    """Record the line of a fit, as a fit does before it draws."""
    account = "epsilon" if budget.delta == 0 else "mu squared"
    part = tuple((PERIODS, name) for name in plan.periods)
    budget.reserve("fit", account, plan.fraction, part)


def most_by_hand(lines, overlap, account):
    """What the person pays who pays most: all sets of periods are tried."""
    power = 1 if account == "pure" else 2
    totals = []
    for own in itertools.combinations(QUARTERS, overlap.most):
        total = Fraction(0)
        for line in lines:
            rows = len({name for _, name in line.part} & set(own))
            total += line.fraction * (min(rows, 1) if overlap.of_users else rows**power)
        totals.append(total)
    return max(totals)


@pytest.mark.parametrize("terms", [{}, {"delta": 0}, {"rows_per_user": 2}], ids=str)
@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("periods", [1, 2, 3])
def test_every_quarter_has_its_fit_and_the_budget_is_used_up(periods, window, terms):
    budget = opened(periods, **terms)
    for number in range(1, len(QUARTERS) + 1):
        plan = budget.next_fit(*QUARTERS[:number], window=window)
        assert plan.periods == tuple(QUARTERS[max(0, number - window) : number])
        take(budget, plan)
    account = "pure" if budget.delta == 0 else "Gaussian"
    assert most_by_hand(budget.lines, budget.overlap, account) == 1
    assert budget.remaining == {account: 0}


def test_the_share_of_a_window_is_that_of_the_page():
    rows, users = (Overlap(most=4, of_users=each) for each in (False, True))
    assert rows.lasting(4, "Gaussian") == Fraction(1, 44)
    assert rows.lasting(4, "pure") == users.lasting(4, "Gaussian") == Fraction(1, 16)
    assert Overlap(most=2, of_users=False).lasting(2, "Gaussian") == Fraction(1, 6)


@pytest.mark.parametrize(
    ("periods", "terms", "window"),
    [
        (1, {}, 4),
        (2, {"rows_per_user": 3}, 4),
        (2, {}, 1),
        (1, {"delta": 0}, 1),
    ],
    ids=str,
)
def test_several_periods_are_fitted_where_they_cost_no_more(periods, terms, window):
    plan = opened(periods, **terms).next_fit(*QUARTERS)
    assert plan.periods == tuple(QUARTERS[-window:])
    assert plan.average * window == 4
    assert ("average the last 4 models" in str(plan)) == (window == 1)


def test_what_is_charged_to_everyone_leaves_less_for_each_fit():
    budget = opened()
    budget.reserve("for all rows", "mu squared", Fraction(1, 5))
    for number in range(1, 9):
        plan = budget.next_fit(*QUARTERS[:number], window=4)
        assert plan.fraction == Fraction(1, 5)
        take(budget, plan)
    assert budget.remaining == {"Gaussian": 0}


def test_a_period_with_too_little_left_is_left_out():
    budget = opened()
    budget.reserve("once", "mu squared", Fraction(9, 10), ((PERIODS, "q1"),))
    assert budget.next_fit("q0", "q1", "q2", window=4).periods == ("q0", "q2")
    newest = budget.next_fit("q0", "q1", window=4)
    assert newest.fraction == Fraction(1, 10)
    assert newest.periods == ("q0", "q1")
    budget.reserve("again", "mu squared", Fraction(1, 10), ((PERIODS, "q1"),))
    with pytest.raises(BudgetExceededError, match="of the period 'q1' nothing is left"):
        budget.next_fit("q0", "q1")


def test_its_arguments_go_straight_into_a_fit():
    random = np.random.default_rng(0)
    X, quarter = random.uniform(size=(240, 1)), np.repeat(QUARTERS[:3], 80)
    y = (X[:, 0] > 0.5).astype(int)
    schema = {"bounds": {0: (0, 1)}, "classes": [0, 1]}
    budget = opened(epsilon=2)
    plan = budget.next_fit(*QUARTERS[:3], window=2)
    assert isinstance(plan, NextFit)
    own = np.isin(quarter, plan.periods)
    model = DPBoostClassifier(schema=schema, n_estimators=3, verbosity=-1, n_jobs=1)
    model.fit(X[own], y[own], **plan.arguments(quarter[own]))
    (line,) = budget.lines
    assert line.part == ((PERIODS, "q1"), (PERIODS, "q2"))
    assert 0.95 * plan.epsilon < model.privacy_report_.epsilon_spent <= plan.epsilon
    one = budget.next_fit("q2", window=2)
    refit_leaves(model, X[quarter == "q2"], y[quarter == "q2"], **one.arguments())
    assert budget.remaining == {"Gaussian": 0}
    assert "fit q1, q2 at 1/2 of the budget: epsilon" in str(plan)


@pytest.mark.parametrize(
    ("periods", "names", "options", "words"),
    [
        (None, ("q0",), {}, "needs a budget with periods"),
        (1, (), {}, "'periods' parameter"),
        (1, ("",), {}, "'periods' parameter"),
        (1, ("q0",), {"window": 0}, "'window' parameter of Budget.next_fit"),
    ],
)
def test_what_it_cannot_plan_is_refused(periods, names, options, words):
    with pytest.raises(InvalidParameterError, match=words):
        opened(periods).next_fit(*names, **options)


def test_a_window_of_one_period_has_no_older_one():
    budget = opened(1)
    assert budget.next_fit("q0", "q1", "q2", window=1).periods == ("q2",)
    assert budget.next_fit("q0", "q1", "q2", window=2).periods == ("q1", "q2")
