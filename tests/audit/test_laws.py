"""The auditor's laws of the kernels, against those of the mechanisms and against enumeration."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpboost.audit.output_distributions import call_loss, permute_and_flip, softmax
from dpboost.audit.run_trace import DivergenceError, KernelCall, align
from dpboost.privacy.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    PermuteAndFlip,
)
from dpboost.privacy.sensitivity.bound import Sensitivity


def calls(kernel, first, second, integers, outcome):
    arrays = [np.array(part, dtype=np.int64) for part in (first, second)]
    return [
        KernelCall(kernel=kernel, given=array, integers=integers, outcome=np.array(outcome))
        for array in arrays
    ]


@pytest.mark.parametrize(
    ("kernel", "mechanism", "bound", "first", "second", "outcome"),
    [
        (
            "discrete_laplace",
            DiscreteLaplace(epsilon=Fraction(1, 3)),
            Sensitivity("l1", 5, ""),
            [3, -7, 10**12],
            [5, -7, 10**12 - 3],
            [4, 100, 10**12 - 50],
        ),
        (
            "discrete_gaussian",
            DiscreteGaussian(rho=Fraction(1, 50)),
            Sensitivity("l2", 5, ""),
            [3, -7],
            [5, -9],
            [40, -20],
        ),
        (
            "exponential",
            ExponentialMechanism(epsilon=2),
            Sensitivity("range", 7, ""),
            [[1, 5, -20], [0, 0, 4]],
            [[2, 3, -19], [0, 0, 4]],
            [2, 0],
        ),
        (
            "permute_and_flip",
            PermuteAndFlip(epsilon=2),
            Sensitivity("range", 7, ""),
            [[1, 5, -20, 3], [0, 0, 4, 4]],
            [[2, 3, -19, 3], [0, 0, 4, 5]],
            [2, 3],
        ),
    ],
)
def test_agrees_with_the_mechanism(kernel, mechanism, bound, first, second, outcome):
    values = [np.array(part, dtype=np.int64) for part in (first, second)]
    here, there = (mechanism.log_probability(np.array(outcome), value, bound) for value in values)
    loss = call_loss(*calls(kernel, first, second, mechanism.parameters(bound), outcome))
    assert loss.observed == pytest.approx(here - there, abs=1e-9)
    assert loss.low - 1e-12 <= loss.observed <= loss.high + 1e-12


@pytest.mark.parametrize("law", [softmax, permute_and_flip])
@pytest.mark.parametrize("rate", [0.01, 1.0, 7.0])
def test_probabilities_sum_to_one(law, rate):
    scores = np.random.default_rng(0).integers(-50, 50, size=(5, 9))
    np.testing.assert_allclose(np.exp(law(scores, rate)).sum(axis=1), 1, atol=1e-12)


def test_permute_and_flip_by_all_orders():
    scores = np.array([[0, -1, 2, -7, 1]])
    accepted = np.exp((scores[0] - 2) / 3)
    probabilities = np.zeros(5)
    for order in itertools.permutations(range(5)):
        alive = 1 / math.factorial(5)
        for candidate in order:
            probabilities[candidate] += alive * accepted[candidate]
            alive *= 1 - accepted[candidate]
    np.testing.assert_allclose(np.exp(permute_and_flip(scores, 1 / 3))[0], probabilities)


@pytest.mark.parametrize("kernel", ["exponential", "permute_and_flip"])
def test_extremes_are_those_over_all_outcomes(kernel):
    first, second = [[3, 0, 1], [5, 5, 0]], [[2, 1, 1], [5, 6, 0]]
    losses = [
        call_loss(*calls(kernel, first, second, (2, 3), outcome))
        for outcome in itertools.product(range(3), repeat=2)
    ]
    observed = [loss.observed for loss in losses]
    assert max(observed) == pytest.approx(losses[0].high)
    assert min(observed) == pytest.approx(losses[0].low)


def test_laplace_extremes_are_attained_far_out():
    pair = calls("discrete_laplace", [3, 0], [1, 5], (1, 7), [10**6, -(10**6)])
    loss = call_loss(*pair)
    assert loss.observed == pytest.approx(loss.high) == pytest.approx(1.0)


def test_a_choice_without_noise_tells_everything_or_nothing():
    same = call_loss(*calls("argmax", [[1, 2]], [[0, 2]], (), [1]))
    other = call_loss(*calls("argmax", [[1, 2]], [[3, 2]], (), [1]))
    assert (same.observed, other.observed) == (0.0, math.inf)


def test_an_unknown_kernel_is_not_waved_through():
    with pytest.raises(DivergenceError, match="no law"):
        call_loss(*calls("uniform", [1], [1], (), [1]))


@pytest.mark.parametrize(
    ("there", "here", "expected"),
    [
        ("abc", "abc", ([0, 1, 2], [0, 1, 2])),
        ("ac", "abc", ([0, 1], [0, 2])),
        ("abc", "ac", ([0, 2], [0, 1])),
        # Counts of neighbors by replacement that look alike: one row each, another class.
        ("ab", "bc", ([1], [0])),
        ("", "a", ([], [])),
    ],
)
def test_histograms_are_aligned(there, here, expected):
    found = align(tuple(there), tuple(here))
    assert (found[0].tolist(), found[1].tolist()) == expected
