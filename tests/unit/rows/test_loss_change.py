from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest

from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.rows.loss_change import LossChange, TwiceJudged

UNITS = 64
LOSSES = (0.0, 0.1, 0.26, 0.5, 3.0)
QUERY = LossChange(bound=0.25, units=UNITS)


def rows(*pairs):
    before, now = np.array(pairs, dtype=float).reshape(-1, 2).T
    return TwiceJudged(before=before, now=now)


@pytest.mark.parametrize("kind", ["l1", "l2"])
def test_constants_are_those_of_all_rows_and_pairs_of_rows(kind) -> None:
    sums = [int(QUERY.evaluate(rows(pair))[0]) for pair in product(LOSSES, repeat=2)]
    added = max(map(abs, sums))
    replaced = max(abs(one - other) for one, other in product(sums, repeat=2))
    for relation, largest in ((Neighbors.ADD_REMOVE, added), (Neighbors.REPLACE, replaced)):
        (bound,) = [each for each in QUERY.bounds(relation) if each.kind == kind]
        assert bound.constant == largest
        assert bound.coordinates == 1


def test_changes_add_up_row_by_row() -> None:
    some, others = rows((0.2, 0.1), (0.0, 9.0)), rows((0.3, 0.3), (1.0, 0.9))
    both = rows((0.2, 0.1), (0.0, 9.0), (0.3, 0.3), (1.0, 0.9))
    assert QUERY.evaluate(both) == QUERY.evaluate(some) + QUERY.evaluate(others)
    assert QUERY.evaluate(rows()) == 0
    assert QUERY.evaluate(some) * QUERY.unit == pytest.approx(0.1 - 0.25, abs=0.5 / UNITS)


def test_losses_that_are_no_numbers_stay_inside_the_bound() -> None:
    # Squares of errors overflow to infinity, and infinity less infinity is no number.
    odd = rows((np.inf, np.inf), (np.nan, 1.0), (np.inf, 0.0), (0.0, np.inf), (1e308, -1e308))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = [
            int(QUERY.evaluate(TwiceJudged(before=odd.before[[k]], now=odd.now[[k]]))[0])
            for k in range(5)
        ]
    assert alone == [0, 0, UNITS, -UNITS, UNITS]
    assert QUERY.evaluate(odd)[0] == sum(alone)
