import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, norm

from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.accounting import (
    SMALLEST_SIGMA,
    GDPAccountant,
    PureAccountant,
    UnsupportedReleaseError,
    ZCDPAccountant,
    _largest,
)
from dpboost.privacy.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    PermuteAndFlip,
)
from dpboost.privacy.sensitivity.bound import Sensitivity

ROW = 2**16
L1, L2, RANGE = (Sensitivity(kind, ROW, "test", 1) for kind in ("l1", "l2", "range"))
TARGETS = [(0.1, 1e-5), (1.0, 1e-6), (1.0, 1e-9), (8.0, 1e-5), (0.5, 0.05)]
ALL = [PureAccountant(), ZCDPAccountant(), GDPAccountant()]


def exact(*numbers):
    return tuple(Fraction(repr(number)) for number in numbers)


# -- every accountant ---------------------------------------------------------------------------


@pytest.mark.parametrize("accountant", ALL, ids=lambda accountant: accountant.name)
@pytest.mark.parametrize(("epsilon", "delta"), TARGETS)
def test_the_capacity_guarantees_epsilon_and_wastes_nothing(accountant, epsilon, delta):
    epsilon, delta = exact(epsilon, delta)
    capacity = accountant.capacity(epsilon, delta)
    assert isinstance(capacity, Fraction)
    assert epsilon * (1 - Fraction(1, 10**4)) <= accountant.epsilon(capacity, delta)
    assert accountant.epsilon(capacity, delta) <= float(epsilon)
    assert accountant.epsilon(capacity * Fraction(1001, 1000), delta) > epsilon


@pytest.mark.parametrize("accountant", ALL, ids=lambda accountant: accountant.name)
def test_infinite_and_empty_budgets(accountant):
    delta = Fraction(1, 10**6)
    assert accountant.capacity(math.inf, Fraction(0)) == math.inf
    assert accountant.epsilon(math.inf, delta) == math.inf
    assert accountant.epsilon(Fraction(0), delta) == 0
    gaussian, bound = DiscreteGaussian(rho=math.inf), Sensitivity("l2", 1, "test")
    if accountant.name != "pure":
        assert accountant.cost(gaussian, bound) == math.inf
    assert accountant.cost(DiscreteLaplace(epsilon=math.inf), L1) == math.inf


@pytest.mark.parametrize("accountant", ALL, ids=lambda accountant: accountant.name)
@pytest.mark.parametrize("budget", [Fraction(1, 50), math.inf])
def test_what_a_budget_affords_costs_no_more(accountant, budget):
    noise = accountant.noise(budget)
    assert accountant.cost(noise, L1 if noise.needs == "l1" else L2) <= budget
    affordable = {
        "pure": [ExponentialMechanism, PermuteAndFlip, DiscreteLaplace],
        "zCDP": [ExponentialMechanism, PermuteAndFlip, DiscreteLaplace, DiscreteGaussian],
        "GDP": [DiscreteGaussian, ExponentialMechanism],
    }[accountant.name]
    for kind in affordable:
        cost = accountant.cost(accountant.calibrate(kind, budget), L2)
        assert budget * Fraction(9999, 10000) <= cost <= budget


def test_unsupported_mechanisms_are_refused():
    with pytest.raises(UnsupportedReleaseError, match="discrete Gaussian"):
        PureAccountant().cost(DiscreteGaussian(rho=1), L2)
    with pytest.raises(UnsupportedReleaseError, match="discrete Gaussian"):
        PureAccountant().calibrate(DiscreteGaussian, Fraction(1))
    for kind in (DiscreteLaplace, PermuteAndFlip):
        with pytest.raises(UnsupportedReleaseError, match="not Gaussian"):
            GDPAccountant().cost(kind(epsilon=1), L1)
        with pytest.raises(UnsupportedReleaseError, match="not Gaussian"):
            GDPAccountant().calibrate(kind, Fraction(1))


@pytest.mark.parametrize("accountant", ALL[1:], ids=lambda accountant: accountant.name)
def test_delta_zero_is_refused_where_it_means_nothing(accountant):
    with pytest.raises(InvalidParameterError, match="'delta'"):
        accountant.capacity(Fraction(1), Fraction(0))


# -- concentrated -------------------------------------------------------------------------------


@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.3, 4.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_zcdp_agrees_with_dp_accounting(rho, delta):
    dp_accounting = pytest.importorskip("dp_accounting")
    rdp = pytest.importorskip("dp_accounting.rdp")
    orders = 1 + np.exp(np.linspace(math.log(1e-3), math.log(1e5), 20_000))
    accountant = rdp.RdpAccountant(orders.tolist())
    accountant.compose(dp_accounting.GaussianDpEvent(math.sqrt(1 / (2 * rho))))
    ours = ZCDPAccountant().epsilon(*exact(rho, delta))
    assert ours == pytest.approx(accountant.get_epsilon(delta), rel=1e-5)


