import math

import numpy as np
import pytest
from scipy import stats

from dpboost._kernels import shares

RATES = [(1, 3), (1, 1), (5, 2), (1, 100), (7, 3)]
HONEST = [1, 2, 3, 5, 49]
ALARM = 1e-6


def draw(n, numerator, denominator, honest, seed=0, times=1):
    source = np.random.PCG64(seed)
    out = np.zeros(n, dtype=np.int64)
    for _ in range(times):
        shares.polya(source, out, numerator, denominator, honest, out)
    return out


def chi_square(found, probabilities):
    """Compare integers with probabilities of -reach..reach, the ends taking the tails."""
    reach = (len(probabilities) - 1) // 2
    seen = np.bincount(np.clip(found, -reach, reach) + reach, minlength=len(probabilities))
    expected = probabilities * len(found)
    rest = len(found) - expected.sum()
    expected = expected + 0.0
    expected[0] += rest / 2
    expected[-1] += rest / 2
    wide = expected >= 10
    seen = np.append(seen[wide], seen[~wide].sum())
    expected = np.append(expected[wide], expected[~wide].sum())
    return stats.chisquare(seen[expected > 0], expected[expected > 0]).pvalue


def difference_law(rate, shape, reach):
    """Probabilities of the difference of two negative binomial numbers, by convolution."""
    own = stats.nbinom.pmf(np.arange(20 * reach), shape, -math.expm1(-rate))
    both = np.convolve(own, own[::-1])
    middle = len(own) - 1
    return both[middle - reach : middle + reach + 1]


def laplace_law(rate, reach):
    k = np.abs(np.arange(-reach, reach + 1))
    return math.tanh(rate / 2) * np.exp(-rate * k)


@pytest.mark.parametrize(("numerator", "denominator"), RATES)
@pytest.mark.parametrize("honest", HONEST)
def test_a_share_is_the_difference_of_two_negative_binomial_numbers(numerator, denominator, honest):
    rate = numerator / denominator
    reach = math.ceil(4 / rate) + 3
    found = draw(100_000, numerator, denominator, honest, seed=honest)
    assert chi_square(found, difference_law(rate, 1 / honest, reach)) > ALARM


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 3), (5, 2), (1, 40)])
@pytest.mark.parametrize("honest", [2, 4, 9])
def test_the_sum_of_the_shares_is_discrete_laplace(numerator, denominator, honest):
    rate = numerator / denominator
    found = draw(60_000, numerator, denominator, honest, seed=7, times=honest)
    assert chi_square(found, laplace_law(rate, math.ceil(6 / rate) + 3)) > ALARM


@pytest.mark.parametrize("denominator", [2**20, 2**32 - 1])
def test_shares_on_fine_grids_add_up_to_the_law_of_real_numbers(denominator):
    found = draw(40_000, 1, denominator, 4, seed=3, times=4) / denominator
    assert stats.kstest(found, stats.laplace.cdf).pvalue > ALARM


def test_adds_to_the_values_modulo_the_width():
    values = np.array([5, -7, np.iinfo(np.int64).max], dtype=np.int64)
    zero, out = np.zeros_like(values), np.empty_like(values)
    shares.polya(np.random.PCG64(5), zero, 1, 9, 3, zero)
    shares.polya(np.random.PCG64(5), values, 1, 9, 3, out)
    assert np.array_equal(out.view(np.uint64), values.view(np.uint64) + zero.view(np.uint64))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0, 1, 2), "numerator"), ((1, 2**32, 2), "denominator"), ((1, 1, 0), "honest")],
)
def test_refuses_numbers_out_of_range(arguments, message):
    values = np.zeros(2, dtype=np.int64)
    with pytest.raises(ValueError, match=message):
        shares.polya(np.random.PCG64(0), values, *arguments, values)


def test_refuses_different_lengths():
    with pytest.raises(ValueError, match="length"):
        shares.polya(np.random.PCG64(0), np.zeros(2, np.int64), 1, 1, 2, np.zeros(3, np.int64))
