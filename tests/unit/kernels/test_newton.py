"""Packed gradients and hessians of a row against the formulas in plain Python."""

import math

import numpy as np
import pytest

from dpboost._kernels import newton

ONE = 65536
HALF = 1 << 20
SCALE = ONE / HALF
COUNT_UNITS = 4096
SHIFT, RANGE = 13, 12 << 20
HUGE = 1 << 62
CLIPS = [ONE, ONE // 5, 1]


def int64(values):
    return np.array(values, dtype=np.int64)


def table():
    steps = (np.arange(2 * (RANGE >> SHIFT) + 1) - (RANGE >> SHIFT)) * 2.0 ** (SHIFT - 20)
    values = np.rint(2.0**30 / (1 + np.exp(-steps))).astype(np.int64)
    return (values[:-1] << 32) + np.diff(values)


def squared(scores, labels, rows=None, clip=ONE, n_threads=1):
    rows = np.arange(len(scores)) if rows is None else rows
    words = np.full(len(rows), 123, dtype=np.int64)
    listed = np.array(rows, np.int32)
    newton.squared(int64(scores), int64(labels), listed, SCALE, clip, words, n_threads)
    return unpacked(words)


def logistic(scores, labels, rows=None, clip=ONE, n_threads=1):
    rows = np.arange(len(scores)) if rows is None else rows
    words = np.full(len(rows), 123, dtype=np.int64)
    listed = np.array(rows, np.int32)
    newton.logistic(int64(scores), int64(labels), listed, table(), clip, words, n_threads)
    return unpacked(words)


def unpacked(words):
    return words >> 32, words & 0xFFFFFFFF


@pytest.mark.parametrize("clip", CLIPS)
def test_squared_loss_clips_the_residual_and_counts_one(clip):
    random = np.random.default_rng(0)
    scores, labels = random.integers(-3 * HALF, 3 * HALF, (2, 2000))
    gradients, hessians = squared(scores, labels, clip=clip)
    exact = [
        max(-clip, min(clip, round((int(score) - int(label)) * SCALE)))
        for score, label in zip(scores, labels, strict=True)
    ]
    assert gradients.tolist() == exact
    assert set(hessians.tolist()) == {COUNT_UNITS}
    assert {gradients.min(), gradients.max()} == {-clip, clip}


@pytest.mark.parametrize("clip", CLIPS)
def test_logistic_loss_has_the_gradient_and_hessian_of_the_probability(clip):
    random = np.random.default_rng(1)
    scores = random.integers(-14 << 20, 14 << 20, 2000)
    labels = random.integers(0, 2, 2000)
    gradients, hessians = logistic(scores, labels, clip=clip)
    for score, label, gradient, hessian in zip(scores, labels, gradients, hessians, strict=True):
        p = 1 / (1 + math.exp(-int(score) / HALF))
        exact = max(-clip, min(clip, (p - label) * ONE))
        assert abs(gradient - exact) <= 1.5
        assert abs(hessian - p * (1 - p) * ONE) <= 2.5
    assert hessians.max() <= ONE // 4
    assert hessians.min() >= 0


def test_the_hessian_is_largest_in_the_middle():
    gradients, hessians = logistic([0, 0], [0, 1])
    assert gradients.tolist() == [ONE // 2, -ONE // 2]
    assert hessians.tolist() == [ONE // 4, ONE // 4]


@pytest.mark.parametrize("clip", CLIPS)
def test_no_score_leads_out_of_the_bounds(clip):
    scores = [HUGE, -HUGE, 0, 1, -1]
    for gradients, hessians in (
        squared(scores, [0] * 5, clip=clip),
        logistic(scores, [0, 1, 0, 1, 0], clip=clip),
    ):
        assert np.abs(gradients).max() == clip
        assert hessians.min() >= 0
        assert hessians.max() <= ONE // 4
    gradients, hessians = logistic([-HUGE, HUGE], [1, 0], clip=clip)
    assert gradients.tolist() == [-clip, clip]
    assert hessians.max() <= 1


@pytest.mark.parametrize("kernel", [squared, logistic])
def test_a_word_depends_on_its_own_row_only_and_not_on_threads(kernel):
    random = np.random.default_rng(2)
    scores = random.integers(-4 << 20, 4 << 20, 40_000)
    labels = random.integers(0, 2, 40_000)
    whole = np.array(kernel(scores, labels))
    np.testing.assert_array_equal(kernel(scores, labels, n_threads=2), whole)
    rows = random.permutation(40_000)[:777]
    np.testing.assert_array_equal(kernel(scores, labels, rows), whole[:, rows])
    assert np.array(kernel(scores, labels, rows=[])).shape == (2, 0)
