import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from dpboost.data.table import read_table
from dpboost.privacy.accounting import GDPAccountant, PureAccountant, ZCDPAccountant
from dpboost.privacy.mechanisms import DiscreteLaplace
from dpboost.privacy.queries import handle_of
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity
from dpboost.rows.cell_counts import LARGEST_EXPONENT, N_CELLS, cell_edges
from dpboost.rows.raw_rows import RawRows
from dpboost.training.private_bounds import (
    FALSE_ALARM,
    magnitudes,
    release_bounds,
    release_magnitude,
)

ZERO = N_CELLS // 2
DELTA = Fraction(1, 10**6)


def labeled(values):
    """Rows whose labels are these numbers."""
    return handle_of(SimpleNamespace(labels=values))


def tabled(values):
    """Rows of a table of numbers."""
    return handle_of(RawRows(table=read_table(values), labels=np.zeros(len(values))))


def learned(ledger, values, column=None, budget=Fraction(1, 10)):
    """Release the bounds of labels, or of a column of a table."""
    rows = labeled(values) if column is None else tabled(values)
    return release_bounds(ledger, rows, column, budget=budget, label="x")


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
    found = learned(ledger, values, budget=ledger.capacity / 10)
    assert ledger.spent == ledger.capacity / 10
    inside = np.mean((values >= found[0]) & (values <= found[1]) | np.isnan(values))
    assert inside > 0.98
    # Rows at the outer ends may be too few to be seen, but never make bounds wider.
    assert low <= found[0]
    assert found[1] <= high


def test_bounds_of_a_heavy_tail_do_not_follow_single_rows(open_ledger):
    values = np.concatenate([np.random.default_rng(0).pareto(1.5, 30_000), [1e30, -1e30]])
    low, high = learned(open_ledger(), values)
    assert low >= 0
    assert 2 <= high <= 1024


def test_infinities_count_in_the_outermost_cell(open_ledger):
    found = learned(open_ledger(), np.full(5000, -np.inf), budget=1)
    assert found == (-(2.0**LARGEST_EXPONENT), -(2.0 ** (LARGEST_EXPONENT - 1)))


def test_nothing_is_learned_from_a_few_rows(open_ledger):
    for values in (np.full(20, 5.0), np.empty(0), np.full(5000, np.nan)):
        ledger = open_ledger()
        assert learned(ledger, values) is None
        assert ledger.spent == Fraction(1, 10)


def test_without_noise_every_row_counts(open_ledger):
    ledger = open_ledger(epsilon=math.inf)
    values = np.array([-7.0, 0.3, 1e9, np.nan])
    assert learned(ledger, values, budget=math.inf) == (
        -8,
        2.0**30,
    )


def laplace_tail(rate, threshold):
    """P(noise >= threshold) of discrete Laplace noise, with ratio exp(-rate)."""
    return math.exp(-rate * threshold) / (1 + math.exp(-rate))


def gaussian_tail(sigma, threshold):
    """P(noise >= threshold) of discrete Gaussian noise, from above.

    The weight of an integer is below the integral over the unit before it, and the weights of all
    integers add up to more than the integral over the line.
    """
    return math.erfc((threshold - 1) / (sigma * math.sqrt(2))) / 2


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("budget", [Fraction(1, 1000), Fraction(1, 30), Fraction(1), Fraction(40)])
@pytest.mark.parametrize("accountant", [PureAccountant(), ZCDPAccountant(), GDPAccountant()])
def test_noise_is_taken_for_rows_in_less_than_one_column_in_a_million(
    open_ledger, accountant, budget, neighbors
):
    ledger = open_ledger(accountant=accountant, neighbors=neighbors, delta=DELTA)
    noise = accountant.noise(budget)
    query = magnitudes(ledger, None, budget)
    (bound,) = [bound for bound in query.bounds(neighbors) if bound.kind == noise.needs]
    # The threshold that releases are held against.
    threshold = noise.tail(bound, FALSE_ALARM / N_CELLS)
    numbers = noise.parameters(bound)
    if noise.needs == "l1":
        alarm = laplace_tail(numbers[0] / numbers[1], threshold)
    else:
        alarm = gaussian_tail(numbers[0], threshold)
    assert N_CELLS * alarm <= 1e-6


