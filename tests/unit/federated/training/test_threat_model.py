import math
from fractions import Fraction

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.federated import simulate
from dpboost.federated.training.agreed_fit import facts, party_report
from dpboost.privacy.collusion import effective_epsilon
from dpboost.privacy.mechanisms import DiscreteLaplace
from dpboost.privacy.queries import Sensitive
from dpboost.privacy.sensitivity.constants import counts
from tests.unit.federated.channels import agreement, tables


def released(n_parties, **terms):
    agreed = agreement(n_parties, epsilon=1.0, **terms)
    ledger = agreed.ledger()
    value = Sensitive(np.zeros(3, dtype=np.int64), counts(ledger.neighbors))
    ledger.release(DiscreteLaplace(epsilon=Fraction(1)), value, label="counts")
    return agreed, ledger


def test_up_to_the_declared_number_all_is_as_charged():
    found = facts(*released(6, colluding=2))
    assert found["against coordinator"].startswith("epsilon = 1;")
    for who in ("1 other party", "2 others"):
        assert found[f"against {who}"].startswith("epsilon = 1,")


def test_beyond_it_the_effective_epsilon_is_told():
    found = facts(*released(6, colluding=2))
    expected = effective_epsilon(1.0, n_parties=6, colluding=3, honest=4, units=1)
    assert found["against 3 others"].startswith(f"epsilon = {expected:.4g},")
    assert found["against 5 others"].startswith("epsilon = ")


def test_with_all_others_colluding_each_party_adds_all_of_the_noise():
    found = facts(*released(2))
    assert found["noise"] == "each party adds all of it"
    assert found["against 1 other party"].startswith("epsilon = 1,")


def test_a_naive_division_of_the_noise_is_shown_for_what_it_is():
    # Shares of 1/K, one of which its party subtracts: terms refuse it, since all see all sums.
    with pytest.raises(InvalidParameterError, match="colluding"):
        agreement(3, colluding=0)
    assert effective_epsilon(1.0, n_parties=3, colluding=1, honest=3) > 1.9
    assert effective_epsilon(1.0, n_parties=3, colluding=1, honest=2) == 1.0


@pytest.mark.parametrize("terms", [{"noise_seed": 3}, {"epsilon": math.inf}])
def test_nothing_is_promised_where_nothing_holds(terms):
    agreed = agreement(**terms)
    assert facts(agreed, agreed.ledger())["against coordinator"].startswith("no guarantee")


def test_every_party_has_a_report_of_its_own():
    agreed = agreement(3, recipe="noisy_counts", hyper={"max_depth": 1})
    found = simulate(agreed, tables((20, 30, 40)))
    reports = [party_report(agreed, one.ledger) for one in found.parties]
    assert all(report.private and 0 < report.epsilon_spent <= 8 for report in reports)
    assert reports[0].releases == found.coordinator.fitted.report.releases
    assert reports[0].facts == facts(agreed, found.coordinator.ledger)


def test_the_surplus_of_noise_is_told_where_parties_may_be_lost():
    found = facts(*released(6, dropouts=2))
    # Three shares carry the noise; six are there, or four.
    assert found["surplus noise"] == (
        "variance 2 times the charge without a lost party, 1.333 times with 2 lost"
    )
    assert found["lost parties"].startswith("up to 2 of a release")
    assert "surplus noise" not in facts(*released(6))
