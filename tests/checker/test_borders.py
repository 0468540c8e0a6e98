"""Certificates exactly at a limit are accepted, and those one step beyond it are refused."""

from __future__ import annotations

import copy
import json
import math
from fractions import Fraction
from typing import Any

import pytest

from dpboost.budgeting.verification import verify_accounting
from dpboost.privacy.accounting import GDPAccountant, PureAccountant, ZCDPAccountant
from dpboost.privacy.exact_arithmetic import cost_of
from dpboost.privacy.noise_shares import share_sigma
from dpboost.reporting.certificate_form import CertificateError
from tests.checker.random_certificates import claimed, settled

ACCOUNTANTS = {
    each.privacy_measure: each for each in (PureAccountant(), ZCDPAccountant(), GDPAccountant())
}
LATTICE = {"least_sigma": 2**16, "epsilon": "1/1000000", "delta": f"1/{10**20}"}
LAPLACE = {"mechanism": "discrete Laplace", "noise": [1, 4000], "norm": "l1", "constant": 1000}
GAUSSIAN = {"mechanism": "discrete Gaussian", "noise": [2**16], "norm": "l2", "constant": 1}


def account_of(measure: str, line: dict[str, Any], times: int = 1, **more: Any) -> dict[str, Any]:
    """Return the accounting of one kind of release."""
    whole = {
        "label": "leaf sums",
        "coordinates": 1,
        "added": None,
        "unit": 1.0,
        "cost": "0",
        "delta": "0",
        "threshold": None,
        "share": None,
        "sizes": [1, 1],
    }
    account = {
        "format": 1,
        "relation": "add_remove",
        "measure": measure,
        "delta": "0" if measure == "epsilon" else "1/100000",
        "multiples": [],
        "lattice": LATTICE if measure == "mu squared" else None,
        "lines": [whole | line],
        "scopes": {"name": "", "kind": "sequential", "times": 1, "releases": [[0, times]]},
        "budget": None,
        "earlier": {"epsilon": "0", "delta": "0"},
    }
    return settled(account | more)


def refusal(account: dict[str, Any], epsilon: Fraction) -> str | None:
    """Return why the library refuses a certificate of this epsilon, or None."""
    plain = claimed(account, epsilon)
    plain["claim"] |= {
        "accountant": ACCOUNTANTS[account["measure"]].name,
        "number_of_releases": account["scopes"]["releases"][0][1],
    }
    try:
        verify_accounting(json.loads(json.dumps(plain, default=float)))
    except CertificateError as error:
        return str(error)
    return None


def with_threshold(delta: Fraction, **more: Any) -> dict[str, Any]:
    """Return a line of learned categories that fails with this delta, at the least threshold."""
    rate = Fraction(1, 4)
    tail = (math.log(1 / delta) - math.log1p(math.exp(-rate))) / float(rate)
    noise = {"noise": [1, 4], "constant": 1, "threshold": 1 + math.ceil(tail * (1 + 1e-9))}
    return LAPLACE | noise | {"label": "categories", "delta": str(delta)} | more


# -- a fit without a budget -----------------------------------------------------------------------


def test_a_total_at_its_epsilon_is_accepted_and_one_above_refused():
    account = account_of("epsilon", LAPLACE, times=3)
    assert refusal(account, Fraction(3, 4)) is None
    assert "more than the claim" in refusal(account, Fraction(3, 4) - Fraction(1, 10**9))


def test_a_charge_below_the_cost_of_the_noise_is_refused():
    account = account_of("epsilon", LAPLACE)
    account["lines"][0]["cost"] = str(Fraction(1, 4) - Fraction(1, 10**9))
    assert "is charged" in refusal(settled(account, costs=False), Fraction(1))


def test_failures_may_take_all_of_delta():
    delta = Fraction(1, 10**6)
    line = with_threshold(delta)
    assert refusal(account_of("epsilon", line, delta=str(delta)), Fraction(1)) is None
    less = account_of("epsilon", line, delta=str(delta * Fraction(999, 1000)))
    assert "more than the claim" in refusal(less, Fraction(1))


def test_a_threshold_is_at_least_what_its_delta_needs():
    delta = Fraction(1, 10**6)
    line = with_threshold(delta)
    line["threshold"] -= 1
    assert "threshold" in refusal(account_of("epsilon", line, delta=str(delta)), Fraction(1))


def test_the_lattice_adds_up_to_its_limit():
    epsilon = Fraction(1)
    limit = GDPAccountant().lattice_error_limit(epsilon)
    each = Fraction(10, 8 * GAUSSIAN["noise"][0] ** 2)
    most = limit // each
    assert refusal(account_of("mu squared", GAUSSIAN, times=most), epsilon) is None
    beyond = account_of("mu squared", GAUSSIAN, times=most + 1)
    assert "more than the claim" in refusal(beyond, epsilon)


