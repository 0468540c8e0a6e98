"""Rows that belong to one person: the sample, the budget, and what the report says."""

import itertools
import math
import pickle
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import dpboost
from dpboost import DPBoostClassifier, DPBoostRegressor, InvalidParameterError
from dpboost.audit.neighboring_pairs import Pair
from dpboost.audit.pair_replay import replay_pair
from dpboost.data.users import earliest_rows, first_rows, read_users, sample_rows, take_rows
from dpboost.privacy.ledger import Ledger

FAST = {"n_estimators": 3, "max_depth": 2, "n_jobs": 1, "verbosity": 0}
SCHEMA = {"bounds": {0: (-1, 1), 1: (-1, 1)}, "label_bounds": (-1, 1)}


def rows(n_users=60, of_each=4, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (n_users * of_each, 2))
    return X, np.clip(X[:, 0], -1, 1), np.repeat(np.arange(n_users), of_each)


# -- who is who -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ids",
    [
        np.array([3, 1, 3, 2]),
        np.array([0.5, math.nan, 0.5, 7.0]),
        np.array(["b", "a", "b", "c"]),
        ["b", None, "b", 3],
        pd.Series([5, None, 5, 7], dtype="Int64"),
        pd.Series(["x", "y", "x", "z"], dtype="category"),
        pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-01", "2020-01-03"]),
    ],
    ids=lambda ids: type(ids).__name__ + str(getattr(ids, "dtype", "")),
)
def test_ids_of_any_kind(ids):
    users = read_users(ids, 4)
    assert users[0] == users[2]
    assert len({users[0], users[1], users[3]}) == 3


@pytest.mark.parametrize(
    "ids", [[None, math.nan, 1.0], pd.Series([None, pd.NA, 1], dtype=object), [math.nan] * 2 + [0]]
)
def test_all_missing_ids_are_one_user(ids):
    users = read_users(ids, 3)
    assert users[0] == users[1] != users[2]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1, 2], "same length"),
        ([[1], [2], [3]], "1-D"),
        (np.array([[], [], []], dtype=object).tolist() and [{}, {}, {}], "numbers or text"),
    ],
)
def test_ids_that_name_nobody_are_refused(ids, message):
    with pytest.raises(InvalidParameterError, match=message):
        read_users(ids, 3)


# -- the sample -----------------------------------------------------------------------------------


def test_every_subset_of_a_users_rows_is_equally_likely():
    users = np.array([1, 0, 1, 1, 0, 1])
    own = np.flatnonzero(users == 1)
    seen = Counter()
    for coins in itertools.permutations(range(4)):
        words = np.array([0, 9, 0, 0, 8, 0], dtype=np.uint64)
        words[own] = coins
        sample = sample_rows(users, 2, words)
        assert [row for row in sample if users[row] == 0] == [1, 4]
        seen[tuple(row for row in sample if users[row] == 1)] += 1
    assert set(seen) == set(itertools.combinations(own.tolist(), 2))
    assert set(seen.values()) == {4}


@pytest.mark.parametrize("most", [1, 2, 3, 10])
def test_another_user_changes_nobody_elses_rows(most):
    random = np.random.default_rng(0)
    users = random.integers(0, 20, 200)
    coins = random.integers(0, 2**64, 200, dtype=np.uint64)
    sample = sample_rows(users, most, coins)
    assert max(Counter(users[sample].tolist()).values()) <= most
    for gone in range(20):
        left = np.flatnonzero(users != gone)
        smaller = left[sample_rows(users[left], most, coins[left])]
        assert smaller.tolist() == [row for row in sample if users[row] != gone]


@pytest.mark.parametrize("most", [1, 2, 5])
def test_the_earliest_rows_of_a_user_depend_on_no_other_row(most):
    rng = np.random.default_rng(0)
    users = rng.integers(0, 6, 40)
    chosen = earliest_rows(users, most)
    for user in range(6):
        own = np.flatnonzero(users == user)
        assert [row for row in chosen if users[row] == user] == own[:most].tolist()
        # Without the rows of one user the others have the same ones.
        others = np.flatnonzero(users != user)
        kept = others[earliest_rows(users[others], most)]
        assert kept.tolist() == [row for row in chosen if users[row] != user]
    assert earliest_rows(np.empty(0, dtype=np.int64), most).tolist() == []


