"""Replay audits of other objectives, of weights and of initial scores.

The last column of a table holds what is not a feature: a row's weight or its initial score.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from dpboost import DPBoostClassifier, DPBoostRegressor
from dpboost.audit.neighboring_pairs import pair_of
from dpboost.audit.pair_replay import replay_pair
from dpboost.audit.released_surface import overhear
from dpboost.privacy.sensitivity.bound import Neighbors

DELTA = 1e-6
# So many rows that the start value is not released a second time.
MANY_ROWS = 1 << 32
#: No start value but this one makes gradients of a log link as large as they can be.
TOP = {("start value", 0): np.array([MANY_ROWS, MANY_ROWS])}
MIDDLE = {("start value", 0): np.array([0, MANY_ROWS])}


def squared(y, s):
    return 3 * (s - y), np.ones(len(s))


#: Parameters, beside which argument of ``fit`` the last column is, and the steering.
CASES = {
    "quantile": ({"objective": "quantile", "alpha": 0.8}, None, MIDDLE),
    "regression_l1": ({"objective": "l1"}, None, MIDDLE),
    "fair": ({"objective": "fair", "fair_c": 0.05}, None, MIDDLE),
    "poisson": ({"objective": "poisson"}, None, TOP),
    "gamma": ({"objective": "gamma"}, None, {("start value", 0): np.array([0, MANY_ROWS])}),
    "tweedie": ({"objective": "tweedie"}, None, {("start value", 0): np.array([0, MANY_ROWS])}),
    "custom": ({"objective": squared, "gradient_bound": 1.0}, None, {}),
    "weights": ({"max_weight": 3.0}, "sample_weight", MIDDLE),
    "quantile with weights": (
        {"objective": "quantile", "max_weight": 3.0},
        "sample_weight",
        MIDDLE,
    ),
    "initial scores": ({}, "init_score", {}),
}
#: Those whose gradients go as far to either side at the score where they start.
TURNS = ("regression_l1", "fair", "custom", "weights", "initial scores")
LABEL_BOUNDS = {"poisson": (0.0, 4.0), "gamma": (0.01, 4.0), "tweedie": (0.0, 4.0)}


def fit_of(make, argument):
    """Fit on the features and hand the last column over as an argument."""

    def fit(X, y):
        heard = {}
        more = {} if argument is None else {argument: X[:, -1]}
        with overhear(heard):
            estimator = make().fit(X[:, :-1], y, **more)
        return {**heard, "model text": estimator.booster_.model_to_string()}

    return fit


def pair(name, neighbors):
    """A row of the largest gradient beside two others; or it turns around, or moves."""
    low, high = LABEL_BOUNDS.get(name, (-1.0, 1.0))
    X = np.array([[0.0, 0.0, 0.5], [1.0, 1.0, 2.0]])
    label = low if name == "poisson" else high
    row = np.array([0.0, 1.0, -0.4 if name == "initial scores" else 3.0])
    moved = np.array([1.0, 0.0, 3.0])
    turned = np.array([0.0, 1.0, 0.4 if name == "initial scores" else 3.0])
    return pair_of(
        X,
        np.array([low, high]),
        row,
        label,
        neighbors,
        instead=(turned, low + high - label) if name in TURNS else (moved, label),
        steering=CASES[name][2],
    )


def maker(kind, schema, delta, neighbors, parameters):
    """Return a function that makes an estimator of three small trees."""
    return lambda: kind(
        schema=schema,
        delta=delta,
        n_estimators=3,
        max_depth=2,
        neighbors=neighbors.value,
        random_state=0,
        n_jobs=1,
        verbosity=0,
        **parameters,
    )


@cache
def audits(name, delta, neighbors):
    parameters, argument, _ = CASES[name]
    schema = {
        "bounds": dict.fromkeys(range(2), (0.0, 1.0)),
        "label_bounds": LABEL_BOUNDS.get(name, (-1.0, 1.0)),
    }

    make = maker(DPBoostRegressor, schema, delta, neighbors, parameters)
    found = pair(name, neighbors)
    fit = fit_of(make, argument)
    return replay_pair(fit, found), replay_pair(fit, found.swapped)


@pytest.mark.parametrize("delta", [DELTA, 0.0])
@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("name", CASES)
def test_no_release_costs_more_than_its_charge(name, neighbors, delta):
    for audit in audits(name, delta, neighbors):
        assert audit.violations == ()
        assert audit.error == ""
        assert audit.cost <= audit.capacity * (1 + 1e-9)
        labels = {entry.label for entry in audit.entries}
        assert labels >= {"start value", "leaf sums"}


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("name", CASES)
def test_the_first_leaf_sums_reach_most_of_their_charge(name, neighbors):
    reached = max(
        entry.reached
        for audit in audits(name, DELTA, neighbors)
        for entry in audit.entries
        if entry.label == "leaf sums"
    )
    # The others can turn around as far, but from no common score.
    far = neighbors is Neighbors.ADD_REMOVE or name in TURNS or "quantile" in name
    assert (0.8 if far else 0.45) <= reached <= 1 + 1e-9


def test_a_weight_that_is_not_clipped_is_found(monkeypatch):
    def units(self, weighting, classes, targets):
        return np.rint(self.sample_weight * 65536).astype(np.int32)

    monkeypatch.setattr("dpboost.rows.row_attributes.RowExtras.weight_units", units)
    violations = [
        violation
        for audit in audits.__wrapped__("weights", DELTA, Neighbors.ADD_REMOVE)
        for violation in audit.violations
    ]
    assert "entry cost" in {violation.check for violation in violations}


def test_a_bound_of_gradients_that_does_not_hold_is_found(monkeypatch):
    from dpboost.losses.tabulated import TabulatedLoss
    from dpboost.privacy.sensitivity.bound import ContributionBound

    monkeypatch.setattr(
        TabulatedLoss, "gradient_reach", lambda self, clip: ContributionBound.single(20_000)
    )
    violations = [
        violation
        for audit in audits.__wrapped__("quantile", 0.0, Neighbors.ADD_REMOVE)
        for violation in audit.violations
    ]
    assert "entry cost" in {violation.check for violation in violations}


def far_from_classes(y, s):
    own = np.arange(s.shape[1]) == y[:, np.newaxis]
    return 3.0 - 6.0 * own + 0 * s, 0 * s + 1


def mixing(y, s):
    """Gradients of which each depends on all rows."""
    return far_from_classes(y, s)[0] * (len(y) % 2 - 0.5), 0 * s + 1


@pytest.mark.parametrize("delta", [DELTA, 0.0])
@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize(
    ("parameters", "n_classes"),
    [
        ({"objective": "multiclassova"}, 3),
        ({"objective": far_from_classes, "gradient_bound": 1.0}, 3),
        ({"class_weight": "balanced"}, 3),
        ({"class_weight": "balanced"}, 2),
        ({"class_weight": {0: 0.5, 1: 4.0}}, 2),
    ],
    ids=["one against the rest", "custom", "balanced, 3", "balanced, 2", "class weights"],
)
def test_classes(parameters, n_classes, neighbors, delta):
    for audit in audits_of_classes(parameters, n_classes, neighbors, delta):
        assert audit.violations == ()
        assert audit.cost <= audit.capacity * (1 + 1e-9)


def audits_of_classes(parameters, n_classes, neighbors, delta):
    random = np.random.default_rng(0)
    X, y = random.integers(0, 2, (40, 3)).astype(float), np.arange(40) % n_classes
    schema = {"bounds": dict.fromkeys(range(2), (0.0, 1.0)), "classes": list(range(n_classes))}

    make = maker(DPBoostClassifier, schema, delta, neighbors, parameters)
    found = pair_of(X, y, X[0], 1, neighbors, instead=(X[1], 0))
    return [replay_pair(fit_of(make, None), side) for side in (found, found.swapped)]


@pytest.mark.parametrize("delta", [DELTA, 0.0])
def test_the_largest_gradients_of_custom_classes_reach_their_charge(delta):
    parameters = {"objective": far_from_classes, "gradient_bound": 1.0}
    found = audits_of_classes(parameters, 3, Neighbors.ADD_REMOVE, delta)
    reached = [
        entry.reached for audit in found for entry in audit.entries if entry.label == "leaf sums"
    ]
    assert max(reached) >= 0.95


PLANTED = {
    "no clip": (
        "_shortened",
        lambda values, norm: np.clip(values, -1, 1) * 65536,
        far_from_classes,
    ),
    "rows that are mixed": ("CustomClassLoss._try", lambda self: None, mixing),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_mistakes_of_custom_classes_are_found(name, monkeypatch):
    place, wrong, function = PLANTED[name]
    monkeypatch.setattr(f"dpboost.losses.custom_classes.{place}", wrong)
    parameters = {"objective": function, "gradient_bound": 1.0}
    found = audits_of_classes(parameters, 3, Neighbors.ADD_REMOVE, DELTA)
    assert "entry cost" in {each.check for audit in found for each in audit.violations}
