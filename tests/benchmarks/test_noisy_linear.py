"""The noisy linear models: their noise is that of their accounting, none if epsilon is inf."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from benchmarks.calibration import DELTA
from benchmarks.libraries import noisy_descent, noisy_moments
from benchmarks.linear_rows import Target, noise_of, radius, scaled, weights
from benchmarks.problems.problem import DataDictionary

KNOWN = DataDictionary(
    bounds={"x": (0, 20)}, categories={"c": ("a", "b")}, label_bounds=(-10.0, 10.0)
)
TABLE = pd.DataFrame(
    {"x": [0.0, 10.0, 30.0], "c": pd.Categorical(["b", "a", None], categories=["a", "b"])}
)


def rows(n_rows=200, n_columns=3, n_targets=1):
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (n_rows, n_columns)) / math.sqrt(n_columns)
    y = random.uniform(-1, 1, (n_rows, n_targets)) / math.sqrt(n_targets)
    return X, y


def test_features_are_scaled_by_what_is_declared():
    assert scaled(TABLE, KNOWN).tolist() == [[1, -1, 0, 1], [1, 0, 1, 0], [1, 1, 0, 0]]
    assert radius(KNOWN) == pytest.approx(math.sqrt(1 + 1 + 1 / 3))


def test_no_row_is_longer_than_allowed():
    X = 10 * rows()[0]
    lengths = np.linalg.norm(X * weights(X, 1.5)[:, None], axis=1)
    assert lengths.max() == pytest.approx(1.5)
    assert weights(X / 100, 1.5).tolist() == [1.0] * len(X)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_the_noise_spends_the_budget(epsilon):
    mu = 1 / noise_of(epsilon)
    left, right = scipy.stats.norm.cdf([mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu])
    assert left - math.exp(epsilon) * right == pytest.approx(DELTA, rel=1e-6)
    assert noise_of(math.inf) == 0


@pytest.mark.parametrize(
    ("task", "y", "columns"),
    [
        ("regression", [-10.0, 0.0, 20.0], [[-1], [0], [1]]),
        ("binary", [0, 1], [[-1], [1]]),
        ("multiclass", [2, 0], [[0, 0, 1], [1, 0, 0]]),
    ],
)
def test_labels_are_columns_and_come_back(problem, task, y, columns):
    known = KNOWN if task == "regression" else dataclasses.replace(KNOWN, classes=(0, 1, 2))
    target = Target(problem=dataclasses.replace(problem, task=task, dictionary=known))
    found = target.columns(np.array(y))
    assert found.tolist() == columns
    assert np.linalg.norm(found, axis=1).max() <= 1
    back = target.prediction(found)
    known_labels = np.clip(y, -10, 10)
    assert (back.argmax(axis=1) if task == "multiclass" else back).tolist() == known_labels.tolist()


def released(X, y):
    """What is released of the moments, as one vector whose length is bounded."""
    gram, cross = noisy_moments.noisy_moments(X, y, 0.0, np.random.default_rng())
    above = math.sqrt(2) * gram[np.triu_indices(len(gram), 1)]
    return np.concatenate([np.diag(gram), above, cross.ravel()])


def test_a_row_changes_the_moments_by_at_most_their_sensitivity():
    X, y = rows(n_targets=2)
    for row in range(20):
        # The worst rows have norm 1.
        X[row] /= np.linalg.norm(X[row])
        y[row] /= np.linalg.norm(y[row])
        without = released(np.delete(X, row, 0), np.delete(y, row, 0))
        change = np.linalg.norm(released(X, y) - without)
        assert change == pytest.approx(noisy_moments.SENSITIVITY)


def test_the_moments_have_the_noise_that_is_stated():
    X, y = rows(n_columns=30, n_targets=10)
    exact = released(X, y)
    gram, cross = noisy_moments.noisy_moments(X, y, 2.0, np.random.default_rng(1))
    assert (gram == gram.T).all()
    above = math.sqrt(2) * gram[np.triu_indices(len(gram), 1)]
    noise = np.concatenate([np.diag(gram), above, cross.ravel()]) - exact
    for part in (noise[:30], noise[30:-300], noise[-300:]):
        expected = 2 * noisy_moments.SENSITIVITY
        assert part.std() == pytest.approx(expected, abs=4 * expected / math.sqrt(2 * len(part)))


def test_without_noise_the_moments_give_least_squares(problem):
    random = np.random.default_rng(2)
    X = pd.DataFrame({"x": random.uniform(5, 15, 100)})  # short rows, which all count alike
    y = 3 + 0.5 * X["x"].to_numpy() + random.normal(size=100)
    found = noisy_moments.fit_predict(problem, X, y, X, epsilon=math.inf, seed=0, n_jobs=1)
    slope, start = np.polyfit(X["x"], y, 1)
    assert found.prediction == pytest.approx(start + slope * X["x"].to_numpy())


def test_no_step_of_descent_sees_more_than_one_of_a_row():
    random = np.random.default_rng(3)
    for task, n_columns in (("regression", 1), ("binary", 1), ("multiclass", 4)):
        scores = random.normal(0, 5, (50, n_columns))
        y = np.eye(4)[random.integers(0, 4, 50)] if n_columns == 4 else np.ones((50, 1))
        found = noisy_descent.residuals(scores, y, task)
        assert np.linalg.norm(found, axis=1).max() <= 1 + 1e-12


def test_the_noise_of_all_steps_is_that_of_one_release():
    class Counted:
        """Adds nothing, and keeps the deviations it is asked for."""

        asked = []

        def normal(self, mean, deviation, shape):
            self.asked.append(deviation)
            return np.zeros(shape)

    X, y = rows()
    options = {"noise": 3.0, "n_steps": 25, "rate": 0.1, "random": Counted()}
    noisy_descent.descend(X, y, "regression", **options)
    # Each has a mu of 1 over its deviation, and their squares add up.
    mu = math.sqrt(sum(1 / deviation**2 for deviation in Counted.asked))
    assert len(Counted.asked) == 25
    assert mu == pytest.approx(1 / 3.0)


@pytest.mark.parametrize("task", ["regression", "binary", "multiclass"])
def test_descent_without_noise_finds_what_there_is(problem, task):
    random = np.random.default_rng(4)
    X = pd.DataFrame({"x": random.uniform(0, 20, 500)})
    x = X["x"].to_numpy()
    y = {"regression": x, "binary": x > 8, "multiclass": np.digitize(x, [8, 14])}[task]
    known = dataclasses.replace(
        problem.dictionary,
        classes=None if task == "regression" else (0, 1, 2)[: 2 + (task == "multiclass")],
        label_bounds=(0, 20) if task == "regression" else None,
    )
    found = noisy_descent.fit_predict(
        dataclasses.replace(problem, task=task, dictionary=known),
        X,
        y.astype(float if task == "regression" else int),
        X,
        epsilon=math.inf,
        seed=0,
        n_jobs=1,
        n_steps=300,
        rate=0.3,
    ).prediction
    if task == "regression":
        assert found == pytest.approx(x, abs=1.0)
    elif task == "binary":
        assert scipy.stats.spearmanr(found, x)[0] == pytest.approx(1)
        assert ((found > 0.5) == y).mean() > 0.95
    else:
        assert found.sum(axis=1) == pytest.approx(np.ones(500))
        assert (found.argmax(axis=1) == y).mean() > 0.85
