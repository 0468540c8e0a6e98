"""Cross-validations over messages are held to those of one table, and bugs are seen."""

from __future__ import annotations

from contextlib import ExitStack
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest

from dpboost.audit.network_audit import CHECK, cross_validations_of_parties
from dpboost.federated.party import party as party_module
from dpboost.federated.party.party import OwnRows
from dpboost.federated.protocol.agreement import AgreedFolds
from dpboost.privacy.ledger import BudgetExceededError
from dpboost.privacy.ledger_records import NO_CHARGE, Scope, growth
from dpboost.privacy.randomness import Entropy

pytestmark = pytest.mark.filterwarnings("ignore")
OTHER_MODEL = (CHECK, "another model than of the rows of the other folds in one place")


def told(task="regression"):
    return {(found.check, found.message) for found in cross_validations_of_parties((task,))}


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_nothing_is_found_in_cross_validations_of_parties(task):
    assert cross_validations_of_parties((task,)) == []


def test_folds_dealt_by_place_are_seen():
    def by_place(coins, n_folds, units, first_unit=0):
        return ((units + first_unit) % n_folds).astype(np.int32)

    with ExitStack() as planted:
        for module in ("dpboost.audit.network_audit", "dpboost.federated.party.party"):
            planted.enter_context(mock.patch(f"{module}.deal_folds", by_place))
        found = cross_validations_of_parties(("regression",))
    # The first row is another one: all others come to other folds.
    assert {one.check for one in found} & {"public path", "entry cost", "total loss"}


def test_rows_that_are_held_out_and_train_are_seen():
    raw = OwnRows.raw

    def none_held_out(self, agreement, kept=None):
        return raw(self, agreement)

    with mock.patch.object(OwnRows, "raw", none_held_out):
        assert OTHER_MODEL in told()


def test_folds_dealt_anew_in_each_fit_are_seen():
    raw = OwnRows.raw

    def anew(self, agreement, kept=None):
        coins = Entropy.secure().row_coins()
        return raw(self, agreement, party_module.deal_folds(coins, 3, self._units)[self._all] != 0)

    with mock.patch.object(OwnRows, "raw", anew):
        assert OTHER_MODEL in told()


def without_folds(scope, child, increase, total):
    """Count no fit of a fold in the whole."""
    return growth(scope.total, total) if scope.parallel else NO_CHARGE


def test_the_charge_of_a_fold_that_is_left_out_is_seen():
    share = AgreedFolds.share.fget

    def too_much(self):
        own, n_folds = share(self)
        # As if a row were in one fit less.
        return (own if self.is_evaluation else Fraction(9, 10) / (n_folds - 2)), n_folds

    with mock.patch.object(AgreedFolds, "share", property(too_much)):
        with pytest.raises(BudgetExceededError):
            told()
        # Nor does the audit believe the ledger that stopped it.
        with mock.patch.object(Scope, "growth", without_folds):
            found = told()
    assert (CHECK, "a row may cost more in all sessions than the budget") in found
    assert ("total", "all sessions of a row may spend more than the budget") in found
