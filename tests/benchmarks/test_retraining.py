from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks.retraining import retrain

ARRAYS = {
    "X": np.array([[1.0], [2.0]]),
    "y": np.array([0.0, 1.0]),
    "other_X": np.array([[1.0]]),
    "other_y": np.array([0.0]),
}


def test_both_tables_are_fitted_in_turn():
    numbers = itertools.count()
    pauses = []
    told = retrain(
        lambda X, y: (len(X), next(numbers)),
        lambda model: model,
        ARRAYS,
        3,
        fingerprint=lambda model: model[1],
        pause=lambda: pauses.append(0),
    )
    # The first two fits only show whether their noise is the same.
    assert told["here"].tolist() == [[2, 2], [2, 4], [2, 6]]
    assert told["there"].tolist() == [[1, 3], [1, 5], [1, 7]]
    assert not told["repeats"]
    assert len(pauses) == 4


def test_noise_that_comes_again_is_seen():
    told = retrain(lambda X, y: 0.5, float, ARRAYS, 2, fingerprint=lambda model: model)
    assert told["repeats"]


def test_a_fit_that_fails_is_an_outcome():
    def fit(X, y):
        if len(X) == 1:
            raise ValueError("one row")
        return np.array([1.0, 2.0])

    told = retrain(fit, lambda model: model, ARRAYS, 2, fingerprint=lambda model: model)
    assert told["here"].tolist() == [[1, 2], [1, 2]]
    assert np.isnan(told["there"]).all()
    assert told["there"].shape == (2, 2)


def test_a_library_that_never_fits_is_an_error():
    def fit(X, y):
        raise ValueError("never")

    with pytest.raises(ValueError, match="never"):
        retrain(fit, float, ARRAYS, 2, fingerprint=float)
