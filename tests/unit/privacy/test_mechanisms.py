import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    PermuteAndFlip,
)
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.sensitivity.bound import Sensitivity

PURE = [ExponentialMechanism, PermuteAndFlip, DiscreteLaplace]
SELECTIONS = [ExponentialMechanism, PermuteAndFlip]
EPSILONS = [Fraction(1, 7), Fraction(1), Fraction(31, 10)]


def column(values):
    return np.array(values, dtype=np.int64)


def support(bound, value):
    """Integers around a value that hold all but a negligible part of the noise."""
    return np.arange(value - 400 * bound.constant, value + 400 * bound.constant + 1)


def log_probabilities(mechanism, outputs, value, bound):
    return np.array([mechanism.log_probability(output, value, bound) for output in outputs])


# -- noise --------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("constant", [1, 3])
def test_discrete_laplace_costs_epsilon_and_not_less(epsilon, constant):
    mechanism, bound = DiscreteLaplace(epsilon=epsilon), Sensitivity("l1", constant, "test")
    outputs = support(bound, 0)
    here = log_probabilities(mechanism, outputs, column(0), bound)
    there = log_probabilities(mechanism, outputs, column(constant), bound)
    loss = np.abs(here - there)
    assert loss.max() <= float(epsilon) + 1e-9
    assert loss.max() >= 0.999 * float(epsilon)
    assert np.exp(here).sum() == pytest.approx(1, abs=1e-12)


def test_noise_of_an_array_is_independent_noise_of_its_entries():
    for mechanism, kind in (
        (DiscreteLaplace(epsilon=1), "l1"),
        (DiscreteGaussian(rho=Fraction(1, 8)), "l2"),
    ):
        bound = Sensitivity(kind, 2, "test")
        value, output = column([[1, 2], [3, 4]]), column([[0, 5], [3, -9]])
        parts = [
            mechanism.log_probability(column([o]), column([v]), bound)
            for o, v in zip(output.ravel(), value.ravel(), strict=True)
        ]
        assert mechanism.log_probability(output, value, bound) == pytest.approx(sum(parts))


@pytest.mark.parametrize("sigma", [1, 2, 30])
def test_discrete_gaussian_is_concentrated_at_its_rho(sigma):
    rho = Fraction(9, 2 * sigma**2)
    mechanism, bound = DiscreteGaussian(rho=rho), Sensitivity("l2", 3, "test")
    assert mechanism.parameters(bound) == (sigma,)
    outputs = np.arange(-60 * sigma, 60 * sigma + 1)
    here = log_probabilities(mechanism, outputs, column(0), bound)
    there = log_probabilities(mechanism, outputs, column(3), bound)
    assert np.exp(here).sum() == pytest.approx(1, abs=1e-12)
    for alpha in (1.5, 2, 5):
        divergence = np.log(np.exp(alpha * here + (1 - alpha) * there).sum()) / (alpha - 1)
        assert divergence <= alpha * float(rho) * (1 + 1e-12)
        assert divergence >= 0.9 * alpha * float(rho)


@pytest.mark.parametrize("probability", [Fraction(1, 2), Fraction(1, 100), Fraction(1, 10**9)])
@pytest.mark.parametrize("constant", [1, 5])
def test_tails(probability, constant):
    for mechanism, kind, exact in (
        (DiscreteLaplace(epsilon=2), "l1", True),
        (DiscreteGaussian(rho=Fraction(1, 50)), "l2", False),
    ):
        bound = Sensitivity(kind, constant, "test")
        tail = mechanism.tail(bound, probability)

        def upper(start, mechanism=mechanism, bound=bound):
            outputs = np.arange(start, start + 3000)
            return np.exp(log_probabilities(mechanism, outputs, column(0), bound)).sum()

        assert upper(tail) <= probability
        if exact and tail > 1:
            assert upper(tail - 1) > probability
        elif not exact:
            assert upper(tail) >= probability / 100


# -- selection ----------------------------------------------------------------------------------


def all_choices(scores):
    return [column(choice) for choice in itertools.product(*[range(scores.shape[1])] * len(scores))]


