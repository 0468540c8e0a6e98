"""The replay auditor on several classes: one release holds the trees of all of them."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from dpboost import DPBoostClassifier
from dpboost.audit import estimator_fit, pair_of, replay_pair
from dpboost.losses import SoftmaxLoss
from dpboost.privacy.sensitivity.bound import ContributionBound, Neighbors

N_CLASSES = 4
DELTA = 1e-6
CLASSES = list(range(N_CLASSES))
# Class 3 looks impossible in a forced start: a row of it has a gradient near its clip.
SURE = np.array([1 << 28, 1 << 18, 1 << 18, 1 << 18, 0])
# Classes 0 and 1 look equally likely: the gradients of their rows are opposite and at the clip.
EVEN = np.array([1 << 28, 1 << 28, 1 << 18, 1 << 18, 0])
DELTAS = pytest.mark.parametrize("delta", [DELTA, 0.0])
RELATIONS = pytest.mark.parametrize("neighbors", Neighbors)


def fit(delta, neighbors, **settings):
    options = {
        "recipe": "best",
        "epsilon": 1.0,
        "delta": delta,
        "neighbors": neighbors.value,
        "n_estimators": 3,
        "max_depth": 3,
        "max_bin": 8,
        "random_state": 0,
        "n_jobs": 1,
        "verbosity": 0,
        "schema": {"bounds": {0: (0, 1), 1: (0, 1)}, "classes": CLASSES},
    }
    return estimator_fit(lambda: DPBoostClassifier(**options | settings))


def table(n_rows=60, seed=0):
    random = np.random.default_rng(seed)
    return random.uniform(0, 1, (n_rows, 2)), random.integers(0, N_CLASSES, n_rows)


def pairs(neighbors):
    """Rows that move the sums far: a sure class that is wrong, an empty leaf, a class alone."""
    X, y = table()
    far = np.array([0.999, 0.001])
    sure = {("start value", 0): SURE}
    yield "wrong class", pair_of(X, y, far, 3, neighbors, instead=(far, 1), steering=sure)
    even = {("start value", 0): EVEN}
    yield "opposite", pair_of(X, y, far, 0, neighbors, instead=(far, 1), steering=even)
    yield "another leaf", pair_of(X, y, far, 3, neighbors, instead=(1 - far, 2), steering=sure)
    yield "lone class", pair_of(X, np.zeros_like(y), far, 2, neighbors, instead=(far, 0))
    yield "few rows", pair_of(X[:1], y[:1], far, 2, neighbors, instead=(far, 1))
    yield "no class of the list", pair_of(X, y, far, 9, neighbors, instead=(far, 1))
    yield "missing cells", pair_of(X, y, far * np.nan, 3, neighbors, instead=(far, 3))


@DELTAS
@RELATIONS
def test_no_release_tells_more_than_its_charge(delta, neighbors):
    reached = {}
    for name, pair in pairs(neighbors):
        for direction in (pair, pair.swapped):
            audit = replay_pair(fit(delta, neighbors), direction)
            assert audit.violations == (), name
            assert audit.cost <= audit.capacity * (1 + 1e-9)
            if delta == 0:
                assert abs(audit.loss) <= audit.epsilon * (1 + 1e-9)
            for entry in audit.entries:
                reached[entry.label] = max(reached.get(entry.label, 0.0), entry.reached)
    # The pairs come near to what the constants allow, so a smaller one would be caught.
    assert reached["start value"] >= 0.99
    assert reached["leaf sums"] >= 0.8


PLANTED = {
    "trees of a round charged side by side": (
        "gradient_reach",
        lambda loss, limit: ContributionBound(
            l1=round(limit * 65536), squares=round(limit * 65536) ** 2
        ),
    ),
    "gradients clipped apart from the noise": (
        "gradient_reach",
        lambda loss, limit: ContributionBound(
            l1=round(limit * 65536), squares=round(limit * 65536) ** 2 // 2, entries=N_CLASSES
        ),
    ),
}


@DELTAS
@pytest.mark.parametrize("name", PLANTED)
def test_planted_mistakes_are_found(name, delta):
    method, wrong = PLANTED[name]
    neighbors = Neighbors.ADD_REMOVE
    with mock.patch.object(SoftmaxLoss, method, wrong):
        audits = [replay_pair(fit(delta, neighbors), pair) for _, pair in pairs(neighbors)]
    assert any(audit.violations for audit in audits)
