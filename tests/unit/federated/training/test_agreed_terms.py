"""What an agreement says of a fit, in particular of persons with rows at several parties."""

from fractions import Fraction

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.audit.neighboring_pairs import Pair
from dpboost.audit.pair_replay import replay_pair
from dpboost.audit.pooled_rows import Sites
from dpboost.federated import FederatedBoostingRegressor, Party
from dpboost.federated.party import party as party_module
from dpboost.federated.party.party import OwnRows
from dpboost.federated.training.agreed_fit import agreed_privacy, train_agreed
from dpboost.privacy.collusion import epsilon_against
from dpboost.privacy.mechanisms import DiscreteLaplace
from dpboost.privacy.queries import RowHandle, Sensitive
from dpboost.privacy.sensitivity.constants import counts
from dpboost.recipes import ALGORITHMS
from tests.unit.federated.channels import agreement, tables

SCHEMA = {"bounds": {"age": (0.0, 1.0), "dose": (0.0, 1.0)}, "label_bounds": (-1.0, 1.0)}
SMALL = {"n_estimators": 3, "max_depth": 2, "max_bin": 4}
GDP = {"accountant": "GDP", "delta": 1e-6}
N_PARTIES = 3
BEST = ALGORITHMS["best"]


def terms_of(most, places, **more):
    given = {"schema": SCHEMA, "task": "regression", "epsilon": 6.0, "hyper": SMALL} | more
    return agreement(N_PARTIES, rows_per_user=most, parties_per_user=places, **given)


def test_the_budget_of_a_row_is_that_of_all_rows_of_a_person():
    privacy = agreed_privacy(terms_of(2, 3))
    assert (privacy.rows_per_user, privacy.row_epsilon) == (6, 1.0)
    capacity = terms_of(None, 1).ledger().capacity
    assert terms_of(2, 3).ledger().capacity * 6 == capacity
    assert privacy.ledger(privacy.accountant(BEST)).capacity * 6 == capacity
    gaussian = [terms_of(most, 1, **GDP).ledger().capacity for most in (None, 3)]
    assert gaussian[1] * 9 == gaussian[0]


@pytest.mark.parametrize(
    ("most", "places"), [(0, 1), (1.5, 1), (1, 4), (1, 0), (None, 2), (400, 3)]
)
def test_limits_that_mean_nothing_are_refused(most, places):
    with pytest.raises(InvalidParameterError, match="per_user"):
        terms_of(most, places)


# -- which rows take part --------------------------------------------------------------------------


def test_a_party_takes_the_first_rows_of_each_person():
    X = np.arange(16.0).reshape(8, 2) / 16
    y = np.arange(8.0) / 8
    ids = ["b", "a", "b", "b", "c", "a", "a", "b"]
    terms = terms_of(2, 1)
    held = OwnRows(X, y, terms, user_ids=ids).raw(terms)
    assert held.labels.tolist() == [y[row] for row in (0, 1, 2, 4, 5)]
    assert held.column(0).tolist() == [X[row, 0] for row in (0, 1, 2, 4, 5)]
    weighted = terms_of(1, 1, weighted=True, objective={"max_weight": 9.0})
    rows = OwnRows(X, y, weighted, user_ids=ids, sample_weight=np.arange(8.0))
    assert rows.raw(weighted).extras.sample_weight.tolist() == [0, 1, 4]


def test_there_are_ids_where_the_agreement_says_so():
    X, y = np.zeros((3, 2)), np.zeros(3)
    for terms, ids in ((terms_of(2, 1), None), (terms_of(None, 1), [1, 2, 3])):
        with pytest.raises(InvalidParameterError, match="'user_ids' parameter of Party"):
            Party(0, X, y, agreement=terms, user_ids=ids)
    with pytest.raises(InvalidParameterError, match="same length"):
        Party(0, X, y, agreement=terms_of(2, 1), user_ids=[1, 2])
    nobody = Party(0, X[:0], y[:0], agreement=terms_of(2, 1), user_ids=[])
    assert nobody.n_rows == 0


# -- the guarantee ---------------------------------------------------------------------------------


def held_by(terms, X, y, ids, n_places):
    """Return what parties hold: the rows of each person go round, from the first party on."""
    turn = {}
    places = []
    for person in ids.tolist():
        turn[person] = turn.get(person, -1) + 1
        # Everybody but the last person has rows at one party.
        places.append(turn[person] % n_places if person == 30 else person % N_PARTIES)
    places = np.array(places)
    return [
        OwnRows(X[own], y[own], terms, user_ids=ids[own]).raw(terms)
        for index in range(N_PARTIES)
        for own in [places == index]
    ]


