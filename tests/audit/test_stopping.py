"""Rows held out that stop training, under the replay auditor: their witness, and planted bugs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpboost import Budget, DPBoostRegressor
from dpboost.audit import pair_of, replay_budget
from dpboost.budgeting.claim import STOPPING_SHARE, Claim
from dpboost.privacy.ledger import NO_CHARGE
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.rows import loss_change
from dpboost.rows.loss_change import LossChange
from dpboost.training import private_stopping

pytestmark = pytest.mark.filterwarnings("ignore")

SCHEMA = {"bounds": {0: (-1, 1)}, "label_bounds": (-1, 1)}
HALF = Fraction(1, 2)
# Where a row's coin puts it on either side of a holdout of one half.
SIDES = {"held": 0.25, "trained": 0.75}
TERMS = [{"epsilon": 2, "delta": 1e-5}, {"epsilon": 20, "delta": 0}]
# Sums of leaves by which every round climbs towards the largest label, and looks that see nothing.
CLIMB = {("leaf sums", number): [-(1 << 40)] * 2 + [1 << 40] * 2 for number in range(8)}
CLIMB |= {("change of the loss", number): [0] for number in range(7)}


def pair(side, relation=Neighbors.ADD_REMOVE):
    """A row with the largest label, which loses less and less, in the place of the smallest."""
    X = np.zeros((6, 1))
    row = [0.5]
    return pair_of(
        X,
        np.zeros(6),
        row,
        1.0,
        relation,
        instead=(row, -1.0),
        coin=SIDES[side],
        steering=CLIMB,
    )


def fit(terms, relation=Neighbors.ADD_REMOVE, patience=8, told=None):
    def run(X, y):
        budget = Budget(neighbors=relation.value, **terms)
        model = DPBoostRegressor(
            schema=SCHEMA,
            neighbors=relation.value,
            n_estimators=8,
            max_depth=1,
            learning_rate=1.0,
            early_stopping_round=patience,
            random_state=0,
            n_jobs=1,
            verbosity=-1,
        )
        model.fit(X, y, budget=budget, fraction=HALF, holdout=HALF)
        if told is not None:
            told.append((budget, model))
        return {
            "model": model.booster_.model_to_string(),
            "left": str(budget.remaining),
            "report": model.privacy_report_.details(),
        }

    return run


def audited(terms, side, relation=Neighbors.ADD_REMOVE, **options):
    both = (pair(side, relation), pair(side, relation).swapped)
    return [replay_budget(fit(terms, relation, **options), each, seed=3) for each in both]


def looks(audit):
    return [entry for entry in audit.entries if entry.label == "change of the loss"]


@pytest.mark.parametrize("relation", list(Neighbors))
@pytest.mark.parametrize("terms", TERMS, ids=["Gaussian", "pure"])
@pytest.mark.parametrize("side", SIDES)
def test_every_look_keeps_to_its_charge_and_reaches_it(terms, side, relation) -> None:
    for audit in audited(terms, side, relation):
        assert audit.violations == ()
        assert len(looks(audit)) == 7
        held = sum(entry.cost for entry in looks(audit))
        others = sum(entry.cost for entry in audit.entries) - held
        # The differing row pays for the side that it is on, and for nothing else.
        assert (held > 0, others > 0) == (side == "held", side == "trained")
        if side == "held":
            assert max(entry.reached for entry in looks(audit)) > 0.8


@pytest.mark.parametrize("terms", TERMS, ids=["Gaussian", "pure"])
def test_what_is_free_again_was_never_charged(terms) -> None:
    told = []
    for side in SIDES:
        for audit in audited(terms, side, patience=1, told=told):
            assert audit.violations == ()
            (account,) = audit.booked
            assert audit.measured[account] <= audit.booked[account] <= HALF
    assert all(model.privacy_report_.facts["n_estimators"] == 8 for _, model in told)


# -- planted mistakes --------------------------------------------------------------------------


def found_in(terms, side, **options):
    audits = audited(terms, side, **options)
    return {violation.check for audit in audits for violation in audit.violations}


@pytest.mark.parametrize("terms", TERMS, ids=["Gaussian", "pure"])
def test_half_the_constant_is_found(terms, monkeypatch) -> None:
    bounds = LossChange.bounds

    def halved(query, neighbors):
        return tuple(
            type(each)(each.kind, each.constant // 2, each.reason, each.coordinates)
            for each in bounds(query, neighbors)
        )

    monkeypatch.setattr(LossChange, "bounds", halved)
    assert "entry cost" in found_in(terms, "held")


def test_an_unchecked_conversion_is_found(monkeypatch) -> None:
    def unchecked(values, low, high):
        with np.errstate(all="ignore"):
            return np.rint(values).astype(np.int64)

    def overflowing(*arguments, **options):
        # As squares of errors would be under label bounds that no schema takes.
        found = loss_of_rows(*arguments, **options)
        return np.where(found > 0.5, np.inf, found)

    terms, loss_of_rows = TERMS[0], private_stopping.loss_of_rows
    monkeypatch.setattr(private_stopping, "loss_of_rows", overflowing)
    assert "entry cost" not in found_in(terms, "held")
    monkeypatch.setattr(loss_change, "to_integer_units", unchecked)
    assert "entry cost" in found_in(terms, "held")


def test_rows_held_out_that_train_as_well_are_found(held_rows_train) -> None:
    assert found_in(TERMS[0], "held")


@pytest.mark.parametrize("side", SIDES)
def test_a_refund_of_what_was_charged_is_found(monkeypatch, side) -> None:
    close = Claim.close

    def refunding(claim, trained, held, capacity):
        close(claim, NO_CHARGE, NO_CHARGE, capacity)

    monkeypatch.setattr(Claim, "close", refunding)
    assert "records" in found_in(TERMS[0], side)


def test_looks_that_are_not_charged_are_found(monkeypatch) -> None:
    def unpaid(rows, losses):
        return float(np.sum(rows._best - losses)) > 0

    monkeypatch.setattr(private_stopping.StoppingRows, "_is_better", unpaid)
    # Beside one row that every round is worse for, the other one decides whether it goes on.
    one = pair_of(
        np.zeros((1, 1)),
        np.zeros(1),
        [0.5],
        1.0,
        Neighbors.ADD_REMOVE,
        coin=SIDES["held"],
        steering=CLIMB,
    )
    assert replay_budget(fit(TERMS[0], patience=1), one, seed=3).violations != ()


def test_looks_have_a_cap_of_their_own(monkeypatch) -> None:
    monkeypatch.setattr(private_stopping, "STOPPING_SHARE", 2 * STOPPING_SHARE)
    monkeypatch.setattr(private_stopping, "MOST_LOOKS", 8)
    X, y = np.zeros((6, 1)), np.zeros(6)
    with pytest.raises(ValueError, match="closes another one"):
        fit(TERMS[0])(X, y)
