"""Categories that one row has alone come out as seldom as the delta that was booked for them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpboost import DPTreeClassifier
from dpboost.audit import Pair, delta_audit, replay_pair
from dpboost.audit.boosting_audit import ESTIMATORS, category_learner
from dpboost.audit.delta_audit import lone_category
from dpboost.audit.released_surface import overhear
from dpboost.audit.run_trace import KernelCall, TracedRelease
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes import ALGORITHMS
from dpboost.training import public_schema
from dpboost.training.public_schema import ASSUMPTIONS

pytest.importorskip("pandas")


@pytest.mark.parametrize("recipe", ALGORITHMS.names)
@pytest.mark.parametrize("neighbors", list(Neighbors))
@pytest.mark.parametrize("epsilon", [0.5, 12.0])
def test_no_recipe_fails_more_often_than_it_books(recipe, neighbors, epsilon):
    assert lone_category(category_learner(recipe, neighbors, epsilon)) == []


def a_line(kernel, *integers):
    given = np.array([9, 1])
    call = KernelCall(kernel=kernel, given=given, integers=integers, outcome=given)
    return TracedRelease(entry=None, calls=[call])


def test_chances_of_known_laws():
    k = np.arange(9, 400)
    laplace = -math.expm1(-0.1) / (1 + math.exp(-0.1)) * np.exp(-0.1 * k)
    assert delta_audit._chance(a_line("discrete_laplace", 1, 10), 10) == pytest.approx(
        laplace.sum()
    )
    sigma = 2**16
    chance = delta_audit._chance(a_line("discrete_gaussian", sigma), 3 * sigma + 1)
    assert chance == pytest.approx(0.5 * math.erfc(3 / math.sqrt(2)), rel=1e-4)


def test_an_estimator_without_learned_categories_is_not_audited():
    def make():
        return ESTIMATORS["regression"](
            n_estimators=1, max_depth=1, verbosity=0, assume_public=ASSUMPTIONS
        )

    with pytest.raises(RuntimeError, match="learned no categories"):
        lone_category(make)


def test_a_category_that_does_not_show_when_it_is_forced_is_found(monkeypatch):
    release = public_schema.release_categories

    def hidden(*arguments, **options):
        return dict.fromkeys(release(*arguments, **options), [])

    monkeypatch.setattr(public_schema, "release_categories", hidden)
    (violation,) = lone_category(category_learner("dpboost", Neighbors.ADD_REMOVE))
    assert "exact counts decide" in violation.message


def keyed_pair(own, other):
    """Neighbors by replacement: the last label is of a class that only one of them has."""
    X = np.zeros((4, 1))
    y, y_other = np.array([1, 1, 1, own]), np.array([1, 1, 1, other])
    ids = np.arange(4)
    return Pair(X=X, y=y, X_other=X, y_other=y_other, ids=ids, other_ids=ids, steering={})


@pytest.mark.parametrize("labels", [(0, 2), (2, 0), (0, 1), (1, 2), (7, 9)])
def test_categories_are_matched_by_what_they_are(labels):
    def make():
        return DPTreeClassifier(
            recipe="best",
            epsilon=1.0,
            delta=1e-6,
            assume_public=(),
            neighbors="replace",
            max_depth=1,
            n_jobs=1,
        )

    def fit(X, y):
        heard = {}
        with overhear(heard):
            heard["model text"] = make().fit(X, y).booster_.model_to_string()
        return heard

    # Of the first table's classes, sorted, the frequent one comes out and the lone one does not.
    outcome = [-(1 << 40), 1 << 30] if labels[0] < 1 else [1 << 30, -(1 << 40)]
    outcome = [1 << 30] if labels[0] == 1 else outcome
    pair = replace(keyed_pair(*labels), steering={("class labels", 0): np.array(outcome)})
    for direction in (pair, replace(pair, steering={}).swapped):
        audit = replay_pair(fit, direction)
        assert audit.violations == ()
        (classes,) = [entry for entry in audit.entries if entry.label == "class labels"]
        assert classes.cost <= classes.charge
