import math
from fractions import Fraction

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace, ExponentialMechanism
from dpboost.privacy.noise_shares import MaskedShare, OneTimePad, excess, share, share_sigma
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.sensitivity.bound import Sensitivity

L1 = Sensitivity("l1", 3, "test")
L2 = Sensitivity("l2", 2**16, "test")


def gaussian_law(s, reach):
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-0.5 * (k / s) ** 2)
    return weights / weights.sum()


@pytest.mark.parametrize("s", [1, 2])
@pytest.mark.parametrize("honest", [2, 3, 5])
def test_a_sum_of_discrete_gaussians_is_as_near_to_one_as_charged(s, honest):
    reach = 12 * s
    total = np.ones(1)
    for _ in range(honest):
        total = np.convolve(total, gaussian_law(s, reach))
    wide = (len(total) - 1) // 2
    one = gaussian_law(s * math.sqrt(honest), wide)
    middle = slice(wide - 6 * s, wide + 6 * s + 1)
    furthest = np.abs(np.log(total[middle] / one[middle])).max()
    assert furthest <= float(excess(s, honest)) + 1e-12


def test_the_excess_is_rounded_up_where_doubles_end():
    assert excess(1, 1) == 0
    assert 0 < excess(10_000, 50) < Fraction(1, 10**290)
    assert excess(1, 3) >= Fraction(10 * (math.exp(-(math.pi**2)) + math.exp(-4 * math.pi**2 / 3)))


@pytest.mark.parametrize("honest", [2, 3, 7, 49])
@pytest.mark.parametrize("sigma", [3, 100, 65_536, 10**8])
def test_shares_carry_the_variance_that_is_charged(sigma, honest):
    l2, size = 2**16, 1000
    s = share_sigma(sigma, l2, honest, size)
    rho = Fraction(l2**2, honest * s**2) + excess(s, honest) * size / 2
    assert rho <= Fraction(l2**2, sigma**2)
    # Not more than the rounding to an integer and the excess ask for.
    assert s <= max(6, math.ceil(sigma / math.sqrt(honest)) + 1)


def test_gaussian_shares_add_up_to_the_variance():
    mechanism = DiscreteGaussian(rho=Fraction(1, 2))
    zeros = np.zeros(20_000, dtype=np.int64)
    (sigma,) = mechanism.parameters(L2)
    entropy = Entropy.seeded(1)
    total = sum(share(mechanism, zeros, L2, 4, entropy) for _ in range(4))
    assert np.var(total) == pytest.approx(sigma**2, rel=0.06)


def test_one_honest_party_adds_the_whole_noise():
    mechanism = DiscreteLaplace(epsilon=Fraction(1))
    zeros = np.zeros(20_000, dtype=np.int64)
    found = share(mechanism, zeros, L1, 1, Entropy.seeded(1))
    assert np.array_equal(found, mechanism.draw(zeros, L1, Entropy.seeded(1)))


def test_without_noise_a_share_is_the_value():
    value = np.arange(3)
    found = share(DiscreteLaplace(epsilon=math.inf), value, L1, 3, Entropy.secure())
    assert np.array_equal(found, value)


def masked(words, whole=None, honest=2, base=None):
    base = base or DiscreteLaplace(epsilon=Fraction(1))
    pad = OneTimePad(lambda size: np.resize(words, size))
    return MaskedShare(base=base, honest=honest, pad=pad, whole=whole)


def test_what_leaves_are_words_that_the_mask_hides():
    value = np.array([[4, -9]])
    word = np.array([2**63], dtype=np.uint64)
    plain = share(DiscreteLaplace(epsilon=Fraction(1)), value, L1, 2, Entropy.seeded(3))
    found = masked(word).draw(value, L1, Entropy.seeded(3))
    assert found.dtype == np.uint64
    assert np.array_equal(found - word, plain.view(np.uint64))


def test_a_mask_is_used_once():
    mechanism = masked(np.zeros(1, dtype=np.uint64))
    mechanism.draw(np.zeros(2, dtype=np.int64), L1, Entropy.seeded(0))
    with pytest.raises(RuntimeError, match="one array"):
        mechanism.draw(np.zeros(2, dtype=np.int64), L1, Entropy.seeded(0))


def test_costs_what_the_noise_of_the_sum_costs():
    mechanism = masked(np.zeros(1, dtype=np.uint64))
    assert (mechanism.epsilon, mechanism.rho) == (1, Fraction(1, 2))
    assert mechanism.parameters(L1) == mechanism.base.parameters(L1)
    assert mechanism.needs == "l1"


def test_seeded_shares_add_up_to_what_one_process_draws():
    base, zeros = DiscreteLaplace(epsilon=Fraction(1)), np.zeros(5, dtype=np.int64)
    word = np.zeros(1, dtype=np.uint64)
    parts = [
        masked(word, whole=index == 0).draw(zeros, L1, Entropy.seeded(4)).view(np.int64)
        for index in range(3)
    ]
    assert np.array_equal(sum(parts), base.draw(zeros, L1, Entropy.seeded(4)))


def test_secret_noise_is_never_that_of_one_party():
    mechanism = masked(np.zeros(1, dtype=np.uint64), whole=True)
    with pytest.raises(InvalidParameterError, match="one party"):
        mechanism.draw(np.zeros(2, dtype=np.int64), L1, Entropy.secure())


def test_only_additive_noise_comes_in_shares():
    with pytest.raises(InvalidParameterError, match="mechanism"):
        masked(np.zeros(1, np.uint64), base=ExponentialMechanism(epsilon=Fraction(1)))