@pytest.mark.parametrize("kind", SELECTIONS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_selection_never_costs_more_than_epsilon(kind, epsilon):
    mechanism, bound = kind(epsilon=epsilon), Sensitivity("range", 4, "test")
    bases = [[0, 0, 0], [0, 5, -3], [0, -60, -60], [100, 99, 0]]
    worst = 0.0
    for base, change in itertools.product(bases, itertools.product((-3, 0, 1), repeat=3)):
        before, after = column([base]), column([base]) + column([change])
        outputs = all_choices(before)
        here = log_probabilities(mechanism, outputs, before, bound)
        there = log_probabilities(mechanism, outputs, after, bound)
        assert np.exp(here).sum() == pytest.approx(1, abs=1e-9)
        worst = max(worst, np.abs(here - there).max())
    assert worst <= float(epsilon) + 1e-9
    assert worst >= 0.8 * float(epsilon)


@pytest.mark.parametrize("kind", SELECTIONS)
def test_a_row_that_moves_between_nodes_costs_epsilon_at_most(kind):
    mechanism, bound = kind(epsilon=1), Sensitivity("range", 8, "test")
    before = column([[0, 0, -50], [0, 0, -50]])
    after = before + column([[3, -1, 0], [-3, 1, 1]])
    outputs = all_choices(before)
    here = log_probabilities(mechanism, outputs, before, bound)
    there = log_probabilities(mechanism, outputs, after, bound)
    assert np.abs(here - there).max() <= 1 + 1e-9


@pytest.mark.parametrize("kind", SELECTIONS)
def test_nodes_of_a_level_are_independent(kind):
    mechanism, bound = kind(epsilon=3), Sensitivity("range", 4, "test")
    scores = column([[0, 3, 1], [9, 2, 5]])
    for choice in all_choices(scores):
        parts = [
            mechanism.log_probability(choice[[i]], scores[[i]], bound) for i in range(len(scores))
        ]
        assert mechanism.log_probability(choice, scores, bound) == pytest.approx(sum(parts))


@pytest.mark.parametrize("n_candidates", [1, 2, 5, 6])
def test_permute_and_flip_by_enumeration_of_all_orders(n_candidates):
    mechanism, bound = PermuteAndFlip(epsilon=2), Sensitivity("range", 4, "test")
    scores = column([[0, -1, 0, -7, -2, -40][:n_candidates]])
    accepted = np.exp((scores[0] - scores.max()) / 2)
    probabilities = np.zeros(n_candidates)
    for order in itertools.permutations(range(n_candidates)):
        alive = 1.0 / math.factorial(n_candidates)
        for candidate in order:
            probabilities[candidate] += alive * accepted[candidate]
            alive *= 1 - accepted[candidate]
    found = log_probabilities(mechanism, all_choices(scores), scores, bound)
    np.testing.assert_allclose(np.exp(found), probabilities, rtol=1e-9)


# -- all ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PURE)
def test_parameters_are_rounded_towards_privacy(kind):
    bound = Sensitivity(kind.needs, 1234567, "test")
    epsilon = Fraction(10**12 + 39, 3 * 10**12 + 7)
    numerator, denominator = kind(epsilon=epsilon).parameters(bound)
    assert max(numerator, denominator) < 2**32
    realized = Fraction(numerator, denominator) * bound.constant
    assert epsilon * Fraction(999, 1000) < realized <= epsilon


def test_sigma_is_rounded_up():
    bound = Sensitivity("l2", 1000, "test")
    (sigma,) = DiscreteGaussian(rho=Fraction(1, 3)).parameters(bound)
    assert Fraction(1000**2, 2 * sigma**2) <= Fraction(1, 3)
    assert Fraction(1000**2, 2 * (sigma - 1) ** 2) > Fraction(1, 3)


@pytest.mark.parametrize("kind", PURE)
def test_budgets_too_small_to_draw_are_refused(kind):
    with pytest.raises(InvalidParameterError, match="too large to be drawn"):
        kind(epsilon=Fraction(1, 10**6)).parameters(Sensitivity(kind.needs, 10**6, "test"))
    with pytest.raises(InvalidParameterError, match="too large to be drawn"):
        DiscreteGaussian(rho=Fraction(1, 10**8)).parameters(Sensitivity("l2", 2**20, "test"))


def test_costs():
    half = Fraction(1, 2)
    costs = {
        kind: (kind(epsilon=half).epsilon, kind(epsilon=half).rho, kind(epsilon=half).mu_squared)
        for kind in PURE
    }
    assert costs == {
        ExponentialMechanism: (half, Fraction(1, 32), Fraction(355, 113) / 32),
        PermuteAndFlip: (half, Fraction(1, 8), None),
        DiscreteLaplace: (half, Fraction(1, 8), None),
    }
    gaussian = DiscreteGaussian(rho=half)
    assert (gaussian.epsilon, gaussian.rho, gaussian.mu_squared) == (None, half, 1)


@pytest.mark.parametrize("kind", [*PURE, DiscreteGaussian])
@pytest.mark.parametrize("rho", [Fraction(1, 7), Fraction(2), math.inf])
def test_of_rho_costs_at_most_rho(kind, rho):
    mechanism = kind.of_rho(rho)
    assert mechanism.rho <= rho
    assert rho == math.inf or mechanism.rho >= rho * Fraction(999_999, 1_000_000)


@pytest.mark.parametrize("kind", SELECTIONS)
def test_without_noise_the_best_candidate_wins_and_ties_go_to_the_first(kind):
    mechanism, bound = kind(epsilon=math.inf), Sensitivity("range", 1, "test")
    scores = column([[1, 5, 5], [-3, -9, -3]])
    chosen = mechanism.draw(scores, bound, Entropy.seeded(1))
    np.testing.assert_array_equal(chosen, [1, 0])
    assert mechanism.log_probability(chosen, scores, bound) == 0
    assert mechanism.log_probability(column([2, 0]), scores, bound) == -math.inf


@pytest.mark.parametrize(
    ("mechanism", "kind"),
    [(DiscreteLaplace(epsilon=math.inf), "l1"), (DiscreteGaussian(rho=math.inf), "l2")],
)
def test_without_noise_the_value_is_copied(mechanism, kind):
    value, bound = column([[1, 2]]), Sensitivity(kind, 1, "test")
    drawn = mechanism.draw(value, bound, Entropy.seeded(1))
    np.testing.assert_array_equal(drawn, value)
    assert not np.shares_memory(drawn, value)
    assert mechanism.log_probability(drawn, value, bound) == 0
    assert mechanism.log_probability(drawn + 1, value, bound) == -math.inf


@pytest.mark.parametrize("shape", [(3,), (2, 0), (1, 2, 3)])
@pytest.mark.parametrize("kind", SELECTIONS)
def test_selection_wants_nodes_by_candidates(kind, shape):
    with pytest.raises(InvalidParameterError, match="n_nodes, n_candidates"):
        kind(epsilon=1).check(np.zeros(shape, dtype=np.int64))


@pytest.mark.parametrize("kind", PURE)
@pytest.mark.parametrize("epsilon", [0, -1, "1", None, math.nan])
def test_epsilon_is_checked(kind, epsilon):
    with pytest.raises(InvalidParameterError, match=kind.__name__):
        kind(epsilon=epsilon)


@pytest.mark.parametrize(
    ("mechanism", "bound", "value", "outcomes"),
    [
        (DiscreteLaplace(epsilon=2), Sensitivity("l1", 3, "test"), column(7), range(-20, 35)),
        (
            DiscreteGaussian(rho=Fraction(1, 32)),
            Sensitivity("l2", 1, "test"),
            column(7),
            range(-20, 35),
        ),
        (
            ExponentialMechanism(epsilon=2),
            Sensitivity("range", 4, "test"),
            column([0, 3, -2]),
            range(3),
        ),
        (PermuteAndFlip(epsilon=2), Sensitivity("range", 4, "test"), column([0, 3, -2]), range(3)),
    ],
    ids=lambda part: type(part).__name__,
)
def test_draws_follow_the_stated_law(mechanism, bound, value, outcomes):
    n = 40_000
    many = np.ascontiguousarray(np.broadcast_to(value, (n, *value.shape)))
    drawn = mechanism.draw(many, bound, Entropy.seeded(77))
    single = value[None] if value.ndim else value
    law = np.exp(
        [
            mechanism.log_probability(column([o] if value.ndim else o), single, bound)
            for o in outcomes
        ]
    )
    observed = np.array([(drawn == outcome).sum() for outcome in outcomes])
    inside = law * n >= 10
    expected = np.append(law[inside], 1 - law[inside].sum()) * n
    observed = np.append(observed[inside], n - observed[inside].sum())
    keep = expected > 5
    statistic = ((observed - expected)[keep] ** 2 / expected[keep]).sum()
    assert stats.chi2.sf(statistic, keep.sum() - 1) > 1e-6
    assert observed[~keep].sum() <= 60
