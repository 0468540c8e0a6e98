"""Federated fits, evaluations and cross-validations, compared with those of one table.

A replay cannot force noise that is drawn in shares. But the shares of a seed add up to the noise of
one process, so the same terms with all rows in one place must give the same model, and the replays
of the latter apply to the former. This module also checks what the messages reveal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.audit.neighboring_pairs import pair_of
from dpboost.audit.pair_replay import replay_pair
from dpboost.audit.run_trace import Violation
from dpboost.data.table import read_table
from dpboost.estimators.boosting_estimators import DPBoostClassifier, DPBoostRegressor
from dpboost.evaluating.evaluation import Evaluation
from dpboost.federated.cross_validation import cv_agreement
from dpboost.federated.estimators import FederatedBoostingClassifier, FederatedBoostingRegressor
from dpboost.federated.evaluation import evaluation_agreement
from dpboost.federated.party.party import OwnRows, Party
from dpboost.federated.protocol.agreed_evaluation import EVALUATION
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.coordinator_session import CoordinatorSession
from dpboost.federated.protocol.hub import Hub, LocalLink
from dpboost.federated.protocol.messages import KINDS, Key, Words, decode
from dpboost.federated.simulation import Simulation, run_together
from dpboost.federated.training.agreed_fit import agreed_privacy, evaluate_agreed, train_agreed
from dpboost.federated.training.session_run import Result, judging_terms, part_terms
from dpboost.lightgbm.model_text.writer import model_text
from dpboost.model_selection.secret_folds import deal_folds
from dpboost.privacy.exact_arithmetic import PrivacyCost, epsilon_of, number_of
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import handle_of
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes import ALGORITHMS
from dpboost.rows.raw_rows import RawRows
from dpboost.rows.row_attributes import RowExtras
from dpboost.trees.ensemble import Ensemble

#: Name of the check.
CHECK = "messages of parties"

SCHEMA = {"bounds": {"age": (0.0, 1.0), "dose": (0.0, 1.0)}, "label_bounds": (-1.0, 1.0)}
N_PARTIES = 3

#: Of cross-validations.
N_FOLDS, N_FOLD_ROWS, FOLD_SEED = 3, 18, 9

Rows = tuple[NDArray[Any], NDArray[Any]]


class Listening(LocalLink):
    """Records the messages of a party by key."""

    def __init__(self, hub: Hub, party: int, sent: dict[tuple[Key, int], bytes]) -> None:
        super().__init__(hub, party)
        self._own, self._sent = party, sent

    def post(self, key: Key, body: bytes) -> bytes:
        """Hand a message over, and keep it."""
        self._sent[key, self._own] = body
        return super().post(key, body)


def fits_of_parties(recipes: Sequence[str] = ALGORITHMS.names) -> list[Violation]:
    """Train over messages and in one place, and compare."""
    return _compared(recipes, _terms)


def continued_fits_of_parties(
    tasks: Sequence[str] = ("regression", "classification"),
) -> list[Violation]:
    """Continue released models over messages and in one place, and compare."""
    return _compared(tasks, _continuing)


def evaluations_of_parties(
    tasks: Sequence[str] = ("regression", "classification"),
) -> list[Violation]:
    """Evaluate models over messages and in one place, and compare."""
    return _compared(tasks, _judging)


def _compared(
    names: Sequence[str], terms_of: Callable[[str, Neighbors], Agreement]
) -> list[Violation]:
    found: list[Violation] = []
    for name in names:
        for neighbors in Neighbors:
            terms = terms_of(name, neighbors)
            found += _told(terms)
            found += _replayed(terms, neighbors)
    return found


def _continuing(task: str, neighbors: Neighbors) -> Agreement:
    """Return terms of a fit that continues a model that is public."""
    terms = _terms("best", neighbors)
    if task == "classification":
        schema = {"bounds": SCHEMA["bounds"], "classes": [-1, 1]}
        terms = replace(terms, task=task, schema=schema)
    # Gradients that are not clipped show where the scores of a row start.
    hyper = terms.hyper | {"gradient_clip": 1.0}
    return replace(
        terms, hyper=hyper, init_model=_public_model(task, neighbors).booster_.model_to_string()
    )


def _judging(task: str, neighbors: Neighbors) -> Agreement:
    """Return terms about a model that is public."""
    # A few rows are to be seen through the noise of the first look.
    model = _public_model(task, neighbors)
    return evaluation_agreement(model, N_PARTIES, epsilon=40.0, neighbors=neighbors.value)


def _public_model(task: str, neighbors: Neighbors) -> Any:
    """Return a model of rows that anyone may see."""
    labels = {"label_bounds": (-1.0, 1.0)} if task == "regression" else {"classes": [-1, 1]}
    kind: Any = DPBoostRegressor if task == "regression" else DPBoostClassifier
    schema = {"bounds": {0: (0.0, 1.0), 1: (0.0, 1.0)}, **labels}
    settings = {"n_estimators": 2, "max_depth": 1, "random_state": 0, "verbosity": -1}
    model = kind(schema=schema, epsilon=20.0, neighbors=neighbors.value, **settings)
    return model.fit(*public_rows(50))


def _terms(recipe: str, neighbors: Neighbors) -> Agreement:
    return Agreement(
        n_parties=N_PARTIES,
        features=("age", "dose"),
        schema=SCHEMA,
        task="regression",
        recipe=recipe,
        # Level histograms divide it among all features and depths.
        epsilon=epsilon_of(Fraction(30)),
        neighbors=neighbors.value,
        hyper={"n_estimators": 3, "max_depth": 2, "max_bin": 4},
    )


def public_rows(n_rows: int) -> Rows:
    """Return rows that anyone may see."""
    random = np.random.default_rng(0)
    return random.integers(0, 2, (n_rows, 2)).astype(float), random.choice([-1.0, 1.0], n_rows)


def parts_of(rows: Rows) -> list[Rows]:
    """Give each party some rows, in their order."""
    X, y = rows
    return list(zip(np.array_split(X, N_PARTIES), np.array_split(y, N_PARTIES), strict=True))


def over_messages(terms: Agreement, rows: Rows) -> tuple[Simulation, dict[tuple[Key, int], bytes]]:
    """Run a session, and return what comes of it and all messages of parties."""
    parties: list[Party] = []
    first_row = 0
    for index, (X, y) in enumerate(parts_of(rows)):
        parties.append(Party(index, X, y, agreement=terms, first_row=first_row))
        first_row += parties[-1].n_rows
    hub = Hub()
    sent: dict[tuple[Key, int], bytes] = {}
    links = [Listening(hub, index, sent) for index in range(N_PARTIES)]
    return run_together(parties, CoordinatorSession(terms, hub), hub, links=links), sent


def told_of(found: Simulation) -> Any:
    """Return what is reported at the end: the trees, or figures."""
    if not found.coordinator.fits:
        return _figures(found.coordinator.evaluation)
    return found.coordinator.fitted.ensemble


def in_one_place(
    terms: Agreement,
    rows: Rows,
    folds: NDArray[np.int32] | None = None,
    ledger: Ledger | None = None,
) -> Any:
    """Return what is reported of the same rows by one process.

    In the evaluation of a cross-validation, ``folds`` says whose model evaluates each row. A ledger
    is given where coins were drawn from it before.
    """
    X, y = rows
    ledger = ledger_of(terms) if ledger is None else ledger
    table = read_table(X, schema=terms.declared, feature_names=terms.features)
    labels = np.asarray(y, dtype=np.float64)
    if terms.recipe != EVALUATION:
        earlier = terms.continued
        scores = None if earlier is None else np.atleast_2d(earlier.predict(X))
        extras = RowExtras(init_scores=scores)
        source = handle_of(RawRows(table=table, labels=labels, extras=extras))
        return train_agreed(source, terms, ledger).ensemble
    judged = OwnRows(X, labels, terms).judged(terms, folds)
    return _figures(evaluate_agreed(handle_of(judged), terms, ledger))


def ledger_of(terms: Agreement) -> Ledger:
    """Open a ledger where the auditor listens."""
    return agreed_privacy(terms).ledger(terms.ledger().accountant)


def text_of(told: Any) -> Any:
    """Return what is reported as text: figures, or a model without its report."""
    if not isinstance(told, Ensemble):
        return told
    lines = model_text(told).splitlines()
    return [line for line in lines if not line.startswith("dpboost:")]


def _figures(found: Evaluation) -> str:
    return f"{found.metrics} {found.groups}"


def _told(terms: Agreement) -> Iterator[Violation]:
    """Compare models, messages of neighboring tables, and what was recorded."""
    seeded = replace(terms, noise_seed=9)
    X, y = public_rows(12)
    found, sent = over_messages(seeded, (X, y))
    where = f"{terms.recipe}, {terms.neighbors}"
    violation = partial(Violation, CHECK, where)
    if text_of(told_of(found)) != text_of(in_one_place(seeded, (X, y))):
        what = "other figures" if terms.recipe == EVALUATION else "another model"
        yield violation(f"{what} than of the same rows in one place")
    if {party.ledger.spent for party in found.parties} != {found.coordinator.ledger.spent}:
        yield violation("parties have recorded other charges than the coordinator")
    if are_small(_words_of(sent.values())):
        yield violation("replies hold small numbers: there is no mask on them")
    other = y.copy()
    other[-1] = -other[-1]
    changed = over_messages(seeded, (X, other))[1]
    lengths = [{place: len(body) for place, body in one.items()} for one in (sent, changed)]
    if lengths[0] != lengths[1]:
        yield violation("number or length of replies depend on a row")


def _words_of(messages: Iterable[bytes]) -> list[NDArray[Any]]:
    read: list[Any] = [decode(message, KINDS) for message in messages]
    return [part for message in read if isinstance(message, Words) for part in message.words]


def are_small(arrays: Sequence[NDArray[Any]]) -> bool:
    """Return whether most words are near zero, where masks make them uniform."""
    # Uniform words are so near to zero once in 2^15 times.
    near = np.abs(np.concatenate(arrays, axis=None).view(np.int64)) < 2**48
    return bool(near.mean() > 0.5)


def _replayed(terms: Agreement, neighbors: Neighbors) -> Iterator[Violation]:
    """Weigh the releases of the same terms with all rows in one place."""
    X, y = public_rows(12)

    def trained(X: Any, y: Any) -> Mapping[str, Any]:
        return {"told": text_of(in_one_place(terms, (X, y)))}

    instead = (np.zeros(2), -1.0)
    pair = pair_of(X, y, np.ones(2), 1.0, neighbors, instead=instead, coin=0.0)
    for one in (pair, pair.swapped):
        yield from replay_pair(trained, one).violations


def cross_validations_of_parties(
    tasks: Sequence[str] = ("regression", "classification"),
) -> list[Violation]:
    """Cross-validate over messages and in one place, and compare."""
    found: list[Violation] = []
    for task in tasks:
        found += _told_of_folds(
            _fold_terms(task, Neighbors.ADD_REMOVE, FOLD_SEED), f"cross-validation, {task}"
        )
        for neighbors in Neighbors:
            found += _replayed_folds(_fold_terms(task, neighbors, None), neighbors)
    return found


def _fold_terms(task: str, neighbors: Neighbors, seed: int | None) -> Agreement:
    known: dict[str, Any] = {"label_bounds": (-1.0, 1.0)}
    kind: Any = FederatedBoostingRegressor
    if task == "classification":
        known, kind = {"classes": [-1, 1]}, FederatedBoostingClassifier
    model = kind(
        # A part of the budget is to be enough for one of few rows.
        epsilon=60.0,
        delta=0.0,
        schema={"bounds": SCHEMA["bounds"], **known},
        neighbors=neighbors.value,
        n_estimators=2,
        max_depth=1,
        max_bin=4,
        random_state=0,
        noise_seed=seed,
    )
    metrics = ["l2"] if task == "regression" else ["binary_logloss"]
    return cv_agreement(model, N_PARTIES, ("age", "dose"), nfold=N_FOLDS, metrics=metrics)


def _told_of_folds(terms: Agreement, where: str) -> Iterator[Violation]:
    """Compare models and figures, and add up what each party has recorded."""
    violation = partial(Violation, CHECK, where)
    X, y = public_rows(N_FOLD_ROWS)
    codes = deal_folds(Entropy.seeded(FOLD_SEED).row_coins(), N_FOLDS, np.arange(N_FOLD_ROWS))
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


def _replayed_folds(terms: Agreement, neighbors: Neighbors) -> Iterator[Violation]:
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

    rows: Rows = public_rows(N_FOLD_ROWS)
    pair = pair_of(*rows, np.ones(2), 1.0, neighbors, instead=(np.zeros(2), -1.0), first=True)
    for one in (pair, pair.swapped):
        audit = replay_pair(cross_validated, one, several=True)
        yield from audit.violations
        whole = replace(judging, folds=None).ledger().capacity
        if Fraction(audit.capacity) > Fraction(number_of(whole)) * (1 + Fraction(1, 10**9)):
            message = "all sessions of a row may spend more than the budget"
            yield Violation("total", "cross-validation", message)


def _spent(one: Result) -> PrivacyCost:
    """Return what a row may have cost by the charges of each fit and of the metrics."""
    fits, own = one.ledger.root.children.values()
    costs = sorted(each.total.cost for each in fits.children.values())
    return max(one.ledger.spent, sum(costs[1:], own.total.cost))
