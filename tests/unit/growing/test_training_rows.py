"""The rows of a run: who is in which tree, with which gradient."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dpboost._utils.threads import Threads
from dpboost.growing.boosting_loop import EnsemblePlan, TrainingRows
from dpboost.losses import LogisticLoss, SquaredLoss
from dpboost.privacy.queries import LocalRows, RowHandle, _reveal
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.rows.boosting_queries import SumScale
from dpboost.rows.boosting_state import BoostingState
from dpboost.trees.bin_layout import Layout
from dpboost.trees.gain import GradientGain
from dpboost.trees.leaf_index import leaf_index
from dpboost.trees.random_partition import PartitionGrid
from dpboost.trees.tree import Tree, threshold_sets
from tests.unit.binned_table import tree_of
from tests.unit.ledgers import open_ledger

N_ROWS = 400
LAYOUT = Layout(
    cell_offsets=np.array([0, 5, 9], np.int32),
    candidate_offsets=np.array([0, 4, 7], np.int32),
    is_categorical=np.zeros(2, np.uint8),
)
LOSS = SquaredLoss.from_label_bounds(-1.0, 1.0)
GRID = PartitionGrid(n_bins=np.array([4, 3], np.int32), is_nominal=np.zeros(2, np.uint8))
SCALE = SumScale(
    gradient_limit=1.0,
    gradient_reach=LOSS.gradient_reach(1.0),
    hessian_reach=LOSS.hessian_reach,
    hessian_unit=LOSS.hessian_unit,
    hessian_share=0.3,
    norm="l1",
)
ALL = EnsemblePlan(n_trees=1, shares=None)
THREE = EnsemblePlan(n_trees=3, shares=(Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)))
HALF_UNUSED = EnsemblePlan(n_trees=2, shares=(Fraction(1, 4), Fraction(1, 4)))


class Recorder(GradientGain):
    """A criterion that keeps the root histogram it is shown."""

    def scores(self, sums, counts, layout, workspace=None):
        seen.append((sums.copy(), counts.copy()))
        return super().scores(sums, counts, layout, workspace)


seen: list = []


ledger = partial(open_ledger, seed=5)


def table(seed=0):
    random = np.random.default_rng(seed)
    bins = np.array([random.integers(0, 5, N_ROWS), random.integers(0, 4, N_ROWS)], np.uint8)
    return bins, LOSS.encode_labels(random.uniform(-0.6, 0.6, N_ROWS))


class Apart:
    """A store whose places add up histograms, since no place has all rows."""

    def __init__(self, rows):
        local = LocalRows(rows)
        self.sensitive, self.exact, self.apply = local.sensitive, local.exact, local.apply


def training_rows(bins, labels, present=None, loss=LOSS):
    present = np.ones(bins.shape[1], bool) if present is None else present
    rows = BoostingState(bins, labels, present, loss, LAYOUT, Threads(1))
    return TrainingRows(RowHandle(Apart(rows)), LAYOUT)


def histogram(rows, index, records, gradient_bound=1.0):
    """Sums and counts of the root of one tree, as the criterion sees them."""
    data = rows.take(index).node_statistics(gradient_bound, records.neighbors)
    seen.clear()
    data.split_scores(Recorder(hessian=1.0, reg_lambda=0.1, gradient_limit=65536))
    return seen[0]


def expected(bins, gradients, taken):
    sums, counts = np.zeros((1, 9), np.int64), np.zeros((1, 9), np.int64)
    for feature, first in enumerate((0, 5)):
        np.add.at(sums[0], first + bins[feature, taken].astype(int), gradients[taken])
        np.add.at(counts[0], first + bins[feature, taken].astype(int), 1)
    return sums, counts


def gradients_of(scores, labels):
    return np.rint((scores - labels) * (65536 / LOSS.half_units)).astype(np.int64)


def stump(left, right):
    return Tree(
        feature=np.array([0], np.int32),
        left_bins=threshold_sets(np.array([1], np.uint8), np.array([False])),
        left=np.array([~0], np.int32),
        right=np.array([~1], np.int32),
        leaf_value=np.array([left, right], np.int64),
    )


def grow(rows, taken, partition):
    """Give every leaf of a partition that was asked about a value; return the tree."""
    values = np.arange(partition.n_leaves, dtype=np.int64)[np.newaxis] * 5000
    taken.add(values)
    tree = tree_of(partition, values[0])
    rows.append((tree,))
    return tree


def assert_histogram(found, wanted):
    assert np.array_equal(found[0], wanted[0])
    assert np.array_equal(found[1], wanted[1])


def test_a_tree_without_shares_takes_every_row():
    bins, labels = table()
    rows, records = training_rows(bins, labels), ledger()
    rows.deal(ALL, records)
    found = histogram(rows, 0, records)
    gradients = gradients_of(LOSS.start_units, labels)
    assert_histogram(found, expected(bins, gradients, np.arange(N_ROWS)))


@pytest.mark.parametrize("plan", [THREE, HALF_UNUSED])
def test_every_row_is_in_the_tree_of_its_coin_and_in_no_other(plan):
    bins, labels = table()
    rows, records = training_rows(bins, labels), ledger()
    rows.deal(plan, records)
    coins = ledger().row_coins().blocks(plan.shares, N_ROWS)  # the same seed, the same key
    gradients = gradients_of(LOSS.start_units, labels)
    taken = 0
    for index in range(plan.n_trees):
        members = np.flatnonzero(coins == index)
        found = histogram(rows, index, records)
        assert_histogram(found, expected(bins, gradients, members))
        taken += len(members)
    assert taken == N_ROWS if plan is THREE else 0 < taken < N_ROWS


def test_each_ensemble_deals_anew_and_returns_to_all_rows():
    bins, labels = table()
    rows, records = training_rows(bins, labels), ledger()
    found = []
    for _ in range(2):
        rows.deal(THREE, records)
        found.append(histogram(rows, 0, records))
    assert not np.array_equal(found[0][1], found[1][1])
    rows.deal(ALL, records)
    assert histogram(rows, 0, records)[1].sum() == 2 * N_ROWS


def test_scores_are_up_to_date_however_late_a_row_is_asked_for():
    bins, labels = table()
    rows, records = training_rows(bins, labels), ledger()
    scores = np.full(N_ROWS, LOSS.start_units)
    for step in range(6):
        rows.deal(THREE, records)
        histogram(rows, step % 3, records)
        left, right = 1000 * (step + 1), -3000 * (step + 1)
        rows.append((stump(left, right),))
        scores += np.where(bins[0] <= 1, left, right)
    rows.deal(ALL, records)
    found = histogram(rows, 0, records)
    assert_histogram(found, expected(bins, gradients_of(scores, labels), np.arange(N_ROWS)))


@pytest.mark.parametrize("plan", [ALL, THREE])
def test_trees_that_are_no_round_are_in_all_scores_once(plan):
    bins, labels = table()
    records = ledger()
    rows, scores = training_rows(bins, labels), np.full(N_ROWS, LOSS.start_units)
    for step in range(4):
        rows.deal(plan, records)
        taken = rows.take(0)
        partition = GRID.random(np.array([0, 1], np.int32), 3, np.random.default_rng(step))
        taken.leaf_sums(partition, SCALE, records.neighbors)
        grown = grow(rows, taken, partition)
        scores += grown.leaf_value[leaf_index(grown, bins)]
        if step % 2:
            rows.correct((stump(-7000 * step, 9000),))
            scores += np.where(bins[0] <= 1, -7000 * step, 9000)
    assert rows.n_trees == 4
    rows.deal(ALL, records)
    found = histogram(rows, 0, records)
    assert_histogram(found, expected(bins, gradients_of(scores, labels), np.arange(N_ROWS)))


def test_rows_of_no_class_leave_no_trace():
    bins, labels = table()
    present = np.arange(N_ROWS) % 3 != 0
    classes = (labels > 0).astype(np.int64)
    records = ledger()
    whole = training_rows(bins, classes, present, LogisticLoss())
    part = training_rows(
        np.ascontiguousarray(bins[:, present]), classes[present], loss=LogisticLoss()
    )
    whole.deal(ALL, records)
    part.deal(ALL, records)
    assert_histogram(histogram(whole, 0, records), histogram(part, 0, records))


def test_the_filter_drops_rows_with_large_gradients_and_nobody_else():
    bins, labels = table()
    rows, records = training_rows(bins, labels), ledger()
    rows.deal(ALL, records)
    found = histogram(rows, 0, records, gradient_bound=0.25)
    gradients = gradients_of(LOSS.start_units, labels)
    kept = np.flatnonzero(np.abs(labels - LOSS.start_units) <= 0.25 * LOSS.half_units)
    assert 0 < len(kept) < N_ROWS
    assert_histogram(found, expected(bins, gradients, kept))


@pytest.mark.parametrize("neighbors", Neighbors)
def test_statistics_carry_the_bounds_of_the_ledgers_relation(neighbors):
    rows, records = training_rows(*table()), ledger(neighbors=neighbors)
    rows.deal(ALL, records)
    data = rows.take(0).node_statistics(1.0, records.neighbors)
    criterion = GradientGain(hessian=1.0, reg_lambda=0.1, gradient_limit=65536)
    assert data.split_scores(criterion).bounds == (criterion.bound(neighbors),)


def test_a_question_that_is_asked_twice_gets_the_same_answer():
    bins, labels = table()
    records = ledger()
    for plan in (ALL, THREE):
        rows = training_rows(bins, labels)
        rows.deal(plan, records)
        for seed in range(3):
            partition = GRID.random(np.array([0, 1], np.int32), 3, np.random.default_rng(seed))
            taken = rows.take(0)
            first, second = (
                _reveal(taken.leaf_sums(partition, SCALE, records.neighbors)) for _ in range(2)
            )
            assert first.any()
            assert np.array_equal(first, second)
            grow(rows, taken, partition)
