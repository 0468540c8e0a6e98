import math

import numpy as np
import pytest
from numpy.random import PCG64
from scipy import stats

from dpboost._kernels import noise
from dpboost._kernels.entropy import SystemEntropy

ALARM = 1e-6
N_DRAWS = 300_000
RATIONALS = [
    (1, 1),
    (1, 2),
    (7, 2),
    (2, 7),
    (3, 1000),
    (999_983, 1_000_003),
    (1, 65_536),
    (65_536, 1),
    (1, 2**32 - 1),
    (2**32 - 1, 2**32 - 2),
    (4_000_000_000, 1_234_567_891),
    (3, 4_294_967_291),
]


def laplace(seed, numerator, denominator, n=N_DRAWS):
    out = np.empty(n, np.int64)
    noise.discrete_laplace(PCG64(seed), np.zeros(n, np.int64), numerator, denominator, out)
    return out


def gaussian(seed, sigma, n=N_DRAWS):
    out = np.empty(n, np.int64)
    noise.discrete_gaussian(PCG64(seed), np.zeros(n, np.int64), sigma, out)
    return out


def assert_distributed(drawn, cdf, low, high):
    """Chi-square on at most 80 cells between low and high and both tails."""
    edges = np.unique(np.linspace(low, high, 80).astype(np.int64))
    steps = np.concatenate([[0.0], cdf(edges), [1.0]])
    expected = np.diff(steps) * len(drawn)
    observed = np.bincount(np.searchsorted(edges, drawn), minlength=len(edges) + 1)
    rare = expected < 10
    assert observed[expected == 0].sum() == 0
    expected = np.append(expected[~rare], expected[rare].sum())
    observed = np.append(observed[~rare], observed[rare].sum())
    if expected[-1] < 10:  # the rare cells together are rare too: add them to the next cell
        expected = np.append(expected[:-2], expected[-2] + expected[-1])
        observed = np.append(observed[:-2], observed[-2] + observed[-1])
    assert len(expected) > 1 or expected[0] > 0.99 * len(drawn)
    if len(expected) > 1:
        # Not stats.chisquare: it wants sums that agree to 1e-8, and only new versions can be told.
        statistic = ((observed - expected) ** 2 / expected).sum()
        assert stats.chi2.sf(statistic, len(expected) - 1) > ALARM
    assert abs(expected.sum() - len(drawn)) < 1e-6 * len(drawn)


def laplace_cdf(rate):
    # P(X <= k) from P(X = k) = (1 - r) / (1 + r) r^|k|
    def cdf(k):
        r = math.exp(-rate)
        left = np.exp(rate * np.minimum(k, -1)) / (1 + r)
        right = 1 - np.exp(-rate * (np.maximum(k, 0) + 1.0)) / (1 + r)
        return np.where(k < 0, left, right)

    return cdf


@pytest.mark.parametrize(("numerator", "denominator"), RATIONALS)
def test_discrete_laplace(numerator, denominator):
    scale = denominator / numerator
    drawn = laplace(1, numerator, denominator)
    assert_distributed(drawn, laplace_cdf(1 / scale), -6 * scale - 3, 6 * scale + 3)


@pytest.mark.parametrize(("numerator", "denominator"), RATIONALS)
def test_geometric(numerator, denominator):
    drawn = np.empty(N_DRAWS, np.int64)
    noise.geometric(PCG64(2), numerator, denominator, drawn)
    rate = numerator / denominator
    assert drawn.min() >= 0
    assert_distributed(drawn, lambda k: -np.expm1(-rate * (k + 1.0)), 0, 10 / rate + 3)


@pytest.mark.parametrize("sigma", [1, 2, 3, 10, 250])
def test_discrete_gaussian_of_small_scale(sigma):
    support = np.arange(-40 * sigma, 40 * sigma + 1)
    weights = np.exp(-(support**2) / (2 * sigma**2))
    cumulative = np.cumsum(weights) / weights.sum()
    drawn = gaussian(3, sigma)
    assert_distributed(drawn, lambda k: cumulative[k + 40 * sigma], -5 * sigma, 5 * sigma)


@pytest.mark.parametrize("sigma", [65_536, 10**9 + 7, 2**31 - 1])
def test_discrete_gaussian_of_large_scale(sigma):
    # The sum over integers up to k is the integral up to k + 1/2, to within 1/sigma^2.
    drawn = gaussian(4, sigma)
    assert_distributed(
        drawn, lambda k: stats.norm.cdf((k + 0.5) / sigma), -5.0 * sigma, 5.0 * sigma
    )


@pytest.mark.parametrize("modulus", [2, 16, 100])
def test_wide_noise_has_no_grid(modulus):
    for drawn in (laplace(5, 1, 2**32 - 1), laplace(5, 3, 4_294_967_291), gaussian(5, 2**31 - 1)):
        assert stats.chisquare(np.bincount(drawn % modulus)).pvalue > ALARM


