"""Gaussian accounts: shifts against charges, and the hockey-stick divergence of whole runs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from dpboost.audit import estimator_fit, hockey_stick, pair_of, replay_pair
from dpboost.audit.boosting_audit import RootAlone
from dpboost.privacy.accounting import GDPAccountant, ZCDPAccountant
from dpboost.privacy.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    PermuteAndFlip,
)
from dpboost.privacy.sensitivity.bound import Neighbors

UNITS = 2**16
X, Y = np.zeros((7, 1)), np.zeros(7)
PAIR = pair_of(X, Y, X[0], 0.0, Neighbors.ADD_REMOVE)


def quarter_each(*kinds):
    def mechanisms(ledger):
        part = ledger.capacity / len(kinds)
        return [ledger.accountant.calibrate(kind, part) for kind in kinds]

    return mechanisms


GAUSSIANS = quarter_each(*[DiscreteGaussian] * 4)
MIXTURE = quarter_each(DiscreteGaussian, DiscreteLaplace, ExponentialMechanism, PermuteAndFlip)


@pytest.mark.parametrize(
    ("accountant", "mechanisms"),
    [(GDPAccountant(), GAUSSIANS), (ZCDPAccountant(), GAUSSIANS), (ZCDPAccountant(), MIXTURE)],
    ids=["GDP", "zCDP", "zCDP mixture"],
)
def test_each_release_costs_its_charge_and_hardly_less(toy_fit, accountant, mechanisms):
    audit = replay_pair(toy_fit(accountant, mechanisms, units=UNITS), PAIR)
    assert audit.violations == ()
    assert len(audit.entries) == 4
    for entry in audit.entries:
        assert 0.8 <= entry.reached <= 1 + 1e-9
    assert audit.cost <= audit.capacity * (1 + 1e-9)


@pytest.mark.parametrize("accountant", [GDPAccountant(), ZCDPAccountant()])
def test_a_sigma_that_is_too_small_is_caught(toy_fit, accountant, monkeypatch):
    draw = DiscreteGaussian.draw

    def mutated(self, value, bound, entropy):
        return draw(DiscreteGaussian(rho=self.rho * Fraction(5, 4)), value, bound, entropy)

    monkeypatch.setattr(DiscreteGaussian, "draw", mutated)
    audit = replay_pair(toy_fit(accountant, GAUSSIANS, units=UNITS), PAIR)
    found = {violation.check for violation in audit.violations}
    assert found == {"entry cost", "scope total", "total delta"}


def losses_of(fit, n_runs, seed=3):
    """Total losses of many runs, the first table being the one that draws."""
    return [replay_pair(fit, PAIR, seed=seed + run).loss for run in range(n_runs)]


def delta_of_mu(mu, epsilon):
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("accountant", [GDPAccountant(), ZCDPAccountant()])
@pytest.mark.parametrize("epsilon", [0.0, 0.25])
def test_the_divergence_of_whole_runs_is_that_of_the_accountant(toy_fit, accountant, epsilon):
    fit = toy_fit(accountant, GAUSSIANS, units=UNITS)
    capacity = replay_pair(fit, PAIR).capacity
    mu = math.sqrt(capacity if accountant.privacy_measure == "mu squared" else 2 * capacity)
    estimate = hockey_stick(losses_of(fit, 400), epsilon)
    assert estimate.low <= delta_of_mu(mu, epsilon) <= estimate.high
    assert estimate.high - estimate.low < 0.35


@pytest.mark.parametrize("neighbors", list(Neighbors))
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_the_divergence_of_best_is_within_its_claim_and_near_it(neighbors, epsilon):
    """Nothing is forced: the start value stays in the middle of many rows of either label."""
    settings = {"edges": {0: (0.5,)}, "label_bounds": (-1, 1)}
    fit = estimator_fit(
        lambda: RootAlone(
            epsilon=epsilon,
            recipe="best",
            neighbors=neighbors.value,
            schema=settings,
            n_estimators=2,
            n_jobs=1,
            verbosity=0,
        )
    )
    rows, labels = np.zeros((2000, 1)), np.tile([-1.0, 1.0], 1000)
    pair = pair_of(rows, labels, rows[0], 1.0, neighbors)
    audits = [replay_pair(fit, pair, seed=run) for run in range(150)]
    assert not any(audit.violations for audit in audits)
    losses, mu = [audit.loss for audit in audits], math.sqrt(audits[0].capacity)
    assert 0.8 * mu <= math.sqrt(min(audit.cost for audit in audits)) <= mu * (1 + 1e-9)
    estimate = hockey_stick(losses, 0.0, error=0.001)
    assert estimate.low <= delta_of_mu(mu, 0.0) <= estimate.high
    assert estimate.delta == pytest.approx(delta_of_mu(mu, 0.0), rel=0.35)
    assert hockey_stick(losses, epsilon).low <= 1e-6


def test_the_divergence_shows_twice_the_loss(toy_fit, monkeypatch):
    draw = DiscreteGaussian.draw

    def mutated(self, value, bound, entropy):
        return draw(DiscreteGaussian(rho=self.rho * 16), value, bound, entropy)

    accountant = GDPAccountant()
    fit = toy_fit(accountant, GAUSSIANS, units=UNITS)
    capacity = replay_pair(fit, PAIR).capacity
    monkeypatch.setattr(DiscreteGaussian, "draw", mutated)
    estimate = hockey_stick(losses_of(fit, 400), 0.25)
    assert estimate.low > delta_of_mu(math.sqrt(capacity), 0.25)


def test_hockey_stick_of_a_known_law():
    mu = 0.8
    losses = np.random.default_rng(0).normal(mu**2 / 2, mu, size=200_000)
    for epsilon in (0.0, 0.5, 1.0):
        estimate = hockey_stick(losses, epsilon)
        exact = delta_of_mu(mu, epsilon)
        assert estimate.low <= exact <= estimate.high
        assert estimate.delta == pytest.approx(exact, rel=0.02)
        assert estimate.high - estimate.low < 0.01


def test_bounds_of_the_hockey_stick_hold_as_often_as_they_say():
    generator = np.random.default_rng(1)
    exact = delta_of_mu(1.0, 0.0)
    wrong = sum(
        not (estimate.low <= exact <= estimate.high)
        for estimate in (
            hockey_stick(generator.normal(0.5, 1.0, size=200), 0.0, error=0.05) for _ in range(400)
        )
    )
    assert wrong <= 0.1 * 400