def replays(terms, places=None):
    """Let all rows of a person, who has the largest possible say, come and go.

    They are at as many parties as the terms declare, or at more.
    """
    rng = np.random.default_rng(0)
    X, y, ids = (
        rng.integers(0, 2, (30, 2)).astype(float),
        rng.choice([-1.0, 1.0], 30),
        np.arange(30),
    )
    X_other = np.vstack([X, np.full((12, 2), 0.5)])
    y_other, ids_other = np.append(y, np.ones(12)), np.append(ids, np.full(12, 30))
    pair = Pair(
        X=X,
        y=y,
        X_other=X_other,
        y_other=y_other,
        ids=np.arange(30),
        other_ids=np.arange(42),
        steering={},
    )

    def fit(X, y):
        rows = Sites(held_by(terms, X, y, ids_other[: len(y)], places or terms.parties_per_user))
        # Audits look at ledgers that are opened there.
        privacy = agreed_privacy(terms)
        train_agreed(RowHandle(rows), terms, privacy.ledger(privacy.accountant(BEST)))
        return {}

    return [replay_pair(fit, each) for each in (pair, pair.swapped)]


def start_of(audit):
    return next(entry for entry in audit.entries if entry.label == "start value")


@pytest.mark.parametrize("more", [{}, GDP], ids=["pure", "gaussian"])
@pytest.mark.parametrize(("most", "places"), [(1, 1), (1, 3), (2, 2)])
def test_replay_all_rows_of_a_person_cost_no_more_than_the_budget(most, places, more):
    n_rows = most * places
    for audit in replays(terms_of(most, places, **more)):
        # Entries are booked for one row; a person moves each of them up to that many times as far.
        allowed = {"entry cost", "scope total"} if n_rows > 1 else set()
        assert {violation.check for violation in audit.violations} <= allowed
        group = n_rows**2 if more else n_rows
        assert audit.cost <= audit.capacity * group * (1 + 1e-9)
        if not more:
            assert abs(audit.loss) <= audit.epsilon
        assert start_of(audit).cost == pytest.approx(start_of(audit).charge * group, rel=1e-3)


@pytest.mark.parametrize(
    "bug", ["all rows take part", "one row too many", "more parties than declared"]
)
def test_replay_finds_too_many_rows_of_a_person(bug, monkeypatch):
    def chosen(users, most):
        return party_rows(users, {"all rows take part": 99, "one row too many": most + 1}[bug])

    party_rows = party_module.earliest_rows
    if bug != "more parties than declared":
        monkeypatch.setattr(party_module, "earliest_rows", chosen)
    places = 3 if bug == "more parties than declared" else 1
    for audit in replays(terms_of(1, 1), places):
        assert start_of(audit).cost > 1.5 * start_of(audit).charge
        assert "entry cost" in {violation.check for violation in audit.violations}


@pytest.mark.filterwarnings("ignore::dpboost.NotPrivateWarning")
def test_persons_get_the_noise_of_rows_with_their_part_of_the_budget():
    given = tables((40, 20, 30), n_classes=2)
    ids = [np.arange(len(y)) // 2 for _, y in given]
    shared = {
        "schema": {"bounds": {0: (-3, 3), 1: (-3, 3)}, "label_bounds": (0, 1)},
        "random_state": 0,
        "noise_seed": 7,
        "verbosity": 0,
        **SMALL,
    }
    persons = FederatedBoostingRegressor(
        epsilon=12.0, delta=0.0, rows_per_user=2, parties_per_user=3, **shared
    )
    persons.fit(given, user_ids=ids)
    rows = FederatedBoostingRegressor(epsilon=2.0, delta=0.0, **shared).fit(given)
    X = given[0][0]
    assert np.array_equal(persons.predict(X), rows.predict(X))
    report = persons.privacy_report_
    assert report.rows_per_user == 6
    assert "each person" in report.facts["protected at"]
    assert report.epsilon == 12.0
    assert [each.spent for each in persons.party_reports_] == [report.spent] * 3


def test_what_is_left_against_colluders_is_for_all_rows_of_a_person():
    found = []
    for terms in (terms_of(2, 2), terms_of(None, 1)):
        ledger = terms.ledger()
        value = Sensitive(np.zeros(3, dtype=np.int64), counts(ledger.neighbors))
        ledger.release(DiscreteLaplace(epsilon=Fraction(1, 2)), value, label="counts")
        found.append(epsilon_against(ledger, n_parties=3, colluding=2, honest=2))
    assert found[0] == 4 * found[1]
