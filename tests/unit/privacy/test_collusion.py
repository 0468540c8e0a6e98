import math
from fractions import Fraction

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.accounting import GDPAccountant, PureAccountant, for_group, for_part
from dpboost.privacy.collusion import effective_epsilon, epsilon_against
from dpboost.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace
from dpboost.privacy.queries import Sensitive
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.privacy.sensitivity.constants import counts
from tests.unit.kernels.test_shares import difference_law
from tests.unit.ledgers import open_ledger


@pytest.mark.parametrize(
    ("n_parties", "epsilon", "expected"),
    [(3, 1, 1.99), (5, 1, 1.44), (10, 1, 1.19), (50, 1, 1.03), (5, 0.5, 0.84), (5, 0.1, 0.27)],
)
def test_a_party_that_subtracts_its_own_gamma_share(n_parties, epsilon, expected):
    found = effective_epsilon(epsilon, n_parties=n_parties, colluding=1, honest=n_parties)
    assert found == pytest.approx(expected, abs=0.005)


def test_two_parties_with_half_the_noise_each_have_no_bound():
    assert effective_epsilon(1.0, n_parties=2, colluding=1, honest=2) == math.inf


@pytest.mark.parametrize("colluding", [0, 1, 2])
def test_shares_for_so_many_colluders_carry_all_of_the_noise(colluding):
    for c in range(colluding + 1):
        found = effective_epsilon(1.0, n_parties=5, colluding=c, honest=5 - colluding)
        assert found == 1.0
    above = effective_epsilon(1.0, n_parties=5, colluding=colluding + 1, honest=5 - colluding)
    assert above > 1.0


@pytest.mark.parametrize("units", [1, 3])
@pytest.mark.parametrize(("n_parties", "colluding", "honest"), [(2, 1, 2), (5, 1, 5), (5, 3, 4)])
def test_the_largest_ratio_on_integers(units, n_parties, colluding, honest):
    epsilon, reach = 0.9, 60
    probabilities = difference_law(epsilon / units, (n_parties - colluding) / honest, reach)
    logarithms = np.log(probabilities)
    ratios = np.abs(logarithms[units:] - logarithms[:-units])
    found = effective_epsilon(
        epsilon, n_parties=n_parties, colluding=colluding, honest=honest, units=units
    )
    assert found == pytest.approx(ratios.max(), rel=1e-6)


def test_fine_grids_come_to_the_law_of_real_numbers():
    arguments = {"n_parties": 5, "colluding": 1, "honest": 5}
    fine = effective_epsilon(1.0, units=4096, **arguments)
    assert fine == pytest.approx(effective_epsilon(1.0, **arguments), abs=0.01)
    assert effective_epsilon(1.0, units=1, **arguments) < fine


def ledger_with(mechanism, accountant, delta, bounds, n_releases=2):
    ledger = open_ledger(Fraction(1), delta, accountant=accountant)
    for _ in range(n_releases):
        value = Sensitive(np.zeros(8, dtype=np.int64), bounds)
        ledger.release(mechanism, value, label="counts")
    return ledger


def test_books_of_laplace_noise_add_up_by_coordinate():
    mechanism = DiscreteLaplace(epsilon=Fraction(1, 2))
    bounds = counts(Neighbors.ADD_REMOVE, 1, histograms=4)
    ledger = ledger_with(mechanism, PureAccountant(), 0, bounds)
    against = epsilon_against(ledger, n_parties=5, colluding=1, honest=5)
    one = effective_epsilon(1 / 8, n_parties=5, colluding=1, honest=5, units=1)
    assert against == pytest.approx(2 * 4 * one)
    assert epsilon_against(ledger, n_parties=5, colluding=1, honest=4) == 1.0


def test_parts_of_a_budget_and_rows_of_a_person_both_count():
    mechanism, bounds = DiscreteLaplace(epsilon=Fraction(1, 50)), counts(Neighbors.ADD_REMOVE)
    part = for_part(PureAccountant(), Fraction(1, 4), 4, Fraction(0))
    known = {"n_parties": 5, "colluding": 1, "honest": 5}
    plain, whole = (
        epsilon_against(ledger_with(mechanism, accountant, 0, bounds), **known)
        for accountant in (PureAccountant(), for_group(part, 3))
    )
    assert whole == pytest.approx(3 * 4 * plain)


def test_folds_count_but_for_the_one_that_costs_least():
    ledger = ledger_with(None, PureAccountant(), 0, None, 0)
    costs, given = (1, 3, 2), {"accountant": PureAccountant(), "entropy": Entropy.secure()}
    known, one = {"n_parties": 5, "colluding": 1, "honest": 5}, []
    for fold, cost in enumerate(costs):
        with ledger.folds("fits", 3):
            part = ledger.part(f"fold {fold}", **given)
        value = Sensitive(np.zeros(8, dtype=np.int64), counts(Neighbors.ADD_REMOVE))
        part.release(DiscreteLaplace(epsilon=Fraction(cost, 100)), value, label="counts")
        one.append(epsilon_against(part, **known))
    assert sorted(one) == [one[0], one[2], one[1]]
    assert epsilon_against(ledger, **known) == pytest.approx(one[1] + one[2])


def test_books_of_gaussian_noise_have_less_variance():
    units = 2**18
    accountant = GDPAccountant()
    delta = Fraction(1, 10**6)
    mechanism = accountant.noise(accountant.capacity(Fraction(1), delta) / 2)
    assert isinstance(mechanism, DiscreteGaussian)
    ledger = ledger_with(mechanism, accountant, delta, counts(Neighbors.ADD_REMOVE, units))
    found = epsilon_against(ledger, n_parties=5, colluding=1, honest=5)
    assert found == accountant.epsilon(ledger.spent * Fraction(5, 4), delta)
    assert found > ledger.epsilon_spent


@pytest.mark.parametrize(
    "wrong", [{"colluding": 5}, {"honest": 0}, {"n_parties": 0}, {"epsilon": 0.0}]
)
def test_refuses_numbers_that_mean_nothing(wrong):
    good = {"epsilon": 1.0, "n_parties": 5, "colluding": 1, "honest": 4}
    with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
        effective_epsilon(**(good | wrong))
