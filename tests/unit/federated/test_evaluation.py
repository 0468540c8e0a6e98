"""Models are judged by the rows of parties as by those of one place, and parties may be lost."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpboost import Booster, Budget
from dpboost._utils.validation import InvalidParameterError
from dpboost.federated import (
    Coordinator,
    FederatedBoostingClassifier,
    LocalChannel,
    Party,
    PartyLostError,
    evaluate,
    evaluate_channel,
    evaluation_agreement,
    simulate,
)
from dpboost.federated.evaluation import evaluate_agreed, judge
from dpboost.federated.party.evaluation_admission import JudgeRows
from dpboost.federated.party.party_store import PartyStore
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol.journal import JournalChannel
from dpboost.federated.secagg.dropout_messages import Prepare, Unmask
from dpboost.privacy.queries import LocalRows
from tests.unit.federated.channels import Processes
from tests.unit.federated.evaluated import KINDS, model_of, tables_of, terms_of
from tests.unit.federated.protocol.test_mask_phases import Losing

pytestmark = pytest.mark.filterwarnings("ignore")
SIZES = (300, 200, 100, 150, 250)


def parties_of(terms, tables):
    firsts = np.cumsum([0, *(len(y) for _, y in tables)]).tolist()
    return [
        Party(index, *rows, agreement=terms, first_row=firsts[index])
        for index, rows in enumerate(tables)
    ]


def in_one_place(terms, tables):
    X, y = (np.concatenate(parts) for parts in zip(*tables, strict=True))
    held = Party(0, X, y, agreement=terms).held
    return evaluate_agreed(LocalRows(JudgeRows().execute(held)), terms, terms.ledger())


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("kind", KINDS)
def test_every_party_books_the_evaluation_before_it_answers(kind, delta):
    terms = terms_of(kind, 5, delta=delta, dropouts=1)
    coordinator, parties = simulate(terms, tables_of(kind, SIZES))
    found = judge(coordinator)
    assert {party.ledger.spent for party in parties} == {coordinator.ledger.spent}
    assert coordinator.ledger.spent == coordinator.ledger.capacity
    assert found.report.spent == coordinator.ledger.spent
    assert found.report.facts["parties"] == 5
    labels = [entry.label for entry in coordinator.ledger.entries]
    assert all([entry.label for entry in party.ledger.entries] == labels for party in parties)


@pytest.mark.parametrize("kind", KINDS)
def test_a_party_without_rows_adds_none(kind):
    tables = tables_of(kind, (0, 300, 0))
    terms = terms_of(kind, noise_seed=4)
    found = judge(Coordinator(terms, LocalChannel(parties_of(terms, tables))))
    assert found.metrics == in_one_place(terms, tables).metrics


@pytest.mark.parametrize("phase", [Prepare, m.Ask, Unmask])
@pytest.mark.parametrize("kind", ["two classes", "numbers"])
def test_the_figures_are_those_of_the_rows_that_remain(kind, phase):
    terms = terms_of(kind, 5, dropouts=1, noise_seed=4)
    tables = tables_of(kind, SIZES)
    # It is in the last sum of which it has answered: masks alone are lost with it.
    number = 0 if phase is not Unmask else 1
    channel = Losing(parties_of(terms, tables), {(phase, number, 3)}, for_good=True)
    found = judge(Coordinator(terms, channel, resends=0))
    assert found.report.facts["fewest parties in a release"].endswith("of 5")
    if phase is not Unmask:
        left = [rows for index, rows in enumerate(tables) if index != 3]
        assert found.metrics == in_one_place(terms, left).metrics


def test_a_loss_that_is_not_covered_ends_the_evaluation_and_stays_charged():
    terms = terms_of("numbers", 3)
    parties = parties_of(terms, tables_of("numbers", SIZES[:3]))
    channel = Losing(parties, {(m.Ask, 1, 2)}, for_good=True)
    coordinator = Coordinator(terms, channel, resends=0)
    with pytest.raises(PartyLostError, match="stays charged"):
        judge(coordinator)
    assert coordinator.ledger.spent > 0
    assert {party.ledger.spent for party in parties} == {coordinator.ledger.spent}


def test_intervals_count_the_noise_of_all_shares():
    tables = tables_of("numbers", (2000,) * 4)
    deviations = []
    for options in ({"colluding": 0}, {"colluding": 3}):
        found = evaluate(model_of("numbers"), tables, epsilon=2, metrics=("mae",), **options)
        deviations.append(found["mae"].noise_stddev)
    assert deviations[1] / deviations[0] == pytest.approx(2, rel=0.1)


def test_persons_are_protected_by_the_rows_that_come_first():
    tables = tables_of("two classes", (200, 200))
    users = [np.repeat(np.arange(100), 2), np.repeat(np.arange(100), 2)]
    options = {"epsilon": 4, "rows_per_user": 1, "parties_per_user": 2, "noise_seed": 2}
    found = evaluate(model_of("two classes"), tables, user_ids=users, **options)
    assert found.report.rows_per_user == 2
    terms = terms_of("two classes", 2, **options)
    left = [(X[::2], y[::2]) for X, y in tables]
    first = [np.arange(100)] * 2
    coordinator, _ = simulate(terms, left, user_ids=first)
    assert judge(coordinator).metrics == found.metrics


def test_parties_and_coordinator_that_start_again_go_on(tmp_path):
    tables = tables_of("three classes", SIZES[:3])
    terms = terms_of("three classes", noise_seed=4)
    expected = in_one_place(terms, tables)
    channel = Processes(terms, tables, tmp_path)
    journal = JournalChannel(channel, terms, tmp_path / "journal")
    found = evaluate_channel(journal, terms)
    assert found.metrics == expected.metrics
    again = JournalChannel(LocalChannel([None] * 3), terms, tmp_path / "journal")
    assert evaluate_channel(again, terms).metrics == expected.metrics
    party = channel.party(1)
    with PartyStore(tmp_path / "1").attached(party):
        assert party.ledger.spent == expected.report.spent


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
        ({"groups": "age"}, "nobody has listed"),
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
    assert terms.digest == terms_of(kind).digest
    with pytest.raises(InvalidParameterError, match="schema"):
        terms_of(kind, schema=schema)


@pytest.mark.parametrize("model", [None, FederatedBoostingClassifier()])
def test_what_is_no_model_is_refused(model):
    with pytest.raises(InvalidParameterError, match="'model'"):
        evaluation_agreement(model, 3, epsilon=1)


def test_a_budget_and_an_agreement_on_a_fit_are_refused():
    tables = tables_of("numbers", (20, 20))
    with pytest.raises(InvalidParameterError, match="budget"):
        evaluate(
            model_of("numbers"), tables, epsilon=1, budget=Budget(epsilon=1, delta=0), fraction=1
        )
    terms = terms_of("numbers", 2)
    channel = LocalChannel(parties_of(terms, tables))
    for other in (replace(terms, recipe="best", hyper={}), replace(terms, hyper={})):
        with pytest.raises(InvalidParameterError, match="recipe|hyper"):
            evaluate_channel(channel, other)
    with pytest.raises(InvalidParameterError, match="recipe"):
        FederatedBoostingClassifier().fit_channel(channel, replace(terms, task="classification"))
