"""The one pass of a round against the kernels that do its steps one by one."""

import numpy as np
import pytest

from dpboost._kernels import lookup_trees, newton
from dpboost.losses import (
    ClassLoss,
    FractionalLabelLoss,
    LogisticLoss,
    LogLinkLoss,
    OneVsRestLoss,
    QuantilesLoss,
    RobustLoss,
    SoftmaxLoss,
    SquaredLoss,
)

SIZES = np.array([7, 256, 5])
EVERY = np.empty(0, dtype=np.int32)
NOBODY = np.empty(0, dtype=np.int32)


def many_classes():
    return SoftmaxLoss(n_outputs=40)  # more than one row's worth of a chunk's words


LOSSES = {
    "squared": SquaredLoss.from_label_bounds(-3.0, 5.0),
    "logistic": LogisticLoss(),
    "three classes": SoftmaxLoss(n_outputs=3),
    "forty classes": many_classes(),
    "quantile": RobustLoss.quantile(SquaredLoss.from_label_bounds(-3.0, 5.0), 0.8),
    "quantiles": QuantilesLoss.of(SquaredLoss.from_label_bounds(-3.0, 5.0), (0.1, 0.5, 0.8)),
    "tweedie": LogLinkLoss.tweedie(0.0, 4.0),
    "shares": FractionalLabelLoss.of(),
    "classes one by one": OneVsRestLoss(n_outputs=3),
}


class Rows:
    """Rows, a partition and leaf values of the round before."""

    def __init__(self, loss, n_rows, n_leaves=50, seed=0):
        random = np.random.default_rng(seed)
        self.loss, self.n_leaves = loss, n_leaves
        self.bins = np.array([random.integers(0, size, n_rows) for size in SIZES], dtype=np.uint8)
        if isinstance(loss, ClassLoss | LogisticLoss):
            self.labels = random.integers(0, max(2, loss.n_outputs), n_rows)
        else:
            self.labels = loss.encode_labels(random.uniform(-4, 6, n_rows))
        spread = 2**20 if not isinstance(loss, SquaredLoss) else loss.half_units
        shape = (loss.n_outputs, n_rows)
        self.scores = np.rint(random.normal(size=shape) * spread).astype(np.int64)
        self.present = (random.random(n_rows) < 0.9).astype(np.uint8)
        self.weights = NOBODY
        self.leaves = random.integers(0, 9, n_rows).astype(np.uint16)
        self.pending = np.rint(random.normal(size=(loss.n_outputs, 9)) * spread).astype(np.int64)
        self.features = np.array([2, 0, 1], dtype=np.int32)
        sizes = SIZES[self.features]
        self.steps = np.zeros((3, 256), dtype=np.int32)
        for f, stride in enumerate([sizes[1] * sizes[2], sizes[2], 1]):
            self.steps[f, : sizes[f]] = np.arange(sizes[f]) * stride
        self.table = random.integers(0, n_leaves, sizes.prod()).astype(np.uint16)

    def in_one_pass(self, limit, n_threads):
        scores, leaves = self.scores.copy(), self.leaves.copy()
        sums = np.full((2, self.loss.n_outputs, self.n_leaves), 77, dtype=np.int64)
        self.loss.pass_over(
            (
                scores,
                self.labels,
                self.present,
                self.weights,
                self.pending,
                leaves,
                self.bins,
                self.features,
                self.steps,
                self.table,
                sums,
            ),
            gradient_limit=limit,
            n_threads=n_threads,
        )
        return scores, leaves, sums

    def step_by_step(self, limit):
        scores = self.scores.copy()
        scores += self.pending[:, self.leaves]
        leaves = np.empty_like(self.leaves)
        lookup_trees.find_leaves(self.bins, EVERY, self.features, self.steps, self.table, leaves, 1)
        rows = np.arange(len(leaves), dtype=np.int32)
        words = self.loss.packed_newton(scores, self.labels, rows, gradient_limit=limit)
        words *= self.present
        if len(self.weights):
            newton.weighted(self.weights, rows, words)
        sums = np.zeros((2, self.loss.n_outputs, self.n_leaves), dtype=np.int64)
        for output, own in enumerate(words):
            np.add.at(sums[0, output], leaves, own >> 32)
            np.add.at(sums[1, output], leaves, own & 0xFFFFFFFF)
        return scores, leaves, sums


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("limit", [1.0, 0.3])
@pytest.mark.parametrize("name", LOSSES)
def test_one_pass_is_the_steps_one_by_one(name, limit, n_threads):
    # More rows than packed sums can hold, and no multiple of a chunk.
    rows = Rows(LOSSES[name], 70_001 if LOSSES[name].n_outputs < 10 else 9_001)
    for found, expected in zip(
        rows.in_one_pass(limit, n_threads), rows.step_by_step(limit), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", LOSSES)
def test_weights_multiply_gradients_and_hessians(name):
    rows = Rows(LOSSES[name], 3_001)
    _, _, plain = rows.in_one_pass(1.0, 1)
    random = np.random.default_rng(3)
    rows.weights = random.integers(0, 65537, 3_001).astype(np.int32)
    for found, expected in zip(rows.in_one_pass(1.0, 2), rows.step_by_step(1.0), strict=True):
        np.testing.assert_array_equal(found, expected)
    rows.weights[:] = 65536
    np.testing.assert_array_equal(rows.in_one_pass(1.0, 1)[2], plain)
    rows.weights[:] = 0
    assert not rows.in_one_pass(1.0, 1)[2].any()


def test_no_half_of_a_word_grows_under_a_weight():
    random = np.random.default_rng(4)
    gradients = random.integers(-65536, 65537, 5000)
    hessians = random.integers(0, 65537, 5000)
    weights = np.append(random.integers(0, 65537, 4998), [0, 65536]).astype(np.int32)
    words = ((gradients << 32) + hessians)[np.newaxis]
    newton.weighted(weights, np.arange(5000, dtype=np.int32), words)
    for half, whole in ((words[0] >> 32, gradients), (words[0] & 0xFFFFFFFF, hessians)):
        assert (np.abs(half) <= np.abs(whole)).all()
        assert (half * whole >= 0).all()
        assert np.abs(half - whole * (weights / 65536)).max() <= 0.5


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("n_rows", [0, 1, 511, 512, 513])
def test_few_rows_and_no_round_before(name, n_rows):
    rows = Rows(LOSSES[name], n_rows)
    rows.pending = np.zeros((rows.loss.n_outputs, 1), dtype=np.int64)
    rows.leaves[:] = 0
    for found, expected in zip(rows.in_one_pass(1.0, 2), rows.step_by_step(1.0), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_sums_of_rows_that_all_have_the_largest_word_do_not_overflow():
    rows = Rows(LOSSES["logistic"], 70_000, n_leaves=1)
    rows.table[:] = 0
    rows.labels[:], rows.present[:], rows.pending[:] = 1, 1, 0
    rows.scores[:] = -(40 << 20)
    _, _, sums = rows.in_one_pass(1.0, 1)
    assert sums.ravel().tolist() == [-70_000 * 65536, 0]
    rows.scores[:] = 0
    _, _, sums = rows.in_one_pass(1.0, 1)
    assert sums.ravel().tolist() == [-70_000 * 32768, 70_000 * 16384]


def test_the_number_of_threads_is_not_seen():
    rows = Rows(LOSSES["three classes"], 30_000)
    one = rows.in_one_pass(0.5, 1)
    for n_threads in (2, 5, 16):
        for found, expected in zip(rows.in_one_pass(0.5, n_threads), one, strict=True):
            np.testing.assert_array_equal(found, expected)
