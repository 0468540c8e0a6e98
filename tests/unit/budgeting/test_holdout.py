from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpboost import Budget, DPBoostRegressor, InvalidParameterError
from dpboost.budgeting.holdout import deal
from dpboost.privacy.randomness import Entropy

SCHEMA = {"bounds": {0: (0, 1)}, "label_bounds": (0, 1)}


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray]:
    X = np.arange(2000.0).reshape(-1, 1) / 2000
    return X, X[:, 0].copy()


def model(**more: object) -> DPBoostRegressor:
    return DPBoostRegressor(schema=SCHEMA, n_estimators=1, verbosity=-1, **more)


def test_every_row_is_on_one_side(rows) -> None:
    X, y = rows
    held, trained = deal(X, y, None, Fraction(1, 4), Entropy.secure().row_coins())
    assert sorted([*held.y.tolist(), *y[trained].tolist()]) == y.tolist()
    assert np.array_equal(held.X[:, 0], held.y)
    assert 400 < len(held.y) < 600


def test_a_user_is_on_one_side(rows) -> None:
    users = np.arange(2000) // 5
    held, trained = deal(*rows, users, Fraction(1, 2), Entropy.secure().row_coins())
    assert held.users is not None
    assert not set(held.users) & set(users[trained])


def test_other_coins_set_other_rows_aside(rows) -> None:
    budget = Budget(epsilon=1, delta=1e-5)
    first, second = model(), model()
    for each in (first, second):
        each.fit(*rows, budget=budget, fraction=0.2, holdout=0.5)
    one, part = budget.held_out(first)
    other, other_part = budget.held_out(second)
    assert part != other_part
    assert not np.array_equal(one.y, other.y)
    # Divisions that cut across each other add up.
    assert budget.remaining == {"Gaussian": Fraction(3, 5)}


def test_a_fit_that_fails_sets_nothing_aside_for_the_model(rows, monkeypatch) -> None:
    budget, each = Budget(epsilon=1, delta=1e-5), model()
    monkeypatch.setattr(type(each), "_store", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        each.fit(*rows, budget=budget, fraction=0.2, holdout=0.5)
    with pytest.raises(InvalidParameterError, match="no held-out rows"):
        budget.held_out(each)
    assert len(budget.lines) == 1


@pytest.mark.parametrize("share", [0, 1, -0.1, "half", np.nan])
def test_shares_outside_their_domain_are_refused(rows, share) -> None:
    budget = Budget(epsilon=1, delta=1e-5)
    with pytest.raises(InvalidParameterError, match="'holdout'"):
        model().fit(*rows, budget=budget, fraction=0.2, holdout=share)
    assert budget.lines == ()


def test_without_a_budget_and_of_batches_it_is_refused(rows) -> None:
    X, y = rows
    with pytest.raises(InvalidParameterError, match="under a budget"):
        model().fit(X, y, holdout=0.5)
    budget = Budget(epsilon=1, delta=1e-5)
    with pytest.raises(InvalidParameterError, match="not batches"):
        model().fit([X[:1000], X[1000:]], y, budget=budget, fraction=0.2, holdout=0.5)
    assert budget.lines == ()


def test_a_side_without_rows_trains_like_any() -> None:
    for _ in range(6):
        budget = Budget(epsilon=1, delta=1e-5)
        model().fit(np.zeros((1, 1)), np.zeros(1), budget=budget, fraction=0.2, holdout=0.5)
