"""Boosted trees of Maddock et al., implemented here from their paper: not the authors' package.

Maddock, Cormode, Wang, Maple and Jha, "Federated Boosted Decision Trees with Differential
Privacy", 2022 (arXiv 2210.02910).

From the paper: the sums of gradients and of Hessians are one vector with Gaussian noise; all
releases are composed by Renyi accounting; totally random trees release their leaves alone, while
trees whose splits are chosen release a histogram of every column at every level; the value of a
leaf is XGBoost's Newton step; batched updates build several trees from the same gradients and add
their mean; trees of one column each, in turn. Half of its methods are here: neither partially
random splits, nor Hessian candidates, nor gradient and averaging steps.

Left open or known to fail, and what is done here:

* The candidates are even cuts of the declared bounds; the published program takes the range of
  the rows. Categories are cut by their codes in the declared order, as numbers.
* Delta is that of the other methods; the paper takes one over the number of rows.
* A cut is drawn among those that the splits above leave, and no node ends early: the number of
  rows of a node is not known.
* A negative sum of Hessians counts as zero.
* The paper has classes alone. For a regression, labels are scaled to [-1, 1], gradients of the
  squared error are clipped to 0.3, as S-BDT clips them, and the Hessian of a row is 1. Gradients
  are released in units of their clip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.special

from benchmarks.libraries.result import Result
from benchmarks.meter import Meter
from benchmarks.random_trees import Grid, Structure, grid, random_structure, sums
from benchmarks.renyi import calibrated

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.problems.problem import Problem

#: Largest Hessian of a row: of the logistic loss, and of the squared error.
_HESSIANS = {"binary": 0.25, "regression": 1.0}
#: Largest gradient of a row, which is released as 1.
_GRADIENTS = {"binary": 1.0, "regression": 0.3}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the paper varies; the defaults are those of its package and most of its figures.

    Attributes
    ----------
    n_trees : int
    max_depth : int
    structure : {"random", "histogram"}
        How splits come about.
    one_column : bool
        Whether each tree has one column, in turn; else all.
    batch : int
        Trees that are built from the same gradients.
    n_candidates : int
        Candidates of a number.
    learning_rate, ridge, most : float
        Factor of the values of leaves, what is added to Hessians, and the largest value.
    caution : float
        Deviations of the noise that are added to Hessians where splits are compared, and where
        leaves are valued; 0 as published, where nearly empty cells often win.
    """

    n_trees: int = 100
    max_depth: int = 4
    structure: str = "random"
    one_column: bool = False
    batch: int = 1
    n_candidates: int = 32
    learning_rate: float = 0.3
    ridge: float = 1.0
    most: float = 2.0
    caution: float = 0.0

    def n_releases(self, n_columns: int) -> int:
        """Return how many vectors of sums a row is part of."""
        if self.structure == "random":
            return self.n_trees
        return self.n_trees * self.max_depth * (1 if self.one_column else n_columns)


def sensitivity(task: str) -> float:
    """Return by how much a row changes a vector of sums, in units of the largest gradient."""
    return math.hypot(1.0, _HESSIANS[task])