def test_shares_of_noise_carry_it():
    needed = share_sigma(GAUSSIAN["noise"][0], GAUSSIAN["constant"], 3, 1)
    for sigma, reason in ((needed, None), (needed - 1, "do not carry")):
        line = GAUSSIAN | {"share": {"honest": 3, "sigma": sigma}}
        found = refusal(account_of("rho", line), Fraction(1))
        assert found is None if reason is None else reason in found


# -- a fit in a budget ----------------------------------------------------------------------------


def in_budget(
    account: dict[str, Any], fraction: Fraction, *, epsilon: int, pure: int, aside: Fraction
) -> dict[str, Any]:
    """Return the accounting as that of one line of a budget, which sets a delta aside."""
    measure = account["measure"]
    delta = Fraction(1, 10**5)
    capacity = Fraction(pure)
    if measure != "epsilon":
        capacity = ACCOUNTANTS[measure].capacity(cost_of(Fraction(epsilon - pure)), delta - aside)
    own = {"account": "pure" if measure == "epsilon" else "Gaussian", "measure": measure}
    line = own | {"what": "fit", "fraction": str(fraction), "allowance": str(capacity * fraction)}
    budget = {
        "epsilon": str(epsilon),
        "delta": str(delta),
        "pure_epsilon": str(pure),
        "conversion_delta": str(delta - aside),
        "accounts": [own | {"capacity": str(capacity)}],
        "lines": [line | {"part": [], "closes": None, "own": True}],
    }
    return copy.deepcopy(account) | {"budget": budget, "delta": str(delta)}


@pytest.mark.parametrize(("epsilon", "pure", "accounts"), [(4, 2, 2), (4, 4, 1)])
def test_failures_take_their_fraction_of_what_the_accounts_set_aside(epsilon, pure, accounts):
    aside, fraction = Fraction(1, 10**6), Fraction(1, 2)
    allowed = aside / accounts * fraction
    terms = {"epsilon": epsilon, "pure": pure, "aside": aside}
    account = account_of("epsilon", with_threshold(allowed))
    assert refusal(in_budget(account, fraction, **terms), Fraction(epsilon)) is None
    account = account_of("epsilon", with_threshold(allowed * Fraction(1001, 1000)))
    found = refusal(in_budget(account, fraction, **terms), Fraction(epsilon))
    assert "more than its fraction of delta" in found


def test_failures_of_a_budget_without_a_pure_account_take_all_that_is_set_aside():
    aside, fraction = Fraction(1, 10**6), Fraction(1, 2)
    sigma = 2**16
    tail = sigma * math.sqrt(2 * math.log(1 / (aside * fraction)))
    line = GAUSSIAN | {"label": "categories", "constant": 2**10, "unit": 2**-10}
    line |= {"delta": str(aside * fraction), "threshold": 2**10 + math.ceil(tail * (1 + 1e-9))}
    account = account_of("rho", line)
    terms = {"epsilon": 4, "pure": 0, "aside": aside}
    assert refusal(in_budget(account, fraction, **terms), Fraction(4)) is None
    terms["aside"] = aside * Fraction(999, 1000)
    found = refusal(in_budget(account, fraction, **terms), Fraction(4))
    assert "more than its fraction of delta" in found


def test_a_fit_is_as_coarse_as_its_fraction_of_the_lattice():
    epsilon, aside = 4, Fraction(1, 10**6)
    each = Fraction(10, 8 * GAUSSIAN["noise"][0] ** 2)
    exact = 100 * each / GDPAccountant().lattice_error_limit(cost_of(Fraction(epsilon)))
    account = account_of("mu squared", GAUSSIAN, times=100)
    terms = {"epsilon": epsilon, "pure": 0, "aside": aside}
    assert refusal(in_budget(account, exact, **terms), Fraction(epsilon)) is None
    less = exact * Fraction(999, 1000)
    found = refusal(in_budget(account, less, **terms), Fraction(epsilon))
    assert "coarser" in found


def test_a_fit_costs_at_most_its_fraction():
    account = account_of("epsilon", LAPLACE, times=4)
    terms = {"epsilon": 4, "pure": 2, "aside": Fraction(1, 10**6)}
    assert refusal(in_budget(account, Fraction(1, 2), **terms), Fraction(4)) is None
    less = Fraction(1, 2) - Fraction(1, 10**9)
    assert "allows" in refusal(in_budget(account, less, **terms), Fraction(4))
