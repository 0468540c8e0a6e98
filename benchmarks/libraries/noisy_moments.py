"""Least squares from noisy moments: our own few lines, not a package.

The moments of features and labels are released once, with Gaussian noise of their sensitivity;
the coefficients solve their equations with a ridge as large as the noise. Several classes are a
least-squares fit of one 0/1 column each.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.libraries.result import Result
from benchmarks.linear_rows import Target, noise_of, radius, scaled, weights
from benchmarks.meter import Meter

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.problems.problem import Problem

#: Of both moments of one row together: each has a norm of at most 1.
SENSITIVITY = math.sqrt(2)


def noisy_moments(
    X: np.ndarray, y: np.ndarray, noise: float, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of ``x x'`` and of ``x y'`` over the rows with noise.

    Parameters
    ----------
    X, y : ndarray of shape (n_rows, n_columns)
        Rows of norm at most 1 each.
    noise : float
        Deviation of the noise of both sums, as a part of their sensitivity under one row more.
    random : Generator
        Of the noise.

    Notes
    -----
    The sum of ``x x'`` is symmetric, so half of it is released: the diagonal, and the entries
    above it times the root of two. A row changes these by its squared norm.
    """
    scale, n_columns = SENSITIVITY * noise, X.shape[1]
    above = np.triu(random.normal(0, scale / math.sqrt(2), (n_columns, n_columns)), 1)
    shift = above + above.T + np.diag(random.normal(0, scale, n_columns))
    return X.T @ X + shift, X.T @ y + random.normal(0, scale, (n_columns, y.shape[1]))


def solve(gram: np.ndarray, cross: np.ndarray, noise: float) -> np.ndarray:
    """Return the coefficients that noisy moments give.

    Parameters
    ----------
    gram, cross : ndarray
        As of `noisy_moments`.
    noise : float
        As there. The ridge is the root of the mean square of the eigenvalues of the noise, and
        no eigenvalue is taken as less than zero; without noise it is the least-squares solution.
    """
    if noise == 0:
        return np.linalg.lstsq(gram, cross, rcond=None)[0]
    ridge = SENSITIVITY * noise * math.sqrt(len(gram) / 2)
    lengths, axes = np.linalg.eigh(gram)
    found: np.ndarray = axes @ ((axes.T @ cross) / (np.maximum(lengths, 0) + ridge)[:, None])
    return found


def fit_predict(
    problem: Problem,
    train_X: pd.DataFrame,
    train_y: np.ndarray,
    test_X: pd.DataFrame,
    *,
    epsilon: float,
    seed: int,
    n_jobs: int,
) -> Result:
    """Fit with the declared bounds and fresh noise; see the package for the signature.

    A row whose norm is too large counts less, features and label alike.
    """
    known, target = problem.dictionary, Target(problem=problem)
    with Meter() as meter:
        X, longest = scaled(train_X, known), radius(known)
        weight = weights(X, longest)[:, None]
        noise = noise_of(epsilon)
        moments = noisy_moments(
            X * weight / longest,
            target.columns(train_y) * weight,
            noise,
            np.random.default_rng(),
        )
        coefficients = solve(*moments, noise) / longest
    return Result(
        prediction=target.prediction(scaled(test_X, known) @ coefficients),
        fit_seconds=meter.seconds,
        peak_mb=meter.peak_mb,
        n_trees=0,
        epsilon_spent=epsilon,
    )


def versions() -> dict[str, str]:
    """Return what the figures depend on besides the settings."""
    return {"numpy": np.__version__, "variant": "1"}
