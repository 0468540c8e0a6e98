"""The typical size of a step, learned from released sums."""

import numpy as np
import pytest

from dpboost.growing.partition_learner import LEAST_PART, LearnedPrior
from dpboost.growing.shrunken_leaves import ShrunkenLeaf

LEAF = ShrunkenLeaf(reg_lambda=1.0, prior=0.5)
N_LEAVES, HESSIAN, NOISE = 64, 99.0, 10.0


def priors(typical, n_rounds=60, seed=0):
    """The prior after each round of steps of a typical size; noise of a step is a tenth."""
    random, learned, found = np.random.default_rng(seed), LearnedPrior(), []
    for size in np.broadcast_to(typical, n_rounds):
        steps = random.normal(0, size, (1, N_LEAVES))
        sums = -steps * (HESSIAN + 1) + random.normal(0, NOISE, steps.shape)
        found.append(learned.leaf(LEAF, sums, np.full_like(sums, HESSIAN), NOISE).prior)
    return found


@pytest.mark.parametrize("typical", [0.03, 0.1, 0.3])
def test_the_typical_step_is_found(typical):
    assert np.mean(priors(typical)[10:]) == pytest.approx(typical, rel=0.15)


def test_steps_that_are_noise_are_hardly_made():
    found = priors(0.0)
    assert np.median(found) < 0.02
    assert min(found) == LEAST_PART * LEAF.prior


def test_no_prior_is_larger_than_that_of_the_rule():
    assert priors(2.0)[-1] == LEAF.prior


def test_the_last_rounds_count_most():
    found = priors(np.repeat([0.3, 0.03], 60), n_rounds=120)
    assert np.mean(found[100:]) == pytest.approx(0.03, rel=0.5)


def test_without_noise_the_rule_stands():
    learned, sums = LearnedPrior(), np.zeros((1, 4))
    assert learned.leaf(LEAF, sums, sums + 1, 0.0) is LEAF