@pytest.mark.parametrize("lag", [1, 2, 16])
def test_draws_are_independent(lag):
    for drawn in (laplace(6, 1, 2), gaussian(6, 2)):
        near = np.clip(drawn, -2, 2) + 2
        table = np.zeros((5, 5))
        np.add.at(table, (near[:-lag], near[lag:]), 1)
        assert stats.chi2_contingency(table).pvalue > ALARM


@pytest.mark.parametrize(
    ("numerator", "denominator"),
    [
        (1, 1),
        (1, 3),
        (3, 2),
        (5, 1),
        (12, 1),
        (25, 3),
        (10**12 + 1, 10**12 + 7),
        (2**62 + 1, 2**63 - 1),
        (2**64 - 1, 2**63 - 1),
        (1, 1000),
        (1, 100_000),
    ],
)
def test_bernoulli_exp(numerator, denominator):
    drawn = np.empty(1_000_000, np.uint8)
    noise.bernoulli_exp(PCG64(7), numerator, denominator, drawn)
    assert set(np.unique(drawn)) <= {0, 1}
    heads = int(drawn.sum())
    assert stats.binomtest(heads, len(drawn), math.exp(-numerator / denominator)).pvalue > ALARM


def test_bernoulli_exp_at_its_ends():
    drawn = np.empty(100_000, np.uint8)
    noise.bernoulli_exp(PCG64(8), 0, 1, drawn)
    assert drawn.all()
    noise.bernoulli_exp(PCG64(8), 1, 2**63 - 1, drawn)
    assert drawn.all()
    noise.bernoulli_exp(PCG64(8), 60, 1, drawn)
    assert not drawn.any()
    noise.bernoulli_exp(PCG64(8), 2**64 - 1, 1, drawn)
    assert not drawn.any()


DRAWS = {
    "laplace": lambda source, values, out: noise.discrete_laplace(source, values, 3, 70, out),
    "gaussian": lambda source, values, out: noise.discrete_gaussian(source, values, 25, out),
}
draws = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())


def drawn_by(draw, source, values):
    out = np.empty(len(values), np.int64)
    draw(source, values, out)
    return out


@draws
def test_the_seed_decides(draw):
    zeros = np.zeros(1000, np.int64)
    first = drawn_by(draw, PCG64(9), zeros)
    np.testing.assert_array_equal(first, drawn_by(draw, PCG64(9), zeros))
    assert (first != drawn_by(draw, PCG64(10), zeros)).any()


@draws
def test_two_system_sources_differ(draw):
    zeros = np.zeros(1000, np.int64)
    first, second = (drawn_by(draw, SystemEntropy(), zeros) for _ in range(2))
    assert (first != second).any()


@draws
def test_noise_is_added_modulo_two_to_the_64(draw):
    noise_alone = drawn_by(draw, PCG64(11), np.zeros(1000, np.int64))
    for value in (0, 12_345, -(2**63), 2**63 - 1):
        values = np.full(1000, value, np.int64)
        expected = (noise_alone.view(np.uint64) + values.view(np.uint64)).view(np.int64)
        np.testing.assert_array_equal(drawn_by(draw, PCG64(11), values), expected)


@draws
def test_values_may_be_overwritten_or_read_only_or_none(draw):
    values = np.arange(100)
    values.flags.writeable = False
    expected = drawn_by(draw, PCG64(12), values)
    in_place = values.copy()
    draw(PCG64(12), in_place, in_place)
    np.testing.assert_array_equal(in_place, expected)
    assert len(drawn_by(draw, PCG64(12), values[:0])) == 0


@pytest.mark.parametrize("bad", [0, -1, 2**32])
def test_limits_of_rationals(bad):
    out = np.zeros(3, np.int64)
    for numerator, denominator in ((bad, 1), (1, bad)):
        with pytest.raises(ValueError, match="numerator and denominator"):
            noise.discrete_laplace(PCG64(0), out, numerator, denominator, out)
        with pytest.raises(ValueError, match="numerator and denominator"):
            noise.geometric(PCG64(0), numerator, denominator, out)
    assert not out.any()


@pytest.mark.parametrize("bad", [0, -1, 2**31])
def test_limits_of_sigma(bad):
    out = np.zeros(3, np.int64)
    with pytest.raises(ValueError, match="sigma"):
        noise.discrete_gaussian(PCG64(0), out, bad, out)


@pytest.mark.parametrize(("numerator", "denominator"), [(-1, 1), (2**64, 1), (1, 0), (1, 2**63)])
def test_limits_of_bernoulli_exp(numerator, denominator):
    with pytest.raises(ValueError, match="numerator must"):
        noise.bernoulli_exp(PCG64(0), numerator, denominator, np.zeros(3, np.uint8))


@draws
def test_lengths_must_agree(draw):
    with pytest.raises(ValueError, match="same length"):
        draw(PCG64(0), np.zeros(3, np.int64), np.zeros(2, np.int64))
