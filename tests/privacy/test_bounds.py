from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from dpboost.data.raw_rows import RawRows
from dpboost.data.table import read_table
from dpboost.privacy.accounting import GDPAccountant, PureAccountant, ZCDPAccountant
from dpboost.privacy.bounds import (
    LARGEST_EXPONENT,
    N_CELLS,
    SMALLEST_EXPONENT,
    cell_edges,
    magnitude_cells,
    release_bounds,
    release_magnitude,
)
from dpboost.privacy.relation import Neighbours
from dpboost.privacy.source import LocalSource

ZERO = N_CELLS // 2
DELTA = Fraction(1, 10**6)


def labelled(values):
    """Rows whose labels are these numbers."""
    return LocalSource(SimpleNamespace(labels=values))


def tabled(values):
    """Rows of a table of numbers."""
    return LocalSource(RawRows(table=read_table(values), labels=np.zeros(len(values))))


def cell(x):
    return int(magnitude_cells(np.array([x]))[0])


@pytest.mark.parametrize("exponent", [-300, -2, -1, 0, 1, 2, 53, 400])
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
    assert low == -high == -(2.0**LARGEST_EXPONENT)
    assert math.isfinite((high - low) ** 2)
    assert cell(math.nan) == N_CELLS


def test_cells_are_ordered_and_hold_their_numbers():
    generator = np.random.default_rng(3)
    x = np.sort(generator.normal(size=5000) * 10.0 ** generator.uniform(-150, 150, 5000))
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


def ages(generator):
    return generator.integers(17, 91, 30_000).astype(float)


COLUMNS = {
    "ages": (ages, (16, 128)),
    "incomes": (lambda g: np.exp(g.normal(10.5, 0.5, 30_000)), (2**12, 2**19)),
    "constant": (lambda g: np.full(5000, 3.7), (2, 4)),
    "zeros": (lambda g: np.zeros(5000), (0, 0)),
    "counts": (lambda g: g.poisson(2.0, 30_000).astype(float), (0, 16)),
    "negative": (lambda g: -ages(g), (-128, -16)),
    "both signs": (lambda g: g.uniform(-3, 3, 30_000), (-4, 4)),
    "with missing": (lambda g: np.where(g.random(30_000) < 0.5, np.nan, 5.0), (4, 8)),
}


@pytest.mark.parametrize("accountant", [PureAccountant(), ZCDPAccountant(), GDPAccountant()])
@pytest.mark.parametrize("name", COLUMNS)
def test_bounds_of_typical_columns(open_ledger, name, accountant):
    make, (low, high) = COLUMNS[name]
    ledger = open_ledger(accountant=accountant, delta=DELTA)
    values = make(np.random.default_rng(0))
    found = release_bounds(
        ledger, labelled(values), None, budget=ledger.capacity / 10, label="bounds"
    )
    assert ledger.spent == ledger.capacity / 10
    inside = np.mean((values >= found[0]) & (values <= found[1]) | np.isnan(values))
    assert inside > 0.98
    # Rows at the outer ends may be too few to be seen, but never make bounds wider.
    assert low <= found[0]
    assert found[1] <= high


def test_bounds_of_a_heavy_tail_do_not_follow_single_rows(open_ledger):
    values = np.concatenate([np.random.default_rng(0).pareto(1.5, 30_000), [1e30, -1e30]])
    low, high = release_bounds(
        open_ledger(), labelled(values), None, budget=Fraction(1, 10), label="bounds"
    )
    assert low >= 0
    assert 2 <= high <= 1024


def test_infinities_count_in_the_outermost_cell(open_ledger):
    found = release_bounds(
        open_ledger(), labelled(np.full(5000, -np.inf)), None, budget=1, label="bounds"
    )
    assert found == (-(2.0**LARGEST_EXPONENT), -(2.0 ** (LARGEST_EXPONENT - 1)))


def test_nothing_is_learned_from_a_few_rows(open_ledger):
    for values in (np.full(20, 5.0), np.empty(0), np.full(5000, np.nan)):
        ledger = open_ledger()
        assert (
            release_bounds(ledger, labelled(values), None, budget=Fraction(1, 10), label="x")
            is None
        )
        assert ledger.spent == Fraction(1, 10)


def test_without_noise_every_row_counts(open_ledger):
    ledger = open_ledger(epsilon=math.inf)
    values = np.array([-7.0, 0.3, 1e9, np.nan])
    assert release_bounds(ledger, labelled(values), None, budget=math.inf, label="x") == (
        -8,
        2.0**30,
    )


def test_an_empty_cell_is_rarely_taken_for_an_occupied_one(open_ledger):
    alarms = 0
    for _ in range(300):
        ledger = open_ledger(epsilon=1)
        alarms += (
            release_bounds(ledger, labelled(np.empty(0)), None, budget=1, label="x") is not None
        )
    assert alarms <= 8  # less than 1e-8 for the promised rate of at most 1/1000


@pytest.mark.parametrize("shape_of_missing", ["row", "cell"])
def test_magnitude_of_a_table_is_that_of_its_largest_column(open_ledger, shape_of_missing):
    generator = np.random.default_rng(1)
    table = generator.uniform(-1, 1, (20_000, 5)) * np.array([0.1, 1, -60, 2, 0])
    if shape_of_missing == "row":
        table[:100] = np.nan
    else:
        table[:, 4] = np.nan
    ledger = open_ledger()
    assert (
        release_magnitude(ledger, tabled(table), range(5), budget=Fraction(1, 10), label="x") == 64
    )
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("neighbours", Neighbours)
def test_a_row_moves_the_histogram_by_its_bound(open_ledger, neighbours):
    histograms = []
    for values in ([1.0, 5.0], [1.0, 5.0, 9.0], [1.0, 5.0, np.inf], [1.0, 5.0, np.nan]):
        ledger = open_ledger(neighbours=neighbours)
        release_bounds(ledger, labelled(np.array(values)), None, budget=1, label="x")
        histograms.append(ledger.values[0])
        constant = ledger.entries[0].bound.constant
    assert np.abs(histograms[1] - histograms[0]).sum() == 1
    assert np.abs(histograms[2] - histograms[1]).sum() == 2
    assert np.abs(histograms[3] - histograms[0]).sum() == 0
    assert constant == neighbours.rows
