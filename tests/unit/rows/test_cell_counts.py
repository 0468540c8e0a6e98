from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from dpboost._utils.schema_checks import LARGEST_BOUND, LEAST_WIDTH
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.rows.cell_counts import (
    HALVINGS,
    LARGEST_EXPONENT,
    N_CELLS,
    RANGE_CELLS,
    SMALLEST_EXPONENT,
    RangeCounts,
    cell_edges,
    magnitude_cells,
)

ZERO = N_CELLS // 2


def cell(x):
    return int(magnitude_cells(np.array([x]))[0])


@pytest.mark.parametrize("exponent", [-63, -60, -2, -1, 0, 1, 2, 53, 63])
@pytest.mark.parametrize("sign", [1, -1])
def test_powers_of_two_begin_a_cell(exponent, sign):
    power = 2.0**exponent
    low, high = cell_edges(cell(sign * power))
    assert {abs(low), abs(high)} == {power, 2 * power}
    assert cell(sign * np.nextafter(2 * power, 0)) == cell(sign * power)
    assert cell(sign * np.nextafter(power, 0)) == cell(sign * power) - sign


def test_cells_at_the_ends():
    assert cell(0.0) == cell(-0.0) == ZERO
    assert cell_edges(ZERO) == (0.0, 0.0)
    for x in (5e-324, 2.0**-1022, 2.0 ** (SMALLEST_EXPONENT - 1)):
        assert cell(x) == ZERO + 1
        assert cell(-x) == ZERO - 1
    assert cell_edges(ZERO + 1) == (0.0, 2.0**SMALLEST_EXPONENT)
    for x in (math.inf, 1.7e308, 2.0**LARGEST_EXPONENT):
        assert cell(x) == N_CELLS - 1
        assert cell(-x) == 0
    low, high = cell_edges(0)[0], cell_edges(N_CELLS - 1)[1]
    assert low == -high == -(2.0**64)
    assert SMALLEST_EXPONENT == -63
    assert cell(math.nan) == N_CELLS


def test_cells_are_ordered_and_hold_their_numbers():
    generator = np.random.default_rng(3)
    x = np.sort(generator.normal(size=5000) * 10.0 ** generator.uniform(-18, 18, 5000))
    cells = magnitude_cells(x)
    assert (np.diff(cells) >= 0).all()
    edges = np.array([cell_edges(int(c)) for c in cells])
    assert (edges[:, 0] <= x).all()
    assert (x <= edges[:, 1]).all()


def test_the_cell_of_a_row_depends_on_this_row_alone():
    generator = np.random.default_rng(4)
    x = np.concatenate([generator.normal(size=200), [0, np.inf, np.nan, -1, 5e-324]])
    alone = [cell(value) for value in x]
    np.testing.assert_array_equal(magnitude_cells(x), alone)
    np.testing.assert_array_equal(magnitude_cells(x[1:]), alone[1:])
    np.testing.assert_array_equal(magnitude_cells(x[::-2]), alone[::-2])


# -- cells of a range of labels --------------------------------------------------------------------

CELLS = [RANGE_CELLS, 1, None]


def test_cells_of_a_range():
    equal = RangeCounts(low=-1.0, high=3.0, units=1).edges
    np.testing.assert_allclose(equal, np.linspace(-1, 3, RANGE_CELLS + 1))
    assert equal[0] == -1
    assert equal[-1] == 3
    np.testing.assert_array_equal(
        RangeCounts(low=-1.0, high=3.0, units=1, n_cells=1).edges, (-1, 3)
    )


@pytest.mark.parametrize(
    ("low", "high", "near_zero"),
    [(-1.0, 3.0, 0.0), (2.0, 6.0, 2.0), (-6.0, -2.0, -2.0), (0.0, 4.0, 0.0), (-1e300, 1e308, 0.0)],
)
def test_cells_without_a_number_are_finest_near_zero(low, high, near_zero):
    edges = RangeCounts(low=low, high=high, units=1, n_cells=None).edges
    assert edges[0] == low
    assert edges[-1] == high
    assert near_zero in edges
    assert len(edges) <= 2 * HALVINGS + 4
    width = high / 2 - low / 2
    steps = {abs(edge - near_zero) / width for edge in edges[1:-1] if edge != near_zero}
    assert steps <= {2.0**-power for power in range(-1, HALVINGS)}
    assert 2.0 ** (1 - HALVINGS) in steps


@pytest.mark.parametrize("n_cells", CELLS)
def test_a_label_is_counted_between_its_edges(n_cells):
    query = RangeCounts(low=-1.7, high=2.3, units=5, n_cells=n_cells)
    edges = query.edges
    for position in range(query.shape[0]):
        for label in (edges[position], np.nextafter(edges[position + 1], -9)):
            found = query.evaluate(SimpleNamespace(labels=np.array([label])))
            assert np.flatnonzero(found).tolist() == [position]
    for label in (-1e300, 1e300):
        found = query.evaluate(SimpleNamespace(labels=np.array([label])))
        assert found[0 if label < 0 else -1] == found.sum() == 5


@pytest.mark.parametrize("n_cells", CELLS)
@pytest.mark.parametrize("neighbors", Neighbors)
def test_a_row_moves_the_counts_of_a_range_by_its_bound(neighbors, n_cells):
    """All pairs of small tables, labels at and outside the ends among them."""
    values = [-1e300, -1.0, -0.999, 0.0, 0.5, 1.0, np.nextafter(1, 0), 7.0]
    query = RangeCounts(low=-1.0, high=1.0, units=3, n_cells=n_cells)
    empty, one = np.array([2.0, 0.5]), []
    for value in values:
        one.append(query.evaluate(SimpleNamespace(labels=np.append(empty, value))))
        assert one[-1].shape == query.shape
        assert one[-1].sum() == 9
    before = query.evaluate(SimpleNamespace(labels=empty))
    pairs = [(before, after) for after in one]
    if neighbors is Neighbors.REPLACE:
        pairs = [(first, second) for first in one for second in one]
    moved = [(np.abs(b - a).sum(), math.sqrt(((b - a) ** 2).sum())) for a, b in pairs]
    for bound, largest in zip(query.bounds(neighbors), np.max(moved, axis=0), strict=True):
        assert largest <= bound.constant
        if n_cells != 1 or neighbors is Neighbors.ADD_REMOVE:
            # A replaced row stays in the only cell.
            assert bound.constant <= math.ceil(largest)


@pytest.mark.parametrize("n_cells", CELLS)
def test_the_cell_of_a_label_depends_on_this_row_alone(n_cells):
    labels = np.random.default_rng(5).uniform(-3, 3, 301)
    query = RangeCounts(low=-1.7, high=2.3, units=1, n_cells=n_cells)
    alone = sum(query.evaluate(SimpleNamespace(labels=labels[i : i + 1])) for i in range(301))
    np.testing.assert_array_equal(query.evaluate(SimpleNamespace(labels=labels)), alone)


def test_learned_bounds_are_bounds_that_may_be_declared():
    edges = [cell_edges(number) for number in range(N_CELLS)]
    assert max(max(map(abs, pair)) for pair in edges) <= LARGEST_BOUND
    widths = [high - low for low, high in edges]
    assert min(width for width in widths if width) >= LEAST_WIDTH
