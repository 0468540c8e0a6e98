"""LightGBM on rows that dpmm's MST or AIM made up, which runs in an environment of its own.

Each numeric column, and the label of a regression, is cut into equal parts of its declared bounds.
A synthetic number is drawn again within its part. LightGBM has its defaults.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks._compat import import_pandas
from benchmarks.environments import interpreter, requirements_digest
from benchmarks.libraries import lightgbm_np
from benchmarks.libraries.result import Result
from benchmarks.peers import encoded, fit_in_peer

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.problems.problem import Problem

_NAME = "dpmm_synthesis"


def prepare() -> None:
    """Make the environment, or raise ``PeerUnavailableError``."""
    interpreter(_NAME)


def parts_of(values: np.ndarray, bounds: tuple[float, float], n_parts: int) -> np.ndarray:
    """Return in which of so many equal parts of the bounds each number lies."""
    low, high = bounds
    found = ((values - low) / (high - low) * n_parts).astype(np.int64)
    return np.clip(found, 0, n_parts - 1)


def drawn_within(
    parts: np.ndarray, bounds: tuple[float, float], n_parts: int, random: np.random.Generator
) -> np.ndarray:
    """Return a uniform number in each of some parts of the bounds."""
    low, high = bounds
    return low + (parts + random.random(len(parts))) / n_parts * (high - low)


def to_codes(
    X: pd.DataFrame, y: np.ndarray, problem: Problem, n_parts: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows as whole numbers, the label last, and how many values each column has.

    A missing category is a value of its own.
    """
    known, numbers = problem.dictionary, encoded(X, problem.dictionary)
    columns, sizes = [], []
    for position, name in enumerate(X.columns):
        if name in known.categories:
            columns.append(numbers[:, position].astype(np.int64))
            sizes.append(len(known.categories[name]) + 1)
        else:
            columns.append(parts_of(numbers[:, position], known.bounds[name], n_parts))
            sizes.append(n_parts)
    if known.label_bounds is None:
        return np.column_stack([*columns, y]), np.array([*sizes, problem.n_classes])
    label = parts_of(y, known.label_bounds, n_parts)
    return np.column_stack([*columns, label]), np.array([*sizes, n_parts])


def from_codes(
    codes: np.ndarray, X: pd.DataFrame, problem: Problem, n_parts: int, seed: int
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the table and labels of codes; its columns are those of ``X``."""
    pandas, known = import_pandas(), problem.dictionary
    random = np.random.default_rng(seed)
    columns: dict[str, Any] = {}
    for position, name in enumerate(X.columns):
        own = codes[:, position]
        if name in known.categories:
            values = np.where(own < len(known.categories[name]), own, -1)
            columns[name] = pandas.Categorical.from_codes(values, dtype=X[name].dtype)
        else:
            columns[name] = drawn_within(own, known.bounds[name], n_parts, random)
    label = codes[:, -1]
    if known.label_bounds is not None:
        label = drawn_within(label, known.label_bounds, n_parts, random)
    return pandas.DataFrame(columns), label


def fit_predict(
    problem: Problem,
    train_X: pd.DataFrame,
    train_y: np.ndarray,
    test_X: pd.DataFrame,
    *,
    epsilon: float,
    seed: int,
    n_jobs: int,
    n_parts: int,
    **settings: Any,
) -> Result:
    """Fit with the declared bounds and fresh noise; see the package for the signature.

    The number of rows is taken as public: there are as many synthetic ones.
    """
    rows, sizes = to_codes(train_X, train_y, problem, n_parts)
    options = {"epsilon": epsilon, **settings}
    made = fit_in_peer(_NAME, {"rows": rows, "sizes": sizes}, options, n_jobs)
    X, y = from_codes(made.prediction, train_X, problem, n_parts, seed)
    if problem.task != "regression" and len(np.unique(y)) < 2:
        # One class alone: nothing to fit.
        share = np.bincount(y, minlength=problem.n_classes) / len(y)
        wide = np.repeat(share[None], len(test_X), axis=0)
        prediction = wide[:, 1] if problem.task == "binary" else wide
        return dataclasses.replace(made, prediction=prediction, epsilon_spent=epsilon)
    fitted = lightgbm_np.fit_predict(problem, X, y, test_X, epsilon=None, seed=seed, n_jobs=n_jobs)
    return dataclasses.replace(
        fitted,
        fit_seconds=made.fit_seconds + fitted.fit_seconds,
        peak_mb=made.peak_mb,
        epsilon_spent=epsilon,
    )


def versions() -> dict[str, str]:
    """Return what the figures depend on besides the settings."""
    return {"requirements": requirements_digest(_NAME), **lightgbm_np.versions()}
