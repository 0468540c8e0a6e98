from fractions import Fraction

import numpy as np
import pytest

from dpboost import DPBoostClassifier, DPBoostRegressor
from dpboost._utils.validation import InvalidParameterError
from dpboost.data.table import read_table
from dpboost.federated import PartyLostError, simulate
from dpboost.federated.protocol import messages as m
from dpboost.lightgbm.model_text.writer import model_text
from dpboost.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace
from dpboost.privacy.sensitivity.histograms import level_sums
from tests.unit.federated.channels import (
    Losing,
    agreement,
    parties_of,
    read,
    recorded,
    run,
    tables,
    without_report,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::dpboost.NotPrivateWarning"),
    pytest.mark.filterwarnings("ignore::dpboost.UndeclaredWarning"),
]
CLASSES = {"bounds": {"age": (-3, 3), "dose": (-3, 3)}, "classes": [0, 1]}
LABELS = {"bounds": {"age": (-3, 3), "dose": (-3, 3)}, "label_bounds": (0, 1)}
GAUSSIAN = {"accountant": "GDP", "delta": 1e-6, "epsilon": 2.0}
SMALL = {"n_estimators": 4, "max_depth": 3}
SIZES = (120, 0, 1, 200, 80)


def terms(n_parties=5, **more):
    given = {"schema": CLASSES, "hyper": SMALL, "public_seed": 3}
    return agreement(n_parties, **(given | more))


def trained(agreed, given):
    found = simulate(agreed, given)
    return found.coordinator.fitted, found.coordinator, found.parties


def text_of(ensemble):
    return without_report(model_text(ensemble))


def together(given):
    return np.concatenate([X for X, _ in given]), np.concatenate([y for _, y in given])


