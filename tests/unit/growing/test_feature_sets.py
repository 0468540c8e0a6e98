"""Which features come together again, and how often."""

import numpy as np
import pytest

from dpboost.growing.feature_sampler import (
    DOUBT,
    LEFT,
    MOST_SETS,
    SETS_MEMORY,
    FeatureQueue,
    FeatureSets,
    Preference,
)

PLAIN = Preference(doubt=0.0, power=1.0, floor=0.2)


def sets(chance=1.0, seed=0):
    return FeatureSets(chance, np.random.default_rng(seed))


def array(*features):
    return np.array(features, np.int32)


def shares(known, n=4000):
    drawn = [known.draw() for _ in range(n)]
    counts = {}
    for features in drawn:
        own = None if features is None else tuple(features.tolist())
        counts[own] = counts.get(own, 0) + 1
    return {own: count / n for own, count in counts.items()}


def test_sets_come_in_proportion_to_what_they_have_shown():
    known = sets()
    known.learn(array(4, 0, 2), 10.0, 4.0)
    known.learn(array(1, 3), 5.0, 0.0)
    known.learn(array(1, 2), -8.0, 0.0)
    known.learn(array(0, 1), 3.0, 16.0)
    known.learn(array(2, 3), 1.0, 0.0)
    left = {
        (0, 2, 4): (10.0 - 2 * DOUBT) * SETS_MEMORY**4,
        (1, 3): 5.0 * SETS_MEMORY**3,
        (2, 3): 1.0,
    }
    found = shares(known)
    assert found.keys() == left.keys()
    for own, share in found.items():
        assert share == pytest.approx(left[own] / sum(left.values()), abs=0.03)
    assert known.draw().dtype == np.int32


def test_only_the_last_partition_of_a_set_counts():
    known = sets()
    known.learn(array(0, 1), 100.0, 0.0)
    known.learn(array(2, 3), 1.0, 0.0)
    known.learn(array(1, 0), 1.0, 0.0)
    assert shares(known)[0, 1] == pytest.approx(LEFT / (LEFT + LEFT * SETS_MEMORY), abs=0.03)


def test_nothing_comes_of_noise_alone():
    known = sets()
    assert known.draw() is None
    known.learn(array(0, 1), 0.9, 1.0)
    known.learn(array(0, 1, 2), -5.0, 0.0)
    assert known.draw() is None


def test_a_feature_alone_is_no_set():
    known = sets()
    known.learn(array(3), 100.0, 0.0)
    assert known.draw() is None


@pytest.mark.parametrize("chance", [0.0, 0.3])
def test_draws_come_as_often_as_asked(chance):
    known = sets(chance)
    known.learn(array(0, 1), 1.0, 0.0)
    assert 1 - shares(known)[None] == pytest.approx(chance, abs=0.03)


def test_new_sets_take_the_place_of_those_that_have_shown_least():
    known = sets()
    for i in range(MOST_SETS):
        known.learn(array(i, i + 1), 1000.0 if i else 1e-6, 0.0)
    known.learn(array(0, 1, 2), 1e6, 0.0)
    known.learn(array(0, 1), 1e6, 0.0)
    found = shares(known)
    assert found[0, 1, 2] == pytest.approx(found[0, 1], abs=0.05)
    assert len(known._sets) == len(known._positions) == MOST_SETS


def queue(**options):
    return FeatureQueue(6, PLAIN, np.random.default_rng(0), **options)


def visit(waiting):
    """Cut every feature once, in pairs; only 0 and 5 together show anything."""
    for pair in ((0, 1), (2, 3), (4, 5), (0, 5)):
        gain = 1.0 if pair == (0, 5) else 0.0
        waiting.learn(array(*pair), array(pair[0]), np.array([gain]), np.zeros(1))


def test_a_queue_takes_features_together_once_all_were_cut():
    waiting = queue(again=1.0)
    waiting.learn(array(0, 5), array(0), np.array([1.0]), np.zeros(1))
    first = [waiting.take(2).tolist() for _ in range(3)]
    assert sorted(np.concatenate(first).tolist()) == list(range(6))
    visit(waiting)
    assert all(sorted(waiting.take(2).tolist()) == [0, 5] for _ in range(20))
    assert len(waiting.take(1)) == 1


@pytest.mark.parametrize("options", [{"fraction": 0.5}, {"factors": [1, 1, 1, 1, 1, 1e-9]}])
def test_features_that_are_drawn_one_by_one_are_not_taken_together(options):
    waiting = queue(again=1.0, **options)
    visit(waiting)
    assert any(sorted(waiting.take(2).tolist()) != [0, 5] for _ in range(20))


def test_sets_keep_to_groups():
    waiting = queue(again=0.5, groups=((0, 1, 2), (3, 4, 5)))
    for _ in range(100):
        features = waiting.take(3)
        assert set(features.tolist()) <= {0, 1, 2} or set(features.tolist()) <= {3, 4, 5}
        waiting.learn(features, features[:1], np.array([1.0]), np.zeros(1))
