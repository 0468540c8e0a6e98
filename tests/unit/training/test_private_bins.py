"""Bins from noisy fine histograms."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dpboost.data.binner import Binner
from dpboost.data.feature_bins import fine_cells, uniform_bins, zoom_of
from dpboost.data.table import read_table
from dpboost.privacy.queries import handle_of
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.rows.raw_rows import RawRows
from dpboost.schema import Schema
from dpboost.training import private_bins
from dpboost.training.private_bins import (
    FIRST_SHARE,
    N_CELLS,
    ROW_UNITS,
    FineCounts,
    denoise,
    expected_masses,
    merge_cells,
    release_bins,
)
from tests.unit.ledgers import open_ledger

ledger = partial(open_ledger, seed=1)


def data(n_rows=20_000):
    """Dense below 0.1, with missing, infinite and far values; an even one; a category."""
    random = np.random.default_rng(0)
    X = np.empty((n_rows, 3))
    X[:, 0] = np.where(random.random(n_rows) < 0.9, random.uniform(0, 0.1, n_rows), 0.7)
    X[:, 1] = random.uniform(-5, 5, n_rows)
    X[:, 2] = random.integers(0, 3, n_rows)
    X[:5, 0] = np.nan, np.inf, -np.inf, 1e300, -3
    return X


SCHEMA = {"bounds": {0: (0, 1), 1: (-5, 5)}, "categories": {2: [0, 1, 2]}}


def source(table):
    return handle_of(RawRows(table=table, labels=np.zeros(table.n_rows)))


def released(records, X=None, n_bins=16):
    X = data() if X is None else X
    names = tuple(f"Column_{i}" for i in range(X.shape[1]))
    schema = Schema.coerce(SCHEMA).resolve(names)
    table = read_table(X, schema=schema)
    before = Binner.from_schema(schema, n_bins=n_bins, categorical=table.categorical)
    with records.sequential("preparation"):
        after, _ = release_bins(
            before,
            source(table),
            n_bins=n_bins,
            n_rows=len(X),
            budget=records.capacity,
            ledger=records,
        )
    return before, after.binner, table


def test_bins_are_finer_where_rows_are():
    before, after, table = released(ledger())
    equal, found = table.bins(before)[0], table.bins(after)[0]
    dense = data()[:, 0] < 0.1
    assert len(np.unique(equal[dense])) <= 3
    assert len(np.unique(found[dense])) >= 10
    assert after.n_bins[0] <= 16
    assert after.features[2] == before.features[2]
    assert found[0] == after.n_bins[0], "missing values keep their bin"


def test_one_release_of_all_histograms_with_their_bound():
    for neighbors, rows in ((Neighbors.ADD_REMOVE, 1), (Neighbors.REPLACE, 2)):
        for delta, constant in (
            (0, 2 * rows),
            (1e-6, math.sqrt(2 * rows) * ROW_UNITS),
        ):
            records = ledger(1.0, delta, neighbors)
            released(records)
            (entry,) = records.entries
            assert entry.label == "fine histograms"
            assert entry.bound.constant == pytest.approx(constant, rel=1e-5)
            assert Fraction(records.spent) / Fraction(records.capacity) == FIRST_SHARE


def wide(n_rows=20_000):
    """Rows in a hundredth of the bounds; twice in all of them; codes far below theirs."""
    random = np.random.default_rng(1)
    X = random.uniform(0.5, 0.51, (n_rows, 3))
    X[:, 1] = random.uniform(-5, 5, n_rows)
    return X


def test_rows_in_a_part_of_wide_bounds_are_counted_in_finer_cells():
    records = ledger(1.0, 1e-6)
    _, after, table = released(records, wide(), n_bins=64)
    first, second = records.entries
    assert first.label == second.label == "fine histograms"
    assert first.bound.constant == pytest.approx(math.sqrt(2) * ROW_UNITS, rel=1e-5)
    # Only the feature that needs it is counted again, and nothing is left for the trees.
    assert second.bound.constant == pytest.approx(ROW_UNITS, rel=1e-5)
    assert records.spent == records.capacity
    assert len(np.unique(table.bins(after)[0])) >= 48
    assert (after.features[0].lower, after.features[0].upper) == (0, 1)
    # What lies elsewhere is still told apart from them, and from what is further away.
    far = read_table(np.array([[0.0], [0.45], [0.505], [0.6], [1.0]]).repeat(3, axis=1))
    assert (np.diff(far.bins(after)[0].astype(int)) > 0).all()


def test_masses_of_finer_cells_are_those_of_the_rows(monkeypatch):
    found = []
    original = private_bins._zoomed
    monkeypatch.setattr(
        private_bins, "_zoomed", lambda *args: found.append(original(*args)) or found[-1]
    )
    X = wide(2000)
    X[:7, 0] = 0.0
    X[7:10, 0] = 0.9
    X[10:40, 0] = np.nan
    _, after, table = released(ledger(), X)
    ((bins, masses),) = found
    assert after.features[0] == bins
    counts = np.bincount(table.bins(after)[0], minlength=len(masses))
    assert counts[-1] == masses[-1] == 30
    # An edge of the two grids may be one unit in the last place apart.
    assert np.abs(np.cumsum(counts - masses)).max() <= 1


def test_rows_elsewhere_keep_the_cells_of_all_bounds():
    for elsewhere in (np.array([0.8]), np.linspace(0, 1, 8000)):
        X = wide()
        X[:8000, 0] = np.resize(elsewhere, 8000)
        records = ledger(1.0, 1e-6)
        released(records, X)
        assert len(records.entries) == 1


def test_finer_cells_of_whole_numbers_hold_one_at_least():
    names = ("a",)
    schema = Schema.coerce({"bounds": {"a": (0, 102_399)}, "integer": ["a"]}).resolve(names)
    binner = Binner.from_schema(schema, n_bins=32, categorical={})
    (bins,) = binner.features
    noisy = np.zeros(N_CELLS)
    noisy[3:6] = 1000.0
    zoom = zoom_of(bins, noisy, noise_stddev=1.0, n_rows=3000.0, whole=True)
    assert zoom.parts == 50  # of the hundred numbers of a cell, two in each
    assert zoom.first <= 3
    assert zoom.last >= 5
    edges = zoom.counted(1).lower + np.arange(3) / zoom.counted(1).scale
    assert np.allclose(edges % 1, 0.5)
    assert (
        zoom_of(
            replace(bins, upper=bins.lower + N_CELLS),
            noisy,
            noise_stddev=1.0,
            n_rows=3e3,
            whole=True,
        )
        is None
    )


def test_counts_that_noise_hides_make_no_cells_finer():
    bins = fine_cells(uniform_bins(0.0, 1.0, 64), whole=False)
    seen = np.zeros(N_CELLS)
    seen[500:504] = 500.0
    given = {"n_rows": 1000.0, "whole": False}
    assert zoom_of(bins, seen, noise_stddev=1.0, **given) is not None
    assert zoom_of(bins, seen, noise_stddev=200.0, **given) is None


@pytest.mark.parametrize("together", [1, 2, 64])
def test_cells_counted_together_are_sums_and_ends_are_apart(together):
    random = np.random.default_rng(2)
    X = random.uniform(-0.2, 1.2, (500, 3))
    X[:, 1] = random.integers(-5, 130, 500)
    X[:, 2] = random.integers(0, 9, 500)
    schema = Schema.coerce({"bounds": {0: (0, 1), 1: (0, 99), 2: (0, 6)}, "integer": [1, 2]})
    schema = schema.resolve(("a", "b", "c"))
    table = read_table(X, schema=schema)
    binner = Binner.from_schema(schema, n_bins=100, categorical={})
    fine = {
        0: fine_cells(binner.features[0], whole=False),
        **dict(enumerate(binner.features[1:], 1)),
    }
    query = FineCounts(fine=fine, zero_as_missing=False, units=3, together=together)
    counted = query.evaluate(RawRows(table=table, labels=np.zeros(500)))
    assert counted.shape == query.shape
    assert (counted.sum(axis=1) == 3 * 500).all(), "a row is in one cell of each feature"
    cells, ends = query.read(counted)
    inside = np.clip(X, 0, [1, 99, 6])
    for feature, n_cells in enumerate([N_CELLS, 100, 7]):
        edges = (0, 1) if not feature else (-0.5, n_cells - 0.5)
        expected = np.histogram(inside[:, feature], n_cells, edges)[0]
        assert ends[feature].tolist() == [expected[0], expected[-1]]
        expected = np.append(expected, np.zeros(N_CELLS - n_cells))
        # Where there are no more cells than would be counted, none are joined.
        width = together if n_cells > N_CELLS // together else 1
        assert cells[feature].tolist() == expected.reshape(-1, width).sum(axis=1).tolist()


def test_cells_are_counted_together_where_noise_hides_single_ones():
    X = data()
    X[:, 0] = 0.45 + 0.1 * X[:, 0]
    X[:, 1] = 0.05 * X[:, 1]
    found = {}
    for epsilon in (0.01, 1.0):
        records = ledger(epsilon, 1e-6)
        _, after, table = released(records, X, n_bins=64)
        entry = records.entries[0]
        found[epsilon] = entry.size // 2
        # Also with much noise most cuts are where the rows are, in a tenth of the bounds.
        inside = np.quantile(table.bins(after)[1], [0.01, 0.99])
        assert inside[1] - inside[0] >= 20
    assert found[1.0] == N_CELLS
    assert found[0.01] <= N_CELLS // 4 + 2


def test_missing_values_are_in_no_cell_and_far_ones_in_the_last(monkeypatch):
    seen = []
    monkeypatch.setattr(
        private_bins,
        "merge_cells",
        lambda noisy, *_: seen.extend(noisy) or np.zeros(noisy.shape, np.uint8),
    )
    X = data(1000)
    released(ledger(), X)
    assert [histogram.sum() for histogram in seen] == [999, 1000]
    assert seen[0][0] >= 2
    assert seen[0][-1] == 2
    expected = np.histogram(X[:, 1], N_CELLS, (-5, 5))[0]
    assert np.abs(np.cumsum(seen[1] - expected)).max() <= 1


def test_noise_moves_the_bins_only_a_little():
    _, exact, table = released(ledger())
    _, noisy, _ = released(ledger(1.0, 1e-6))
    dense = data()[:, 0] < 0.1
    assert len(np.unique(table.bins(noisy)[0][dense])) >= 8
    # Without noise the two would be the same bins.
    assert noisy.features[0].table != exact.features[0].table


def test_nothing_numeric_is_nothing_released():
    records = ledger(1.0)
    names = ("a",)
    schema = Schema.coerce({"categories": {"a": [0, 1]}}).resolve(names)
    table = read_table(np.zeros((5, 1)), schema=Schema.coerce({"categories": {0: [0, 1]}}))
    binner = Binner.from_schema(schema, n_bins=4, categorical=table.categorical)
    with records.sequential("preparation"):
        same, rest = release_bins(
            binner, source(table), n_bins=4, n_rows=5.0, budget=1, ledger=records
        )
    assert same.binner is binner
    assert rest == 1
    assert records.spent == 0


EVEN = np.full((1, N_CELLS), 1 / N_CELLS)


def merged(noisy, *numbers, expected=EVEN):
    """Bins of one feature's cells."""
    (bins,) = merge_cells(noisy[np.newaxis], *numbers, expected)
    return bins


