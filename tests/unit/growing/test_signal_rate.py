"""Steps grow smaller where the first rounds have shown little, and only there."""

import math

import pytest

from dpboost.growing.partition_learner import FIRST_ROUNDS, LEAST_FACTOR, LITTLE, SignalRate


def after(part, *, n_rows=1000.0, entropy=0.5, rounds=FIRST_ROUNDS, rate=0.2):
    """Return the factor once so large a part of all there is to know was learned."""
    signal = SignalRate(n_rows=n_rows, entropy=entropy, doubt=2.0)
    for _ in range(rounds):
        assert signal.factor == 1.0
        signal.learn(part * n_rows * entropy / rate / FIRST_ROUNDS, 0.0, rate)
    return signal


@pytest.mark.parametrize(
    ("part", "factor"),
    [
        (-0.1, LEAST_FACTOR),
        (0.0, LEAST_FACTOR),
        (0.9 * LITTLE * LEAST_FACTOR, LEAST_FACTOR),
        (0.5 * LITTLE, 0.5),
        (LITTLE, 1.0),
        (0.9, 1.0),
    ],
)
def test_steps_follow_what_was_learned(part, factor):
    assert after(part).factor == pytest.approx(factor)
    assert after(part, n_rows=5e6, entropy=0.01, rate=0.05).factor == pytest.approx(factor)


def test_the_first_rounds_decide_once():
    signal = after(0.5 * LITTLE)
    signal.learn(1e9, 0.0, 0.2)
    assert signal.factor == pytest.approx(0.5)
    assert after(0.0, rounds=FIRST_ROUNDS - 1).factor == 1.0


@pytest.mark.parametrize(
    ("doubt", "deviation", "factor"),
    [(2.0, 0.04, 0.4), (2.0, 0.09, 0.9), (2.0, 5.0, 1.0), (4.0, 0.04, 0.8), (0.0, 5.0, 0.25)],
)
def test_gains_that_noise_may_hide_are_no_reason_for_small_steps(doubt, deviation, factor):
    n_rows, rate = 1000.0, 0.2
    signal = SignalRate(n_rows=n_rows, entropy=1.0, doubt=doubt)
    for _ in range(FIRST_ROUNDS):
        signal.learn(0.0, (deviation * n_rows / rate) ** 2 / FIRST_ROUNDS, rate)
    assert signal.factor == pytest.approx(min(1.0, max(doubt * deviation / LITTLE, LEAST_FACTOR)))
    assert signal.factor == pytest.approx(factor)


def test_what_there_is_to_know_follows_the_classes():
    assert SignalRate.of_classes(100.0, 0.5, 2.0).entropy == pytest.approx(math.log(2))
    found = SignalRate.of_classes(100.0, 0.1, 2.0).entropy
    assert found == pytest.approx(-0.1 * math.log(0.1) - 0.9 * math.log(0.9))
    for share in (0.0, 1.0):
        signal = SignalRate.of_classes(100.0, share, 2.0)
        for _ in range(FIRST_ROUNDS):
            signal.learn(1.0, 0.0, 0.2)
        assert signal.factor == 1.0, "nothing to know"
