"""Where labels lie inside bounds, whatever these are; the bounds where noise hides the labels."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from dpboost._utils.schema_checks import LEAST_WIDTH
from dpboost.losses import SquaredLoss
from dpboost.privacy.accounting import GDPAccountant, PureAccountant, ZCDPAccountant
from dpboost.privacy.queries import handle_of
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity
from dpboost.rows.cell_counts import RANGE_CELLS
from dpboost.training.label_range import (
    MOST_LOOKS,
    STRAY_CELL,
    NoisyCount,
    _Counts,
    release_label_range,
    release_row_count,
)
from tests.unit import ledgers

DELTA = Fraction(1, 10**6)


def open_ledger(seed=0, **options):
    return ledgers.open_ledger(**{"epsilon": Fraction(1), "seed": seed, **options})


def looked(ledger, values, low, high, budget=Fraction(1, 10)):
    found = seen(ledger, values, low, high, budget)
    return None if found is None else found[:2]


def seen(ledger, values, low, high, budget=Fraction(1, 10)):
    source = handle_of(SimpleNamespace(labels=np.asarray(values, dtype=float)))
    count = release_row_count(ledger, source, low, high, budget=budget / 10, label="x")
    return release_label_range(ledger, source, low, high, count=count, budget=budget, label="x")


@pytest.mark.parametrize("accountant", [PureAccountant(), ZCDPAccountant(), GDPAccountant()])
@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("wide", [1, 10, 100, 1e4, 1e6])
def test_a_range_is_found_in_bounds_that_are_far_too_wide(accountant, neighbors, wide):
    values = np.random.default_rng(0).normal(5, 1, 20_000)
    ledger = open_ledger(accountant=accountant, delta=DELTA, neighbors=neighbors)
    budget = ledger.capacity / 10
    low, high = looked(ledger, values, -20 * wide, 20 * wide, budget)
    assert 1 <= low <= 3.2
    assert 6.8 <= high <= 9
    assert 3 <= len(ledger.entries) <= 2 + MOST_LOOKS
    histograms = budget / 3 + (len(ledger.entries) - 2) * budget * 2 / 3
    assert ledger.spent == budget / 10 + histograms


def test_labels_far_from_zero_are_found_again_and_again():
    values = 1e9 + np.random.default_rng(0).normal(size=7000)
    for seed in range(20):
        ledger = open_ledger(seed)
        low, high = looked(ledger, values, -4e9, 4e9)
        assert 1e9 - 20 < low < high < 1e9 + 20
        assert 5 <= len(ledger.entries) <= 2 + MOST_LOOKS


def test_a_range_in_exact_numbers():
    """The second histogram has the cells of the first between 16 and 32, each 1/4 wide."""
    ledger = open_ledger(epsilon=math.inf)
    low, high = looked(ledger, np.linspace(16, 32, 1600, endpoint=False), 0, 256, math.inf)
    assert low == pytest.approx(16.16)
    assert high == pytest.approx(31.84)
    assert len(ledger.entries) == 3


def test_tails_of_a_hundredth_are_left_out_and_gaps_are_not_in_the_range():
    values = np.concatenate([[-900.0] * 2, np.linspace(1, 2, 996), [900.0] * 2])
    low, high = looked(open_ledger(epsilon=math.inf), values, -1000, 1000, math.inf)
    assert 0.9 < low < high < 2.1


def test_tails_are_told_where_most_of_the_variance_lies_in_them():
    """Ten labels of a thousand have nearly all of the variance: the first cells end at 1024."""
    values = np.concatenate([np.linspace(0, 1, 990), np.linspace(700, 900, 10)])
    found = seen(open_ledger(epsilon=math.inf), values, 0, 1024, math.inf)
    assert found.high < 2
    assert found.tails[0] < 0.01
    assert found.tails[1] == 1024.0
    # One that lies apart has little of it.
    values[-10:] = np.linspace(0, 1, 10)
    values[-1] = 1.5
    assert seen(open_ledger(epsilon=math.inf), values, 0, 1024, math.inf).tails is None


@pytest.mark.parametrize("accountant", [PureAccountant(), GDPAccountant()])
def test_noise_makes_no_tails(accountant):
    values = np.random.default_rng(0).normal(5, 1, 20_000)
    for seed in range(50):
        ledger = open_ledger(seed, accountant=accountant, delta=DELTA)
        assert seen(ledger, values, -2e6, 2e6, ledger.capacity / 10).tails is None


def test_ranges_stay_inside_the_bounds_and_above_the_finest():
    for value in (0.0, 1.0, 1e9, -1e9, 0.3):
        low, high = looked(open_ledger(epsilon=math.inf), [value] * 9, -1e9, 1e9, math.inf)
        assert -1e9 <= low < high <= 1e9
        # A label at an edge is at the end of its cell.
        assert 2 * low - high <= value <= 2 * high - low
        SquaredLoss.from_label_bounds(low, high)
    assert looked(open_ledger(), [1.0] * 9000, 1.0, 1.0 + 2.0**-40) is None


@pytest.mark.parametrize("values", [[], [3.0] * 10, np.linspace(-1, 1, 30)])
def test_a_range_is_not_found_where_noise_hides_it(values):
    found = [looked(open_ledger(seed), values, -10, 10, Fraction(1, 100)) for seed in range(20)]
    assert sum(one == (-10, 10) for one in found) >= 18


def test_a_range_is_not_that_of_most_rows_where_many_others_do_not_show():
    """One label in three is spread so wide that no cell of these shows."""
    generator = np.random.default_rng(0)
    values = np.where(generator.random(5000) < 0.35, generator.uniform(-100, 100, 5000), 1.0)
    for seed in range(20):
        low, high = looked(open_ledger(seed), values, -100, 100, Fraction(1, 10))
        assert low < -20
        assert high > 20


@pytest.mark.parametrize(
    ("rows", "third", "seen", "ends"),
    [
        (1000.0, 3.0, True, (0.0, 20.0)),
        (1139.0, 3.0, True, (0.0, 20.0)),  # noise of two deviations hides no range
        (1300.0, 3.0, False, None),
        (1139.0, 300.0, True, None),
    ],
)
def test_a_number_of_rows_raised_by_noise_hides_no_range(rows, third, seen, ends):
    counts = _Counts(
        edges=np.linspace(0, 80, 9),
        released=np.array([999.0, -36, third, 5, 29, -35, -16, 39]),
        noise_stddev=29.0,
        threshold=93.0,
    )
    count = NoisyCount(rows=rows, noise_stddev=70.0)
    assert counts.shows(count) == seen
    assert counts.both(count) == ends


def test_noise_of_merged_cells_is_rarely_taken_for_rows():
    """Discrete Laplace noise has the heavier tail; that of a sum is convolved exactly."""
    noise = PureAccountant().noise(Fraction(1, 10))
    least = noise.tail(Sensitivity("l1", 1, "", 1), STRAY_CELL / RANGE_CELLS)
    law = np.exp(-0.1 * np.abs(np.arange(-600, 601)))
    law /= law.sum()
    size = 1
    while RANGE_CELLS // size >= 4:
        threshold = math.ceil(least * math.sqrt(size))
        alarm = law[len(law) // 2 + threshold :].sum()
        assert alarm * RANGE_CELLS / size <= float(STRAY_CELL)
        law = np.convolve(law, law)
        size *= 2


@pytest.mark.parametrize("size", [1e-10, 1e-22, 1e-24, 1e-30, 1e-300])
def test_no_range_is_narrower_than_one_that_may_be_declared(size):
    values = np.random.default_rng(0).uniform(1, 2, 20_000) * size
    for bounds in ((-1.0, 1.0), (0.0, LEAST_WIDTH), (0.0, 1e-20)):
        found = looked(open_ledger(epsilon=Fraction(50)), values, *bounds, budget=Fraction(10))
        assert found is None or found[1] - found[0] >= LEAST_WIDTH
