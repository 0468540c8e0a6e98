"""A cross-validation under a budget, replayed from the first fit to the metrics of the folds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.model_selection import KFold, cross_val_score

import dpboost
from dpboost import Budget, DPTreeClassifier, SecretKFold
from dpboost.audit import pair_of, replay_budget
from dpboost.budgeting.claim import Claim
from dpboost.model_selection import fold_metrics as folds
from dpboost.privacy.randomness import RowCoins
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.training.privacy_params import PrivacyRequest

pytestmark = pytest.mark.filterwarnings("ignore")

HALF = Fraction(1, 2)
TASKS = {
    "classes": {"objective": "binary", "metric": ["auc", "binary_logloss"]},
    "numbers": {"objective": "regression", "metric": ["l2", "r2"]},
}
SCHEMA = {"bounds": {0: (-1, 1)}, "label_bounds": (0, 1)}


def cross_validated(task, relation, delta, n_folds=3):
    known = {name: SCHEMA[name] for name in SCHEMA if task == "numbers" or name == "bounds"}

    def run(X, y):
        budget = Budget(epsilon=3, delta=delta, neighbors=relation.value)
        found = dpboost.cv(
            {
                **TASKS[task],
                "schema": known,
                "neighbors": relation.value,
                "max_depth": 1,
                "seed": 0,
                "num_threads": 1,
                "verbosity": -1,
            },
            dpboost.Dataset(X, y),
            num_boost_round=2,
            nfold=n_folds,
            budget=budget,
            fraction=HALF,
        )
        report = found.privacy_report.details()
        return {"metrics": dict(found), "report": report, "left": str(budget.remaining)}

    return run


def pairs(task, relation):
    X = np.full((9, 1), -0.5)
    y = np.zeros(9, dtype=int if task == "classes" else float)
    pair = pair_of(X, y, [1.0], y.dtype.type(1), relation, instead=([-1.0], y.dtype.type(0)))
    return pair, pair.swapped


@pytest.mark.parametrize("relation", list(Neighbors))
@pytest.mark.parametrize("delta", [0, 1e-5])
@pytest.mark.parametrize("task", TASKS)
def test_all_fits_and_metrics_together_keep_to_the_fraction(task, relation, delta) -> None:
    for pair in pairs(task, relation):
        audit = replay_budget(cross_validated(task, relation, delta), pair, seed=1)
        assert audit.violations == ()
        (account,) = audit.booked
        assert audit.booked[account] == HALF
        assert 0 < audit.measured[account] <= 0.5 + 1e-9


def found_in(task="classes", delta=0):
    relation = Neighbors.ADD_REMOVE
    run = cross_validated(task, relation, delta)
    return {
        violation.check
        for pair in pairs(task, relation)
        for violation in replay_budget(run, pair, seed=1).violations
    }


def test_fits_that_each_take_the_whole_are_found(monkeypatch) -> None:
    accountant = PrivacyRequest.accountant

    def whole(request, recipe):
        part = None if request.part is None else (Fraction(1), request.part[1])
        return accountant(replace(request, part=part), recipe)

    monkeypatch.setattr(PrivacyRequest, "accountant", whole)
    assert found_in() & {"records", "total cost"}


def test_folds_that_nobody_books_are_found(monkeypatch) -> None:
    monkeypatch.setattr(Claim, "reserve", lambda claim: None)
    assert "records" in found_in()


def test_a_row_that_counts_in_two_folds_is_found(monkeypatch) -> None:
    scored = folds._scored

    def doubled(models, rows, classes):
        found, groups = scored(models, rows, classes)
        twice = np.tile(np.arange(len(found.labels)), 2)
        return found.take(twice), groups

    monkeypatch.setattr(folds, "_scored", doubled)
    assert "entry cost" in found_in()


# -- folds of scikit-learn ---------------------------------------------------------------------


def selected(folds, scorer):
    def run(X, y):
        with Budget(epsilon=8, delta=0) as budget:
            scores = cross_val_score(
                DPTreeClassifier(schema={"bounds": {0: (-1, 1)}, "classes": [0, 1]}, max_depth=1),
                X,
                y,
                cv=folds,
                scoring=scorer,
                params={"fraction": 0.1},
                error_score="raise",
            )
        return {"scores": scores.tolist(), "left": str(budget.remaining)}

    return run


def found_in_folds(folds, scorer):
    X = np.repeat([-0.5, 0.5], 6)[:, np.newaxis]
    y = (X[:, 0] > 0).astype(int)
    pair = pair_of(X, y, [0.5], 0, Neighbors.ADD_REMOVE)
    audits = [replay_budget(selected(folds, scorer), each, seed=1) for each in (pair, pair.swapped)]
    return {violation.check for audit in audits for violation in audit.violations}


def test_secret_folds_keep_what_the_records_have(monkeypatch) -> None:
    words = np.random.default_rng(0).integers(0, 2**64, 13, dtype=np.uint64)
    monkeypatch.setattr(RowCoins, "words", lambda coins, first, n: words[first : first + n])
    folds = SecretKFold(2)
    assert found_in_folds(folds, folds.scorer("accuracy", fraction=0.1)) == set()


def test_folds_by_position_are_found() -> None:
    dealt = SecretKFold(2)
    dealt.dealt = True  # the check of the scorer, taken out
    by_position = KFold(2, shuffle=True, random_state=0)
    scorer = dealt.scorer("accuracy", fraction=0.1)
    assert "entry cost" in found_in_folds(by_position, scorer)
