"""Accounting for all rows of a group, and for several fits under one budget."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from dpboost.privacy.accounting import (
    GDPAccountant,
    PureAccountant,
    ZCDPAccountant,
    for_group,
    for_part,
)
from dpboost.privacy.mechanisms import DiscreteGaussian
from dpboost.privacy.sensitivity.bound import Sensitivity

DELTA = Fraction(1, 10**6)
ALL = [PureAccountant(), ZCDPAccountant(), GDPAccountant()]


@pytest.mark.parametrize("inner", ALL, ids=lambda each: each.name)
@pytest.mark.parametrize("rows", [2, 5])
def test_a_group_has_the_budget_of_its_rows_together(inner, rows):
    group = for_group(inner, rows)
    power = 1 if inner.privacy_measure == "epsilon" else 2
    assert group.capacity(Fraction(1), DELTA) * rows**power == inner.capacity(Fraction(1), DELTA)
    spent = group.capacity(Fraction(1), DELTA)
    assert group.epsilon(spent, DELTA) == pytest.approx(1.0, rel=1e-5)
    assert (group.name, group.privacy_measure) == (inner.name, inner.privacy_measure)
    assert for_group(inner, 1) is inner
    assert group.capacity(math.inf, DELTA) == math.inf


@pytest.mark.parametrize("rows", [2, 4])
def test_the_largest_loss_of_a_group_is_the_budget(rows):
    """Brute force: the law of a noisy count with and without all rows of a group."""
    group = for_group(PureAccountant(), rows)
    noise = group.noise(group.capacity(Fraction(1), Fraction(0)))
    bound = Sensitivity("l1", 1, "a row is counted once", 1)

    def log_law(outcome, count):
        return noise.log_probability(np.array([outcome]), np.array([count]), bound)

    largest = max(abs(log_law(value, 0) - log_law(value, rows)) for value in range(-30, 31))
    assert 0.95 <= largest <= 1 + 1e-9


@pytest.mark.parametrize("rows", [2, 4])
def test_gaussian_noise_for_a_group_meets_delta_and_no_more(rows):
    budget = for_group(GDPAccountant(), rows).capacity(Fraction(1), DELTA)
    shift = rows * math.sqrt(budget)
    delta = norm.cdf(shift / 2 - 1 / shift) - math.e * norm.cdf(-shift / 2 - 1 / shift)
    assert 0.95e-6 <= delta <= 1e-6


def test_a_group_touches_more_entries():
    mechanism, bound = DiscreteGaussian(rho=Fraction(1, 100)), Sensitivity("l2", 2**18, "x", 3)
    alone = GDPAccountant().lattice_error(mechanism, bound, 10)
    assert for_group(GDPAccountant(), 4).lattice_error(mechanism, bound, 10) == 4 * alone > 0
    limit = for_group(GDPAccountant(), 4).lattice_error_limit(Fraction(1))
    assert limit == GDPAccountant().lattice_error_limit(Fraction(1))


@pytest.mark.parametrize("inner", ALL, ids=lambda each: each.name)
def test_parts_add_up_to_the_whole(inner):
    share = Fraction(9, 10) / 4
    part = for_part(inner, share, 5, DELTA)
    whole = inner.capacity(Fraction(1), DELTA)
    assert 4 * part.capacity(Fraction(1), DELTA) == whole * Fraction(9, 10)
    assert part.epsilon(whole * share, DELTA) == pytest.approx(1.0, rel=1e-5)


def test_what_one_part_spends_of_delta_each_may_spend():
    part = for_part(ZCDPAccountant(), Fraction(1, 4), 5, DELTA)
    left = DELTA * Fraction(9, 10)
    expected = ZCDPAccountant().capacity(Fraction(1), DELTA / 2) / 4
    assert part.capacity(Fraction(1), left) == expected
    with pytest.raises(ValueError, match="delta"):
        part.capacity(Fraction(1), DELTA * Fraction(8, 10))
