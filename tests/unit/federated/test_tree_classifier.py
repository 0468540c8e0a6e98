"""Trees over parties: the central tree in secret, any number of parties, any of them poor."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dpboost import DPTreeClassifier, InvalidParameterError
from dpboost.federated import FederatedTreeClassifier, Party, outcome_of
from dpboost.federated.protocol.messages import Done, Hello, Outcomes, Words
from dpboost.federated.training.agreed_fit import FEDERATED_RECIPES
from dpboost.lightgbm.model_text.model_check import check_model_text
from tests.unit.federated.channels import parties_of, read, recorded, run
from tests.unit.federated.evaluated import model_of

pytestmark = pytest.mark.filterwarnings("ignore")

SCHEMA = {"bounds": dict.fromkeys(range(4), (-3.0, 3.0)), "classes": [0, 1]}
EACH = pytest.mark.parametrize("recipe", FEDERATED_RECIPES)


def table(n_rows=600, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 4))
    return X, ((X[:, 0] > 0) & (X[:, 1] > -0.3) | (X[:, 2] > 1)).astype(int)


def parties(n_parties, n_rows=600):
    X, y = table(n_rows)
    return [(X[i::n_parties], y[i::n_parties]) for i in range(n_parties)]


def fit(tables, **options):
    settings = {"schema": SCHEMA, "epsilon": math.inf, "max_depth": 3, **options}
    return FederatedTreeClassifier(**settings).fit(tables)


def central(**options):
    settings = {"schema": SCHEMA, "epsilon": math.inf, "max_depth": 3, **options}
    return DPTreeClassifier(n_jobs=1, **settings).fit(*table())


def test_the_recipes():
    assert set(FEDERATED_RECIPES) == {
        "noisy_counts",
        "local_rnm",
        "histograms",
        "histograms_saving",
        "sulq_id3",
    }


@pytest.mark.parametrize("recipe", ["noisy_counts", "histograms", "sulq_id3"])
@pytest.mark.parametrize("n_parties", [2, 5])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_with_a_seed_it_is_the_central_tree_with_that_seed(recipe, n_parties, neighbors):
    options = {"recipe": recipe, "epsilon": 5.0, "noise_seed": 7, "neighbors": neighbors}
    ours, other = fit(parties(n_parties), **options), central(**options)
    assert ours.export_text() == other.export_text()
    assert np.array_equal(ours.predict_proba(table()[0]), other.predict_proba(table()[0]))
    assert not ours.privacy_report_.private


@pytest.mark.parametrize("recipe", ["histograms_saving", "local_rnm"])
def test_with_a_seed_a_run_repeats(recipe):
    options = {"recipe": recipe, "epsilon": 2.0, "noise_seed": 7}
    first, second = (fit(parties(3), **options).export_text() for _ in range(2))
    assert first == second


def test_without_noise_bounds_of_parties_lead_to_the_central_tree():
    assert fit(parties(4), recipe="histograms_saving").export_text() == (
        central(recipe="histograms").export_text()
    )


@EACH
def test_noise_is_fresh(recipe):
    first, second = (fit(parties(3), recipe=recipe, epsilon=1.0) for _ in range(2))
    assert first.export_text() != second.export_text()


@EACH
@pytest.mark.parametrize("n_parties", [2, 5, 50])
def test_any_number_of_parties(recipe, n_parties):
    model = fit(parties(n_parties, 300), recipe=recipe, epsilon=20.0, max_depth=1)
    assert model.n_parties_ == n_parties == len(model.party_reports_)
    report = model.privacy_report_
    assert report.private
    assert report.epsilon_spent <= 20.0
    # Every party has booked what the coordinator has.
    assert {own.spent for own in model.party_reports_} == {report.spent}
    assert all(own.private for own in model.party_reports_)


POOR = {
    "no row of a class": lambda X, y: (X[y == 1], y[y == 1]),
    "one row": lambda X, y: (X[:1], y[:1]),
    "no row": lambda X, y: (X[:0], y[:0]),
    "labels outside the list": lambda X, y: (X, y + 5),
    "missing and infinite values": lambda X, y: (np.where(X > 0, np.nan, np.inf), y),
}


@EACH
@pytest.mark.parametrize("who", list(POOR))
def test_a_poor_party_changes_nothing_that_shows(recipe, who):
    tables = parties(2, 200)
    X, y = tables[0]
    options = {"recipe": recipe, "epsilon": 40.0, "max_depth": 1}
    rich, poor = (fit([own, tables[1]], **options) for own in ((X, y), POOR[who](X, y)))
    assert poor.privacy_report_.private
    assert {r.label for r in poor.privacy_report_.releases} == {
        r.label for r in rich.privacy_report_.releases
    }
    assert poor.predict(X).shape == y.shape


@EACH
def test_nobody_has_any_row(recipe):
    nothing = (np.empty((0, 4)), np.empty(0))
    assert set(fit([nothing, nothing], recipe=recipe, epsilon=1.0).predict(table()[0])) <= {0, 1}


def test_three_classes_text_and_names():
    X, y = table()
    words = np.array(["high", "low", "middle"])[y + (X[:, 3] > 1)]
    frame = pd.DataFrame(X, columns=list("abcd")).assign(
        d=np.where(X[:, 3] > 0, "yes", "no").astype(object)
    )
    schema = {
        "bounds": {"a": (-3, 3), "b": (-3, 3), "c": (-3, 3)},
        "categories": {"d": ["no", "yes"]},
        "classes": ["low", "middle", "high"],
    }
    tables = [(frame.iloc[i::3], words[i::3]) for i in range(3)]
    model = fit(tables, schema=schema, recipe="histograms", epsilon=50.0)
    assert model.classes_.tolist() == ["high", "low", "middle"]
    assert model.feature_names_in_.tolist() == list("abcd")
    assert np.mean(model.predict(frame) == words) > 0.7
    assert "d = " in fit(tables, schema=schema, max_depth=6).export_text()


@EACH
def test_the_model_is_one_of_lightgbm_and_keeps_its_report(recipe):
    model = fit(parties(3), recipe=recipe, epsilon=5.0)
    check_model_text(model.booster_.model_to_string())
    kept = model.booster_.privacy_report
    assert kept.epsilon == 5
    assert f"recipe           {recipe}" in model.privacy_report_.details()


def test_the_report_says_what_holds_against_whom():
    text = fit(parties(5), epsilon=1.0, colluding=2, recipe="histograms").privacy_report_.details()
    assert "in shares, 3 of which carry all of it" in text
    assert "against coordinator" in text
    assert "against 2 others" in text


def test_parameters_of_scikit_learn():
    model = FederatedTreeClassifier(epsilon=2.0, recipe="local_rnm", schema=SCHEMA, n_splits=5)
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert copied.set_params(n_splits=7).n_splits == 7
    fitted = fit(parties(2), recipe="local_rnm", n_splits=5)
    assert (fitted.n_splits_, fitted.min_rows_) == (5, None)


def test_terms_travel_and_a_session_keeps_to_them():
    terms = FederatedTreeClassifier(
        epsilon=5.0, recipe="histograms", max_depth=2, schema=SCHEMA
    ).agreement(3, [f"Column_{position}" for position in range(4)])
    again = type(terms).from_json(terms.to_json())
    assert again.digest == terms.digest
    found = run(again, parties_of(again, parties(3)))
    model = outcome_of(found.coordinator)
    assert model.max_depth_ == 2
    assert model.privacy_report_.spent == 5
    assert {one.ledger.spent for one in found.parties} == {Fraction(5)}
    assert {outcome_of(one).export_text() for one in found.parties} == {model.export_text()}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schema": None}, "'schema' parameter .* is required"),
        ({"schema": {"bounds": {0: (0, 1)}, "classes": [0, 1]}}, "Missing: Column_1, Column_2"),
        ({"schema": {"bounds": dict.fromkeys(range(4), (0, 1))}}, "must declare the classes"),
        ({"recipe": "best"}, "'recipe' parameter"),
        ({"recipe": "dp_topdown"}, "'recipe' parameter"),
        ({"epsilon": 0.0}, "'epsilon' parameter"),
        ({"epsilon": 1e-9}, "'epsilon' parameter .* at least"),
        ({"colluding": 3}, "'colluding' parameter"),
        ({"recipe": "histograms", "n_splits": 3}, "'n_splits' parameter .* no meaning"),
        ({"recipe": "histograms_saving", "bounds_share": 1.5}, "'bounds_share' parameter"),
        ({"recipe": "histograms", "min_rows": 0}, "'min_rows' parameter"),
        ({"neighbors": "both"}, "'neighbors' parameter"),
    ],
)
def test_bad_parameters_are_refused_before_anything_is_drawn(options, message):
    with pytest.raises(InvalidParameterError, match=message):
        fit(parties(3), **{"epsilon": 1.0, **options})


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ([table()], "at least two pairs"),
        (table(), "pairs"),
        ([table(), (table()[0],)], "pairs"),
        ([table(), (table()[0][:, :3], table()[1])], "columns of party 1 differ"),
        ([table(), (table()[0], table()[1][:-1])], "same length"),
        ([table(), (table()[0], table()[1].astype(str))], "one kind"),
        ([table(), (np.zeros(4), np.zeros(4))], "n_features"),
    ],
)
def test_bad_tables_are_refused(tables, message):
    with pytest.raises(InvalidParameterError, match=message):
        fit(tables, epsilon=1.0)


def test_labels_come_with_the_rows():
    with pytest.raises(InvalidParameterError, match="no y beside it"):
        FederatedTreeClassifier(schema=SCHEMA).fit(*table())


def test_what_a_party_sends_is_masked_or_released():
    model = FederatedTreeClassifier(epsilon=5.0, recipe="local_rnm", max_depth=2, schema=SCHEMA)
    terms = model.agreement(3, [f"Column_{position}" for position in range(4)])
    _, seen = recorded(terms, parties_of(terms, parties(3)))
    sent = [read(body) for _, _, body, _ in seen]
    assert {type(message) for message in sent} == {Hello, Words, Outcomes, Done}
    for message in sent:
        for words in getattr(message, "words", ()):
            # Counts are small and words are not: of 2^64 values a mask takes any.
            assert (words.astype(np.float64) > 2.0**40).mean() > 0.9


def test_a_tree_continues_no_model():
    text = model_of("two classes").booster_.model_to_string()
    schema = {"bounds": {"age": (-3, 3), "dose": (-3, 3)}, "classes": [0, 1]}
    terms = FederatedTreeClassifier(epsilon=5.0, schema=schema).agreement(2, ["age", "dose"])
    with pytest.raises(InvalidParameterError, match="init_model"):
        Party(0, *table(), agreement=replace(terms, init_model=text))
