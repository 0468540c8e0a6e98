"""The measures of calibration: slopes, the private constant, and the recipe as it was."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special
import scipy.stats

from benchmarks import calibration
from dpboost.losses import LogisticLoss
from dpboost.recipes import best_rules


@pytest.mark.parametrize("slope", [0.7, 1.0, 1.4])
def test_the_slope_is_what_scores_have_to_be_multiplied_by(slope):
    random = np.random.default_rng(3)
    raw = random.normal(-1, 1.5, 200_000)
    y = (random.random(len(raw)) < scipy.special.expit(raw)).astype(np.int64)
    assert calibration.slope_of(raw / slope + 2, y) == pytest.approx(slope, rel=0.03)


@pytest.mark.parametrize("epsilon", calibration.EPSILONS)
def test_the_noise_of_a_constant_has_the_whole_budget(epsilon):
    deviation = calibration.gaussian_noise(epsilon)
    draws = scipy.stats.norm(0, deviation)
    # Where the density of one table is more than exp(epsilon) times that of its neighbor.
    edge = 0.5 - epsilon * deviation**2
    delta = draws.cdf(edge) - math.exp(epsilon) * draws.cdf(edge - 1)
    assert delta == pytest.approx(calibration.DELTA, rel=1e-3)


def test_the_recipe_as_it_was_compares_labels_with_the_probability():
    clip = 0.5
    now = LogisticLoss().kernel_numbers(clip)[0].copy()
    rules = dict(best_rules.TWO_CLASSES)
    with calibration.as_before():
        before = LogisticLoss().kernel_numbers(clip)[0]
        assert before[0] >> 32 == round(2**30 / (1 + math.exp(12)))
        assert best_rules.TWO_CLASSES["learning_rate"](8e3) == 0.2
    assert now[0] >> 32 == pytest.approx(clip * 2**30 * math.exp(-12), abs=1)
    assert np.array_equal(LogisticLoss().kernel_numbers(clip)[0], now)
    assert rules == best_rules.TWO_CLASSES
