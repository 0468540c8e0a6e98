from __future__ import annotations

import math
import pickle
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.accounting import GDPAccountant, PureAccountant, ZCDPAccountant
from dpboost.privacy.ledger import BudgetExceededError
from dpboost.privacy.queries import handle_of
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.privacy.stability_histogram import NameCounts
from dpboost.rows.category_counts import count_values
from dpboost.training.private_categories import release_categories

DELTA = Fraction(1, 10**5)


@dataclass(frozen=True)
class Tally:
    """Counts of columns that are lists of values."""

    columns: tuple[str, ...]

    def count(self, rows):
        return [count_values(rows[name]) for name in self.columns]


def learn(ledger, columns, budget=Fraction(1, 2), delta=DELTA):
    rows = handle_of(columns)
    return release_categories(ledger, rows, Tally(tuple(columns)), budget=budget, delta=delta)


@pytest.mark.parametrize("accountant", [PureAccountant(), ZCDPAccountant(), GDPAccountant()])
def test_frequent_categories_come_out_sorted_and_rare_ones_do_not(open_ledger, accountant):
    ledger = open_ledger(delta=DELTA * 10, accountant=accountant)
    columns = {
        "town": ["b"] * 900 + ["a"] * 600 + ["z"] * 3000 + ["rare"],
        "code": np.array([3, 1, 2] * 1000 + [77]),
        "size": [2.5, None, math.nan] * 800,
    }
    before = ledger.capacity
    found = learn(ledger, columns, budget=before / 4)
    assert found == {"town": ["a", "b", "z"], "code": [1, 2, 3], "size": [2.5]}
    assert ledger.spent == before / 4
    assert ledger.delta_spent == DELTA
    assert len(ledger.entries) == 1


def smallest_passing(open_ledger, n_columns, accountant, neighbors):
    """Find by forced outcomes which noisy count the code lets through, and its noise."""
    columns = {f"c{i}": ["x"] for i in range(n_columns)}

    def passes(noisy):
        ledger = open_ledger(delta=DELTA * 10, accountant=accountant, neighbors=neighbors)
        ledger.forced = [np.full(n_columns, noisy)]
        released = learn(ledger, columns, budget=ledger.capacity / 2)
        assert len(set(map(tuple, released.values()))) == 1
        return released["c0"] == ["x"], ledger.entries[0], int(ledger.values[0].flat()[0])

    low, high = 0, 1 << 40
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle)[0] else (middle, high)
    return (high, *passes(high)[1:])


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("n_columns", [1, 3])
def test_a_single_row_comes_out_with_probability_delta_at_most(open_ledger, neighbors, n_columns):
    threshold, entry, unit = smallest_passing(open_ledger, n_columns, PureAccountant(), neighbors)
    assert unit == 1
    assert entry.mechanism.threshold == threshold
    law, bound = entry.mechanism.noise, entry.bound

    def escapes(least):
        k = np.arange(least, least + 4000)
        one_row = np.int64(1)
        return n_columns * sum(math.exp(law.log_probability(i, one_row, bound)) for i in k)

    assert escapes(threshold) <= DELTA < escapes(threshold - 1)
    assert entry.charge.delta == DELTA
    assert bound.constant == n_columns * neighbors.rows


@pytest.mark.parametrize("accountant", [ZCDPAccountant(), GDPAccountant()])
def test_a_single_row_under_gaussian_noise(open_ledger, accountant):
    threshold, entry, unit = smallest_passing(open_ledger, 2, accountant, Neighbors.ADD_REMOVE)
    assert unit == 2**16
    (sigma,) = entry.mechanism.parameters(entry.bound)
    z = (threshold - unit) / sigma
    assert 0.02 * DELTA < 2 * 0.5 * math.erfc(z / math.sqrt(2)) < DELTA


def test_the_threshold_of_the_continuous_law_would_not_do():
    """P(X >= t) at t = ln(1 / 2 delta) / rate, where this is an integer."""
    rate, t = 1.0, 10
    delta = math.exp(-rate * t) / 2
    assert math.exp(-rate * t) / (1 + math.exp(-rate)) > 1.4 * delta


def test_delta_zero_names_the_schema(open_ledger):
    ledger = open_ledger()
    with pytest.raises(InvalidParameterError, match=r"'town'.*Schema\(categories=.*classes="):
        learn(ledger, {"town": ["a"]}, delta=0)
    assert ledger.entries == ()


def test_delta_is_limited_by_the_ledger(open_ledger):
    ledger = open_ledger(delta=DELTA / 2)
    with pytest.raises(BudgetExceededError, match="delta"):
        learn(ledger, {"town": ["a"]})
    assert ledger.entries == ()


def test_order_and_representation_do_not_depend_on_the_rows_order(open_ledger):
    rows = [True, 1, 1.0, -0.0, 0.0, "1", b"1", np.int64(1), np.float32(1.0), ("a", 1)] * 400
    results = []
    for column in (rows, rows[::-1]):
        found = learn(open_ledger(delta=DELTA), {"c": column})["c"]
        results.append([(type(value), repr(value)) for value in found])
    assert results[0] == results[1]
    assert len(results[0]) == 7
    assert (float, "0.0") in results[0]


def test_columns_of_nothing(open_ledger):
    assert learn(open_ledger(delta=DELTA), {"c": [None] * 50, "d": []}) == {"c": [], "d": []}
    assert learn(open_ledger(delta=DELTA), {}) == {}


def test_without_noise_every_category_comes_out(open_ledger):
    ledger = open_ledger(epsilon=math.inf)
    assert learn(ledger, {"c": ["b", "a"]}, budget=math.inf, delta=0) == {"c": ["a", "b"]}


def test_what_cannot_be_a_category_is_refused_without_showing_it(open_ledger):
    with pytest.raises(InvalidParameterError) as caught:
        learn(open_ledger(delta=DELTA), {"c": [["secret"]]})
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_what_leaves_the_gate_shows_neither_a_count_nor_how_many_names_there_are(open_ledger):
    """One more row with a name of its own changes nothing that anybody sees."""
    seen = []
    for column in (["a"] * 4000, ["a"] * 4000 + ["lone"]):
        ledger = open_ledger(delta=DELTA * 10)
        outcome = learn(ledger, {"c": column})
        (entry,) = ledger.entries
        seen.append((outcome, entry.charge, entry.bound, entry.mechanism))
    assert seen[0] == seen[1]
    with pytest.raises(TypeError, match="private rows"):
        pickle.dumps(NameCounts(columns=[count_values(["a"])]))
