"""Public tables: every entry correctly rounded, whatever the doubles of a machine are."""

from decimal import ROUND_HALF_EVEN, Context, Decimal

import numpy as np
import pytest

from dpboost.losses import link_table
from dpboost.losses.link_table import exponential_table, logistic_table, two_sided_table

EXACT = Context(prec=60, rounding=ROUND_HALF_EVEN)
ONE = Decimal(1 << 30)


@pytest.fixture(autouse=True)
def fresh():
    """No table of an earlier test."""
    made = (logistic_table, two_sided_table, exponential_table)
    for each in made:
        each.cache_clear()
    yield
    for each in made:
        each.cache_clear()


def heights(values):
    return [int(value.to_integral_value(ROUND_HALF_EVEN)) for value in values]


def powers(n):
    return [EXACT.exp(Decimal(-i) / 128) for i in range(n)]


@pytest.mark.parametrize("doubt", [link_table.DOUBT, 1.0, 0.1])
def test_the_logistic_table_is_rounded_correctly(monkeypatch, doubt):
    monkeypatch.setattr(link_table, "DOUBT", doubt)
    entries = logistic_table()
    exact = heights(EXACT.divide(ONE, 1 + odds) for odds in powers(1537))
    assert (entries >> 32).tolist() == exact
    assert (entries & 0xFFFFFFFF).tolist() == np.diff(exact, append=exact[-1]).tolist()


@pytest.mark.parametrize("doubt", [link_table.DOUBT, 1.0])
def test_the_exponential_table_is_rounded_correctly(monkeypatch, doubt):
    monkeypatch.setattr(link_table, "DOUBT", doubt)
    entries = exponential_table()
    exact = heights(EXACT.multiply(ONE, power) for power in powers(1536))
    assert (entries >> 32).tolist() == exact
    assert (entries & 0xFFFFFFFF).tolist() == (-np.diff(exact, append=0)).tolist()


def test_doubles_far_from_the_truth_within_doubt_do_no_harm(monkeypatch):
    exact = logistic_table().copy()
    logistic_table.cache_clear()
    exp = np.exp
    monkeypatch.setattr(np, "exp", lambda x: exp(x) * (1 + 1e-13))
    assert np.array_equal(logistic_table(), exact)


@pytest.mark.parametrize("limit", [1 << 16, 1 << 15, 50_000])
def test_the_two_sides_of_the_logistic_function_add_up_to_one(limit):
    left, right = np.split(two_sided_table(limit) >> 32, 2)
    assert right[0] == 1 << 29
    np.testing.assert_array_equal(left[1:] + right[:0:-1], 1 << 30)


def at_rest(clip, share):
    """Return the score at which clipped gradients of labels with this share add up to zero."""
    probability = (two_sided_table(round(clip * 2**16)) >> 32) / 2**30
    gradients = np.clip(probability, -clip, clip), np.clip(probability - 1, -clip, clip)
    total = (1 - share) * gradients[0] + share * gradients[1]
    return np.interp(0.0, total, np.arange(len(total)) / 128 - 12)


@pytest.mark.parametrize("clip", [0.1, 0.25, 0.5, 0.7, 0.9, 1.0])
@pytest.mark.parametrize("share", [0.002, 0.03, 0.2, 0.45, 0.6, 0.9, 0.99])
def test_rows_rest_at_the_odds_of_their_labels_wherever_gradients_are_clipped(clip, share):
    # With the logistic function itself a tenth of class 1 would rest at a twentieth, were the
    # clip one half.
    assert at_rest(clip, share) == pytest.approx(np.log(share / (1 - share)), abs=0.01)


@pytest.mark.parametrize("limit", [1, 1 << 14, 1 << 15, 60_000, 1 << 16])
def test_what_labels_are_compared_with_is_a_probability_and_never_falls(limit):
    table = two_sided_table(limit)
    values, rises = table >> 32, table & 0xFFFFFFFF
    assert values[0] >= 0
    assert (rises < 1 << 31).all(), "rises are not negative"
    np.testing.assert_array_equal(values[1:], (values + rises)[:-1])
    assert values[-1] + rises[-1] <= 1 << 30


@pytest.mark.parametrize("doubt", [link_table.DOUBT, 1.0])
def test_the_table_of_clipped_differences_is_rounded_correctly(monkeypatch, doubt):
    monkeypatch.setattr(link_table, "DOUBT", doubt)
    limit = Decimal(40_000 << 14)
    exact = [
        min(EXACT.multiply(limit, odds), EXACT.divide(ONE, 1 + 1 / odds))
        for odds in powers(1536)[1:]
    ]
    assert (two_sided_table(40_000) >> 32)[1535:0:-1].tolist() == heights(exact)
