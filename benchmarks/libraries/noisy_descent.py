"""Linear and logistic regression by noisy gradient descent: our own few lines, not a package.

Every step takes the gradients of all rows, each held to norm 1, and adds Gaussian noise to their
sum. All steps together are one Gaussian mechanism, so the accounting is exact. Adam sets the
lengths of the steps from what is released; the coefficients are the mean of the second half.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import scipy.special

from benchmarks.libraries.result import Result
from benchmarks.linear_rows import Target, noise_of, radius, scaled, weights
from benchmarks.meter import Meter

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.problems.problem import Problem

#: Of Adam, as it was published.
_DECAYS = (0.9, 0.999)
_LEAST = 1e-8


def residuals(scores: np.ndarray, y: np.ndarray, task: str) -> np.ndarray:
    """Return the derivatives of the loss of each row, held to norm 1.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_columns)
        Raw scores.
    y : ndarray of shape (n_rows, n_columns)
        As of `Target.columns`.
    task : {"binary", "multiclass", "regression"}
        Logistic loss, softmax loss, half the squared error.
    """
    if task == "regression":
        found = scores - y
    elif task == "binary":
        found = scipy.special.expit(scores) - (y + 1) / 2
    else:
        found = scipy.special.softmax(scores, axis=1) - y
    norms = np.linalg.norm(found, axis=1, keepdims=True)
    return found / np.maximum(norms, 1.0)


def descend(
    X: np.ndarray,
    y: np.ndarray,
    task: str,
    *,
    noise: float,
    n_steps: int,
    rate: float,
    random: np.random.Generator,
) -> np.ndarray:
    """Return coefficients.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        Rows of norm at most 1.
    y, task
        As for `residuals`.
    noise : float
        Deviation of the noise that would spend the budget in one step.
    n_steps : int
        Steps; the noise of each is larger by the root of their number.
    rate : float
        First length of a step, which falls evenly to zero.
    random : Generator
        Of the noise.
    """
    place, mean = np.zeros((X.shape[1], y.shape[1])), np.zeros((X.shape[1], y.shape[1]))
    first, second = mean, mean
    for step in range(n_steps):
        gradient = X.T @ residuals(X @ place, y, task)
        gradient = gradient + random.normal(0, noise * math.sqrt(n_steps), gradient.shape)
        first = _DECAYS[0] * first + (1 - _DECAYS[0]) * gradient
        second = _DECAYS[1] * second + (1 - _DECAYS[1]) * gradient**2
        direction = first / (1 - _DECAYS[0] ** (step + 1))
        spread = np.sqrt(second / (1 - _DECAYS[1] ** (step + 1))) + _LEAST
        place = place - rate * (1 - step / n_steps) * direction / spread
        if step >= n_steps // 2:
            mean = mean + place / (n_steps - n_steps // 2)
    return mean


def fit_predict(
    problem: Problem,
    train_X: pd.DataFrame,
    train_y: np.ndarray,
    test_X: pd.DataFrame,
    *,
    epsilon: float,
    seed: int,
    n_jobs: int,
    n_steps: int,
    rate: float,
) -> Result:
    """Fit with the declared bounds and fresh noise; see the package for the signature.

    ``rate`` is that of features in [-1, 1]. A row whose norm is too large is shortened.
    """
    known, target = problem.dictionary, Target(problem=problem)
    with Meter() as meter:
        X, longest = scaled(train_X, known), radius(known)
        coefficients = descend(
            X * (weights(X, longest) / longest)[:, None],
            target.columns(train_y),
            problem.task,
            noise=noise_of(epsilon),
            n_steps=n_steps,
            rate=rate * longest,
            random=np.random.default_rng(),
        )
    scores = scaled(test_X, known) @ coefficients / longest
    return Result(
        prediction=_predicted(scores, target),
        fit_seconds=meter.seconds,
        peak_mb=meter.peak_mb,
        n_trees=0,
        epsilon_spent=epsilon,
    )


def _predicted(scores: np.ndarray, target: Target) -> np.ndarray:
    task = target.problem.task
    if task == "binary":
        found: np.ndarray = scipy.special.expit(scores[:, 0])
        return found
    return (
        scipy.special.softmax(scores, axis=1)
        if task == "multiclass"
        else (target.prediction(scores))
    )


def versions() -> dict[str, str]:
    """Return what the figures depend on besides the settings."""
    return {"numpy": np.__version__, "variant": "1"}
