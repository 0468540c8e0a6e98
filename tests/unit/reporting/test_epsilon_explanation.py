from __future__ import annotations

import builtins
import math

import numpy as np
import pytest
from scipy.stats import norm

import dpboost
from dpboost import InvalidParameterError, explain_epsilon

RATES = (0.0, 1e-4, 0.01, 0.1, 0.3, 0.5, 0.9, 1.0)


def best_test(absent: np.ndarray, present: np.ndarray, rate: float) -> float:
    """Largest true positives of any test at a rate of false positives, by Neyman and Pearson.

    The tests that matter accuse the outcomes in the order of their likelihood ratio, the last
    one by a coin.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-(present / absent))
    true, left = 0.0, rate
    for outcome in order:
        if absent[outcome] > left:
            return true + present[outcome] * left / absent[outcome]
        true, left = true + present[outcome], left - absent[outcome]
    return true


def worst_pair(epsilon: float, delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Randomized response that shows its row with probability delta."""
    odds = (1 - delta) / (1 + math.exp(epsilon))
    absent = np.array([0.0, odds, odds * math.exp(epsilon), delta])
    return absent, absent[::-1].copy()


@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.1])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("rate", RATES)
def test_randomized_response_attains_every_rate(epsilon: float, delta: float, rate: float) -> None:
    absent, present = worst_pair(epsilon, delta)
    best = best_test(absent, present, rate)
    assert explain_epsilon(epsilon, delta).true_positives(rate) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("delta", [0.0, 0.1])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_randomized_response_attains_the_advantage(epsilon: float, delta: float) -> None:
    absent, present = worst_pair(epsilon, delta)
    distance = np.maximum(present - absent, 0).sum()
    assert explain_epsilon(epsilon, delta).advantage == pytest.approx(distance, abs=1e-12)


@pytest.mark.parametrize("mu", [0.2, 1.0, 4.0])
def test_a_shifted_gaussian_attains_the_gaussian_bounds(mu: float) -> None:
    cells = np.linspace(-12, 16, 200_001)
    absent = np.diff(np.concatenate(([0.0], norm.cdf(cells), [1.0])))
    present = np.diff(np.concatenate(([0.0], norm.cdf(cells - mu), [1.0])))
    explained = explain_epsilon(mu=mu)
    for rate in RATES[1:-1]:
        threshold = norm.isf(rate)
        assert explained.true_positives(rate) == pytest.approx(norm.sf(threshold - mu), abs=1e-12)
    assert explained.advantage == pytest.approx(np.maximum(present - absent, 0).sum(), abs=1e-6)


def test_gaussian_draws_are_found_as_often_as_said() -> None:
    draws = np.random.default_rng(0).normal(size=400_000)
    threshold = norm.isf(0.01)
    found = float(np.mean(draws + 1.5 > threshold))
    assert explain_epsilon(mu=1.5).true_positives(0.01) == pytest.approx(found, abs=4e-3)


@pytest.mark.parametrize("prior", [0.01, 0.5, 0.9])
def test_the_posterior_of_randomized_response_is_bayes(prior: float) -> None:
    absent, present = worst_pair(2.0, 0.0)
    sure = prior * present[1] / (prior * present[1] + (1 - prior) * absent[1])
    explained = explain_epsilon(2.0)
    assert explained.posterior(prior, 0.0) == pytest.approx(sure, abs=1e-12)
    assert explained.posterior(prior) == pytest.approx(sure, abs=1e-12)


def test_one_outcome_may_tell_all_unless_epsilon_is_pure() -> None:
    assert explain_epsilon(1.0).posterior(0.5, 0.0) < 0.74
    assert explain_epsilon(1.0, 1e-6).posterior(0.5, 0.0) == 1.0
    assert explain_epsilon(mu=1.0).posterior(0.5, 0.0) == 1.0


def test_priors_that_are_sure_stay() -> None:
    for explained in (explain_epsilon(3.0, 1e-5), explain_epsilon(mu=2.0)):
        assert [explained.posterior(prior) for prior in (0.0, 1.0)] == [0.0, 1.0]


@pytest.mark.parametrize("explained", [explain_epsilon(0.0), explain_epsilon(mu=0.0)])
def test_a_perfect_guarantee_leaves_guessing(explained: dpboost.EpsilonExplanation) -> None:
    assert explained.advantage == 0
    assert [explained.true_positives(rate) for rate in RATES] == pytest.approx(RATES)
    assert explained.posterior(0.3) == pytest.approx(0.3)
    assert explained.posterior(0.3, 0.0) == pytest.approx(0.3)


@pytest.mark.parametrize(
    "explained", [explain_epsilon(math.inf), explain_epsilon(1e6), explain_epsilon(mu=math.inf)]
)
def test_no_guarantee_leaves_everything(explained: dpboost.EpsilonExplanation) -> None:
    assert explained.advantage == 1
    assert explained.true_positives(0.0) == 1
    assert explained.posterior(0.5, 0.0) == 1


def test_the_sentence_rounds_up() -> None:
    sentence = str(explain_epsilon(1.0, 1e-5))
    assert sentence.startswith("epsilon = 1, delta = 1e-05:")
    for bound in ("is at most 0.4622, for", "at most 2.72 %", "at most 73.12 %"):
        assert bound in sentence
    assert str(explain_epsilon(mu=1)).startswith("mu = 1:")


def test_the_table_holds_the_numbers_of_the_methods() -> None:
    table = explain_epsilon(1.0).table()
    assert "            1 %   2.719 %" in table
    assert "       50 %   73.11 %" in table
    assert "advantage at most 0.4622" in table


def test_plot_draws_the_bound_and_guessing() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    explained = explain_epsilon(1.0, 1e-5)
    axes = explained.plot()
    bound, guessing = axes.get_lines()
    drawn = [explained.true_positives(rate) for rate in bound.get_xdata()]
    assert list(bound.get_ydata()) == drawn
    assert list(guessing.get_xdata()) == list(guessing.get_ydata())
    assert explained.plot(axes) is axes
    pyplot.close(axes.figure)


def test_plot_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="pip install 'dpboost"):
        explain_epsilon(1.0).plot()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either epsilon"),
        ({"epsilon": 1.0, "mu": 1.0}, "either epsilon"),
        ({"epsilon": -1.0}, "'epsilon'"),
        ({"epsilon": math.nan}, "'epsilon'"),
        ({"epsilon": 1.0, "delta": 1.0}, "'delta'"),
        ({"mu": -0.1}, "'mu'"),
        ({"mu": 1.0, "delta": 1e-5}, "either mu or delta"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        explain_epsilon(**arguments)


@pytest.mark.parametrize("rate", [-0.1, 1.1, math.nan])
def test_rates_outside_their_domain_are_refused(rate: float) -> None:
    with pytest.raises(InvalidParameterError, match="'false_positives'"):
        explain_epsilon(1.0).true_positives(rate)
    with pytest.raises(InvalidParameterError, match="'prior'"):
        explain_epsilon(1.0).posterior(rate)