def test_thresholds_are_those_of_the_law(open_ledger, monkeypatch):
    asked = []
    original = DiscreteLaplace.tail

    def tail(self, bound, probability):
        asked.append(probability)
        return original(self, bound, probability)

    monkeypatch.setattr(DiscreteLaplace, "tail", tail)
    learned(open_ledger(), np.ones(9), budget=1)
    assert asked == [Fraction(1, 10**6) / N_CELLS]
    asked.clear()
    learned(open_ledger(), np.ones(9000), budget=1)
    # A lower one, for cells beside one that has passed.
    assert asked == [Fraction(1, 10**6) / N_CELLS, Fraction(1, 20) / 20]


def test_cells_beside_an_occupied_one_pass_more_easily(open_ledger):
    """Noise of scale 10: 195 rows for a cell alone, 53 beside it."""
    for other, seen in ((-3.0, True), (60.0, True), (70.0, False), (0.05, False), (-1e9, False)):
        values = np.concatenate([np.full(5000, 9.0), np.full(110, other)])
        low, high = learned(open_ledger(), values)
        assert (low <= other <= high) is seen
        column = learned(open_ledger(), values[:, np.newaxis], 0)
        assert (column[0] <= other <= column[1]) is seen


def test_cells_of_a_column_pass_together_where_none_does_alone(open_ledger):
    """Noise of scale 10: 195 rows for a cell alone."""
    spread = 2.0 ** np.random.default_rng(0).uniform(1, 5, 600)
    for values, seen in ((spread, True), (spread[:200], False)):
        column = learned(open_ledger(), values[:, np.newaxis], 0)
        assert (column is not None) is seen
        assert not seen or (column[0] <= 4 and 16 <= column[1] <= 128)
    labels = learned(open_ledger(), spread)
    assert labels is None


def test_which_cells_pass_the_lower_threshold(open_ledger, monkeypatch):
    """By released counts that are given: seven cells below the outermost one, and two above."""
    noise, bound = DiscreteLaplace(epsilon=Fraction(1)), Sensitivity("l1", 1, "test")
    enough = noise.tail(bound, Fraction(1, 20) / 20)
    rows = labeled(np.zeros(1))

    def bounds(counts):
        released = np.zeros(N_CELLS, dtype=np.int64)
        for position, number in counts.items():
            released[position] = number
        ledger = open_ledger()
        monkeypatch.setattr(type(ledger), "release", lambda *_, **__: released)
        return release_bounds(ledger, rows, None, budget=1, label="x")

    top = ZERO + 40
    low, high = cell_edges(top)
    assert bounds({top: 1000}) == (low, high)
    for step, passes in ((32, False), (33, True), (40, True), (42, True), (43, False)):
        mirrored = {top: 1000, ZERO - step: enough}
        outer = cell_edges(ZERO - step)[0]
        assert bounds(mirrored) == ((outer if passes else low), high)
        assert bounds(mirrored | {ZERO - step: enough - 1}) == (low, high)
    # Zero has no magnitude that is like that of another cell.
    low, high = cell_edges(ZERO + 3)
    assert bounds({ZERO + 3: 1000, ZERO: enough}) == (low, high)
    assert bounds({ZERO + 3: 1000, ZERO: 1000}) == (0.0, high)


def test_nothing_is_learned_from_nothing(open_ledger):
    for _ in range(300):
        ledger = open_ledger(epsilon=1)
        assert learned(ledger, np.empty(0), budget=1) is None


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


@pytest.mark.parametrize("neighbors", Neighbors)
def test_a_row_moves_the_histogram_by_its_bound(open_ledger, neighbors):
    histograms = []
    for values in ([1.0, 5.0], [1.0, 5.0, 9.0], [1.0, 5.0, np.inf], [1.0, 5.0, np.nan]):
        ledger = open_ledger(neighbors=neighbors)
        learned(ledger, np.array(values), budget=1)
        histograms.append(ledger.values[0])
        constant = ledger.entries[0].bound.constant
    assert np.abs(histograms[1] - histograms[0]).sum() == 1
    assert np.abs(histograms[2] - histograms[1]).sum() == 2
    assert np.abs(histograms[3] - histograms[0]).sum() == 0
    assert constant == neighbors.rows