def test_one_row_of_each_user_is_counted():
    users = np.array([4, 2, 4, 2, 9])
    assert first_rows(users).tolist() == [0, 1, 4]


@pytest.mark.parametrize(
    "wrap",
    [
        np.asarray,
        pd.DataFrame,
        scipy.sparse.coo_matrix,
        scipy.sparse.csc_array,
        lambda X: X.tolist(),
    ],
)
def test_rows_of_any_table_are_taken(wrap):
    X = np.arange(12.0).reshape(4, 3)
    part = take_rows(wrap(X), np.array([0, 2]))
    dense = part.toarray() if hasattr(part, "toarray") else np.asarray(part)
    np.testing.assert_array_equal(dense, X[[0, 2]])


# -- the guarantee --------------------------------------------------------------------------------


def users_pair(of_user=6):
    """All rows of one user, who has the largest possible say, come or go."""
    X, y, ids = rows(n_users=30, of_each=1)
    X = np.vstack([X, np.full((of_user, 2), 0.5)])
    y = np.append(y, np.ones(of_user))
    users = np.append(ids, np.full(of_user, 30))
    return (
        Pair(
            X=X[:30],
            y=y[:30],
            X_other=X,
            y_other=y,
            ids=np.arange(30),
            other_ids=np.arange(30 + of_user),
            steering={},
        ),
        users,
    )


def replays(recipe, delta, most):
    pair, users = users_pair()

    def fit(X, y):
        model = DPBoostRegressor(
            recipe=recipe,
            delta=delta,
            schema=SCHEMA,
            rows_per_user=most,
            random_state=0,
            **FAST,
        )
        model.fit(X, y, user_ids=users[: len(y)])
        return {}

    return [replay_pair(fit, each) for each in (pair, pair.swapped)]


def allowed_for_a_user(audit, most):
    """Return the cost that all rows of a user may have; capacities are those of one row."""
    return audit.capacity * (most if audit.privacy_measure == "epsilon" else most**2) * (1 + 1e-9)


@pytest.mark.parametrize(("recipe", "delta"), [("best", 1e-6), ("best", 0.0), ("seq", 0.0)])
@pytest.mark.parametrize("most", [1, 3])
def test_replay_all_rows_of_a_user_cost_no_more_than_the_budget(recipe, delta, most):
    for audit in replays(recipe, delta, most):
        # Entries are booked for one row; a user moves each of them up to `most` times as far.
        allowed = {"entry cost", "scope total"} if most > 1 else set()
        assert {violation.check for violation in audit.violations} <= allowed
        assert audit.cost <= allowed_for_a_user(audit, most)
        if audit.privacy_measure == "epsilon":
            assert abs(audit.loss) <= audit.epsilon
        if recipe == "best":
            start = next(entry for entry in audit.entries if entry.label == "start value")
            group = most if audit.privacy_measure == "epsilon" else most**2
            assert start.cost == pytest.approx(start.charge * group, rel=1e-3)


BUGS = {
    "all rows of a user take part": lambda users, most, coins: np.arange(len(users)),
    "one row too many": lambda users, most, coins: sample_rows(users, most + 1, coins),
}


@pytest.mark.parametrize("name", BUGS)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_replay_finds_too_many_rows_of_a_user(name, delta, monkeypatch):
    monkeypatch.setattr("dpboost.training.local_fit.sample_rows", BUGS[name])
    for audit in replays("best", delta, 1):
        start = next(entry for entry in audit.entries if entry.label == "start value")
        assert start.cost > 1.5 * start.charge
        assert "entry cost" in {violation.check for violation in audit.violations}


def test_replay_finds_budgets_of_rows_given_to_users(monkeypatch):
    whole = replays("best", 1e-6, 3)[0].capacity
    monkeypatch.setattr("dpboost.training.privacy_params.for_group", lambda inner, rows: inner)
    wrong = replays("best", 1e-6, 3)[0]
    assert wrong.capacity == pytest.approx(9 * whole)
    start = next(entry for entry in wrong.entries if entry.label == "start value")
    assert start.cost == pytest.approx(9 * start.charge, rel=1e-3)


def test_stability_histograms_count_users():
    X, y, users = rows(n_users=400)
    labels = np.where(X[:, 0] > 0, "yes", "no")
    labels[users == 7] = "rare"
    model = DPBoostClassifier(
        assume_public=(), epsilon=20.0, schema={"bounds": SCHEMA["bounds"]}, rows_per_user=4, **FAST
    )
    with pytest.warns(dpboost.UndeclaredWarning):
        model.fit(X, labels, user_ids=users)
    assert model.classes_.tolist() == ["no", "yes"]


