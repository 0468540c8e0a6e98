"""Cross-validation over parties: folds, the budget, metrics, and coordinators that cheat."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import dpboost
from dpboost import Budget, Dataset, DPBoostRegressor
from dpboost._utils.validation import InvalidParameterError, RefusedError
from dpboost.federated import (
    Coordinator,
    FederatedBoostingClassifier,
    FederatedBoostingRegressor,
    FederatedTreeClassifier,
    FoldBook,
    LocalChannel,
    Party,
    cv,
    cv_agreements,
    cv_evaluation_agreement,
    evaluate_channel,
)
from dpboost.federated.party.party_store import PartyStore
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol import wire
from dpboost.federated.protocol.journal import JournalChannel
from dpboost.federated.training.boosting import boost
from tests.unit.federated.channels import Processes, Recorder
from tests.unit.federated.protocol.test_mask_phases import Losing

pytestmark = pytest.mark.filterwarnings("ignore")
BOUNDS = {0: (-1, 1), 1: (-1, 1)}
X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
SCORE = X[:, 0] - X[:, 1]
SIZES = (120, 1, 0, 179)
FEATURES = ("Column_0", "Column_1")
KINDS = {
    "two classes": (FederatedBoostingClassifier, {"classes": [0, 1]}, (SCORE > 0).astype(int)),
    "three classes": (
        FederatedBoostingClassifier,
        {"classes": [0, 1, 2]},
        np.digitize(SCORE, [-0.5, 0.5]),
    ),
    "numbers": (FederatedBoostingRegressor, {"label_bounds": (-2, 2)}, SCORE),
}
SMALL = {"n_estimators": 3, "max_depth": 2, "random_state": 3, "epsilon": 8.0}


def model_of(kind, **options):
    estimator, known, _ = KINDS[kind]
    return estimator(**(SMALL | {"schema": {"bounds": BOUNDS, **known}, "verbosity": 0} | options))


def cut(values):
    return np.split(values, np.cumsum(SIZES)[:-1])


def tables_of(kind):
    return list(zip(cut(X), cut(KINDS[kind][2]), strict=True))


def text_of(booster):
    lines = booster.model_to_string().split("\nparameters:")[0].splitlines()
    return [line for line in lines if not line.startswith("dpboost:")]


# -- as one table does ----------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("kind", KINDS)
def test_the_fits_are_those_of_one_place(kind, delta):
    _, known, y = KINDS[kind]
    options = {"delta": delta, "noise_seed": 5}
    over = cv(model_of(kind, **options), tables_of(kind), 3, return_cvbooster=True)
    params = SMALL | options | {"schema": {"bounds": BOUNDS, **known}, "verbosity": -1}
    params |= {
        "two classes": {"objective": "binary"},
        "three classes": {"objective": "multiclass", "num_class": 3},
        "numbers": {"objective": "regression"},
    }[kind]
    one = dpboost.cv(params, Dataset(X, y), nfold=3, return_cvbooster=True)
    boosters = [found["cvbooster"].boosters for found in (over, one)]
    assert [text_of(each) for each in boosters[0]] == [text_of(each) for each in boosters[1]]
    assert sorted(over) == sorted(one)
    mine, yours = over.privacy_report, one.privacy_report
    for name in ("spent", "capacity", "epsilon_spent", "delta_spent", "kind", "reasons"):
        assert getattr(mine, name) == getattr(yours, name)
    assert mine.releases == yours.releases


@pytest.mark.parametrize(
    ("kind", "metrics"),
    [
        ("two classes", ["auc", "binary_error"]),
        ("three classes", None),
        ("numbers", "l1,rmse"),
    ],
)
def test_without_noise_the_metrics_are_those_of_one_place(kind, metrics):
    _, known, y = KINDS[kind]
    options = {"epsilon": math.inf, "noise_seed": 5}
    over = cv(model_of(kind, **options), tables_of(kind), 4, metrics)
    params = SMALL | options | {"schema": {"bounds": BOUNDS, **known}, "verbosity": -1}
    params["objective"] = "regression" if kind == "numbers" else "multiclass"
    if kind == "two classes":
        params["objective"] = "binary"
    if kind == "three classes":
        params["num_class"] = 3
    one = dpboost.cv(params, Dataset(X, y), nfold=4, metrics=metrics)
    assert sorted(over) == sorted(one)
    for name, values in over.items():
        assert values == pytest.approx(one[name], rel=1e-12)
    assert not over.privacy_report.private


# -- the budget -----------------------------------------------------------------------------------


@pytest.mark.parametrize("persons", [False, True])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_what_a_row_may_cost_adds_up_to_the_budget(delta, persons):
    options, given = {"delta": delta, "epsilon": 30.0}, {}
    if persons:
        options |= {"rows_per_user": 2, "parties_per_user": 2}
        given = {"user_ids": cut(np.arange(300) // 3)}
    found = cv(model_of("numbers", **options), tables_of("numbers"), 3, **given)
    report = found.privacy_report
    assert 0.99 * report.capacity < report.spent <= report.capacity
    assert report.epsilon_spent == pytest.approx(30, rel=1e-4)
    assert report.epsilon_spent <= 30
    assert report.private
    assert report.rows_per_user == (4 if persons else None)
    assert "3 folds by secret coins of each party" in report.facts["cross-validation"]
    assert report.facts["against coordinator"].startswith("epsilon = 30")
    assert len(found.party_reports) == 4
    for own in found.party_reports:
        assert (own.spent, own.capacity) == (report.spent, report.capacity)
    if delta:
        assert report.to_pld() is not None


@pytest.mark.parametrize("persons", [False, True])
def test_more_colluders_than_agreed_are_told_of_the_whole(persons):
    options, given = {"delta": 0.0, "colluding": 0}, {}
    if persons:
        options |= {"rows_per_user": 2}
        given = {"user_ids": cut(np.arange(300) // 2)}
    found = cv(model_of("two classes", **options), tables_of("two classes"), 3, **given)
    said = found.privacy_report.facts["against 1 other party"]
    assert float(said.split("= ")[1].split(",")[0]) > 8


def test_a_model_that_is_continued_counts_once():
    first = model_of("two classes", epsilon=1.0).fit(tables_of("two classes"))
    found = cv(
        model_of("two classes"),
        tables_of("two classes"),
        2,
        init_model=first,
        return_cvbooster=True,
    )
    assert found.privacy_report.total[0] == 9
    assert [one.num_trees() for one in found["cvbooster"].boosters] == [6, 6]


def test_weights_go_with_their_rows():
    found = cv(
        model_of("two classes", max_weight=2.0),
        tables_of("two classes"),
        2,
        sample_weight=cut(np.linspace(0, 3, 300)),
        return_cvbooster=True,
    )
    report = found["cvbooster"].boosters[0].privacy_report
    assert "an attribute of each row" in report.facts["weights"]


@pytest.mark.parametrize(
    ("change", "given", "message"),
    [
        ({}, {"nfold": 1}, "nfold"),
        ({}, {"nfold": 101}, "nfold"),
        ({}, {"metrics": "l2"}, "l2"),
        ({}, {"sample_weight": cut(np.ones(300))}, "max_weight"),
        ({}, {"user_ids": [np.arange(2)]}, "user_ids"),
        ({"epsilon": 1e-9, "delta": 0.0}, {}, "epsilon"),
        ({"recipe": "none"}, {}, "recipe"),
        ({"colluding": 4}, {}, "colluding"),
    ],
)
def test_refuses_before_anything_happens(change, given, message):
    with pytest.raises((InvalidParameterError, RefusedError), match=message):
        cv(model_of("two classes", **change), tables_of("two classes"), **given)


def test_a_part_of_the_budget_must_be_enough_for_a_fit():
    terms = {"recipe": "dpboost", "delta": 0.0, "n_estimators": 30, "max_depth": 4}
    least = 1e-3
    while True:
        try:
            model_of("two classes", epsilon=least, **terms).agreement(4, FEATURES)
            break
        except InvalidParameterError:
            least *= 1.1
    with pytest.raises(InvalidParameterError, match="epsilon"):
        cv_agreements(model_of("two classes", epsilon=least, **terms), 4, FEATURES)


@pytest.mark.parametrize("model", [FederatedTreeClassifier(), DPBoostRegressor(), None])
def test_what_is_no_boosting_over_parties_is_refused(model):
    with pytest.raises(InvalidParameterError, match="'model'"):
        cv(model, tables_of("two classes"))


def test_several_quantiles_and_a_budget_are_refused():
    model = model_of("numbers", objective="quantile", alpha=[0.1, 0.9])
    with pytest.raises(InvalidParameterError, match="one number"):
        cv(model, tables_of("numbers"))
    with Budget(epsilon=1, delta=0), pytest.raises(InvalidParameterError, match="records nothing"):
        cv(model_of("numbers"), tables_of("numbers"))


def test_the_model_that_is_given_is_not_fitted():
    model = model_of("numbers")
    cv(model, tables_of("numbers"), 2)
    with pytest.raises(NotFittedError):
        model.predict(X)


# -- between institutions -------------------------------------------------------------------------


class KeptSession(Processes):
    """Parties that start anew for every message of a session."""

    def party(self, index):
        book = FoldBook(self.folder / f"book{index}", first_row=self.first_rows[index])
        return Party(index, *self.given[index], agreement=self.terms, folds=book)

    def store(self, index):
        return PartyStore(self.folder / self.terms.folds.session / str(index))


def test_sessions_over_channels_end_as_the_simulation_does(tmp_path):
    given = tables_of("two classes")
    model = model_of("two classes", noise_seed=5)
    expected = cv(model, given, 2, ["auc"], return_cvbooster=True)
    fits = cv_agreements(model, 4, FEATURES, nfold=2)
    models = []
    for terms in fits:
        channel = JournalChannel(
            KeptSession(terms, given, tmp_path), terms, tmp_path / f"{terms.folds.session}.journal"
        )
        models.append(model_of("two classes").fit_channel(channel, terms).booster_)
    assert [text_of(one) for one in models] == [
        text_of(one) for one in expected["cvbooster"].boosters
    ]
    judging = cv_evaluation_agreement(fits, models, ["auc"])
    found = evaluate_channel(KeptSession(judging, given, tmp_path), judging)
    values = [own["auc"].value for own in found.groups.values()]
    assert list(found.groups) == [0, 1]
    assert expected["valid auc-mean"] == [float(np.mean(values))]


def sessions_of(books, n_folds=3):
    """Return the agreements of the fits, and parties of each session."""
    given = tables_of("two classes")
    fits = cv_agreements(model_of("two classes"), 4, FEATURES, nfold=n_folds)
    held = [
        [
            Party(index, *rows, agreement=terms, folds=book)
            for index, (rows, book) in enumerate(zip(given, books, strict=True))
        ]
        for terms in fits
    ]
    return fits, held


def test_a_coordinator_can_neither_mix_folds_nor_run_one_twice():
    fits, held = sessions_of([FoldBook() for _ in SIZES])
    channel = Recorder(held[0])
    boost(Coordinator(fits[0], channel))
    spent = {party.ledger.spent for party in held[0]}
    for party, other in zip(held[0], held[1], strict=True):
        for message in channel.sent:
            # Another session is of other terms, whatever fold a message names.
            reply = wire.decode(other.receive(message), object)
            assert isinstance(reply, m.Refused)
            assert reply.code in (m.OTHER_TERMS, m.OTHER_SESSION)
        # The same fold once more.
        again = m.Invite(session=bytes(16), terms=fits[0].digest)
        assert wire.decode(party.receive(wire.encode(again)), m.Refused).code == m.OTHER_SESSION
        assert other.ledger.spent == 0
    assert {party.ledger.spent for party in held[0]} == spent
    # Terms with another fold, number of folds, or seed are no session of these parties.
    rows = tables_of("two classes")[0]
    book = FoldBook()
    Party(0, *rows, agreement=fits[0], folds=book)
    folds = fits[0].folds
    for change in (
        {"public_seed": 99},
        {"epsilon": 9},
        {"folds": replace(folds, n_folds=5)},
        {"folds": replace(folds, name="another")},
    ):
        with pytest.raises(InvalidParameterError, match="cross-validation"):
            Party(0, *rows, agreement=replace(fits[0], **change), folds=book)


def test_parties_may_be_lost_in_each_session():
    given = tables_of("two classes")
    books = [FoldBook() for _ in SIZES]
    fits = [
        replace(terms, dropouts=1)
        for terms in cv_agreements(model_of("two classes"), 4, FEATURES, nfold=2)
    ]
    models = []
    for lost, terms in enumerate(fits):
        parties = [
            Party(index, *rows, agreement=terms, folds=books[index])
            for index, rows in enumerate(given)
        ]
        channel = Losing(parties, {(m.Ask, 1, lost)}, for_good=True)
        models.append(model_of("two classes").fit_channel(channel, terms))
    judging = cv_evaluation_agreement(fits, models)
    parties = [
        Party(index, *rows, agreement=judging, folds=books[index])
        for index, rows in enumerate(given)
    ]
    found = evaluate_channel(LocalChannel(parties), judging)
    assert found.report.facts["fewest parties in a release"] == "4 of 4"
    assert judging.dropouts == 1


def test_the_evaluation_is_of_all_fits_of_one_cross_validation():
    first, second = (cv_agreements(model_of("numbers"), 4, FEATURES, nfold=2) for _ in range(2))
    model = model_of("numbers").fit(tables_of("numbers"))
    assert cv_evaluation_agreement(first, [model, model.booster_]).folds.fold is None
    for fits, models in [
        ((), ()),
        (first[::-1], [model] * 2),
        ((first[0], second[1]), [model] * 2),
        (first, [model]),
        ([model_of("numbers").agreement(4, FEATURES)] * 2, [model] * 2),
    ]:
        with pytest.raises(InvalidParameterError, match="cv_evaluation_agreement"):
            cv_evaluation_agreement(fits, models)
    with pytest.raises(InvalidParameterError, match="metrics"):
        cv_evaluation_agreement(first, [model] * 2, ["auc"])
