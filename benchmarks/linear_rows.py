"""Rows and labels as noisy linear models take them: scaled by what is declared, of bounded norm."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.calibration import gaussian_noise
from benchmarks.peers import encoded

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.problems.problem import DataDictionary, Problem


def scaled(X: pd.DataFrame, dictionary: DataDictionary) -> np.ndarray:
    """Return an intercept, numeric columns in [-1, 1] and a 0/1 column for each category.

    Parameters
    ----------
    X : DataFrame
        Features.
    dictionary : DataDictionary
        Its bounds become -1 and 1; a missing category has zeros alone.

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
    """
    codes = encoded(X, dictionary)
    columns = [np.ones(len(X))]
    for position, name in enumerate(X.columns):
        values = codes[:, position]
        if name in dictionary.categories:
            listed = np.arange(len(dictionary.categories[name]))
            columns += list((values == listed[:, None]).astype(np.float64))
        else:
            low, high = dictionary.bounds[name]
            columns.append((2 * values - (low + high)) / (high - low))
    return np.column_stack(columns)


def radius(dictionary: DataDictionary) -> float:
    """Return the norm to which rows are held: of a row whose numbers have the mean square 1/3.

    That is the mean square of a uniform number in [-1, 1]; a category and the intercept have 1.
    """
    return math.sqrt(1 + len(dictionary.categories) + len(dictionary.bounds) / 3)


def weights(X: np.ndarray, largest: float) -> np.ndarray:
    """Return by how much each row is multiplied so that no norm exceeds ``largest``."""
    return np.minimum(1.0, largest / np.linalg.norm(X, axis=1))


def noise_of(epsilon: float) -> float:
    """Return the deviation of the noise that spends a budget on what one row changes by 1.

    Gaussian noise, at the delta of `benchmarks.calibration`; none if ``epsilon`` is infinite.
    """
    return 0.0 if math.isinf(epsilon) else gaussian_noise(epsilon)


@dataclass(frozen=True, kw_only=True)
class Target:
    """The labels of a problem as columns, each row of norm at most 1, and the way back.

    Attributes
    ----------
    problem : Problem
        A regression has one column in [-1, 1], two classes one of -1 and 1, more classes one 0/1
        column each.
    """

    problem: Problem

    def columns(self, y: np.ndarray) -> np.ndarray:
        """Return labels as columns of shape (n_rows, n_columns)."""
        if self.problem.task == "multiclass":
            return (y[:, None] == np.arange(self.problem.n_classes)).astype(np.float64)
        low, high = self._ends()
        return np.clip((2 * y - (low + high)) / (high - low), -1, 1)[:, None]

    def prediction(self, columns: np.ndarray) -> np.ndarray:
        """Return predicted labels, or for two classes the probability of the second."""
        if self.problem.task == "multiclass":
            return columns
        low, high = self._ends()
        if self.problem.task == "binary":
            # Not cut at 0 and 1, where rows would tie: only the order of the scores counts.
            return (columns[:, 0] + 1) / 2
        return (low + high + (high - low) * np.clip(columns[:, 0], -1, 1)) / 2

    def _ends(self) -> tuple[float, float]:
        if self.problem.task == "binary":
            return 0.0, 1.0
        assert self.problem.dictionary.label_bounds is not None
        return self.problem.dictionary.label_bounds
