"""Without noise the engine must grow exactly the trees of a plain reference."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dpboost._utils.threads import Threads
from dpboost.growing.boosting_loop import TrainingRows
from dpboost.losses import LogisticLoss, SquaredLoss
from dpboost.privacy.accounting import PureAccountant
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import handle_of
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes import ALGORITHMS
from dpboost.recipes.recipe import PublicFacts, Setting
from dpboost.recipes.recipe import given as set_values
from dpboost.rows.boosting_state import BoostingState
from dpboost.trees.bin_layout import Layout
from dpboost.trees.tree import threshold_sets
from tests.reference import boost
from tests.unit.ledgers import open_ledger

N_BINS = (5, 4, 3)
IS_CATEGORICAL = (0, 1, 0)


def layout():
    cells = np.cumsum([0] + [n + 1 for n in N_BINS]).astype(np.int32)
    candidates = np.cumsum([0, *N_BINS]).astype(np.int32)
    return Layout(
        cell_offsets=cells,
        candidate_offsets=candidates,
        is_categorical=np.array(IS_CATEGORICAL, dtype=np.uint8),
    )


def table(n_rows, seed):
    random = np.random.default_rng(seed)
    bins = np.stack([random.integers(0, n + 1, n_rows) for n in N_BINS]).astype(np.uint8)
    signal = bins[0] / 5 - (bins[1] == 2) + 0.3 * random.normal(size=n_rows)
    return bins, signal


ledger = partial(open_ledger, seed=7)


def public_facts(loss, *, n_rows, given):
    return PublicFacts(
        epsilon=math.inf,
        delta=0.0,
        n_rows=n_rows,
        n_features=3,
        loss=loss,
        given=given,
        budget=math.inf,
        accountant=PureAccountant(),
        neighbors=Neighbors.ADD_REMOVE,
    )


def trees_of(recipe, loss, bins, labels, hyper, records):
    algorithm = ALGORITHMS.find(recipe, "test")
    facts = public_facts(loss, n_rows=None, given=hyper)
    setting = Setting(
        hyper=algorithm.settle(facts),
        loss=loss,
        binner=FakeBinner(),
        facts=facts,
        public=np.random.default_rng(),
        n_threads=2,
    )
    present = np.ones(bins.shape[1], dtype=bool)
    rows = TrainingRows(
        handle_of(BoostingState(bins, labels, present, loss, layout(), Threads(2))),
        layout(),
    )
    loop = algorithm.build(setting)
    return loop.boost(rows, budget=math.inf, ledger=records, on_tree=lambda: None)


def squared_gradients(loss):
    def gradients(scores, labels):
        difference = scores - labels
        half_width = round(loss.half_width / loss.unit)
        values = np.rint(difference * (65536 / half_width)).astype(np.int64)
        return values, np.abs(difference) <= half_width

    return gradients


def logistic_gradients(scores, labels):
    """Gradients of the loss itself: its table is one unit off a rounded exponential at times."""
    rows = np.arange(len(scores), dtype=np.int32)
    gradients = LogisticLoss().packed_gradients(scores, labels, rows) >> 32
    exact = 1 / (1 + np.exp(-scores * 2.0**-20)) - labels
    assert np.abs(gradients / 65536 - exact).max() < 2.0**-16
    return gradients, np.ones(len(scores), dtype=bool)


def assert_same(trees, expected):
    assert len(trees) == len(expected)
    for tree, (splits, values) in zip(trees, expected, strict=True):
        split_bin = np.array([b for _, b in splits], dtype=np.uint8)
        feature = np.array([f for f, _ in splits], dtype=np.int32)
        assert tree.feature.tolist() == feature.tolist()
        expected_sets = threshold_sets(split_bin, np.array(IS_CATEGORICAL)[feature] == 1)
        assert np.array_equal(tree.left_bins, expected_sets)
        assert tree.leaf_value.tolist() == values


@pytest.mark.parametrize(
    ("recipe", "per_ensemble"), [("seq", None), ("dpboost", 3), ("para", None)]
)
@pytest.mark.parametrize("seed", range(3))
def test_squared_loss_equals_the_reference(recipe, per_ensemble, seed, monkeypatch):
    bins, signal = table(400, seed)
    loss = SquaredLoss.from_label_bounds(-2.0, 2.0)
    labels = loss.encode_labels(signal)
    n_trees, depth, rate = 7, 3, 0.25
    hyper = set_values(
        {
            "n_estimators": n_trees,
            "max_depth": depth,
            "learning_rate": rate,
            "trees_per_ensemble": per_ensemble,
        }
    )
    records = ledger()
    # Public coins, so that the reference can deal the same rows.
    row = np.arange(400)
    sizes = {"seq": [1] * n_trees, "dpboost": [3, 3, 1], "para": [n_trees]}[recipe]

    class Dealer:
        def blocks(self, shares, n_rows, first_row=0, *, n_threads=1):
            return (row % (len(shares) + (recipe == "para"))).astype(np.int32)

    monkeypatch.setattr(Ledger, "row_coins", lambda self: Dealer())
    blocks, clips = [], []
    for size in sizes:
        for index in range(size):
            parts = size + (recipe == "para")
            blocks.append(row if recipe == "seq" else row[row % parts == index])
            clips.append((1 - rate) ** index if recipe == "dpboost" else 1)
    expected = boost(
        bins,
        labels,
        squared_gradients(loss),
        n_bins=N_BINS,
        is_categorical=IS_CATEGORICAL,
        hessian=1,
        reg_lambda=0.1,
        depth=depth,
        learning_rate=rate,
        blocks_of_tree=blocks,
        clip_of_tree=clips,
        leaf_to_score=lambda leaf: round(leaf * round(loss.half_width / loss.unit)),
    )
    assert_same(trees_of(recipe, loss, bins, labels, hyper, records), expected)


@pytest.mark.parametrize("seed", range(3))
def test_logistic_loss_equals_the_reference(seed):
    bins, signal = table(400, seed)
    loss = LogisticLoss()
    labels = (signal > 0.2).astype(np.int64)
    hyper = {"n_estimators": 5, "max_depth": 3, "learning_rate": 0.25}
    expected = boost(
        bins,
        labels,
        logistic_gradients,
        n_bins=N_BINS,
        is_categorical=IS_CATEGORICAL,
        hessian=Fraction(1, 4),
        reg_lambda=0.1,
        depth=3,
        learning_rate=0.25,
        blocks_of_tree=[np.arange(400)] * 5,
        clip_of_tree=[4] * 5,
        leaf_to_score=lambda leaf: round(leaf * 2**20),
    )
    assert_same(trees_of("seq", loss, bins, labels, hyper, ledger()), expected)


# -- somebody looks on ----------------------------------------------------------------------------


class Watcher:
    """Sets a learning rate for each round, and ends after some."""

    def __init__(self, rates, last):
        self.rates, self.last, self.seen = rates, last, []

    def before(self, index):
        return self.rates[index]

    def after(self, trees):
        self.seen.append(trees)
        return len(self.seen) == self.last


LOSS = SquaredLoss.from_label_bounds(-2.0, 2.0)


def prepared(recipe):
    """Return the loop of a recipe for twelve rounds, rows to train on and a ledger."""
    loss = LOSS
    bins, signal = table(400, 0)
    labels = loss.encode_labels(signal)
    algorithm = ALGORITHMS.find(recipe, "test")
    sharing = {"best": 1, "dpboost": 4}.get(recipe)
    hyper = set_values({"n_estimators": 12, "max_depth": 2, "trees_per_ensemble": sharing})
    facts = public_facts(loss, n_rows=400.0, given=hyper)
    setting = Setting(
        hyper=algorithm.settle(facts),
        loss=loss,
        binner=FakeBinner(),
        facts=facts,
        public=np.random.default_rng(0),
        n_threads=1,
    )
    rows = TrainingRows(
        handle_of(
            BoostingState(bins, labels, np.ones(400, dtype=bool), loss, layout(), Threads(1))
        ),
        layout(),
    )
    return algorithm.build(setting), rows, ledger(Fraction(12))


@pytest.mark.parametrize("recipe", ["seq", "dpboost", "best"])
def test_a_watch_sees_every_round_and_may_end_training(recipe):
    watcher = Watcher([None, 0.5, 1e-9] + [None] * 9, last=3)
    loop, rows, records = prepared(recipe)
    trees = loop.boost(
        rows, budget=Fraction(12), ledger=records, on_tree=lambda: None, callback=watcher
    )
    assert [seen[0] for seen in watcher.seen] == list(trees)
    assert len(trees) == 3
    spent = Fraction(4) if recipe == "dpboost" else Fraction(3)
    assert records.spent == spent
    largest = [np.abs(tree.leaf_value).max() * LOSS.unit for tree in trees]
    assert largest[2] < 1e-6 < largest[0]


def test_rows_train_on_leaves_that_are_not_stretched():
    """Twelve rounds of the same noise: the leaves of each are larger by the factor alone."""
    found = []
    for stretch in (1.0, 1.5):
        loop, rows, _ = prepared("best")
        records = open_ledger(12, seed=4)
        loop = replace(loop, stretch=stretch)
        found.append(loop.boost(rows, budget=Fraction(12), ledger=records, on_tree=lambda: None))
    for plain, stretched in zip(*found, strict=True):
        count = plain.leaf_count
        middle = np.average(plain.leaf_value, weights=count)
        expected = middle + 1.5 * (plain.leaf_value - middle)
        np.testing.assert_allclose(stretched.leaf_value, expected, atol=0.51)
        np.testing.assert_allclose(stretched.noise.stddev(count), 1.5 * plain.noise.stddev(count))
    assert np.ptp(found[0][-1].leaf_value) > 0


class FakeBinner:
    """What a recipe asks of the bins."""

    n_features = 3
    feature_names = ("a", "b", "c")
    n_bins = np.array(N_BINS, dtype=np.int32)
    is_categorical = np.array(IS_CATEGORICAL, dtype=np.uint8)