def test_many_features_are_merged_as_one_by_one():
    noisy = np.random.default_rng(6).normal(3, 20, (5, N_CELLS)).cumsum(axis=1)
    together = merge_cells(noisy, 20.0, 5000.0, 100, np.repeat(EVEN, 5, axis=0))
    assert np.array_equal(together, [merged(one, 20.0, 5000.0, 100) for one in noisy])
    assert len({bins.tobytes() for bins in together}) == 5


@pytest.mark.parametrize("n_bins", [2, 16, 255])
@pytest.mark.parametrize("seed", range(5))
def test_bins_of_cells_go_up_by_at_most_one_and_are_not_too_many(n_bins, seed):
    random = np.random.default_rng(seed)
    counts = random.poisson(5.0 * (random.random(N_CELLS) < 0.2)).astype(float)
    for noise_stddev in (0.0, 1.0, 100.0):
        bins = merged(counts + noise_stddev, noise_stddev, max(counts.sum(), 1), n_bins)
        steps = np.diff(bins.astype(int))
        assert bins[0] == 0
        assert set(steps.tolist()) <= {0, 1}
        assert 1 <= bins[-1] + 1 <= n_bins


def test_an_empty_histogram_has_equal_bins():
    bins = merged(np.zeros(N_CELLS), 3.0, 1.0, 8)
    assert np.bincount(bins).tolist() == [N_CELLS // 8] * 8


def test_square_roots_of_mass_are_shared_out():
    counts = np.repeat([900.0, 100.0], N_CELLS // 2)
    bins = merged(counts, 0.0, counts.sum(), 40)
    assert (bins[N_CELLS // 2 - 1] + 1) / 40 == pytest.approx(0.75, abs=0.03)


def test_a_frequent_value_takes_one_bin_and_the_others_share_the_rest():
    counts = np.full(N_CELLS, 4.0)
    counts[[0, 300]] = 1e6
    bins = merged(counts, 0.0, counts.sum(), 40)
    sizes = np.bincount(bins)
    assert sizes[bins[0]] == sizes[bins[300]] == 1
    assert 36 <= len(sizes) <= 40
    others = np.delete(sizes, [bins[0], bins[300]])
    assert others.max() < 1.3 * others.min()


def test_noise_spreads_bins_over_empty_stretches():
    counts = np.where(np.arange(N_CELLS) < 64, 1000.0, 0.0)
    bins = [merged(counts, noise_stddev, counts.sum(), 32) for noise_stddev in (1e-6, 40.0, 400.0)]
    in_the_empty_part = [int(found[-1]) - int(found[64]) for found in bins]
    assert in_the_empty_part == sorted(set(in_the_empty_part))


def cells(lower, upper):
    """Fine cells between two bounds."""
    return fine_cells(uniform_bins(lower, upper, 2), whole=False)


def test_where_noise_hides_the_rows_some_bins_follow_the_logarithm():
    noisy = np.random.default_rng(7).normal(0, 1e4, N_CELLS)
    (expected,) = expected_masses([cells(0, 100)])
    bins = merged(noisy, 1e4, 4000.0, 64, expected=expected[np.newaxis])
    # Percentages of words, say: most of them are below one.
    assert bins[10] >= 4
    assert 0.2 < bins[N_CELLS // 10] / 64 < 0.5
    assert bins[-1] == 63


@pytest.mark.parametrize("bounds", [(0, 100), (-50, 50), (-100, 0), (1e-3, 1e6)])
def test_what_is_expected_of_cells_is_most_at_zero_and_one_in_all(bounds):
    (expected,) = expected_masses([cells(*bounds)])
    assert expected.sum() == pytest.approx(1)
    assert expected.min() > 0.4 / N_CELLS
    size = np.abs(np.linspace(*bounds, N_CELLS + 1)[:-1] + (bounds[1] - bounds[0]) / N_CELLS / 2)
    assert np.all(np.diff(expected[np.argsort(size, kind="stable")]) <= 1e-12)


@pytest.mark.parametrize("bounds", [(1e6, 1e6 + 1), (-1e300, -1e300 + 1e286), (2000, 2024)])
def test_far_from_zero_cells_are_alike(bounds):
    (expected,) = expected_masses([cells(*bounds)])
    np.testing.assert_allclose(expected, 1 / N_CELLS, rtol=0.02)


def test_without_noise_nothing_is_smoothed():
    counts = np.random.default_rng(3).integers(0, 50, (3, 64)).astype(float)
    np.testing.assert_allclose(denoise(counts, 0.0), counts)


def test_noise_is_smoothed_away_and_steps_stay():
    random = np.random.default_rng(4)
    truth = np.repeat([0.0, 200.0, 50.0, 0.0], N_CELLS // 4)
    noisy = truth + random.normal(0, 10, N_CELLS)
    (found,) = denoise(noisy[np.newaxis], 10.0)
    assert found.min() >= 0
    assert np.abs(found - truth).mean() < 0.1 * np.abs(noisy - truth).mean()
    assert len(np.unique(found)) < 40


def test_noise_alone_is_mostly_nothing():
    noise = np.random.default_rng(5).normal(0, 10, (10, N_CELLS))
    found = denoise(noise, 10.0)
    assert found.sum() < 0.1 * np.maximum(noise, 0).sum()


# -- whole numbers --------------------------------------------------------------------------------


def whole(bounds, values, n_bins=16, epsilon=math.inf):
    """Return bins of one column of whole numbers before and after the release."""
    X = np.asarray(values, dtype=float)[:, np.newaxis]
    schema = Schema(bounds={0: bounds}, integer=[0]).resolve(("x",))
    table = read_table(X, schema=schema)
    before = Binner.from_schema(schema, n_bins=n_bins)
    records = ledger(epsilon=epsilon)
    with records.sequential("preparation"):
        after, _ = release_bins(
            before,
            source(table),
            integer=schema.integer,
            n_bins=n_bins,
            n_rows=len(X),
            budget=records.capacity,
            ledger=records,
        )
    return before, after.binner, records


@pytest.mark.parametrize("upper", [23, 100, 1023, 1024, 5_000, 10**6])
def test_released_bins_of_whole_numbers_end_half_way_between_them(upper):
    values = np.minimum(np.random.default_rng(0).geometric(5 / upper, 20_000), upper)
    _, after, _ = whole((0, upper), values)
    assert after.n_bins[0] <= 16
    ends = after.thresholds(0)[:-1]
    np.testing.assert_allclose(ends - np.floor(ends), 0.5, atol=1e-6)
    counted = np.bincount(after.bin_values(0, values.astype(float)))
    assert (counted > 0).sum() > 8, "bins are where rows are"


def test_there_are_never_more_bins_than_values_and_values_beyond_are_in_the_last():
    values = np.random.default_rng(0).integers(0, 24, 20_000)
    for epsilon in (math.inf, 0.01):
        _, after, _ = whole((0, 23), values, n_bins=64, epsilon=epsilon)
        assert after.n_bins[0] <= 24
        last = after.n_bins[0] - 1
        assert after.bin_values(0, np.array([23.0, 24.0, 500.0, 1e9])).tolist() == [last] * 4
    _, after, _ = whole((0, 23), np.append(values, [900] * 9000), n_bins=64)
    assert after.n_bins[0] <= 24, "rows outside the bounds add no bins"


def test_noise_leaves_whole_numbers_all_their_bins():
    values = np.random.default_rng(0).integers(1, 79, 1000)
    _, after, _ = whole((1, 78), values, n_bins=64, epsilon=0.01)
    assert after.n_bins[0] >= 56, "no bins are kept for cells beyond the bounds"


def test_two_values_need_no_release():
    before, after, records = whole((0, 1), np.arange(1000) % 2)
    assert after is before
    assert after.n_bins[0] == 2
    assert records.spent == 0
