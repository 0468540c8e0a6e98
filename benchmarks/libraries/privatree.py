"""PrivaTree, implemented here from its paper: not the authors' package.

Vos, Vos, Li, Erkin and Verwer, "Differentially-Private Decision Trees and Provable Robustness to
Data Poisoning", 2023 (arXiv 2305.15394). Two classes.

From the paper: one tree; a split is the best by the Gini impurity of private histograms of both
classes, with geometric noise, cut at zero; categories are ordered by their noisy share of class 1;
a leaf has the label that permute-and-flip draws; leaves have as much of the budget as a wrong
label costs, at most half, and the levels share the rest.

Left open or known to fail, and what is done here:

* The paper spends the budget of a node on the histogram of every column, as if columns were
  disjoint rows. They are not: a row is in one cell of each. Here a column has its part of the
  budget; ``whole=True`` is as published, and spends up to as many times the budget of the splits
  as there are columns. It is here to show what the published figures have, and is not private.
* A node whose rows have one label ends, in the published program, by the exact count. Here every
  node is split down to the last level.
* The budget of leaves depends on the number of rows. Here a noisy number is bought for it, with a
  hundredth of the budget.
* The bins of a number are ten even ones of its declared bounds. The paper also has quantiles that
  are released from the rows, for one more part of the budget.
* Predictions are labels, so the area under the ROC curve is that of two groups of rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.optimize

from benchmarks.errors import BenchmarkError
from benchmarks.libraries.result import Result
from benchmarks.meter import Meter
from benchmarks.random_trees import Grid, grid

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.problems.problem import Problem

#: Parts of the budget: of the number of rows, and of the leaves at most.
_COUNT_SHARE, _MOST_OF_LEAVES = 0.01, 0.5
#: How often a leaf is to have the label of most of its rows.
_SURE = 0.99


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What is spent where; all levels of a tree part the rows, so each is spent once.

    Attributes
    ----------
    count, leaf : float
        On the number of rows, and on the labels of the leaves.
    level : float
        On all histograms of the nodes of one level.
    """

    count: float
    leaf: float
    level: float

    def total(self, depth: int) -> float:
        """Return the budget of a tree of that depth."""
        return self.count + self.leaf + depth * self.level


def worst_error(n_labels: int) -> float:
    """Return by how many rows permute-and-flip misses the largest count at worst, at epsilon 1.

    It is the mean for counts of which one is largest and all others are equal.
    """

    def negative(p: float) -> float:
        return -2 * math.log(1 / p) * (1 - (1 - (1 - p) ** n_labels) / (n_labels * p))

    return -float(scipy.optimize.minimize_scalar(negative, bounds=(1e-9, 1), method="bounded").fun)


def budget_of(epsilon: float, n_rows: int, depth: int, random: np.random.Generator) -> Budget:
    """Return how a budget is divided, by a noisy number of rows."""
    count = _COUNT_SHARE * epsilon
    rows = max(float(geometric(np.array([n_rows]), count, random)[0]), 1.0)
    needed = worst_error(2) * 2**depth / (rows * (1 - _SURE))
    leaf = min(_MOST_OF_LEAVES * epsilon, needed)
    return Budget(count=count, leaf=leaf, level=(epsilon - count - leaf) / depth)


def geometric(counts: np.ndarray, epsilon: float, random: np.random.Generator) -> np.ndarray:
    """Return counts with two-sided geometric noise, cut at zero; exact if epsilon is infinite."""
    if math.isinf(epsilon):
        return counts
    chance = -math.expm1(-epsilon)
    noise = random.geometric(chance, counts.shape) - random.geometric(chance, counts.shape)
    return np.maximum(counts + noise, 0)


def permute_and_flip(counts: np.ndarray, epsilon: float, random: np.random.Generator) -> int:
    """Return the position of a large count.

    One row more raises one count by one and lowers none, so the exponent is epsilon, not half.
    """
    if math.isinf(epsilon):
        return int(counts.argmax())
    for position in random.permutation(len(counts)):
        if random.random() < math.exp(epsilon * (counts[position] - counts.max())):
            return int(position)
    raise AssertionError("The largest count is always accepted.")


def gini(counts: np.ndarray) -> np.ndarray:
    """Return the Gini impurity of nodes times their rows, from counts of shape (2, ...)."""
    total = counts.sum(axis=0)
    found: np.ndarray = total - (counts**2).sum(axis=0) / np.maximum(total, 1e-12)
    return found


