"""The balance of rows around a threshold, against all small tables."""

import itertools

import numpy as np
import pytest

from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.privacy.sensitivity.quantiles import quantile_balance
from dpboost.rows.held_out_rows import ROW_UNITS, HeldOutRows, QuantileBalance

ROWS = [(0.2, True), (0.7, True), (0.2, False), (0.7, False)]


def answer(query, rows):
    scores = np.array([score for score, _ in rows])
    present = np.array([here for _, here in rows], dtype=bool)
    return int(query.evaluate(HeldOutRows(scores=scores, present=present))[0])


def tables(n_rows):
    return [list(rows) for rows in itertools.product(ROWS, repeat=n_rows)]


def moved_most(query, neighbors):
    """Largest change over all pairs of neighbors of at most three rows."""
    largest = 0
    for n_rows in range(3):
        for rows in tables(n_rows):
            own = [answer(query, [*rows, row]) for row in ROWS]
            if neighbors is Neighbors.ADD_REMOVE:
                own.append(answer(query, rows))
                largest = max(largest, max(abs(each - own[-1]) for each in own))
            else:
                largest = max(largest, max(own) - min(own))
    return largest


@pytest.mark.parametrize("neighbors", list(Neighbors))
@pytest.mark.parametrize("level", [0.5, 0.9, 0.975, 0.2])
def test_the_constant_is_the_largest_change(level, neighbors):
    query = QuantileBalance(threshold=0.5, level=level)
    l1, l2 = query.bounds(neighbors)
    assert l1.constant == l2.constant == moved_most(query, neighbors)
    assert (l1.kind, l2.kind) == ("l1", "l2")


def test_one_row_is_at_most_one_row():
    for level in (0.5, 0.9, 0.999):
        l1, _ = QuantileBalance(threshold=0.5, level=level).bounds(Neighbors.ADD_REMOVE)
        assert l1.constant <= ROW_UNITS
        l1, _ = QuantileBalance(threshold=0.5, level=level).bounds(Neighbors.REPLACE)
        assert l1.constant == ROW_UNITS
    assert quantile_balance(3, 5, Neighbors.ADD_REMOVE)[0].constant == 5
    assert quantile_balance(3, 5, Neighbors.REPLACE)[0].constant == 8


def test_the_sign_says_on_which_side_the_quantile_is():
    rows = HeldOutRows(scores=np.arange(1.0, 11.0), present=np.ones(10, dtype=bool))
    signs = [
        QuantileBalance(threshold=float(t), level=0.7).evaluate(rows)[0] >= 0 for t in range(12)
    ]
    assert signs == [False] * 7 + [True] * 5