def test_classes_that_are_public_do_not_depend_on_the_sample():
    X, _, users = rows(n_users=40)
    labels = np.tile([0, 1, 2, 3], 40)
    for _ in range(5):
        model = DPBoostClassifier(
            epsilon=8.0, schema={"bounds": SCHEMA["bounds"]}, rows_per_user=1, **FAST
        ).fit(X, labels, user_ids=users)
        assert model.classes_.tolist() == [0, 1, 2, 3]


def test_the_report_says_what_is_protected():
    X, y, users = rows()
    model = DPBoostRegressor(schema=SCHEMA, rows_per_user=2, **FAST).fit(X, y, user_ids=users)
    report = model.privacy_report_
    assert report.guarantee.endswith("differ by all rows of one added or removed user.")
    assert "protected        one user, of whom at most 2 rows took part" in report.details()
    assert dpboost.PrivacyReport.from_dict(report.to_dict()) == report
    assert model.booster_.privacy_report.rows_per_user == 2
    alone = DPBoostRegressor(schema=SCHEMA, **FAST).fit(X, y).privacy_report_
    assert float(alone.capacity) == pytest.approx(4 * float(report.capacity))
    assert report.epsilon_spent == pytest.approx(alone.epsilon_spent, rel=1e-6)
    assert "protected        one row\n" in alone.details()
    replaced = DPBoostRegressor(schema=SCHEMA, rows_per_user=2, neighbors="replace", **FAST).fit(
        X, y, user_ids=users
    )
    assert "the content of all rows of one user" in replaced.privacy_report_.guarantee


@pytest.mark.parametrize(("delta", "epsilon"), [(1e-6, 0.1), (0.0, 0.15)])
def test_five_rows_of_a_user_serve_a_small_epsilon(delta, epsilon, monkeypatch):
    X, y, users = rows(n_users=80, of_each=5)
    own = {"schema": SCHEMA, "rows_per_user": 5, "delta": delta, "n_jobs": 1, "verbosity": -1}
    model = DPBoostRegressor(epsilon=epsilon, **own).fit(X, y, user_ids=users)
    report = model.privacy_report_
    assert report.private
    assert report.spent == report.capacity
    assert report.epsilon_spent <= epsilon
    monkeypatch.setattr(Ledger, "release", lambda *a, **k: pytest.fail("released"))
    with pytest.raises(InvalidParameterError, match=f"at least {epsilon:g} for this recipe"):
        DPBoostRegressor(epsilon=0.99 * epsilon, **own).fit(X, y, user_ids=users)


def test_ids_and_their_limit_go_together(no_release):
    X, y, users = rows()
    with pytest.raises(InvalidParameterError, match="pass both or neither"):
        DPBoostRegressor(schema=SCHEMA, **FAST).fit(X, y, user_ids=users)
    with pytest.raises(InvalidParameterError, match="pass both or neither"):
        DPBoostRegressor(schema=SCHEMA, rows_per_user=2, **FAST).fit(X, y)
    with pytest.raises(InvalidParameterError, match="'rows_per_user'.*at least 1"):
        DPBoostRegressor(schema=SCHEMA, rows_per_user=0, **FAST).fit(X, y, user_ids=users)


def test_nobodys_name_and_no_number_of_users_leaves():
    seen = set()
    for n_users in (40, 60):
        X, y, users = rows(n_users=n_users)
        names = np.array([f"person-{user}" for user in users])
        # A recipe that does not look at released numbers of rows and labels.
        model = DPBoostRegressor(recipe="dpboost", schema=SCHEMA, rows_per_user=2, **FAST)
        model.fit(X, y, user_ids=names)
        left = pickle.dumps(model) + model.booster_.model_to_string().encode()
        assert b"person" not in left
        shape = {name: type(value).__name__ for name, value in vars(model).items()}
        seen.add((str(model.privacy_report_), tuple(sorted(shape.items()))))
    assert len(seen) == 1


def test_a_single_user_with_a_single_row_is_no_error():
    X, y, _ = rows(n_users=1, of_each=1)
    model = DPBoostRegressor(schema=SCHEMA, rows_per_user=3, **FAST).fit(X, y, user_ids=["me"])
    assert np.isfinite(model.predict(X)).all()
