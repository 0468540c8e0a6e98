"""The largest change that one row makes, by brute force over small tables."""

import itertools

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.privacy.sensitivity.histograms import level_sums

LIMIT = 4


def vector(rows, n_features):
    """Sums and counts in two cells a feature of two nodes, a count worth LIMIT units."""
    sums = np.zeros((2, 2, n_features, 2), dtype=np.int64)
    for node, bins, gradient in rows:
        for feature, cell in enumerate(bins):
            sums[0, node, feature, cell] += gradient
            sums[1, node, feature, cell] += LIMIT
    return sums


def rows_of(n_features):
    cells = itertools.product((0, 1), repeat=n_features)
    found = [
        (node, bins, gradient)
        for bins in cells
        for node in (0, 1)
        for gradient in (-LIMIT, 0, LIMIT)
    ]
    return [None, *found]  # None: no row, or one that the filter drops


@pytest.mark.parametrize("n_features", [1, 2, 3])
@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_the_bound_is_reached_and_never_exceeded(n_features, neighbors):
    alone = rows_of(n_features)
    others = alone if neighbors is Neighbors.REPLACE else [None]
    vectors = {row: vector([row] if row else [], n_features) for row in alone}
    largest = max(
        int(np.abs(vectors[one] - vectors[other]).sum()) for one in alone for other in others
    )
    assert largest == level_sums(n_features, LIMIT, neighbors).constant


def test_coordinates_are_those_of_the_rows_cells():
    bound = level_sums(3, LIMIT, Neighbors.ADD_REMOVE)
    assert bound.coordinates == 6
    assert bound.kind == "l1"


@pytest.mark.parametrize("wrong", [{"n_features": 0}, {"gradient_limit": 0}])
def test_refuses_numbers_that_mean_nothing(wrong):
    good = {"n_features": 2, "gradient_limit": LIMIT, "neighbors": Neighbors.ADD_REMOVE}
    with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
        level_sums(**(good | wrong))
