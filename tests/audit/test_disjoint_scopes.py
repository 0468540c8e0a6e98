"""Rows that are not dealt as they are charged show in the structure of any fit."""

from __future__ import annotations

from contextlib import ExitStack
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest

from dpboost import DPBoostRegressor, DPTreeClassifier
from dpboost.audit import estimator_fit, pair_of, replay_pair
from dpboost.audit.disjoint_scopes import disjoint_scopes
from dpboost.privacy.sensitivity.bound import Neighbors
from tests.audit.positions import found, planted

# An ordinary table: nothing about it is made for these bugs.
X = np.random.default_rng(0).uniform(size=(60, 2))
Y = np.linspace(-1, 1, 60)


pytestmark = pytest.mark.filterwarnings("ignore")


def a_fit(**settings):
    schema = {"bounds": {0: (0, 1), 1: (0, 1)}, "label_bounds": (-1, 1)}
    options = {"recipe": "dpboost", "schema": schema, "n_estimators": 4, "max_depth": 2}
    options |= settings
    return lambda X, y: DPBoostRegressor(n_jobs=1, verbosity=0, **options).fit(X, y)


def structure(record, fit=None, y=Y):
    return [violation.message for violation in disjoint_scopes(record(fit or a_fit(), X, y))]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"trees_per_ensemble": 2},
        {"n_estimators": 1},
        {"recipe": "para"},
        {"recipe": "seq"},
        {"recipe": "best"},
        {"recipe": "best", "trees_per_ensemble": 2},
    ],
    ids=str,
)
def test_fits_deal_as_they_charge(record, settings):
    assert structure(record, a_fit(**settings)) == []


@pytest.mark.parametrize("recipe", ["best", "dp_topdown", "histograms_saving"])
def test_trees_charge_side_by_side_what_splits_divide(record, recipe):
    fit = lambda X, y: DPTreeClassifier(recipe=recipe, max_depth=2, n_jobs=1).fit(X, y)  # noqa: E731
    assert structure(record, fit, (Y > 0).astype(int)) == []


def a_coin_for_every_tree():
    deal, take = found("deal of rows")[2], found("take of rows")[2]

    def mutated(self, index):
        share = (Fraction(1, 2),)
        self.source.apply("deal", shares=share, coins=self.ledger_seen.row_coins())
        return take(self, 0)

    def remembered(self, plan, ledger):
        self.ledger_seen = ledger
        deal(self, plan, ledger)

    return [planted("take of rows", mutated), planted("deal of rows", remembered)]


def one_coin_read_for_every_tree():
    take = found("take of rows")[2]

    def remembered(self, plan, ledger):
        self.coins = ledger.row_coins()
        self.plan_seen = plan

    def mutated(self, index):
        share = (self.plan_seen.shares[index],)
        self.source.apply("deal", shares=share, coins=self.coins)
        return take(self, 0)

    return [planted("deal of rows", remembered), planted("take of rows", mutated)]


def no_coin_at_all():
    def mutated(self, plan, ledger):
        self.source.apply("deal", shares=None, coins=None)

    return [planted("deal of rows", mutated)]


def trees_in_a_scope_of_their_own_making():
    learn = found("learning of a tree")[2]

    def mutated(self, rows, index, *, budget, ledger, learning_rate=None):
        with ledger.parallel("levels"), ledger.sequential("all"):
            return learn(
                self, rows, index, budget=budget, ledger=ledger, learning_rate=learning_rate
            )

    return [planted("learning of a tree", mutated)]


BUGS = {
    "requests for coins by trees that are to share one": a_coin_for_every_tree,
    "a coin of a row is read twice": one_coin_read_for_every_tree,
    "0 requests for coins for 4 trees": no_coin_at_all,
    "nothing is known that makes its parts disjoint": trees_in_a_scope_of_their_own_making,
}


@pytest.mark.parametrize("message", BUGS)
def test_a_planted_bug_shows_on_an_ordinary_table(message):
    pair = pair_of(X, Y, X[0], 0.5, Neighbors.ADD_REMOVE)
    with ExitStack() as stack:
        for patch in BUGS[message]():
            stack.enter_context(mock.patch.object(*patch))
        audit = replay_pair(estimator_fit(_Estimator), pair)
    messages = [v.message for v in audit.violations if v.check == "disjoint scopes"]
    assert any(message in told for told in messages), audit.violations


class _Estimator:
    def fit(self, X, y):
        return a_fit()(X, y)