@pytest.mark.parametrize("sizes", [SIZES, (150, 251)])
@pytest.mark.parametrize(
    "budget",
    [GAUSSIAN, {"accountant": "pure", "delta": 0, "epsilon": 2.0}],
    ids=["gaussian", "pure"],
)
@pytest.mark.parametrize("shared", [{}, {"trees_per_ensemble": 2}], ids=["all rows", "dealt"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_shares_that_add_up_to_the_central_draw_give_the_central_model(task, budget, shared, sizes):
    hyper = SMALL | shared
    given = tables(sizes, n_classes=2)
    schema = CLASSES if task == "classification" else LABELS
    agreed = terms(len(sizes), task=task, schema=schema, noise_seed=5, hyper=hyper, **budget)
    fitted, coordinator, _ = trained(agreed, given)
    kind = DPBoostClassifier if task == "classification" else DPBoostRegressor
    by_position = schema | {"bounds": {0: (-3, 3), 1: (-3, 3)}}
    X, y = together(given)
    central = kind(
        epsilon=budget["epsilon"],
        delta=budget["delta"],
        schema=by_position,
        random_state=3,
        noise_seed=5,
        verbosity=-1,
        **hyper,
    ).fit(X, y, feature_name=list(agreed.features))
    assert text_of(fitted.ensemble) == text_of(central.ensemble_)
    assert not fitted.report.private
    assert coordinator.ledger.spent == central.privacy_report_.spent


def test_several_classes_and_undeclared_bounds_as_well():
    given = tables((100, 80, 120))
    agreed = terms(3, schema={"classes": [0, 1, 2]}, noise_seed=1, **GAUSSIAN)
    fitted, _, _ = trained(agreed, given)
    X, y = together(given)
    central = DPBoostClassifier(
        epsilon=2.0,
        schema={"classes": [0, 1, 2]},
        random_state=3,
        noise_seed=1,
        verbosity=-1,
        **SMALL,
    ).fit(X, y, feature_name=list(agreed.features))
    assert text_of(fitted.ensemble) == text_of(central.ensemble_)


@pytest.mark.parametrize("recipe", ["dpboost", "para", "seq"])
def test_recipes_with_private_choices_work_from_noisy_sums(recipe):
    hyper = {"n_estimators": 3, "max_depth": 1, "max_bin": 8, "learning_rate": 0.5}
    if recipe == "dpboost":
        hyper["trees_per_ensemble"] = 2
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(3000, 2))
    y = (X[:, 1] > 0).astype(int)
    given = [(X[part::3], y[part::3]) for part in range(3)]
    agreed = terms(3, recipe=recipe, epsilon=60.0, hyper=hyper)
    fitted, coordinator, parties = trained(agreed, given)
    assert fitted.report.private
    assert all(party.ledger.spent == coordinator.ledger.spent == 60 for party in parties)
    assert "noisy histograms" in fitted.report.facts["deviation"]
    labels = {release.label: release for release in fitted.report.releases}
    assert labels["level histograms"].largest == level_sums(2, 2**16, agreed.relation).constant
    # The one feature that matters is found, near its border.
    assert fitted.ensemble.trees[0].feature[0] == 1
    found = fitted.ensemble.predict(read_table(X, feature_names=agreed.features)) > 0.5
    assert (found == y).mean() > 0.9


@pytest.mark.parametrize("n_parties", [2, 50])
@pytest.mark.parametrize("recipe", ["best", "dpboost"])
def test_two_and_fifty_parties(n_parties, recipe):
    given = tables([20] * n_parties, n_classes=2)
    hyper = {"n_estimators": 1, "max_depth": 2, "max_bin": 8}
    agreed = terms(n_parties, recipe=recipe, epsilon=20.0, hyper=hyper)
    fitted, coordinator, parties = trained(agreed, given)
    assert len(fitted.ensemble.trees) == 1
    assert {party.ledger.spent for party in parties} == {coordinator.ledger.spent}


def test_parties_without_a_class_with_one_row_and_with_none():
    (X, y), *_ = tables([60], n_classes=2)
    given = [(X, y), (X[:20], np.zeros(20)), (X[:1], y[:1]), (X[:0], y[:0]), (X[:9], np.ones(9))]
    fitted, _, parties = trained(terms(5, epsilon=4.0), given)
    assert len(fitted.ensemble.trees) == 4
    assert len({party.ledger.spent for party in parties}) == 1


# -- what is sent ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("recipe", "budget"), [("best", GAUSSIAN), ("dpboost", {"epsilon": 30.0})])
def test_a_party_sends_masked_words_a_key_and_a_hash_only(recipe, budget):
    given = tables((150, 90, 120), n_classes=2)
    hyper = {"n_estimators": 2, "max_depth": 2, "max_bin": 8}
    agreed = terms(3, recipe=recipe, hyper=hyper, **budget)
    _, seen = recorded(agreed, parties_of(agreed, given))
    sent = [read(body) for _, _, body, _ in seen]
    assert {type(message) for message in sent} == {m.Hello, m.Words, m.Done}
    masked = [
        part.ravel() for message in sent if isinstance(message, m.Words) for part in message.words
    ]
    words = np.concatenate(masked)
    # As far as anybody can tell these are uniform: small numbers, which all sums are, and
    # small differences between parties would show.
    ones = np.unpackbits(words.view(np.uint8)).mean()
    assert abs(ones - 0.5) < 5 * 0.5 / np.sqrt(64 * len(words))
    assert (np.abs(words.view(np.int64).astype(float)) < 2**40).sum() <= 1
    # All parties get the same reply.
    assert len({(key, reply) for key, _, _, reply in seen}) == len({key for key, *_ in seen})


def test_the_same_holds_where_the_rows_are_other_ones():
    """The released row count is about the same, and so few bins need no second histogram."""
    hyper = {"n_estimators": 2, "max_depth": 2, "max_bin": 8}
    lengths = []
    for sizes in ((150, 90, 120), (359, 1, 0)):
        agreed = terms(3, hyper=hyper, **GAUSSIAN)
        _, seen = recorded(agreed, parties_of(agreed, tables(sizes, n_classes=2)))
        lengths.append([(key, party, len(body)) for key, party, body, _ in seen])
    assert lengths[0] == lengths[1]


def test_a_round_takes_one_message():
    agreed = terms(3, **GAUSSIAN)
    _, seen = recorded(agreed, parties_of(agreed, tables((500, 500, 500), n_classes=2)))
    # Keys, start value, bins, four rounds, and the hash of the model.
    assert len({key for key, *_ in seen}) == 1 + 2 + 4 + 1


# -- what may go wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 3, 5])
@pytest.mark.parametrize("told", [False, True])
def test_a_party_that_is_lost_ends_the_fit(step, told):
    agreed = terms(3, epsilon=4.0)
    parties = parties_of(agreed, tables((60, 60, 60), n_classes=2))
    links = {1: lambda hub, index: Losing(hub, index, ("words", step), told=told)}
    with pytest.raises(PartyLostError):
        run(agreed, parties, links, timeout=0.5)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"recipe": "secret"}, "recipe"),
        ({"hyper": {"depth": 3}}, "hyper"),
        ({"hyper": {"max_depth": 99}}, "max_depth"),
        ({"schema": {"bounds": {"age": (0, 1)}}}, "classes"),
        ({"task": "regression"}, "label_bounds"),
        ({"accountant": "zCDP", "delta": 1e-6}, "accountant"),
        ({"epsilon": 0.001}, "epsilon"),
        ({"recipe": "dpboost", "epsilon": 1e-6}, "epsilon"),
        ({"recipe": "dpboost", "hyper": {"selection": "exponential"}}, "selection"),
    ],
)
def test_terms_that_do_not_fit_are_refused_before_a_charge(wrong, named):
    with pytest.raises(InvalidParameterError, match=named):
        simulate(terms(3, **wrong), tables((5, 5, 5), n_classes=2))


def test_noise_is_that_of_the_shares_the_report_names():
    fitted, coordinator, _ = trained(terms(5, colluding=2, epsilon=4.0), tables([30] * 5, 2))
    facts = fitted.report.facts
    assert facts["noise"] == "in shares, 3 of which carry all of it"
    assert facts["against 2 others"].startswith("epsilon = 4,")
    assert all(
        isinstance(entry.mechanism, (DiscreteLaplace, DiscreteGaussian))
        for entry in coordinator.ledger.entries
    )
    assert coordinator.ledger.spent == Fraction(4)
