"""Trees that would need less noise than can be accounted for are refused before any charge."""

import math

import numpy as np
import pytest

from dpboost import Budget, DPBoostClassifier, DPBoostRegressor, InvalidParameterError
from dpboost.federated import FederatedBoostingRegressor
from dpboost.privacy.accounting import UnsupportedReleaseError
from dpboost.privacy.ledger import Ledger
from dpboost.training import privacy_params

pytestmark = pytest.mark.filterwarnings("ignore")

X = np.random.default_rng(0).uniform(size=(60, 2))
Y = X[:, 0]
CLASSES = (10 * Y).astype(int)
SCHEMA = {"bounds": dict.fromkeys(range(2), (0.0, 1.0)), "label_bounds": (0.0, 1.0)}
SMALL = {"gradient_clip": 0.001, "n_estimators": 1}
FITS = {
    "a small clip": lambda **fit: regressor(**SMALL).fit(X, Y, **fit),
    "a large delta": lambda **fit: regressor(
        epsilon=10.0, delta=0.5, gradient_clip=0.1, n_estimators=2
    ).fit(X, Y, **fit),
    "nothing declared": lambda **fit: regressor(**SMALL, schema=None).fit(X, Y, **fit),
    "users": lambda **fit: regressor(**SMALL, epsilon=10.0, rows_per_user=2).fit(
        X, Y, user_ids=np.arange(60) // 2, **fit
    ),
    "many classes": lambda **fit: DPBoostClassifier(
        **SMALL, epsilon=8.0, delta=1e-5, schema={"bounds": SCHEMA["bounds"]}, verbosity=-1
    ).fit(X, CLASSES, **fit),
}


def regressor(**options):
    usual = {"epsilon": 8.0, "delta": 1e-5, "schema": SCHEMA, "verbosity": -1}
    return DPBoostRegressor(**{**usual, **options})


@pytest.fixture
def charged(monkeypatch):
    """What is booked by any ledger."""
    booked = []
    book = Ledger._book
    monkeypatch.setattr(
        Ledger, "_book", lambda self, entry: (booked.append(entry), book(self, entry))
    )
    return booked


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_a_refusal_comes_before_anything_is_charged(fit, charged):
    cure = "'epsilon'.*smaller beside gradient_clip=0.*or take a larger gradient_clip or n_estim"
    with pytest.raises(InvalidParameterError, match=cure):
        fit()
    assert charged == []


def test_rules_of_the_check_are_those_of_delta(charged):
    """Without delta the rules have fewer trees and other units of sums."""
    with pytest.raises(InvalidParameterError, match="smaller beside gradient_clip, n_estimators=1"):
        regressor(delta=0.3, n_estimators=1).fit(X, Y)
    assert charged == []
    regressor(gradient_clip=0.01).fit(X, Y)
    assert charged


def test_a_refusal_leaves_a_budget_as_it_was(charged):
    budget = Budget(epsilon=8, delta=1e-5)
    with pytest.raises(InvalidParameterError, match="'fraction' parameter of DPBoostRegressor"):
        regressor(**SMALL, epsilon=1.0, delta=1e-6).fit(X, Y, budget=budget, fraction=1)
    assert charged == []
    assert not budget.lines


def test_parties_are_not_asked(charged):
    model = FederatedBoostingRegressor(epsilon=8.0, delta=1e-5, schema=SCHEMA, verbosity=0, **SMALL)
    with pytest.raises(
        InvalidParameterError, match="'epsilon' parameter of FederatedBoostingRegressor"
    ):
        model.fit([(X[:30], Y[:30]), (X[30:], Y[30:])])
    assert charged == []


@pytest.mark.parametrize("epsilon", [0.5, 4.0, 10.0])
@pytest.mark.parametrize("delta", [1e-5, 0.3])
@pytest.mark.parametrize("clip", [0.001, 0.05, None])
def test_a_fit_that_begins_is_accounted_for_to_its_end(epsilon, delta, clip, charged):
    """Whatever the released number of rows is: nothing is left for the ledger to refuse."""
    for trees in (1, 3, 30):
        for schema in (SCHEMA, None):
            model = regressor(
                epsilon=epsilon, delta=delta, gradient_clip=clip, n_estimators=trees, schema=schema
            )
            del charged[:]
            try:
                model.fit(X, Y)
            except UnsupportedReleaseError:  # pragma: no cover
                pytest.fail("refused by the ledger")
            except InvalidParameterError:
                assert charged == []


def test_without_noise_there_is_nothing_to_check(charged):
    regressor(**SMALL, epsilon=math.inf).fit(X, Y)
    assert charged


def test_numbers_of_rows_reach_all_rules():
    assert min(privacy_params.NUMBERS_OF_ROWS) * 10 < 2e3
    assert max(privacy_params.NUMBERS_OF_ROWS) * 0.05 > 1.5e5
