"""OpenDP, an implementation written by others, draws from the same laws."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpboost.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.sensitivity.bound import Sensitivity

dp = pytest.importorskip("opendp.prelude", reason="the extra 'oracle' is not installed")

N_DRAWS = 20_000
ALARM = 1e-6


@pytest.fixture(scope="module", autouse=True)
def _contributions():
    dp.enable_features("contrib")


def ours(mechanism, kind):
    zeros = np.zeros(N_DRAWS, dtype=np.int64)
    return mechanism.draw(zeros, Sensitivity(kind, 1, "test"), Entropy.secure())


def assert_alike(first, second):
    """Chi-square of two samples, in bins of at least 20 draws."""
    both = np.sort(np.concatenate([first, second]))
    edges = np.unique(both[:: max(1, len(both) // 60)])
    table = np.array(
        [
            np.bincount(np.searchsorted(edges, part), minlength=len(edges) + 1)
            for part in (first, second)
        ]
    )
    table = table[:, table.sum(axis=0) >= 20]
    assert table.shape[1] > 2
    assert stats.chi2_contingency(table).pvalue > ALARM


def theirs(make, scale):
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    if make is dp.m.make_gaussian:
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="i64")
    return np.array(make(*space, scale=scale)([0] * N_DRAWS))


@pytest.mark.parametrize("scale", [0.7, 3.0, 250.0])
def test_discrete_laplace(scale):
    epsilon = 1 / Fraction(scale).limit_denominator(1000)
    assert_alike(ours(DiscreteLaplace(epsilon=epsilon), "l1"), theirs(dp.m.make_laplace, scale))


@pytest.mark.parametrize("sigma", [1, 3, 250])
def test_discrete_gaussian(sigma):
    mechanism = DiscreteGaussian(rho=Fraction(1, 2 * sigma**2))
    assert_alike(ours(mechanism, "l2"), theirs(dp.m.make_gaussian, float(sigma)))


@pytest.mark.parametrize(("epsilon", "scale"), [(1, 1.0), (Fraction(1, 10), 10.0)])
def test_what_it_charges_is_what_we_charge(epsilon, scale):
    space = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")
    assert dp.m.make_laplace(*space, scale=scale).map(1) == pytest.approx(float(epsilon))
    rho = dp.m.make_gaussian(*space, scale=scale).map(1)
    assert rho == pytest.approx(
        float(DiscreteGaussian(rho=Fraction(1, 2) / Fraction(scale) ** 2).rho)
    )


def test_a_wrong_scale_would_be_seen():
    half = ours(DiscreteLaplace(epsilon=Fraction(1, 2)), "l1")
    with pytest.raises(AssertionError):
        assert_alike(half, theirs(dp.m.make_laplace, 3.0))
