"""Rows set aside by coins, and what is released of them."""

import math
from unittest import mock

import numpy as np
import pytest

from dpboost import DPBoostClassifier, DPBoostRegressor
from dpboost._utils.validation import InvalidParameterError
from dpboost.data.table import read_table
from dpboost.privacy.queries import handle_of
from dpboost.rows.held_out_rows import HeldOutRows
from dpboost.training import conformal
from dpboost.training.conformal import HELD_OUT, release_quantile, thresholds
from dpboost.training.local_fit import set_aside
from tests.unit.ledgers import open_ledger

SCHEMA = {"bounds": dict.fromkeys(range(3), (0, 1))}
REGRESSION = {**SCHEMA, "label_bounds": (-2, 3)}
COMMON = {"verbosity": 0, "random_state": 0, "n_estimators": 60}
pytestmark = pytest.mark.filterwarnings("ignore")


def table(n_rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, 3))
    return X, X[:, 0] + X[:, 1] ** 2 + 0.2 * rng.normal(size=n_rows)


def released(scores, level, epsilon=math.inf, delta=0.0, bounds=(0.0, 1.0)):
    rows = HeldOutRows(scores=scores, present=np.ones(len(scores), dtype=bool))
    records = open_ledger(epsilon, delta)
    return release_quantile(
        handle_of(rows),
        level=level,
        grid=thresholds(bounds),
        budget=records.capacity,
        ledger=records,
    )


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_without_noise_it_is_the_least_that_covers(level):
    scores = np.random.default_rng(0).uniform(0, 0.4, 1000)
    found = released(scores, level)
    grid = thresholds((0.0, 1.0))
    covered = np.array([(scores <= each).mean() for each in grid])
    assert found == grid[np.flatnonzero(covered >= level - 1e-12)[0]]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_with_noise_coverage_is_near_the_level(delta):
    scores = np.random.default_rng(1).uniform(0, 0.4, 1500)
    covered = [(scores <= released(scores, 0.9, 1.0, delta)).mean() for _ in range(40)]
    assert abs(np.mean(covered) - 0.9) < 0.012
    assert np.std(covered) < 0.03


def test_no_rows_and_rows_beyond_all_thresholds():
    assert released(np.empty(0), 0.9) == thresholds((0.0, 1.0))[0]
    assert released(np.full(50, 2.0), 0.9) == 1.0
    grid = thresholds(None)
    assert grid[-1] == 1.0
    assert (np.diff(grid) > 0).all()
    assert (np.diff(thresholds((-2.0, 3.0))) > 0).all()
    assert thresholds((-2.0, 3.0))[-1] == 5.0


def test_a_label_outside_of_the_bounds_counts_at_the_nearer_one():
    X, y = table(300)
    ensemble = DPBoostRegressor(schema=REGRESSION, **COMMON).fit(X, y).ensemble_
    found = np.asarray(ensemble.predict(read_table(X), 1))

    def scores(labels):
        held = conformal.held_out_scores(ensemble, read_table(X), labels, (-2.0, 3.0), None, 1)
        assert held.present.all()
        return held.scores

    for label, counted in ((1.0, 1.0), (50.0, 3.0), (-1e300, -2.0)):
        np.testing.assert_array_equal(scores(np.full(300, label)), np.abs(counted - found))


def test_coins_of_rows_and_of_users():
    words = np.random.default_rng(0).integers(0, 2**64, 20_000, dtype=np.uint64)
    out = set_aside(words, None)
    assert abs(out.mean() - HELD_OUT) < 0.02
    users = np.random.default_rng(1).integers(0, 500, 20_000)
    of_users = set_aside(words, users)
    for user in range(500):
        assert len(set(of_users[users == user].tolist())) == 1
    assert abs(of_users.mean() - HELD_OUT) < 0.08


@pytest.mark.parametrize("more", [{}, {"delta": 0}, {"neighbors": "replace"}])
def test_the_whole_budget_is_spent_beside_the_training(more):
    model = DPBoostRegressor(schema=REGRESSION, **COMMON, **more).fit(*table(), conformal=0.9)
    report = model.privacy_report_
    assert report.epsilon_spent == pytest.approx(1.0, abs=1e-6)
    text = report.details()
    assert "rows dealt by secret coins/rows held out" in text
    assert report.facts["conformal"] == 0.9
    assert model.booster_.privacy_report.facts["conformal"] == 0.9


