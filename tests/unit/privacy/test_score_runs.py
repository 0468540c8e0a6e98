"""Scores written once for each run of equal neighbors."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy import mechanisms
from dpboost.privacy.mechanisms import ExponentialMechanism, PermuteAndFlip
from dpboost.privacy.queries import Sensitive, SensitiveValueError
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.score_runs import ScoreRuns
from dpboost.privacy.sensitivity.bound import Sensitivity

BOUND = Sensitivity("range", 4, "for a test")
RUNS = ScoreRuns(
    scores=np.array([3, 9, 1, 4, 4], dtype=np.int64),
    starts=np.array([0, 2, 3, 0, 5], dtype=np.int32),
    node_start=np.array([0, 3, 5], dtype=np.intp),
    n_candidates=6,
)
SCORES = np.array([[3, 3, 9, 1, 1, 1], [4, 4, 4, 4, 4, 4]], dtype=np.int64)


def test_runs_are_the_scores():
    assert RUNS.shape == SCORES.shape
    assert RUNS.size == SCORES.size
    assert RUNS.lengths().tolist() == [2, 1, 3, 5, 1]
    np.testing.assert_array_equal(RUNS.written_out(), SCORES)
    np.testing.assert_array_equal(RUNS.written_out(1, 2), SCORES[1:])


def test_runs_do_not_leave_their_process_and_show_nothing():
    with pytest.raises(TypeError, match="private rows"):
        pickle.dumps(RUNS)
    assert "array" not in repr(RUNS)
    sensitive = Sensitive(RUNS, (BOUND,))
    with pytest.raises(SensitiveValueError):
        len(sensitive)
    with pytest.raises(InvalidParameterError, match="released only"):
        sensitive.map(lambda value: value, bounds=(BOUND,))


@pytest.mark.parametrize("at_once", [1, 1 << 24])
@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 50), math.inf])
@pytest.mark.parametrize("kind", [ExponentialMechanism, PermuteAndFlip])
def test_mechanisms_know_both_forms(kind, epsilon, at_once, monkeypatch):
    monkeypatch.setattr(mechanisms, "_SCORES_AT_ONCE", at_once)
    mechanism = kind(epsilon=epsilon)
    for value in (RUNS, SCORES):
        mechanism.check(value)
    output = np.array([2, 0], dtype=np.int32)
    assert mechanism.log_probability(output, RUNS, BOUND) == mechanism.log_probability(
        output, SCORES, BOUND
    )


@pytest.mark.parametrize("kind", [ExponentialMechanism, PermuteAndFlip])
@pytest.mark.parametrize("epsilon", [Fraction(1), math.inf])
def test_the_same_bits_choose_the_same_from_both_forms(kind, epsilon):
    mechanism = kind(epsilon=epsilon)
    for seed in range(40):
        drawn = [mechanism.draw(value, BOUND, Entropy.seeded(seed)) for value in (RUNS, SCORES)]
        np.testing.assert_array_equal(*drawn)
