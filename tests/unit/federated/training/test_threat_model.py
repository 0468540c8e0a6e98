import math
from fractions import Fraction

import pytest

from dpboost.federated import simulate
from dpboost.federated.training.threat_model import facts, party_report
from dpboost.privacy.collusion import effective_epsilon
from dpboost.privacy.mechanisms import DiscreteLaplace
from tests.unit.federated.asked import ClassCounts
from tests.unit.federated.channels import agreement, tables


def released(n_parties, **terms):
    agreed = agreement(n_parties, epsilon=1.0, **terms)
    coordinator, parties = simulate(agreed, tables([5] * n_parties))
    coordinator.release(
        [(DiscreteLaplace(epsilon=Fraction(1)), ClassCounts(n_classes=3))], label="counts"
    )
    return agreed, coordinator, parties


def test_up_to_the_declared_number_all_is_as_charged():
    agreed, coordinator, _ = released(6, colluding=2)
    found = facts(agreed, coordinator.ledger)
    assert found["against coordinator"].startswith("epsilon = 1;")
    for who in ("1 other party", "2 others"):
        assert found[f"against {who}"].startswith("epsilon = 1,")


def test_beyond_it_the_effective_epsilon_is_told():
    agreed, coordinator, _ = released(6, colluding=2)
    found = facts(agreed, coordinator.ledger)
    expected = effective_epsilon(1.0, n_parties=6, colluding=3, honest=4, units=1)
    assert found["against 3 others"].startswith(f"epsilon = {expected:.4g},")
    assert found["against 5 others"].startswith("epsilon = ")


def test_with_all_others_colluding_each_party_adds_all_of_the_noise():
    agreed, coordinator, _ = released(2)
    found = facts(agreed, coordinator.ledger)
    assert found["noise"] == "each party adds all of it"
    assert found["against 1 other party"].startswith("epsilon = 1,")


def test_a_naive_division_of_the_noise_is_shown_for_what_it_is():
    agreed, coordinator, _ = released(3, colluding=0)
    found = facts(agreed, coordinator.ledger)
    expected = effective_epsilon(1.0, n_parties=3, colluding=1, honest=3, units=1)
    assert found["against 1 other party"].startswith(f"epsilon = {expected:.4g},")
    assert expected > 1.3


@pytest.mark.parametrize("terms", [{"noise_seed": 3}, {"epsilon": math.inf}])
def test_nothing_is_promised_where_nothing_holds(terms):
    agreed = agreement(**terms)
    coordinator, _ = simulate(agreed, tables([1, 2, 3]))
    assert facts(agreed, coordinator.ledger)["against coordinator"].startswith("no guarantee")


def test_every_party_has_a_report_of_its_own():
    agreed, coordinator, parties = released(3)
    reports = [party_report(agreed, party.ledger) for party in parties]
    assert all(report.private and report.epsilon_spent == 1.0 for report in reports)
    assert reports[0].releases[0].mechanism == "masked share of discrete Laplace"
    assert reports[0].facts == facts(agreed, coordinator.ledger)


def test_the_surplus_of_noise_is_told_where_parties_may_be_lost():
    agreed, coordinator, _ = released(6, dropouts=2)
    found = facts(agreed, coordinator.ledger)
    # Three shares carry the noise; six are there, or four.
    assert found["surplus noise"] == (
        "variance 2 times what is charged while nobody is lost, 1.333 times with 2 lost"
    )
    assert found["lost parties"].startswith("up to 2 of a release")
    value = coordinator.sensitive(ClassCounts(n_classes=3))
    assert value.noise_variance_ratio == 2
    assert "surplus noise" not in facts(*released(6)[:1], released(6)[1].ledger)