@pytest.mark.parametrize(("epsilon", "delta"), TARGETS)
def test_zcdp_beats_the_textbook_conversion(epsilon, delta):
    rho = float(ZCDPAccountant().capacity(*exact(epsilon, delta)))
    assert epsilon < rho + 2 * math.sqrt(rho * math.log(1 / delta))


@pytest.mark.parametrize("rho", [0.01, 0.3, 4.0])
def test_zcdp_is_never_better_than_the_gaussian_that_has_this_rho(rho):
    for delta in (1e-9, 1e-5, 1e-2):
        epsilon = ZCDPAccountant().epsilon(*exact(rho, delta))
        mu = math.sqrt(2 * rho)
        true = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(
            -mu / 2 - epsilon / mu
        )
        assert true <= delta


# -- Gaussian -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), TARGETS)
def test_gdp_is_the_hockey_stick_divergence(epsilon, delta):
    mu = math.sqrt(GDPAccountant().capacity(*exact(epsilon, delta)))
    start = epsilon / mu + mu / 2

    def excess(x):
        return norm.pdf(x, mu) * -math.expm1(epsilon - mu * x + mu**2 / 2)

    found = quad(excess, start, start + 12 + mu, epsabs=1e-16, epsrel=1e-10)[0]
    assert 0.999 * delta < found <= delta


def test_gdp_agrees_with_dp_accounting():
    dp_accounting = pytest.importorskip("dp_accounting")
    pld = pytest.importorskip("dp_accounting.pld")
    accountant = pld.PLDAccountant(value_discretization_interval=1e-4)
    accountant.compose(dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(20.0), 100))
    ours = GDPAccountant().epsilon(Fraction(100, 400), Fraction(1, 10**6))
    assert ours == pytest.approx(accountant.get_epsilon(1e-6), rel=1e-3)


def test_gdp_needs_less_noise_than_zcdp():
    for epsilon, delta in TARGETS:
        gaussian = float(GDPAccountant().capacity(*exact(epsilon, delta)))
        concentrated = 2 * float(ZCDPAccountant().capacity(*exact(epsilon, delta)))
        assert 1.03 < math.sqrt(gaussian / concentrated) < 1.3


def rounded_and_discrete(sigma, radius):
    k = np.arange(-radius, radius + 1)
    rounded = norm.logcdf((0.5 - np.abs(k)) / sigma) + np.log1p(
        -np.exp(norm.logcdf((-0.5 - np.abs(k)) / sigma) - norm.logcdf((0.5 - np.abs(k)) / sigma))
    )
    mechanism, bound = DiscreteGaussian(rho=Fraction(1, 2 * sigma**2)), Sensitivity("l2", 1, "test")
    discrete = np.array([mechanism.log_probability(i, np.int64(0), bound) for i in k])
    return k / sigma, rounded - discrete


@pytest.mark.parametrize("sigma", [3, 10, 40])
def test_the_discrete_law_is_as_near_to_the_rounded_one_as_the_proof_says(sigma):
    z, log_ratio = rounded_and_discrete(sigma, 9 * sigma)
    lattice_error = 1e-12
    assert (log_ratio <= z**2 / (8 * sigma**2) + lattice_error).all()
    assert (log_ratio >= -1 / (8 * sigma**2) - lattice_error).all()
    assert np.abs(log_ratio).max() > 0.3 * (z**2).max() / (8 * sigma**2)


def test_at_small_sigma_the_discrete_gaussian_is_not_gaussian_private():
    mechanism, bound = DiscreteGaussian(rho=Fraction(1, 2)), Sensitivity("l2", 1, "test")
    k = np.arange(-40, 41)
    here, there = (
        np.exp([mechanism.log_probability(i, np.int64(shift), bound) for i in k])
        for shift in (0, 1)
    )
    delta = np.maximum(there - math.e * here, 0).sum()
    assert delta == pytest.approx(0.1414, abs=1e-4)
    assert norm.cdf(-0.5) - math.e * norm.cdf(-1.5) == pytest.approx(0.1269, abs=1e-4)
    with pytest.raises(UnsupportedReleaseError, match="a larger gradient_clip"):
        GDPAccountant().cost(mechanism, bound)


def test_gdp_accepts_sigma_from_the_limit_on():
    at_limit = DiscreteGaussian(rho=Fraction(1, 2 * SMALLEST_SIGMA**2))
    assert GDPAccountant().cost(at_limit, Sensitivity("l2", 1, "test")) == 2 * at_limit.rho
    below = DiscreteGaussian(rho=Fraction(1, 2 * (SMALLEST_SIGMA - 1) ** 2))
    with pytest.raises(UnsupportedReleaseError, match="a larger gradient_clip"):
        GDPAccountant().cost(below, Sensitivity("l2", 1, "test"))


def test_slack_counts_the_entries_that_a_row_changes():
    accountant, mechanism = GDPAccountant(), DiscreteGaussian(rho=Fraction(1, 2))
    counted, uncounted = Sensitivity("l2", ROW, "test", 3), Sensitivity("l2", ROW, "test")
    assert accountant.lattice_error(mechanism, counted, 1000) == Fraction(30, 8 * ROW**2)
    assert accountant.lattice_error(mechanism, uncounted, 1000) == Fraction(10000, 8 * ROW**2)
    assert accountant.lattice_error(DiscreteGaussian(rho=math.inf), counted, 1000) == 0