def derivatives(scores: np.ndarray, y: np.ndarray, task: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradient, as a part of the largest one, and the Hessian of each row."""
    if task == "regression":
        return np.clip((scores - y) / _GRADIENTS[task], -1, 1), np.ones(len(y))
    probability = scipy.special.expit(scores)
    return probability - y, probability * (1 - probability)


def leaf_values(both: np.ndarray, settings: Settings, deviation: float = 0.0) -> np.ndarray:
    """Return Newton steps of noisy sums of shape (2, n_leaves), with noise of that deviation."""
    ridge = settings.ridge + settings.caution * deviation
    ratio = -both[0] / (np.maximum(both[1], 0) + ridge)
    return settings.learning_rate * np.clip(ratio, -settings.most, settings.most)


def gains(both: np.ndarray, ridge: float) -> np.ndarray:
    """Return XGBoost's score of nodes from noisy sums, of shape (2, ...)."""
    found: np.ndarray = both[0] ** 2 / (np.maximum(both[1], 0) + ridge)
    return found


class Noise:
    """Vectors of two sums for each cell, with noise.

    Parameters
    ----------
    deviation : float
        Of each entry; 0 for none.
    random : Generator
    """

    def __init__(self, deviation: float, random: np.random.Generator) -> None:
        self.deviation, self.random = deviation, random

    def released(
        self, cells: np.ndarray, derived: tuple[np.ndarray, np.ndarray], n_cells: int
    ) -> np.ndarray:
        """Return the noisy sums of gradients and Hessians of each cell, of shape (2, n_cells)."""
        exact = np.stack([sums(cells, values, n_cells) for values in derived])
        noise = self.random.standard_normal(exact.shape)
        found: np.ndarray = exact + self.deviation * noise
        return found


def greedy_tree(
    bins: np.ndarray,
    cuts: Grid,
    columns: np.ndarray,
    derived: tuple[np.ndarray, np.ndarray],
    settings: Settings,
    noise: Noise,
) -> tuple[Structure, np.ndarray]:
    """Return a tree whose splits are the best of noisy histograms, and the values of its leaves.

    Parameters
    ----------
    bins : ndarray of shape (n_rows, n_columns)
    cuts : Grid
    columns : ndarray
        Columns that may be split by.
    derived : tuple of ndarray
        Gradients and Hessians of the rows.
    settings : Settings
    noise : Noise

    Notes
    -----
    Both sides of the last splits are sums of cells of the last histograms, so leaves cost nothing.
    """
    n_nodes = 2**settings.max_depth - 1
    columns_of, cuts_of = np.zeros((2, n_nodes), dtype=np.int64)
    place, rows = np.zeros(len(bins), dtype=np.int64), np.arange(len(bins))
    leaves = np.zeros((2, n_nodes + 1))
    ridge = settings.ridge + settings.caution * noise.deviation
    for level in range(settings.max_depth):
        n_level, first = 2**level, 2**level - 1
        best = np.full(n_level, -np.inf)
        sides = np.zeros((2, n_level, 2))
        for column in columns:
            n_bins = len(cuts.cuts[column]) + 1
            cells = (place - first) * n_bins + bins[:, column]
            histogram = noise.released(cells, derived, n_level * n_bins)
            below = histogram.reshape(2, n_level, n_bins).cumsum(axis=2)
            total, below = below[:, :, -1:], below[:, :, :-1]
            above = total - below
            score = gains(below, ridge) + gains(above, ridge) - gains(total, ridge)
            cut = score.argmax(axis=1)
            nodes = np.arange(n_level)
            better = score[nodes, cut] > best
            best[better] = score[nodes, cut][better]
            columns_of[first : first + n_level][better] = column
            cuts_of[first : first + n_level][better] = cut[better]
            found = np.stack([below[:, nodes, cut], above[:, nodes, cut]], axis=-1)
            sides[:, better] = found[:, better]
        place = 2 * place + 1 + (bins[rows, columns_of[place]] > cuts_of[place])
        leaves = sides.reshape(2, -1)
    structure = Structure(columns=columns_of, cuts=cuts_of, exact=np.zeros(n_nodes, dtype=bool))
    return structure, leaf_values(leaves, settings, noise.deviation)


def boost(
    bins: np.ndarray,
    y: np.ndarray,
    cuts: Grid,
    task: str,
    settings: Settings,
    *,
    noise: Noise,
    public: np.random.Generator,
) -> list[tuple[Structure, np.ndarray]]:
    """Return trees with the values of their leaves, which are added up.

    Parameters
    ----------
    bins : ndarray of shape (n_rows, n_columns)
    y : ndarray
        Labels 0 and 1, or in [-1, 1].
    cuts : Grid
    task : {"binary", "regression"}
    settings : Settings
    noise : Noise
    public : Generator
        Of random splits.
    """
    scores, found = np.zeros(len(y)), []
    every = np.arange(cuts.n_columns)
    for first in range(0, settings.n_trees, settings.batch):
        derived = derivatives(scores, y, task)
        trees = range(first, min(first + settings.batch, settings.n_trees))
        for tree in trees:
            columns = np.array([tree % cuts.n_columns]) if settings.one_column else every
            if settings.structure == "random":
                structure = random_structure(
                    cuts, settings.max_depth, columns, public, one_against_rest=False
                )
                leaves = structure.leaves(bins)
                released = noise.released(leaves, derived, structure.n_leaves)
                values = leaf_values(released, settings, noise.deviation)
            else:
                structure, values = greedy_tree(bins, cuts, columns, derived, settings, noise)
                leaves = structure.leaves(bins)
            # Back from units of the largest gradient, and the mean of the batch.
            values = values * _GRADIENTS[task] / len(trees)
            scores = scores + values[leaves]
            found.append((structure, values))
    return found


def fit_predict(
    problem: Problem,
    train_X: pd.DataFrame,
    train_y: np.ndarray,
    test_X: pd.DataFrame,
    *,
    epsilon: float | None,
    seed: int,
    n_jobs: int,
    delta: float = 1e-5,
    **settings: float,
) -> Result:
    """Fit with the declared bounds; see the package for the signature.

    Without epsilon there is no noise.
    """
    chosen = Settings(**settings)  # type: ignore[arg-type]
    known, task = problem.dictionary, problem.task
    low, high = known.label_bounds or (-1.0, 1.0)
    regression = task == "regression"
    with Meter() as meter:
        cuts = grid(list(train_X.columns), known, chosen.n_candidates)
        y = np.clip((2 * train_y - (low + high)) / (high - low), -1, 1) if regression else train_y
        deviation = 0.0
        if epsilon is not None:
            single, _ = calibrated(epsilon, delta, chosen.n_releases(cuts.n_columns))
            deviation = single * sensitivity(task)
        trees = boost(
            cuts.bins(train_X, known),
            y.astype(np.float64),
            cuts,
            task,
            chosen,
            noise=Noise(deviation, np.random.default_rng()),
            public=np.random.default_rng(seed),
        )
    new = cuts.bins(test_X, known)
    scores = np.zeros(len(new))
    for structure, values in trees:
        scores += values[structure.leaves(new)]
    prediction = scipy.special.expit(scores)
    if regression:
        prediction = (low + high + (high - low) * np.clip(scores, -1, 1)) / 2
    return Result(
        prediction=prediction,
        fit_seconds=meter.seconds,
        peak_mb=meter.peak_mb,
        n_trees=len(trees),
        epsilon_spent=epsilon,
    )


def versions() -> dict[str, str]:
    """Return what the figures depend on besides the settings."""
    return {"numpy": np.__version__, "variant": "1"}
