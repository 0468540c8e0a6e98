"""Models are judged by the rows of parties as by those of one place, and parties may be lost."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpboost import Booster, Budget
from dpboost._utils.validation import InvalidParameterError
from dpboost.federated import (
    FederatedBoostingClassifier,
    PartyLostError,
    evaluate,
    evaluation_agreement,
    simulate,
)
from dpboost.federated.party.party import OwnRows
from dpboost.federated.training.agreed_fit import evaluate_agreed
from dpboost.privacy.queries import handle_of
from tests.unit.federated.channels import Losing, parties_of, run
from tests.unit.federated.evaluated import KINDS, model_of, tables_of, terms_of

pytestmark = pytest.mark.filterwarnings("ignore")
SIZES = (300, 200, 100, 150, 250)


def in_one_place(terms, tables):
    X, y = (np.concatenate(parts) for parts in zip(*tables, strict=True))
    return evaluate_agreed(handle_of(OwnRows(X, y, terms).judged(terms)), terms, terms.ledger())


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("kind", KINDS)
def test_every_party_books_the_evaluation_before_it_answers(kind, delta):
    terms = terms_of(kind, 5, delta=delta, dropouts=1)
    whole = simulate(terms, tables_of(kind, SIZES))
    ledger, found = whole.coordinator.ledger, whole.coordinator.evaluation
    assert {party.ledger.spent for party in whole.parties} == {ledger.spent}
    assert ledger.spent == ledger.capacity
    assert found.report.spent == ledger.spent
    assert found.report.facts["parties"] == 5
    labels = [entry.label for entry in ledger.entries]
    assert all([entry.label for entry in own.ledger.entries] == labels for own in whole.parties)
    assert all(own.evaluation.metrics == found.metrics for own in whole.parties)


@pytest.mark.parametrize("kind", KINDS)
def test_a_party_without_rows_adds_none(kind):
    tables = tables_of(kind, (0, 300, 0))
    terms = terms_of(kind, noise_seed=4)
    found = simulate(terms, tables).coordinator.evaluation
    assert found.metrics == in_one_place(terms, tables).metrics


@pytest.mark.parametrize("phase", ["deposit", "words", "unlocked"])
@pytest.mark.parametrize("kind", ["two classes", "numbers"])
def test_the_figures_are_those_of_the_rows_that_remain(kind, phase):
    terms = terms_of(kind, 5, dropouts=1, noise_seed=4)
    tables = tables_of(kind, SIZES)
    # It is in the last sum for which it has sent words: masks alone are lost with it.
    last = 3 if kind == "two classes" else 2
    step = 1 if phase != "unlocked" else last
    links = {3: lambda hub, index: Losing(hub, index, (phase, step))}
    found = run(terms, parties_of(terms, tables), links).coordinator.evaluation
    if phase != "unlocked":
        assert found.report.facts["fewest parties in a release"] == "4 of 5"
        left = [rows for index, rows in enumerate(tables) if index != 3]
        assert found.metrics == in_one_place(terms, left).metrics
    else:
        assert found.metrics == in_one_place(terms, tables).metrics


def test_a_loss_that_is_not_covered_ends_the_evaluation():
    terms = terms_of("numbers", 3)
    parties = parties_of(terms, tables_of("numbers", SIZES[:3]))
    with pytest.raises(PartyLostError):
        run(terms, parties, {2: lambda hub, index: Losing(hub, index, ("words", 2))})


def test_intervals_count_the_noise_of_all_shares():
    tables = tables_of("numbers", (2000,) * 4)
    deviations = []
    for options in ({"colluding": 1}, {"colluding": 3}):
        found = evaluate(model_of("numbers"), tables, epsilon=2, metrics=("mae",), **options)
        deviations.append(found["mae"].noise_stddev)
    assert deviations[1] / deviations[0] == pytest.approx(3**0.5, rel=0.1)


def test_persons_are_protected_by_the_rows_that_come_first():
    tables = tables_of("two classes", (200, 200))
    users = [np.repeat(np.arange(100), 2), np.repeat(np.arange(100), 2)]
    options = {"epsilon": 4, "rows_per_user": 1, "parties_per_user": 2, "noise_seed": 2}
    found = evaluate(model_of("two classes"), tables, user_ids=users, **options)
    assert found.report.rows_per_user == 2
    terms = terms_of("two classes", 2, **options)
    left = [(X[::2], y[::2]) for X, y in tables]
    first = [np.arange(100)] * 2
    again = simulate(terms, left, user_ids=first).coordinator.evaluation
    assert again.metrics == found.metrics


def test_a_model_of_parties_is_judged_by_parties():
    tables = tables_of("two classes", (400, 300))
    schema = {"bounds": {0: (-3, 3), 1: (-3, 3)}, "classes": [0, 1]}
    model = FederatedBoostingClassifier(epsilon=8.0, n_estimators=5, schema=schema, verbosity=0)
    model.fit(tables)
    found = evaluate(model, tables, epsilon=4.0, metrics="auc")
    assert list(found.metrics) == ["auc"]
    assert found["auc"].low <= found["auc"].value <= found["auc"].high


def test_without_noise_the_figures_are_those_of_one_place():
    tables = tables_of("two classes", (400, 300))
    over = evaluate(model_of("two classes"), tables, epsilon=math.inf)
    one = in_one_place(terms_of("two classes", 2, epsilon=math.inf), tables)
    assert over.metrics == one.metrics
    assert not over.report.private


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": ("rmse",)}, "metrics"),
        ({"metrics": ()}, "metrics"),
        ({"groups": "weight"}, "groups"),
        ({"groups": "age"}, "not declared"),
        ({"groups": ("age", ["other"])}, "'other'"),
        ({"groups": ("age", [1, 1])}, "different"),
        ({"groups": ("age", [])}, "different"),
        ({"features": ("dose", "age")}, "features"),
        ({"epsilon": 0}, "epsilon"),
        ({"delta": 2}, "delta"),
        ({"recipe": "best"}, "'recipe' parameter is none of evaluation_agreement"),
        ({"dropouts": 2}, "dropouts"),
    ],
)
def test_bad_terms_are_refused(options, message):
    with pytest.raises(InvalidParameterError, match=message):
        terms_of("two classes", **options)


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_with_its_schema_makes_the_terms_of_the_estimator(kind):
    estimator = model_of(kind)
    booster = Booster(model_str=estimator.booster_.model_to_string())
    schema = {"classes": estimator.classes_.tolist()} if "classes" in kind else None
    schema = schema or {"label_bounds": (-2.0, 2.0)}
    terms = evaluation_agreement(booster, 3, epsilon=2.0, schema=schema)
    own = terms_of(kind)
    assert replace(terms, nonce=own.nonce, public_seed=own.public_seed).digest == own.digest
    with pytest.raises(InvalidParameterError, match="schema"):
        terms_of(kind, schema=schema)


@pytest.mark.parametrize("model", [None, FederatedBoostingClassifier()])
def test_what_is_no_model_is_refused(model):
    with pytest.raises(InvalidParameterError, match="'model'"):
        evaluation_agreement(model, 3, epsilon=1)


def test_a_budget_is_refused():
    tables = tables_of("numbers", (20, 20))
    with pytest.raises(InvalidParameterError, match="budget"):
        evaluate(
            model_of("numbers"), tables, epsilon=1, budget=Budget(epsilon=1, delta=0), fraction=1
        )
