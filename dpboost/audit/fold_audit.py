"""Cross-validations of parties, held to those of one table that replays weigh."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpboost.audit.neighbouring_pairs import pair_of
from dpboost.audit.network_audit import (
    CHECK,
    N_PARTIES,
    SCHEMA,
    Rows,
    in_one_place,
    ledger_of,
    over_messages,
    public_rows,
    text_of,
)
from dpboost.audit.replay import replay_pair
from dpboost.audit.transcript import Violation
from dpboost.federated.cross_validation import cv_agreement
from dpboost.federated.estimators import FederatedBoostingClassifier, FederatedBoostingRegressor
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.training.replay import Result, judging_terms, part_terms
from dpboost.lightgbm.model_text.writer import model_text
from dpboost.model_selection.secret_folds import deal_folds
from dpboost.privacy.exact_arithmetic import PrivacyCost, number_of
from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.randomness import Entropy

N_FOLDS, N_ROWS, _SEED = 3, 18, 9


def cross_validations_of_parties(
    tasks: Sequence[str] = ("regression", "classification"),
) -> list[Violation]:
    """Cross-validate over messages and in one place, and compare."""
    found: list[Violation] = []
    for task in tasks:
        found += _told(_terms(task, Neighbours.ADD_REMOVE, _SEED), f"cross-validation, {task}")
        for neighbours in Neighbours:
            found += _replayed(_terms(task, neighbours, None), neighbours)
    return found


def _terms(task: str, neighbours: Neighbours, seed: int | None) -> Agreement:
    known: dict[str, Any] = {"label_bounds": (-1.0, 1.0)}
    kind: Any = FederatedBoostingRegressor
    if task == "classification":
        known, kind = {"classes": [-1, 1]}, FederatedBoostingClassifier
    model = kind(
        # A part of the budget is to be enough for one of few rows.
        epsilon=60.0,
        delta=0.0,
        schema={"bounds": SCHEMA["bounds"], **known},
        neighbours=neighbours.value,
        n_estimators=2,
        max_depth=1,
        max_bin=4,
        random_state=0,
        noise_seed=seed,
    )
    metrics = ["l2"] if task == "regression" else ["binary_logloss"]
    return cv_agreement(model, N_PARTIES, ("age", "dose"), nfold=N_FOLDS, metrics=metrics)


def _told(terms: Agreement, where: str) -> Iterator[Violation]:
    """Compare models and figures, and add up what each party has booked."""

    def violation(message: str) -> Violation:
        return Violation(check=CHECK, where=where, message=message)

    X, y = public_rows(N_ROWS)
    codes = deal_folds(Entropy.seeded(_SEED).row_coins(), N_FOLDS, np.arange(N_ROWS))
    found, _ = over_messages(terms, (X, y))
    fits = found.coordinator.fits
    for fold, fitted in enumerate(fits):
        kept = codes != fold
        one = in_one_place(part_terms(terms, fold), (X[kept], y[kept]))
        if text_of(fitted.ensemble) != text_of(one):
            yield violation("another model than of the rows of the other folds in one place")
    judging = judging_terms(terms, [model_text(fitted.ensemble) for fitted in fits])
    told = found.coordinator.evaluation
    if f"{told.metrics} {told.groups}" != in_one_place(judging, (X, y), codes):
        yield violation("other figures than of the same folds in one place")
    whole = replace(judging, folds=None).ledger().capacity
    for one in (found.coordinator, *found.parties):
        if _spent(one) > whole:
            yield violation("a row may cost more in all sessions than the budget")


def _replayed(terms: Agreement, neighbours: Neighbours) -> Iterator[Violation]:
    """Weigh the releases of all parts together, with all rows in one place."""
    folds = terms.folds
    assert folds is not None
    judging = replace(terms, folds=replace(folds, part=folds.n_folds))

    def cross_validated(X: Any, y: Any) -> Mapping[str, Any]:
        ledger = ledger_of(judging)
        codes = deal_folds(ledger.row_coins(), N_FOLDS, np.arange(len(y)))
        told = []
        for fold in range(N_FOLDS):
            kept = codes != fold
            told.append(in_one_place(part_terms(terms, fold), (X[kept], y[kept])))
        judged = judging_terms(terms, [model_text(each) for each in told])
        figures = in_one_place(judged, (X, y), codes, ledger)
        return {"models": [text_of(each) for each in told], "figures": figures}

    rows: Rows = public_rows(N_ROWS)
    pair = pair_of(*rows, np.ones(2), 1.0, neighbours, instead=(np.zeros(2), -1.0), first=True)
    for one in (pair, pair.swapped):
        audit = replay_pair(cross_validated, one, several=True)
        yield from audit.violations
        whole = replace(judging, folds=None).ledger().capacity
        if Fraction(audit.capacity) > Fraction(number_of(whole)) * (1 + Fraction(1, 10**9)):
            message = "all sessions of a row may spend more than the budget"
            yield Violation(check="total", where="cross-validation", message=message)


def _spent(one: Result) -> PrivacyCost:
    """Return what a row may have cost by the charges of each fit and of the metrics."""
    fits, own = one.ledger.root.children.values()
    costs = sorted(each.total.cost for each in fits.children.values())
    return max(one.ledger.spent, sum(costs[1:], own.total.cost))
