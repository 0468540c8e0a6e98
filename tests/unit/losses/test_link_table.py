"""Public tables: every entry correctly rounded, whatever the doubles of a machine are."""

from __future__ import annotations

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


def test_the_two_sides_of_the_logistic_function_add_up_to_one():
    left, right = np.split(two_sided_table() >> 32, 2)
    assert right[0] == 1 << 29
    np.testing.assert_array_equal(left[1:] + right[:0:-1], 1 << 30)
