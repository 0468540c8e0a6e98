"""Whose turn it is: every feature once, then the useful ones more often."""

import math

import numpy as np
import pytest

from dpboost.growing.feature_sampler import (
    EXPLORING,
    MEMORY,
    PART_OF_OTHERS,
    AllowedFeatures,
    FeatureQueue,
    Preference,
)

PLAIN = Preference(doubt=0.0, power=1.0, floor=0.2)


def queue(n_features, seed=0, preference=PLAIN):
    return FeatureQueue(n_features, preference, np.random.default_rng(seed))


def learn(waiting, feature, gain, variance=0.0):
    one = np.array([feature], np.int32)
    waiting.learn(one, one, np.array([gain]), np.array([variance]))


def shares(waiting, n_features):
    """How often each feature is drawn from the lists that come next."""
    drawn = np.concatenate([waiting.take(1) for _ in range(n_features * 2000)])
    return np.bincount(drawn, minlength=n_features) / len(drawn)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_first_list_visits_every_feature(k):
    waiting = queue(12)
    taken = [waiting.take(k) for _ in range(12 // k)]
    assert sorted(np.concatenate(taken).tolist()) == list(range(12))
    assert all(part.dtype == np.int32 for part in taken)


@pytest.mark.parametrize("options", [{}, {"fraction": 0.4}, {"groups": ((0, 1, 2), (2, 3, 4, 5))}])
def test_new_features_come_once_each_whatever_was_cut_before(options):
    waiting = FeatureQueue(6, PLAIN, np.random.default_rng(0), **options)
    learn(waiting, 4, 1.0)
    taken = []
    while waiting.has_new:
        taken += waiting.take_new().tolist()
        learn(waiting, taken[-1], 1.0)
    assert sorted(taken) == [0, 1, 2, 3, 5]


@pytest.mark.parametrize("n_features", [3, 4, 7])
def test_a_partition_never_holds_a_feature_twice(n_features):
    waiting = queue(n_features)
    for step in range(60):
        features = waiting.take(3)
        assert len(set(features.tolist())) == 3
        splits = features[[0, 1, 2, 1, 0]]
        waiting.learn(features, splits, np.full(5, float(step % 5)), np.ones(5))


@pytest.mark.parametrize("power", [0.2, 1.0])
@pytest.mark.parametrize("floor", [0.05, 0.2])
def test_later_lists_follow_the_gains(power, floor):
    gains = np.array([8.0, 0.0, -3.0, 2.0, 0.0])
    waiting = queue(5, preference=Preference(doubt=0.0, power=power, floor=floor))
    for feature in np.concatenate([waiting.take(1) for _ in range(5)]):
        learn(waiting, feature, gains[feature])
    weights = (np.maximum(gains, 0) / 8) ** power + floor
    # Gains and visits fade alike, so that the order in which they were made plays no part.
    np.testing.assert_allclose(shares(waiting, 5), weights / weights.sum(), atol=0.01)


def test_gains_within_the_noise_count_for_nothing():
    waiting = queue(3, preference=Preference(doubt=2.0, power=1.0, floor=0.5))
    for feature, gain in enumerate((30.0, 19.0, 0.0)):
        learn(waiting, feature, gain, variance=100.0)
    weights = np.array([1.0, 0.0, 0.0]) + 0.5
    np.testing.assert_allclose(shares(waiting, 3), weights / weights.sum(), atol=0.01)


def test_a_gain_is_that_of_one_visit():
    # Feature 0 shows twice as much, in three times as many partitions.
    waiting = queue(2)
    for feature, gain in ((0, 4.0), (0, 4.0), (0, 4.0), (1, 2.0)):
        learn(waiting, feature, gain)
    weights = np.array([1.0, 0.5]) + 0.2
    np.testing.assert_allclose(shares(waiting, 2), weights / weights.sum(), atol=0.01)


def test_all_splits_of_a_feature_add_up():
    waiting = queue(2)
    features = np.array([0, 1], np.int32)
    splits = np.array([0, 1, 0, 1], np.int32)
    waiting.learn(features, splits, np.array([1.0, 2.0, 5.0, 4.0]), np.zeros(4))
    assert waiting._gains.tolist() == [6.0, 6.0]
    assert waiting._visits.tolist() == [1.0, 1.0]


def test_without_any_gain_nobody_is_left_out():
    waiting = queue(4)
    waiting.learn(waiting.take(4), np.empty(0, np.int32), np.empty(0), np.empty(0))
    for _ in range(5):
        assert sorted(waiting.take(4).tolist()) == [0, 1, 2, 3]


def test_what_was_shown_long_ago_is_forgotten():
    waiting = queue(2)
    learn(waiting, 0, 10.0, 4.0)
    for _ in range(100):
        learn(waiting, 1, 1.0)
    assert waiting._gains[0] == pytest.approx(10 * MEMORY**100)
    assert waiting._variances[0] == pytest.approx(4 * MEMORY**200)
    learn(waiting, 0, 1.0)
    assert waiting._gains[0] / waiting._visits[0] < 4


def test_the_order_is_public_randomness():
    same = [np.concatenate([queue(9, seed).take(3) for _ in range(1)]) for seed in (1, 1, 2)]
    assert same[0].tolist() == same[1].tolist() != same[2].tolist()


def constrained(groups=None, paired=(), n_features=6, seed=0):
    flags = np.isin(np.arange(n_features), paired) if len(paired) else None
    public = np.random.default_rng(seed)
    return FeatureQueue(n_features, PLAIN, public, groups=groups, paired=flags)


def test_a_partition_is_of_one_group():
    groups = ((0, 1, 2), (2, 3), (4,))
    waiting = constrained(groups)
    seen = set()
    for step in range(300):
        features = waiting.take(3)
        taken = set(features.tolist())
        assert len(taken) == len(features)
        assert any(taken <= set(group) for group in groups)
        learn(waiting, features[0], float(step % 3))
        seen |= taken
    assert seen == {0, 1, 2, 3, 4}  # 5 is in no group


def test_some_features_meet_one_other_at_most():
    waiting = constrained(paired=(1, 4))
    seen = set()
    for step in range(300):
        features = waiting.take(3)
        learn(waiting, features[0], float(step % 3))
        both = sum(feature in (1, 4) for feature in features.tolist())
        assert len(features) == (2 if features[0] in (1, 4) else 3)
        assert not both or features[0] in (1, 4)
        seen |= set(features.tolist())
    assert seen == set(range(6))
    assert len(constrained(paired=(1, 4)).take(1)) == 1


def test_a_feature_may_be_alone_in_its_partitions():
    flags = np.isin(np.arange(6), (1, 4))
    waiting = FeatureQueue(6, PLAIN, np.random.default_rng(0), paired=flags, alone=True)
    for taken in (waiting.take(3).tolist() for _ in range(60)):
        assert len(taken) == (1 if taken[0] in (1, 4) else 3)
        assert len(taken) == 1 or not {1, 4} & set(taken)


def test_pairs_are_of_one_group():
    waiting = constrained(((0, 1, 2), (3, 4), (5,)), paired=(1, 5))
    for _ in range(200):
        features = waiting.take(3).tolist()
        learn(waiting, np.int32(features[0]), 1.0)
        assert any(set(features) <= set(group) for group in ((0, 1, 2), (3, 4), (5,)))
        assert 1 not in features or len(features) <= 2


def test_draws_of_what_a_tree_may_split():
    public = np.random.default_rng(0)
    assert AllowedFeatures.of(None, None, 5, public) is None
    drawn = AllowedFeatures.of(None, 2, 5, public)
    seen = np.concatenate([drawn.draw() for _ in range(200)])
    assert sorted(set(seen.tolist())) == list(range(5))
    assert len(seen) == 400
    of_groups = AllowedFeatures.of(((0, 1), (2, 3, 4)), None, 5, public)
    found = {tuple(of_groups.draw().tolist()) for _ in range(50)}
    assert found == {(0, 1), (2, 3, 4)}
    narrow = AllowedFeatures.of(((0, 1), (2, 3, 4)), 1, 5, public)
    assert {len(narrow.draw()) for _ in range(20)} == {1}


def test_a_part_of_the_features_is_drawn_for_each_tree():
    public = np.random.default_rng(0)
    waiting = FeatureQueue(10, PLAIN, public, fraction=0.3)
    taken = [waiting.take(5).tolist() for _ in range(300)]
    assert {len(set(each)) for each in taken} == {3}
    assert {feature for each in taken for feature in each} == set(range(10))
    drawn = AllowedFeatures.of(None, None, 10, public, 0.25)
    assert {len(drawn.draw()) for _ in range(20)} == {2}
    assert {len(AllowedFeatures.of(None, 1, 10, public, 0.5).draw())} == {1}
    assert AllowedFeatures.of(None, None, 10, public, 0.01).draw().shape == (1,)


def test_factors_say_how_often_a_feature_is_taken():
    waiting = FeatureQueue(
        4,
        Preference(doubt=0.0, power=0.5, floor=1.0),
        np.random.default_rng(0),
        factors=[1.0, 4.0, 0.0, 1.0],
    )
    counts = np.zeros(4)
    for _ in range(3000):
        (feature,) = waiting.take(1)
        counts[feature] += 1
        learn(waiting, feature, 0.0)
    assert counts[2] == 0
    assert counts[1] / counts[0] == pytest.approx(4.0, rel=0.15)
    assert sorted(waiting.take(9).tolist()) == [0, 1, 3]


def test_factors_far_apart_do_not_keep_a_draw_waiting():
    waiting = FeatureQueue(3, PLAIN, np.random.default_rng(0), factors=[1e6, 1e-6, 1e-6])
    for _ in range(5):
        features = waiting.take(2)
        assert len(set(features.tolist())) == 2
        for feature in features:
            learn(waiting, feature, 0.0)


def test_factors_and_parts_keep_to_groups_and_pairs():
    waiting = FeatureQueue(
        6,
        PLAIN,
        np.random.default_rng(0),
        groups=((0, 1, 2), (3, 4), (5,)),
        paired=np.array([False, True, False, False, False, False]),
        fraction=0.5,
        factors=[1, 1, 1, 1, 0, 0],
    )
    seen = set()
    for _ in range(200):
        features = waiting.take(3).tolist()
        seen |= set(features)
        learn(waiting, np.int32(features[0]), 1.0)
        assert set(features) <= {0, 1, 2} or features == [3]
        assert len(features) <= 2
    assert seen == {0, 1, 2, 3}


# -- columns that were chosen before the first tree -----------------------------------------------


@pytest.mark.parametrize(
    ("n_features", "options", "of_others"),
    [
        (40, {}, EXPLORING * 37 / 40),
        (100, {}, PART_OF_OTHERS - 0.032 * 3 / 100),
        (40, {"fraction": 0.5}, None),
        (40, {"factors": (1.0,) * 40}, PART_OF_OTHERS),
    ],
)
def test_chosen_features_come_first_and_the_others_now_and_then(n_features, options, of_others):
    waiting = FeatureQueue(n_features, PLAIN, np.random.default_rng(0), **options)
    waiting.prefer([3, 5, 8])
    first = []
    while waiting.has_new:
        first += waiting.take_new().tolist()
        learn(waiting, first[-1], 1.0)
    assert sorted(first) == [3, 5, 8]
    if options.get("fraction"):
        return  # a part of the features may hold none of them
    found = shares(waiting, n_features)
    assert found[[3, 5, 8]].sum() == pytest.approx(1 - of_others, abs=0.01)
    assert (found > 0).all()


@pytest.mark.parametrize(("n_features", "exploring"), [(22, EXPLORING), (80, EXPLORING / 4)])
def test_features_that_were_not_chosen_meet_in_some_trees(n_features, exploring):
    waiting = queue(n_features)
    waiting.prefer([3, 5, 8])
    for feature in (3, 5, 8):
        learn(waiting, feature, 1.0)
    drawn = [set(waiting.take(3).tolist()) for _ in range(20_000)]
    together = np.mean([len(each - {3, 5, 8}) >= 2 for each in drawn])
    # Of three that are drawn alike, one of the chosen is seldom among so many.
    ways = math.comb(n_features - 3, 3) + 3 * math.comb(n_features - 3, 2)
    alike = ways / math.comb(n_features, 3)
    assert together == pytest.approx(exploring * alike, abs=0.01)


def test_a_feature_that_was_not_chosen_comes_often_once_it_has_shown_a_gain():
    waiting = queue(40)
    waiting.prefer([3, 5, 8])
    for feature in (3, 5, 8, 10, 11):
        learn(waiting, feature, 1.0, variance=1.0 if feature == 11 else 0.01)
    found = shares(waiting, 40)
    assert found[10] > 0.15
    assert found[11] < 0.01  # it may be noise
