"""Rounds of random partitions on a small private table."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dpboost._utils.threads import Threads
from dpboost.growing.boosting_loop import EnsemblePlan, TrainingRows
from dpboost.growing.feature_sampler import FeatureQueue, Preference
from dpboost.growing.partition_learner import (
    FIRST_ROUNDS,
    WEIGHT_UNITS,
    PartitionLearner,
    SignalRate,
)
from dpboost.growing.shrunken_leaves import ShrunkenLeaf
from dpboost.losses import LogisticLoss, SquaredLoss
from dpboost.privacy.queries import handle_of, store_of
from dpboost.rows.boosting_queries import SumScale
from dpboost.rows.boosting_state import BoostingState
from dpboost.trees.bin_layout import Layout
from dpboost.trees.forest import Forest
from dpboost.trees.random_partition import ORDERED_CATEGORIES, PartitionGrid
from tests.unit.ledgers import open_ledger

N_ROWS = 3000
N_BINS = np.array([6, 5, 4], np.int32)
CATEGORICAL = np.array([0, 1, 0], np.uint8)
ALL = EnsemblePlan(n_trees=1, shares=None)
LOSSES = {"squared": SquaredLoss.from_label_bounds(-1.0, 1.0), "logistic": LogisticLoss()}


ledger = partial(open_ledger, seed=5)


def learner(loss, *, depth=3, to_order=(), clip=1.0, seed=0, depth_alone=0):
    public = np.random.default_rng(seed)
    return PartitionLearner(
        loss=loss,
        grid=PartitionGrid(n_bins=N_BINS, is_nominal=CATEGORICAL),
        queue=FeatureQueue(3, Preference(doubt=0.0, power=0.5, floor=0.2), public),
        scale=SumScale(
            gradient_limit=clip,
            gradient_reach=loss.gradient_reach(clip),
            hessian_reach=loss.hessian_reach,
            hessian_unit=loss.hessian_unit,
            hessian_share=0.3,
            norm="l2",
        ),
        leaf=ShrunkenLeaf(reg_lambda=1.0, prior=0.1),
        features_per_tree=2,
        depth=depth,
        learning_rate=0.5,
        to_order=list(to_order),
        public=public,
        depth_alone=depth_alone,
    )


def table(loss):
    random = np.random.default_rng(1)
    bins = np.array([random.integers(0, n + 1, N_ROWS) for n in N_BINS], dtype=np.uint8)
    signal = (bins[0] - 3) / 8 + np.array([0.4, -0.4, 0.1, -0.1, 0.2, 0.0])[bins[1]]
    if isinstance(loss, LogisticLoss):
        labels = (random.random(N_ROWS) < 1 / (1 + np.exp(-3 * signal))).astype(np.int64)
    else:
        labels = loss.encode_labels(np.clip(signal, -1, 1))
    return bins, labels


def training_rows(loss, n_threads=1, present=None):
    bins, labels = table(loss)
    cells = np.cumsum([0, *(N_BINS + 1)]).astype(np.int32)
    layout = Layout(
        cell_offsets=cells,
        candidate_offsets=np.cumsum([0, *N_BINS]).astype(np.int32),
        is_categorical=CATEGORICAL,
    )
    present = np.ones(N_ROWS, bool) if present is None else present
    return TrainingRows(
        handle_of(BoostingState(bins, labels, present, loss, layout, Threads(n_threads))),
        layout,
    )


def run(rows, steps, records, n_rounds, share=1):
    trees = []
    for number in range(n_rounds):
        rows.deal(ALL, records)
        with records.sequential(f"round {number}"):
            grown = steps.learn(rows.take(0), 0, budget=records.capacity * share, ledger=records)
        rows.append(grown)
        trees += grown
    return trees


def scores_of(tree, bins):
    scores = np.zeros(bins.shape[1], np.int64)
    forest = Forest()
    forest.append(tree)
    nothing = np.zeros(bins.shape[1], np.int32)
    forest.add_to(scores, bins, np.arange(bins.shape[1], dtype=np.int32), nothing, 1)
    return scores


def gradients_and_hessians(loss, scores, labels, clip):
    if isinstance(loss, LogisticLoss):
        odds = np.exp(-np.abs(scores) * loss.unit)
        p = np.minimum(odds / (1 + odds), clip * odds)
        p = np.where(scores < 0, p, 1 - p)
        return p - labels, p * (1 - p)
    return (scores - labels) / loss.half_units, np.ones(len(labels))


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("clip", [1.0, 0.2])
def test_without_noise_a_round_is_a_newton_step_in_every_leaf(name, clip):
    loss = LOSSES[name]
    rows, steps = training_rows(loss), learner(loss, clip=clip)
    bins, labels = table(loss)
    scores = np.full(N_ROWS, loss.start_units, dtype=np.int64)
    for tree in run(rows, steps, ledger(), 4):
        gradients, hessians = gradients_and_hessians(loss, scores, labels, clip)
        gradients = np.clip(gradients, -clip, clip)
        moved = scores_of(tree, bins)
        for value in np.unique(moved):
            inside = moved == value
            step = -gradients[inside].sum() / (hessians[inside].sum() + 1.0)
            assert value == pytest.approx(0.5 * step * loss.units_per_one, abs=2e-4 * 2**20)
        assert tree.leaf_count.sum() == pytest.approx(WEIGHT_UNITS * hessians.sum(), rel=0.01)
        scores += moved


@pytest.mark.parametrize("name", LOSSES)
def test_scores_that_rounds_keep_are_those_of_the_trees(name):
    loss = LOSSES[name]
    rows, records = training_rows(loss), ledger()
    trees = run(rows, learner(loss), records, 5)
    # A round of some rows needs the scores of these up to date; dealt to one round, that is all.
    rows.deal(EnsemblePlan(n_trees=1, shares=(Fraction(1),)), records)
    rows.take(0)
    moved = sum(scores_of(tree, store_of(rows.source)._rows.bins) for tree in trees)
    assert np.abs(moved).max() > 0
    np.testing.assert_array_equal(store_of(rows.source)._rows.scores[0], loss.start_units + moved)


def test_rows_that_take_no_part_leave_no_trace():
    loss = LOSSES["logistic"]
    present = np.arange(N_ROWS) % 3 == 0
    rows = training_rows(loss, present=present)
    store_of(rows.source)._rows.labels = np.where(
        present, store_of(rows.source)._rows.labels, 1 - store_of(rows.source)._rows.labels
    )
    same = run(rows, learner(loss), ledger(), 2)
    other = run(training_rows(loss, present=present), learner(loss), ledger(), 2)
    by_hand = run(training_rows(loss), learner(loss), ledger(), 2)
    for one, two, three in zip(same, other, by_hand, strict=True):
        assert np.array_equal(one.leaf_value, two.leaf_value)
        assert not np.array_equal(one.leaf_value, three.leaf_value)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_round_is_one_release_of_its_whole_budget(delta):
    loss, records = LOSSES["squared"], ledger(2.0, delta)
    run(training_rows(loss), learner(loss), records, 4, Fraction(1, 4))
    assert [entry.label for entry in records.entries] == ["leaf sums"] * 4
    assert records.spent == records.capacity


def test_threads_change_nothing():
    loss = LOSSES["logistic"]
    one, two = (run(training_rows(loss, n), learner(loss), ledger(3.0), 1) for n in (1, 2))
    assert np.array_equal(one[0].leaf_value, two[0].leaf_value)
    assert np.array_equal(one[0].left_bins, two[0].left_bins)


@pytest.mark.parametrize("to_order", [[], [1]])
def test_every_feature_is_cut_alone_first(to_order):
    loss = LOSSES["logistic"]
    steps = learner(loss, depth=4, depth_alone=2, to_order=to_order)
    trees = run(training_rows(loss), steps, ledger(), 20)
    first = [set(tree.feature.tolist()) for tree in trees[:3]]
    assert sorted(map(len, first)) == [1, 1, 1]
    assert set.union(*first) == {0, 1, 2}
    assert all(len(tree.leaf_value) <= 4 for tree in trees[len(to_order) : 3])
    assert max(len(set(tree.feature.tolist())) for tree in trees[3:]) == 2
    assert max(len(tree.leaf_value) for tree in trees[3:]) > 8


def test_a_round_orders_the_categories_by_what_it_released():
    loss = LOSSES["squared"]
    steps = learner(loss, to_order=[1])
    (tree,) = run(training_rows(loss), steps, ledger(), 1)
    assert tree.feature.tolist() == [1] * 5
    assert tree.n_leaves == 6
    assert steps.to_order == []
    assert steps.grid.is_nominal.tolist() == [0, ORDERED_CATEGORIES, 0]
    assert steps.grid.order(1)[:5].tolist() == [1, 3, 2, 4, 0]
    assert steps.grid.order(1)[:5].tolist() == np.argsort(tree.leaf_value[:5]).tolist()


def test_released_gains_tell_the_queue_which_features_matter():
    loss = LOSSES["squared"]
    steps = learner(loss)
    steps.features_per_tree = 1
    run(training_rows(loss), steps, ledger(), 3)
    gains = steps.queue._gains / steps.queue._visits
    assert min(gains[0], gains[1]) > 5 * gains[2]


def test_steps_are_smaller_once_little_was_learned():
    found = []
    for signal in (None, SignalRate(n_rows=1e12, entropy=0.5, doubt=2.0)):
        steps = learner(LOSSES["logistic"])
        steps.signal = signal
        trees = run(training_rows(LOSSES["logistic"]), steps, ledger(), FIRST_ROUNDS + 1)
        found.append([tree.leaf_value for tree in trees])
    for one, other in zip(found[0][:-1], found[1][:-1], strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(found[1][-1], 0.25 * found[0][-1], atol=1)


def test_a_learning_rate_of_the_round_goes_before_the_signal():
    steps = learner(LOSSES["logistic"])
    steps.signal = SignalRate(n_rows=1e12, entropy=0.5, doubt=2.0)
    records = ledger()
    rows = training_rows(LOSSES["logistic"])
    rows.deal(ALL, records)
    with records.sequential("round"):
        steps.learn(rows.take(0), 0, budget=records.capacity, ledger=records, learning_rate=0.3)
    assert steps.signal._n_rounds == 0