def test_slack_limit_leaves_room_for_the_tail():
    limit = GDPAccountant().lattice_error_limit(Fraction(1))
    assert limit + Fraction(9 * 60, 8 * 2**32) == Fraction(1, 10**6)
    assert GDPAccountant().lattice_error_limit(Fraction(100)) < limit
    # e^(epsilon - x) may not exceed 1e-20
    used = (Fraction(1, 10**6) - GDPAccountant().lattice_error_limit(Fraction(100))) * 8 * 2**32 / 9
    assert 100 - used <= math.log(1e-20)


# -- the exponential mechanism in Gaussian privacy ------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 3.0, 8.0])
def test_the_exponential_mechanism_is_gaussian_private(epsilon):
    """Of two outcomes with log-ratios at the ends of an interval, which are the worst of all."""
    charged = math.sqrt(ExponentialMechanism(epsilon=Fraction(epsilon)).mu_squared)
    worst = 0.0
    for above in np.linspace(0, epsilon, 201)[1:-1]:
        # P(o) = e^above P'(o) for one outcome, and e^(above - epsilon) for the other one.
        second = -math.expm1(above - epsilon) / (math.exp(above) - math.exp(above - epsilon))
        first = second * math.exp(above)
        worst = max(worst, norm.ppf(first) - norm.ppf(second))
    assert worst <= charged
    assert charged * (0.99 if epsilon <= 1 else 0.8) <= worst


def trade_off(first, second, errors):
    """Least errors of the second kind at errors of the first kind, by Neyman and Pearson."""
    order = np.argsort(-second / first)
    ends = np.append(0, first[order].cumsum()), 1 - np.append(0, second[order].cumsum())
    return np.interp(errors, *ends)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0, 6.0])
def test_no_test_beats_the_mu_of_an_exponential_mechanism(epsilon):
    """Its whole trade-off curve, far into the tails, lies above that of two normals."""
    mu = math.sqrt(ExponentialMechanism(epsilon=Fraction(epsilon)).mu_squared)
    tails = np.logspace(-13, -1, 400)
    errors = np.concatenate([np.linspace(0, 1, 2001), tails, 1 - tails])
    normals = norm.cdf(norm.ppf(1 - errors) - mu)
    rng = np.random.default_rng(0)
    for _ in range(200):
        n_candidates = int(rng.integers(2, 30))
        scores = rng.exponential(rng.choice([0.1, 1, 10]) / epsilon, n_candidates)
        moves = rng.choice([-0.5, 0.5], n_candidates)  # a range of one
        laws = [np.exp(epsilon * (own - own.max())) for own in (scores, scores + moves)]
        first, second = (law / law.sum() for law in laws)
        assert (trade_off(first, second, errors) >= normals - 1e-12).all()


@pytest.mark.parametrize(("epsilon", "n_releases", "gaussian"), [(0.05, 12, 0.1), (1, 4, 0.5)])
def test_exponential_and_gaussian_releases_add_up_in_mu(epsilon, n_releases, gaussian):
    """Delta of both together at every epsilon, of the worst pairs of the exponential mechanism."""
    one = float(ExponentialMechanism(epsilon=Fraction(epsilon)).mu_squared)
    mu = math.sqrt(n_releases * one + gaussian**2)

    def delta(mean, at):
        return norm.cdf(mean / 2 - at / mean) - np.exp(at) * norm.cdf(-mean / 2 - at / mean)

    hits = np.arange(n_releases + 1)
    for above in np.linspace(0, epsilon, 21)[1:-1]:
        second = -math.expm1(above - epsilon) / (math.exp(above) - math.exp(above - epsilon))
        pair = second * math.exp(above), second
        for p, q in (pair, pair[::-1]):
            loss = hits * math.log(p / q) + (n_releases - hits) * math.log((1 - p) / (1 - q))
            for at in np.linspace(0, 5 * mu, 16):
                together = binom.pmf(hits, n_releases, p) @ delta(gaussian, at - loss)
                assert together <= delta(mu, at) + 1e-13


def test_the_exponential_mechanism_takes_nothing_of_the_lattice():
    choice, accountant = ExponentialMechanism(epsilon=Fraction(1, 100)), GDPAccountant()
    assert accountant.lattice_error(choice, RANGE, 100) == 0
    assert accountant.cost(choice, RANGE) > 0
    assert accountant.cost(ExponentialMechanism(epsilon=math.inf), RANGE) == math.inf


@pytest.mark.parametrize("limit", [1e-290, 1e-9, 0.3, 1.0, 7.0, 1e12])
def test_a_search_takes_few_steps_to_the_largest_number(limit):
    steps = []

    def holds(number):
        steps.append(number)
        assert len(steps) < 1500, "the search does not end"
        return number <= limit

    found = _largest(holds)
    assert limit * (1 - 1e-12) <= found <= limit
