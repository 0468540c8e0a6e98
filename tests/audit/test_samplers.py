"""A million draws of every sampler, from the operating system's bits, against its exact law.

The tests of the kernels draw from seeds and look at many parameters; these draw as private fits
do. Each fails by chance with a probability of one in a million.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpboost._kernels import noise, selection
from dpboost._kernels.entropy import SystemEntropy
from dpboost.audit.output_distributions import permute_and_flip, softmax
from dpboost.privacy.randomness import Entropy

ALARM = 1e-6
N_DRAWS = 1_000_000

#: Cells with fewer draws are put together: the approximation of chi-square is good from here on.
LEAST_EXPECTED = 100


def assert_drawn(drawn, support, law):
    """Chi-square of draws against probabilities of the integers of ``support``, and the rest."""
    outside = (drawn < support[0]) | (drawn > support[-1])
    counts = np.bincount(drawn[~outside] - support[0], minlength=len(support))
    expected, observed = np.append(law, 1 - law.sum()), np.append(counts, outside.sum())
    cells, within = np.zeros(len(expected), np.int64), 0.0
    for position, share in enumerate(expected[:-1]):
        within += share * len(drawn)
        cells[position + 1 :] += within >= LEAST_EXPECTED
        within *= within < LEAST_EXPECTED
    # What is left over goes to the last whole cell.
    cells = np.minimum(cells, cells[-1] - 1)
    expected = np.bincount(cells, expected) * len(drawn)
    observed = np.bincount(cells, observed)
    assert expected.min() >= LEAST_EXPECTED
    assert abs(expected.sum() - len(drawn)) < 1e-6 * len(drawn)
    statistic = ((observed - expected) ** 2 / expected).sum()
    assert stats.chi2.sf(statistic, len(expected) - 1) > ALARM


def laplace_law(k, rate):
    return -math.expm1(-rate) / (1 + math.exp(-rate)) * np.exp(-rate * np.abs(k))


def laplace(numerator, denominator):
    drawn = np.empty(N_DRAWS, np.int64)
    zeros = np.zeros(N_DRAWS, np.int64)
    noise.discrete_laplace(SystemEntropy(), zeros, numerator, denominator, drawn)
    return drawn


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 1), (5, 7), (1, 40)])
def test_discrete_laplace(numerator, denominator):
    rate = numerator / denominator
    support = np.arange(-math.ceil(12 / rate), math.ceil(12 / rate) + 1)
    assert_drawn(laplace(numerator, denominator), support, laplace_law(support, rate))


def test_half_the_noise_would_be_seen():
    support = np.arange(-30, 31)
    with pytest.raises(AssertionError):
        assert_drawn(laplace(2, 1), support, laplace_law(support, 1.0))


def test_one_part_in_fifty_would_be_seen():
    support = np.arange(-500, 501)
    with pytest.raises(AssertionError):
        assert_drawn(laplace(1, 40), support, laplace_law(support, 1 / 40 * 1.02))


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 1), (1, 40)])
def test_geometric(numerator, denominator):
    rate = numerator / denominator
    drawn = np.empty(N_DRAWS, np.int64)
    noise.geometric(SystemEntropy(), numerator, denominator, drawn)
    support = np.arange(math.ceil(12 / rate))
    assert_drawn(drawn, support, -math.expm1(-rate) * np.exp(-rate * support))


@pytest.mark.parametrize("sigma", [1, 7, 40])
def test_discrete_gaussian(sigma):
    drawn = np.empty(N_DRAWS, np.int64)
    noise.discrete_gaussian(SystemEntropy(), np.zeros(N_DRAWS, np.int64), sigma, drawn)
    support = np.arange(-12 * sigma, 12 * sigma + 1)
    weights = np.exp(-(support**2) / (2 * sigma**2))
    assert_drawn(drawn, support, weights / weights.sum())


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 3), (1, 1), (7, 2)])
def test_bernoulli_exp(numerator, denominator):
    drawn = np.empty(N_DRAWS, np.uint8)
    noise.bernoulli_exp(SystemEntropy(), numerator, denominator, drawn)
    heads = math.exp(-numerator / denominator)
    assert_drawn(drawn.astype(np.int64), np.arange(2), np.array([1 - heads, heads]))


@pytest.mark.parametrize(
    ("kernel", "law"),
    [(selection.exponential, softmax), (selection.permute_and_flip, permute_and_flip)],
)
def test_selection(kernel, law):
    """The laws are those by which the auditor weighs every choice."""
    scores = np.array([[4, 9, 7, 9, 0, 8]], dtype=np.int64)
    chosen = np.empty(N_DRAWS, np.int32)
    kernel(SystemEntropy(), np.repeat(scores, N_DRAWS, axis=0), 2, 3, chosen)
    assert_drawn(chosen.astype(np.int64), np.arange(6), np.exp(law(scores, 2 / 3)[0]))


def test_coins_of_rows():
    shares = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 100), Fraction(1, 10)]
    blocks = Entropy.secure().row_coins().blocks(shares, N_DRAWS)
    law = np.array([*map(float, shares), 1 - float(sum(shares))])
    assert_drawn(blocks.astype(np.int64), np.arange(5), law)
    # Neighbors toss apart.
    pairs = 5 * blocks[::2].astype(np.int64) + blocks[1::2]
    assert_drawn(pairs, np.arange(25), np.outer(law, law).ravel())
