"""Training that rows held out may end, and what it gives back."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import lightgbm
import numpy as np
import pytest

from dpboost import Budget, DPBoostClassifier, DPBoostRegressor, check_constraints, evaluate
from dpboost._utils.validation import InvalidParameterError
from dpboost.budgeting.claim import STOPPING_SHARE
from dpboost.data.table import read_table
from dpboost.training import local_fit
from dpboost.training.local_fit import rows_that_stop
from dpboost.training.private_stopping import StoppingRows, loss_of_rows
from tests.unit.ledgers import open_ledger

pytestmark = pytest.mark.filterwarnings("ignore")

HALF = Fraction(1, 2)
BOUNDS = {"bounds": {0: (0, 1), 1: (0, 1)}}
KINDS = {
    "two": (DPBoostClassifier, {**BOUNDS, "classes": [0, 1]}, {}),
    "three": (DPBoostClassifier, {**BOUNDS, "classes": [0, 1, 2]}, {}),
    "numbers": (DPBoostRegressor, {**BOUNDS, "label_bounds": (0, 3)}, {}),
    "absolute": (DPBoostRegressor, {**BOUNDS, "label_bounds": (0, 3)}, {"objective": "l1"}),
    "quantile": (
        DPBoostRegressor,
        {**BOUNDS, "label_bounds": (0, 3)},
        {"objective": "quantile", "alpha": 0.8},
    ),
}


def rows(kind, n_rows=2000):
    X = np.random.default_rng(0).uniform(size=(n_rows, 2))
    y = 3 * X[:, 0]
    return X, {"two": y > 1.5, "three": np.minimum(y.astype(int), 2)}.get(kind, y)


def model(kind, **more):
    estimator, schema, own = KINDS[kind]
    settings = {"n_jobs": 1, "verbosity": -1, "n_estimators": 80, **own, **more}
    return estimator(schema=schema, **settings)


def gaussian(**more):
    return Budget(**{"epsilon": 4, "delta": 1e-6, **more})


@pytest.mark.parametrize("kind", KINDS)
def test_directions_are_kept_where_training_ends_early(kind) -> None:
    X, y = rows(kind)
    stopped = model(kind, early_stopping_round=10, monotone_constraints=[1, 0]).fit(
        X, y, budget=gaussian(), fraction=HALF, holdout=0.3
    )
    assert stopped.best_iteration_ > 0
    assert check_constraints(stopped, [1, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_reserved_and_never_charged_is_free_again(kind) -> None:
    X, y = rows(kind)
    budget = gaussian()
    stopped = model(kind, early_stopping_round=10).fit(
        X, y, budget=budget, fraction=HALF, holdout=0.3
    )
    text = stopped.privacy_report_.facts["early stopping"]
    n_outputs = stopped.ensemble_.n_outputs
    assert stopped.best_iteration_ == len(stopped.ensemble_.trees) // n_outputs
    assert str(text).startswith("rows held out were asked ")
    first, second = budget.lines[2:]
    assert (first.closes, second.closes) == (0, 1)
    assert [line.fraction for line in budget.lines[:2]] == [HALF, HALF * STOPPING_SHARE]
    if "ended training" in str(text):
        assert budget.remaining["Gaussian"] > HALF
        assert first.fraction < HALF
        assert second.fraction < HALF * STOPPING_SHARE
    else:
        assert first.fraction <= HALF
    # The records cover what the report says.
    assert stopped.privacy_report_.epsilon_spent <= budget.epsilon_spent


def test_a_model_that_is_done_early_leaves_most_of_the_budget() -> None:
    X, y = rows("two", 8000)
    budget = gaussian(epsilon=20)
    done = model("two", n_estimators=400, learning_rate=1.0, early_stopping_round=1)
    done.fit(X, np.zeros(len(y), dtype=int), budget=budget, fraction=HALF, holdout=0.3)
    assert budget.remaining["Gaussian"] > Fraction(3, 5)
    # The evaluation of the rows held out adds to what they have charged, not to the training.
    evaluate(done, budget=budget, fraction=Fraction(1, 10))
    assert budget.remaining["Gaussian"] > Fraction(3, 5)


def test_the_file_has_the_reservation_and_what_became_of_it(tmp_path) -> None:
    X, y = rows("numbers")
    budget = gaussian()
    budget.save(tmp_path / "budget")
    model("numbers", early_stopping_round=1).fit(X, y, budget=budget, fraction=HALF, holdout=0.3)
    again = Budget.load(tmp_path / "budget")
    assert again.lines == budget.lines
    assert again.remaining == budget.remaining


def test_a_fit_that_fails_gets_nothing_back(monkeypatch) -> None:
    X, y = rows("numbers")
    budget = gaussian()

    def fail(env):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        model("numbers", early_stopping_round=1).fit(
            X, y, budget=budget, fraction=HALF, holdout=0.3, callbacks=[fail]
        )
    assert budget.remaining == {"Gaussian": HALF}


def test_the_callback_of_lightgbm_asks_for_it_too() -> None:
    X, y = rows("numbers")
    budget = gaussian()
    fitted = model("numbers").fit(
        X,
        y,
        budget=budget,
        fraction=HALF,
        holdout=0.3,
        callbacks=[lightgbm.early_stopping(5, verbose=False)],
    )
    assert fitted.best_iteration_ > 0
    assert len(budget.lines) == 4


def test_public_rows_stop_it_where_they_are_given() -> None:
    X, y = rows("numbers")
    budget = gaussian()
    fitted = model("numbers", early_stopping_round=5).fit(
        X[1000:], y[1000:], budget=budget, fraction=HALF, holdout=0.3, eval_set=[(X[:99], y[:99])]
    )
    assert "early stopping" not in fitted.privacy_report_.facts
    assert len(budget.lines) == 1


@pytest.mark.parametrize("patience", [1, 3])
def test_training_ends_as_many_rounds_after_the_best_as_asked_for(patience, monkeypatch) -> None:
    monkeypatch.setattr(StoppingRows, "_is_better", lambda self, _: self._round <= 2)
    X, y = rows("numbers", 500)
    fitted = model("numbers", n_estimators=8, early_stopping_round=patience).fit(
        X, y, budget=gaussian(), fraction=HALF, holdout=0.3
    )
    assert fitted.best_iteration_ == 2
    text = str(fitted.privacy_report_.facts["early stopping"])
    assert f"ended training after {2 + patience} of 8 rounds" in text


def test_only_more_than_the_noise_is_better() -> None:
    """Without noise: rows that lose as much as before are no improvement."""
    ledger = open_ledger(seed=0)
    stopping = StoppingRows(rows=None, patience=1, request=None, ledger=ledger, n_threads=1)
    stopping._noise, stopping._bound = ledger.accountant.noise(math.inf), 1.0
    stopping._units, stopping._best = lambda: 1000, np.array([0.5, 0.5])
    found = [stopping._is_better(np.array([0.5, now])) for now in (0.499, 0.5, 0.501)]
    assert found == [True, False, False]


def test_users_are_held_out_and_sampled_whole(monkeypatch) -> None:
    held = []

    def spy(*arguments):
        held.append(rows_that_stop(*arguments))
        return held[-1]

    monkeypatch.setattr(local_fit, "rows_that_stop", spy)
    X, y = rows("numbers")
    y = np.arange(len(y)) // 4 / len(y)
    budget = gaussian(rows_per_user=2, epsilon=20)
    fitted = model("numbers", early_stopping_round=5, rows_per_user=2, n_estimators=16).fit(
        X, y, budget=budget, fraction=HALF, holdout=0.3, user_ids=np.arange(len(y)) // 4
    )
    assert fitted.best_iteration_ > 0
    assert 0 < budget.lines[3].fraction <= HALF * STOPPING_SHARE
    # A label is that of one user.
    assert set(np.unique(held[0].labels, return_counts=True)[1].tolist()) == {2}


REFUSED = {
    "conformal": ({}, {"conformal": 0.9}),
    "init_score": ({}, {"init_score": np.zeros(2000)}),
    "sample_weight": ({}, {"sample_weight": np.ones(2000)}),
    "class_weight": ({"class_weight": {0: 1.0, 1: 2.0}}, {}),
    "scale_pos_weight": ({"scale_pos_weight": 2.0}, {}),
    "early_stopping_min_delta": ({"early_stopping_min_delta": 0.1}, {}),
    "objective": ({"objective": lambda y, p: (p - y, np.ones(len(y))), "gradient_bound": 1}, {}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_held_out_rows_cannot_judge_is_refused_before_a_charge(name) -> None:
    X, y = rows("two")
    settings, given = REFUSED[name]
    budget = gaussian()
    with pytest.raises(InvalidParameterError, match=name):
        model("two", early_stopping_round=5, **settings).fit(
            X, y, budget=budget, fraction=HALF, holdout=0.3, **given
        )
    assert budget.lines == ()


@pytest.mark.parametrize("kind", KINDS)
def test_losses_are_those_of_the_predictions(kind) -> None:
    X, y = rows(kind, 300)
    fitted = model(kind, n_estimators=5).fit(X, y)
    table = read_table(X, schema=fitted.schema_)
    found = loss_of_rows(
        fitted.ensemble_, table, np.asarray(y), fitted.schema_, alpha=0.8, n_threads=1
    )
    if kind in ("two", "three"):
        own = np.eye(len(fitted.classes_))[np.asarray(y, dtype=int)]
        wanted = ((fitted.predict_proba(X) - own) ** 2).sum(axis=1) / (2 if kind == "two" else 1)
    else:
        bounds = fitted.schema_.label_bounds  # released, maybe inside the declared ones
        errors = np.clip(y, *bounds) - np.clip(fitted.predict(X), *bounds)
        wanted = {
            "numbers": errors**2,
            "absolute": abs(errors),
            "quantile": np.where(errors > 0, 0.8 * errors, -0.2 * errors),
        }[kind]
    assert found == pytest.approx(wanted)


def test_rows_of_no_class_lose_nothing_and_no_row_changes_another() -> None:
    X, y = rows("three", 301)
    fitted = model("three", n_estimators=5).fit(X, y)

    def losses(part, labels):
        table = read_table(part, schema=fitted.schema_)
        return loss_of_rows(fitted.ensemble_, table, labels, fitted.schema_, alpha=0.9, n_threads=1)

    assert (losses(X, np.full(len(y), 7)) == 0).all()
    whole = losses(X, y)
    alone = [losses(X[i : i + 1], y[i : i + 1])[0] for i in range(len(y))]
    assert np.array_equal(whole, alone)


@pytest.mark.parametrize("kind", ["numbers", "absolute", "quantile"])
def test_labels_and_predictions_count_at_the_nearer_bound(kind) -> None:
    X, y = rows(kind, 300)
    fitted = model(kind, n_estimators=5).fit(X, y)
    table, (low, high) = read_table(X, schema=fitted.schema_), fitted.schema_.label_bounds

    def losses(labels, moved):
        ensemble = fitted.ensemble_
        ensemble = replace(ensemble, start=tuple(each + moved for each in ensemble.start))
        return loss_of_rows(ensemble, table, labels, fitted.schema_, alpha=0.8, n_threads=1)

    for label, bound in ((1e6, high), (-1e6, low)):
        for moved in (0.0, 1e6, -1e6):
            at_bound = losses(np.full(300, bound), moved)
            assert np.array_equal(losses(np.full(300, label), moved), at_bound)
    assert (losses(np.full(300, high), 1e6) == 0).all()
    width = high - low
    largest = {"numbers": width**2, "absolute": width, "quantile": 0.8 * width}[kind]
    assert losses(np.full(300, high), -1e6) == pytest.approx(largest)
