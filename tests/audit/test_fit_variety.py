"""Replays of what else a fit may be asked for: classes, losses, weights, users, earlier models."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from unittest import mock

import pytest
from scipy.stats import norm

from dpboost.audit.fit_variety import OBJECTIVES, other_cases
from dpboost.audit.hockey_stick import delta_of
from dpboost.audit.parts import LARGE_EPSILON
from dpboost.audit.recipe_audit import replay_cases
from dpboost.growing.boosting_loop import OrderOfSums
from dpboost.privacy.accounting import GDPAccountant, ZCDPAccountant
from dpboost.privacy.queries import store_of
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.training.objective import OF_TASK

SETTINGS = [
    (1.0, 1e-6),
    (1.0, 0.0),
    pytest.param(LARGE_EPSILON, 1e-6, marks=pytest.mark.nightly),
]


@cache
def audit(epsilon, delta, neighbors):
    cases = other_cases(neighbors, epsilon=epsilon, delta=delta)
    return replay_cases("other fits", cases, epsilon=epsilon)


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize(("epsilon", "delta"), SETTINGS)
def test_no_fit_tells_more_than_it_claims(epsilon, delta, neighbors):
    found = audit(epsilon, delta, neighbors)
    assert found.violations == []
    assert found.skipped == []
    assert found.largest_cost <= 1 + 1e-9


@pytest.mark.parametrize("neighbors", Neighbors)
def test_a_correction_that_knows_the_labels_is_seen(neighbors):
    after = OrderOfSums.after

    def planted(self, trees, rows, callback):
        n_made = len(self._made)
        after(self, trees, rows, callback)
        for _, own in self._made[n_made:]:
            for tree in own:
                tree.leaf_value[:] += int(store_of(rows.source)._rows.labels.sum())

    cases = (case for case in other_cases(neighbors) if case[0].name == "features with directions")
    with mock.patch.object(OrderOfSums, "after", planted):
        found = replay_cases("other fits", cases, epsilon=1.0)
    assert found.violations


@pytest.mark.parametrize("neighbors", Neighbors)
def test_ranges_of_labels_reach_their_charge(neighbors):
    aimed = audit(1.0, 1e-6, neighbors).aimed
    reached = {part[0]: value for (_, _, part), value in aimed.items()}
    assert set(reached) == {"label range", "label bounds"}
    assert all(0.8 <= value <= 1 + 1e-9 for value in reached.values())


def test_every_objective_has_a_case():
    ordinary = {"regression", "binary"}
    named = set(OF_TASK["regression"]) | set(OF_TASK["classification"])
    names = {witness.name for witness, _ in other_cases(Neighbors.ADD_REMOVE)}
    missing = {
        name
        for name in named - ordinary
        if not any(name in told for told in names) and name not in OBJECTIVES
    }
    assert missing == set()


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_curves_agree_with_the_capacities_of_the_accountants(epsilon, delta):
    for accountant, measure in ((GDPAccountant(), "mu squared"), (ZCDPAccountant(), "rho")):
        total = float(accountant.capacity(Fraction(epsilon), Fraction(delta)))
        assert delta_of(measure, total, epsilon) <= delta * (1 + 1e-6)
        assert delta_of(measure, 1.02 * total, epsilon) > delta


def test_known_points_of_the_curves():
    # At epsilon 0 the delta of Gaussian privacy is a total variation.
    assert delta_of("mu squared", 4.0, 0.0) == pytest.approx(2 * norm.cdf(1.0) - 1)
    assert delta_of("rho", 0.0, 1.0) == 0.0
    assert delta_of("mu squared", math.inf, 1.0) == 1.0
