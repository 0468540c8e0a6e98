"""Brute force against the bound of gradient and hessian sums, and the noise that it sets."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpboost.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.sensitivity.bound import ContributionBound, Neighbors, Sensitivity
from dpboost.privacy.sensitivity.constants import newton_sums

CASES = [(1000, 1000), (1000, 100), (100, 1000), (1000, 1500), (700, 1), (1, 700)]


def sums(rows):
    """Gradient and hessian sums of two leaves, from rows (leaf, gradient, hessian)."""
    vector = np.zeros((2, 2))
    for leaf, gradient, hessian in rows:
        vector[:, leaf] += gradient, hessian
    return vector.ravel()


def largest_change(gradient, hessian, neighbors, order):
    """What one row can do, over all rows on a grid and a table of other rows."""
    others = [(0, 3, 1), (1, -1, 1), (1, gradient, hessian)]
    gradients = np.linspace(-gradient, gradient, 5)
    grid = list(itertools.product((0, 1), gradients, np.linspace(0, hessian, 3)))
    base = sums(others)
    if neighbors is Neighbors.ADD_REMOVE:
        changes = [sums([*others, row]) - base for row in grid]
    else:
        tables = [sums([*others, row]) for row in grid]
        changes = [one - two for one, two in itertools.product(tables, tables)]
    return max(np.linalg.norm(change, order) for change in changes)


def assert_tight(constant, truth):
    assert constant >= truth * (1 - 1e-12), "one row can do more"
    assert truth >= 0.95 * constant, "one row cannot do nearly as much"


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize(("gradient", "hessian"), CASES)
def test_a_row_moves_the_sums_by_the_bound_and_not_more(gradient, hessian, neighbors):
    reaches = ContributionBound.single(gradient), ContributionBound.single(hessian)
    for bound, kind, order in zip(
        newton_sums(*reaches, neighbors), ("l1", "l2"), (1, 2), strict=True
    ):
        truth = largest_change(gradient, hessian, neighbors, order)
        assert bound.kind == kind
        assert bound.coordinates == 2 * neighbors.rows
        assert_tight(bound.constant, truth)
        for mutated in (0.9 * bound.constant, 1.1 * bound.constant):
            with pytest.raises(AssertionError):
                assert_tight(mutated, truth)


@pytest.mark.parametrize("epsilon", [Fraction(1, 7), Fraction(1), Fraction(9)])
@pytest.mark.parametrize("constant", [1, 20])
def test_the_deviation_of_laplace_noise_is_that_of_its_law(epsilon, constant):
    mechanism, bound = DiscreteLaplace(epsilon=epsilon), Sensitivity("l1", constant, "test")
    k = np.arange(-40_000, 40_001)
    weights = np.exp(-float(epsilon / constant) * np.abs(k))
    exact = math.sqrt(np.sum(k.astype(float) ** 2 * weights) / weights.sum())
    assert mechanism.noise_stddev(bound) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("sigma", [1, 2, 50])
def test_the_deviation_of_gaussian_noise_is_never_below_that_of_its_law(sigma):
    mechanism = DiscreteGaussian(rho=Fraction(9, 2 * sigma**2))
    k = np.arange(-3000, 3001).astype(float)
    weights = np.exp(-(k**2) / (2 * sigma**2))
    exact = math.sqrt(np.sum(k**2 * weights) / weights.sum())
    found = mechanism.noise_stddev(Sensitivity("l2", 3, "test"))
    assert exact * (1 - 1e-12) <= found <= exact * 1.001


@pytest.mark.parametrize(
    ("mechanism", "kind"),
    [(DiscreteLaplace(epsilon=Fraction(1, 3)), "l1"), (DiscreteGaussian(rho=Fraction(1, 9)), "l2")],
)
def test_drawn_noise_has_the_announced_deviation(mechanism, kind):
    bound = Sensitivity(kind, 40, "test")
    drawn = mechanism.draw(np.zeros(40_000, dtype=np.int64), bound, Entropy.seeded(0))
    assert drawn.std() == pytest.approx(mechanism.noise_stddev(bound), rel=0.03)


def test_without_a_limit_there_is_no_noise():
    assert DiscreteLaplace(epsilon=math.inf).noise_stddev(Sensitivity("l1", 5, "test")) == 0
    assert DiscreteGaussian(rho=math.inf).noise_stddev(Sensitivity("l2", 5, "test")) == 0