@dataclass(frozen=True, kw_only=True)
class Node:
    """A split, or a leaf where ``children`` is empty.

    Attributes
    ----------
    label : int
        Of a leaf.
    column : int
    goes_right : ndarray of bool
        For each bin of the column.
    children : tuple of Node
        Left and right.
    """

    label: int = 0
    column: int = 0
    goes_right: np.ndarray | None = None
    children: tuple[Node, ...] = ()

    def labels(self, bins: np.ndarray) -> np.ndarray:
        """Return the label of each row."""
        if not self.children:
            return np.full(len(bins), self.label)
        assert self.goes_right is not None
        right = self.goes_right[bins[:, self.column]]
        found = np.empty(len(bins), dtype=np.int64)
        for child, rows in zip(self.children, (~right, right), strict=True):
            found[rows] = child.labels(bins[rows])
        return found


def best_split(
    bins: np.ndarray, y: np.ndarray, cuts: Grid, epsilon: float, random: np.random.Generator
) -> tuple[int, np.ndarray]:
    """Return the column with the best cut of its noisy histograms, and which bins go right.

    Parameters
    ----------
    bins : ndarray of shape (n_rows, n_columns)
    y : ndarray
        Labels 0 and 1.
    cuts : Grid
    epsilon : float
        Of the histograms of one column.
    random : Generator
    """
    best, column, goes_right = math.inf, 0, np.zeros(len(cuts.cuts[0]) + 1, dtype=bool)
    for at, own in enumerate(cuts.cuts):
        n_bins = len(own) + 1
        exact = np.bincount(y * n_bins + bins[:, at], minlength=2 * n_bins)
        counts = geometric(exact, epsilon, random).reshape(2, n_bins).astype(np.float64)
        order = np.arange(n_bins)
        if cuts.is_category[at]:
            total = counts.sum(axis=0)
            order = np.argsort(np.where(total > 0, counts[1] / np.maximum(total, 1), 0.5))
        left = counts[:, order].cumsum(axis=1)[:, :-1]
        whole = counts.sum(axis=1, keepdims=True)
        impurity = (gini(left) + gini(whole - left)) / max(float(whole.sum()), 1.0)
        cut = int(impurity.argmin())
        if impurity[cut] < best:
            best, column = float(impurity[cut]), at
            goes_right = np.zeros(n_bins, dtype=bool)
            goes_right[order[cut + 1 :]] = True
    return column, goes_right


def grow(
    bins: np.ndarray,
    y: np.ndarray,
    cuts: Grid,
    depth: int,
    budget: Budget,
    random: np.random.Generator,
    *,
    whole: bool = False,
) -> Node:
    """Return a tree.

    Parameters
    ----------
    bins, y, cuts
        As for `best_split`.
    depth : int
        Levels of splits that are left.
    budget : Budget
    random : Generator
        Of all noise.
    whole : bool
        Whether every column has the budget of all, as published.
    """
    if depth == 0:
        counts = np.bincount(y, minlength=2)
        return Node(label=permute_and_flip(counts, budget.leaf, random))
    epsilon = budget.level if whole else budget.level / cuts.n_columns
    column, goes_right = best_split(bins, y, cuts, epsilon, random)
    right = goes_right[bins[:, column]]
    children = tuple(
        grow(bins[rows], y[rows], cuts, depth - 1, budget, random, whole=whole)
        for rows in (~right, right)
    )
    return Node(column=column, goes_right=goes_right, children=children)


def fit_predict(
    problem: Problem,
    train_X: pd.DataFrame,
    train_y: np.ndarray,
    test_X: pd.DataFrame,
    *,
    epsilon: float | None,
    seed: int,
    n_jobs: int,
    max_depth: int = 4,
    n_bins: int = 10,
    whole: bool = False,
) -> Result:
    """Fit with the declared bounds; see the package for the signature.

    Without epsilon there is no noise. With ``whole`` the epsilon is the one that the paper states,
    not the one that is spent.

    Raises
    ------
    BenchmarkError
        If there are not two classes.
    """
    if problem.task != "binary":
        raise BenchmarkError("PrivaTree takes two classes.")
    known, random = problem.dictionary, np.random.default_rng()
    with Meter() as meter:
        cuts = grid(list(train_X.columns), known, n_bins - 1)
        if epsilon is None:
            budget = Budget(count=math.inf, leaf=math.inf, level=math.inf)
        else:
            budget = budget_of(epsilon, len(train_y), max_depth, random)
        bins = cuts.bins(train_X, known)
        tree = grow(bins, train_y, cuts, max_depth, budget, random, whole=whole)
    return Result(
        prediction=tree.labels(cuts.bins(test_X, known)).astype(np.float64),
        fit_seconds=meter.seconds,
        peak_mb=meter.peak_mb,
        n_trees=1,
        epsilon_spent=epsilon,
    )


def versions() -> dict[str, str]:
    """Return what the figures depend on besides the settings."""
    return {"numpy": np.__version__, "variant": "1"}
