"""Whose turn it is: everybody once, then the useful ones more often."""

from __future__ import annotations

import numpy as np
import pytest

from dpboost.boosting.feature_queue import FLOOR, MEMORY, FeatureQueue


def queue(n_features, seed=0):
    return FeatureQueue(n_features, np.random.default_rng(seed))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_first_list_visits_every_feature(k):
    waiting = queue(12)
    taken = [waiting.take(k) for _ in range(12 // k)]
    assert sorted(np.concatenate(taken).tolist()) == list(range(12))
    assert all(part.dtype == np.int32 for part in taken)


@pytest.mark.parametrize("n_features", [3, 4, 7])
def test_a_partition_never_holds_a_feature_twice(n_features):
    waiting = queue(n_features)
    for step in range(60):
        features = waiting.take(3)
        assert len(set(features.tolist())) == 3
        waiting.learn(features, float(step % 5))


def test_later_lists_follow_the_gains_in_their_proportion():
    gains = np.array([8.0, 0.0, 0.0, 2.0, 0.0])
    waiting = queue(5)
    for feature in np.concatenate([waiting.take(1) for _ in range(5)]):
        waiting.learn(np.array([feature], np.int32), gains[feature])
    drawn = np.concatenate([waiting.take(1) for _ in range(5 * 2000)])
    weights = gains / 8 + FLOOR
    found = np.bincount(drawn, minlength=5) / len(drawn)
    np.testing.assert_allclose(found, weights / weights.sum(), atol=0.01)


def test_without_any_gain_nobody_is_left_out():
    waiting = queue(4)
    waiting.learn(waiting.take(4), 0.0)
    for _ in range(5):
        assert sorted(waiting.take(4).tolist()) == [0, 1, 2, 3]


def test_newer_gains_replace_older_ones_by_a_part():
    waiting = queue(2)
    feature = np.array([1], np.int32)
    waiting.learn(feature, 10.0)
    assert waiting._gains.tolist() == [-1, 10]
    waiting.learn(feature, 20.0)
    assert waiting._gains[1] == pytest.approx(10 + MEMORY * 10)


def test_the_order_is_public_randomness():
    same = [np.concatenate([queue(9, seed).take(3) for _ in range(1)]) for seed in (1, 1, 2)]
    assert same[0].tolist() == same[1].tolist() != same[2].tolist()
