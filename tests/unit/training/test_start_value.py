"""The released start value and row count."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dpboost.losses import LogisticLoss, LogLinkLoss, OneVsRestLoss, SoftmaxLoss, SquaredLoss
from dpboost.privacy.queries import handle_of, store_of
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.rows import raw_rows
from dpboost.rows.raw_rows import ROW_UNITS, ClassSizes, EncodedRows, MeanAndRows, RowCount
from dpboost.rows.row_attributes import WEIGHT_ONE, RowExtras, Weighting
from dpboost.training.loss_choice import (
    LEAST_ROWS,
    SeenRows,
    release_class_sizes,
    release_start,
    start_query,
)
from tests.unit.ledgers import open_ledger
from tests.unit.linked import linked

LOSS = SquaredLoss.from_label_bounds(10.0, 20.0)


ledger = partial(open_ledger, seed=3)


def source(labels, present=None, sample_weight=None):
    present = np.ones(len(labels), bool) if present is None else present
    rows = EncodedRows(
        table=None,
        targets=labels,
        present=present,
        indices=np.asarray(labels),
        extras=RowExtras(sample_weight=sample_weight),
    )
    return handle_of(rows)


def release(loss, labels, records=None, present=None, weights=None, budget=None, **options):
    records = records or ledger()
    budget = records.capacity if budget is None else budget
    rows = source(labels, present, weights)
    weighting = None if weights is None else Weighting(max_weight=1.0)
    with records.sequential("preparation"):
        kinds = {name: options[name] for name in ("fixed", "classes") if name in options}
        sums = rows.ask(start_query(loss, weighting, **kinds), records.neighbors)
        return release_start(loss, sums, budget=budget, ledger=records, **options)


def test_without_noise_the_start_is_the_mean():
    y = np.random.default_rng(0).uniform(10, 20, 500) ** 1.02
    y = np.clip(y, 10, 20)
    started, seen = release(LOSS, LOSS.encode_labels(y))
    assert seen.n_rows == 500
    assert started.start == pytest.approx(y.mean(), abs=1e-4)
    assert LOSS.start == 15


def test_without_noise_the_start_is_the_log_odds():
    labels = (np.arange(400) % 4 == 0).astype(np.int64)
    started, seen = release(LogisticLoss(), labels)
    assert seen.n_rows == 400
    assert started.start == pytest.approx(math.log(1 / 3), abs=1e-5)


@pytest.mark.parametrize(("label", "share"), [(0, 0.01), (1, 0.99)])
def test_a_class_that_is_alone_has_a_start_of_bounded_size(label, share):
    started, _ = release(LogisticLoss(), np.full(300, label, dtype=np.int64))
    assert started.start == pytest.approx(math.log(share / (1 - share)), abs=1e-5)


def test_rows_that_take_no_part_are_not_seen():
    labels = LOSS.encode_labels(np.array([10.0, 12.0, 20.0, 14.0] * 50))
    present = np.arange(200) % 2 == 1
    started, seen = release(LOSS, labels, present=present)
    assert seen.n_rows == 100
    assert started.start == pytest.approx(13, abs=1e-4)


def test_few_rows_pull_the_start_to_the_middle():
    started, seen = release(LOSS, LOSS.encode_labels(np.array([20.0])))
    assert seen.n_rows == 1
    assert started.start == pytest.approx(15 + 5 / LEAST_ROWS, abs=1e-4)


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("neighbors", Neighbors)
def test_one_vector_is_booked_with_the_bound_of_its_relation(neighbors, delta):
    records = ledger(1.0, delta, neighbors)
    labels = LOSS.encode_labels(np.random.default_rng(1).uniform(10, 20, 5000))
    budget = records.capacity / 10
    release(LOSS, labels, records, budget=budget)
    assert records.spent == budget
    (entry,) = records.entries
    assert entry.label == "start value"
    assert entry.unit == 1 / ROW_UNITS
    replace = neighbors is Neighbors.REPLACE
    # One row moves (sum, count) by at most (1, 1); a replaced one by at most (2, 1) in this bound.
    factor = (4 if replace else 2) if delta == 0 else math.sqrt(5 if replace else 2)
    assert entry.bound.constant == pytest.approx(factor * ROW_UNITS, rel=1e-5)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_noise_is_drawn_around_the_truth(delta):
    y = np.full(20_000, 18.0)
    found = [release(LOSS, LOSS.encode_labels(y), ledger(1.0, delta, seed=s)) for s in range(20)]
    starts, counts = np.array([(loss.start, seen.n_rows) for loss, seen in found]).T
    assert min(len(set(counts)), len(set(starts))) > 15
    assert abs(counts - 20_000).max() < 200
    assert abs(starts - 18).max() < 0.1


def test_a_row_count_is_at_least_one():
    counts = [
        release(LOSS, LOSS.encode_labels(np.array([15.0])), ledger(Fraction(1, 20), seed=s))[
            1
        ].n_rows
        for s in range(20)
    ]
    assert min(counts) == 1
    assert max(counts) > 1


def test_a_weighted_start_is_the_weighted_mean():
    random = np.random.default_rng(2)
    y, weights = random.uniform(10, 20, 3000), random.uniform(0, 1, 3000)
    units = np.rint(weights * WEIGHT_ONE).astype(np.int32)
    started, seen = release(LOSS, LOSS.encode_labels(y), weights=units / WEIGHT_ONE)
    assert started.start == pytest.approx(np.average(y, weights=weights), abs=1e-3)
    assert seen.n_rows == pytest.approx(weights.sum(), rel=1e-4)


@pytest.mark.parametrize("make", [SoftmaxLoss, OneVsRestLoss])
def test_weighted_shares_of_classes(make):
    labels = np.repeat([0, 1, 2], 100)
    units = np.repeat([WEIGHT_ONE, WEIGHT_ONE // 2, WEIGHT_ONE // 4], 100).astype(np.int32)
    started, seen = release(make(n_outputs=3), labels, weights=units / WEIGHT_ONE)
    assert seen.n_rows == 175
    raw = np.array([started.start_units]) * started.unit
    np.testing.assert_allclose(linked(started, raw)[0], np.array([4, 2, 1]) / 7, rtol=1e-4)


def test_a_fixed_start_counts_rows_only():
    records = ledger(epsilon=1.0)
    loss = LogLinkLoss.poisson(0.0, 9.0)
    started, seen = release(loss, loss.encode_labels(np.ones(5000)), records, fixed=True)
    assert started is loss
    assert seen.n_rows == pytest.approx(5000, abs=30)
    assert [entry.bound.constant for entry in records.entries] == [ROW_UNITS]


def test_class_sizes_are_released_beside_the_rows_of_no_class():
    records = ledger()
    labels = np.repeat([0, 1], [30, 70])
    present = np.arange(100) % 10 != 0
    sums = source(labels, present).ask(ClassSizes(n_classes=3), records.neighbors)
    with records.sequential("preparation"):
        seen = release_class_sizes(sums, budget=records.capacity, ledger=records)
    assert seen.sizes == (27, 63, 0)
    assert (seen.n_rows, seen.others) == (90, 10)
    assert seen.some_take_no_part
    assert seen.empty_classes == (2,)
    assert len(records.entries) == 1


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", [LogisticLoss(), SoftmaxLoss(n_outputs=3)])
def test_rows_of_no_class_are_counted_as_ones_in_the_same_release(loss, weighted, fixed):
    records, labels = ledger(), np.repeat([0, 1], [30, 70])
    weights = np.full(100, 0.5) if weighted else None
    present = np.arange(100) % 10 != 0
    _, seen = release(loss, labels, records, present, weights, fixed=fixed, classes=True)
    part = 0.5 if weighted else 1
    assert (seen.n_rows, seen.others) == (90 * part, 10)
    expected = (27 * part, 63 * part, 0.0)
    assert seen.sizes == (() if fixed else expected[: max(2, loss.n_outputs)])
    assert seen.some_take_no_part
    assert len(records.entries) == 1


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("loss", [LogisticLoss(), SoftmaxLoss(n_outputs=3)])
def test_deviations_are_those_of_the_noise(loss, delta):
    labels, found = np.repeat([0, 1], 2000), []
    for seed in range(150):
        records = ledger(1.0, delta, seed=seed)
        _, seen = release(loss, labels, records, budget=records.capacity / 10, classes=True)
        found.append((*seen.sizes, seen.others))
    spread = np.std(found, axis=0)
    np.testing.assert_allclose(spread, (*seen.noise_stddevs, seen.noise_stddev), rtol=0.3)


@pytest.mark.parametrize(
    ("others", "sizes", "told", "empty"),
    [
        (30.0, (30.1, 42.0), False, (1,)),
        (30.1, (90.0, 90.0), True, ()),
        (0.0, (-5.0, 0.0), False, (0, 1)),
    ],
)
def test_three_deviations_decide(others, sizes, told, empty):
    seen = SeenRows(
        n_rows=1.0, sizes=sizes, noise_stddevs=(10.0, 14.0), others=others, noise_stddev=10.0
    )
    assert seen.some_take_no_part is told
    assert seen.empty_classes == empty


@pytest.mark.parametrize("weighting", [None, Weighting(max_weight=2.0)])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_pieces_of_rows_add_up(monkeypatch, weighting, size):
    random = np.random.default_rng(5)
    labels, weights = random.integers(0, 2, 50), random.random(50)
    present = random.random(50) < 0.8
    store = store_of(source(labels, present, None if weighting is None else weights))
    queries = [
        RowCount(weighting=weighting, others=True),
        ClassSizes(n_classes=2, weighting=weighting),
        MeanAndRows(loss=LogisticLoss(), weighting=weighting, others=True),
    ]
    whole = [store.exact(query) for query in queries]
    monkeypatch.setattr(raw_rows, "ROWS_AT_ONCE", size)
    for query, answer in zip(queries, whole, strict=True):
        assert np.array_equal(store.exact(query), answer)
    units = np.full(50, ROW_UNITS) if weighting is None else np.rint(weights * ROW_UNITS / 2)
    tolerance = 0 if weighting is None else 4 * 50
    assert whole[0][0] == pytest.approx(units[present].sum(), abs=tolerance)
    assert [answer[-1] for answer in whole] == [ROW_UNITS * (~present).sum()] * 3
    assert whole[1][:-1].sum() == whole[0][0]
    assert whole[2][0] == pytest.approx(units[present & (labels == 1)].sum(), abs=tolerance)


@pytest.mark.parametrize("loss", [LogisticLoss(), SoftmaxLoss(n_outputs=3), LOSS])
def test_a_cautious_start_is_pulled_to_the_middle_by_its_noise(loss):
    """Noise of 200 rows and more on a few; on many rows without noise nothing changes."""
    end = LOSS.encode_labels(np.array([20.0])) if loss is LOSS else np.zeros(1, dtype=np.int64)
    middle = 15.0 if loss is LOSS else 0.0
    far = []
    for cautious in (False, True):
        starts = []
        for seed in range(30):
            records = ledger(Fraction(1, 100), seed=seed)
            started, _ = release(loss, np.repeat(end, 20), records, cautious=cautious)
            values = np.atleast_1d(np.asarray(started.start_units)) * started.unit
            starts.append(np.abs(values - values.mean() if len(values) > 1 else values - middle))
        far.append(np.mean([one.max() for one in starts]))
    assert far[1] < 0.5 * far[0]
    exact, _ = release(loss, np.repeat(end, 900), cautious=True)
    plain, _ = release(loss, np.repeat(end, 900))
    assert exact.start_units == plain.start_units