def test_intervals_cover():
    X, y = table(4000, seed=2)
    covered = []
    for _ in range(5):
        model = DPBoostRegressor(schema=REGRESSION, **COMMON).fit(*table(), conformal=0.8)
        ends = model.predict_interval(X)
        assert ends.shape == (4000, 2)
        assert (ends[:, 0] <= ends[:, 1]).all()
        covered.append(((ends[:, 0] <= y) & (y <= ends[:, 1])).mean())
        middle = model.predict(X)
        # Ends are cut to where labels were seen.
        inside = (ends[:, 0] > ends.min()) & (ends[:, 1] < ends.max())
        np.testing.assert_allclose(ends[inside].mean(axis=1), middle[inside], atol=1e-9)
    assert abs(np.median(covered) - 0.8) < 0.06


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sets_cover(n_classes):
    cuts = [1.0] if n_classes == 2 else [0.6, 1.2]
    schema = {**SCHEMA, "classes": list("abc"[:n_classes])}
    X, y = table()
    X_other, y_other = table(4000, seed=3)
    own = np.digitize(y_other, cuts)
    covered = []
    for _ in range(5):
        model = DPBoostClassifier(schema=schema, **COMMON).fit(
            X, np.array(list("abc"))[np.digitize(y, cuts)], conformal=0.9
        )
        sets = model.predict_set(X_other)
        assert sets.shape == (4000, n_classes)
        assert sets.dtype == bool
        covered.append(sets[np.arange(4000), own].mean())
    assert abs(np.median(covered) - 0.9) < 0.05


def test_users_are_set_aside_whole():
    X, y = table()
    users = np.arange(3000) // 3
    model = DPBoostRegressor(schema=REGRESSION, rows_per_user=3, epsilon=3.0, **COMMON)
    model.fit(X, y, user_ids=users, conformal=0.9)
    assert model.calibration_.threshold > 0
    assert model.privacy_report_.epsilon_spent == pytest.approx(3.0, rel=1e-6)


def test_rows_set_aside_do_not_train():
    # Without noise a model of constant labels knows its training rows exactly.
    X, y = table(400)
    model = DPBoostRegressor(schema=REGRESSION, epsilon=math.inf, noise_seed=4, **COMMON)
    seen = []

    def spy(ensemble, rows, labels, *rest):
        seen.append((rows.n_rows, len(labels)))
        return original(ensemble, rows, labels, *rest)

    original = conformal.held_out_scores
    with mock.patch.object(conformal, "held_out_scores", spy):
        model.fit(X, y, conformal=0.9)
    ((n_rows, n_labels),) = seen
    assert n_rows == n_labels
    total = sum(tree.leaf_count.sum() for tree in model.ensemble_.trees) / 16
    per_tree = total / len(model.ensemble_.trees)
    assert per_tree == pytest.approx(400 - n_rows, rel=1e-6)


def test_tiny_tables_do_not_tell():
    for n_rows in (1, 2, 3):
        model = DPBoostRegressor(schema=REGRESSION, **COMMON)
        X, y = table(n_rows)
        assert model.fit(X, y, conformal=0.9).predict_interval(X).shape == (n_rows, 2)


@pytest.mark.parametrize("level", [0.2, 1.0, "0.9", True])
def test_wrong_levels_are_refused(level):
    with pytest.raises(InvalidParameterError, match="'conformal' parameter"):
        DPBoostRegressor(schema=REGRESSION).fit(*table(50), conformal=level)


def test_what_does_not_go_together_is_refused():
    X, y = table(200)
    first = DPBoostRegressor(schema=REGRESSION, **COMMON).fit(X, y)
    for more in ({"init_model": first}, {"init_score": np.zeros(200)}):
        with pytest.raises(InvalidParameterError, match="does not support"):
            DPBoostRegressor(schema=REGRESSION, **COMMON).fit(X, y, conformal=0.9, **more)
    with pytest.raises(InvalidParameterError, match="does not support batches"):
        DPBoostRegressor(schema=REGRESSION).fit([(X, y)], None, conformal=0.9)
    with pytest.raises(InvalidParameterError, match=r"fit with conformal=0\.9"):
        first.predict_interval(X)
    classifier = DPBoostClassifier(schema={**SCHEMA, "classes": [0, 1]}, **COMMON).fit(X, y > 1)
    with pytest.raises(InvalidParameterError, match=r"fit with conformal=0\.9"):
        classifier.predict_set(X)
