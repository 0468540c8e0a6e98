import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from dpboost.reporting.attacker import best_true_positive_rate, membership_advantage, posterior


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.4])
def test_randomized_response_reaches_the_pure_bound(epsilon, alpha):
    # The most powerful test of one bit told truly with probability e^eps / (1 + e^eps).
    true = math.exp(epsilon) / (1 + math.exp(epsilon))
    lie = 1 - true
    best = true * alpha / lie if alpha <= lie else true + (alpha - lie) / true * lie
    found = best_true_positive_rate(alpha, epsilon=epsilon, delta=0)
    assert best <= found <= best * 1.002
    assert true - lie <= membership_advantage(epsilon=epsilon, delta=0) <= (true - lie) + 1e-3


@pytest.mark.parametrize(("epsilon", "delta"), product([0.3, 1.5], [1e-3, 0.1]))
def test_the_worst_mechanism_of_epsilon_and_delta_reaches_the_bound(epsilon, delta):
    # With delta it shows all, else it answers at random.
    factor = math.exp(epsilon)
    here = np.array([delta, 0, (1 - delta) * factor / (1 + factor), (1 - delta) / (1 + factor)])
    there = here[[1, 0, 3, 2]]
    for alpha in (0.01, 0.2):
        best, left = 0.0, alpha
        for p, q in sorted(zip(here, there, strict=True), key=lambda pq: -pq[0] / (pq[1] + 1e-300)):
            part = min(1.0, left / q) if q else 1.0
            best, left = best + part * p, left - part * q
        found = best_true_positive_rate(alpha, epsilon=epsilon, delta=delta)
        assert best <= found <= best * 1.002
    advantage = np.maximum(here - there, 0).sum()
    assert advantage <= membership_advantage(epsilon=epsilon, delta=delta) <= advantage + 1e-3


@pytest.mark.parametrize("mu", [0.05, 0.5, 2.0])
def test_a_threshold_on_gaussian_noise_reaches_the_gaussian_bound(mu):
    for alpha in (0.01, 0.05):
        best = norm.sf(norm.isf(alpha), loc=mu)
        found = best_true_positive_rate(alpha, epsilon=math.inf, delta=0, mu=mu)
        assert best <= found <= best * 1.002
        worse = best_true_positive_rate(alpha, epsilon=math.inf, delta=0.01, mu=mu)
        assert worse == pytest.approx(1 - 0.99 * norm.cdf(norm.isf(alpha / 0.99), loc=mu), rel=2e-3)
    advantage = norm.cdf(mu / 2) - norm.cdf(-mu / 2)
    found = membership_advantage(epsilon=math.inf, delta=0, mu=mu)
    assert advantage <= found <= advantage + 1e-3


def test_no_budget_and_no_bound():
    assert best_true_positive_rate(0.01, epsilon=0, delta=0) == pytest.approx(0.01, rel=2e-3)
    assert best_true_positive_rate(0.01, epsilon=math.inf, delta=0) == 1
    assert membership_advantage(epsilon=math.inf, delta=0) == 1


@pytest.mark.parametrize("prior", [0.01, 0.1, 0.5])
def test_posterior_is_bayes_rule(prior):
    true = math.e / (1 + math.e)
    best = prior * true / (prior * true + (1 - prior) * (1 - true))
    assert best <= posterior(prior, epsilon=1, delta=0) <= best * 1.002
    rate = norm.sf(norm.isf(0.01), loc=1)
    best = prior * rate / (prior * rate + (1 - prior) * 0.01)
    assert posterior(prior, epsilon=9, delta=1e-9, mu=1) == pytest.approx(best, rel=2e-3)
