"""S-BDT, implemented here from its paper: not the authors' package.

Peinemann, Kirschte, Stock, Cotrini and Mohammadi, "S-BDT: Distributed Differentially Private
Boosted Decision Trees", 2024 (arXiv 2309.12041).

From the paper: trees with random splits; a leaf releases the sum of clipped gradients and the sum
of clipped Hessians (or the number of rows) with Gaussian noise of two sizes, whose shares of the
budget are chosen; each tree sees a Poisson sample of the rows; Renyi accounting with the bound for
Poisson samples; an individual Renyi filter, which lets rows with small gradients take part in more
trees than were planned; each tree splits by one column; a tenth of the budget for the start value.

Left open or known to fail, and what is done here:

* The cuts are 32 even ones inside of the declared bounds; the published settings state one range
  for all numbers, which is the setting ``numeric_range``.
* The start value of a regression is published as a mean of clipped labels with noise of the clip
  over the rows times epsilon, which is half of what a mean needs, and divides by the exact number
  of rows. Here a noisy sum is divided by a noisy number of rows, each with half of the share.
* With the filter, the paper stops when no row has budget left, which depends on the rows. Here
  the number of trees is fixed beforehand.
* What a row spends is rounded up to one of 256 steps, so that it is not computed for every row.
* A category is parted from all others; a missing value is one more category.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.special

from benchmarks.libraries.result import Result
from benchmarks.meter import Meter
from benchmarks.random_trees import Structure, grid, random_structure, sums
from benchmarks.renyi import calibrated, divergence

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.problems.problem import Problem

_STEPS = 256


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the paper tunes; the defaults are those that its package documents.

    Attributes
    ----------
    n_trees, n_more_trees : int
        Trees that the noise is made for, and further ones for rows that have budget left.
    max_depth : int
    rate : float
        Chance of a row to be seen by a tree.
    learning_rate : float
    gradient_clip, hessian_clip : float
    share : float
        Of the budget of a leaf, for its Hessian; between 0 and 1.
    ridge : float
        Added to the Hessian of a leaf.
    most : float
        Largest value of a leaf.
    newton : bool
        Whether two classes have the logistic loss; else the squared error, with the number of rows
        as Hessian. A regression has the squared error.
    start_share : float
        Of the budget, for the start value.
    start_clip : float
        Of labels in [-1, 1].
    """

    n_trees: int = 150
    n_more_trees: int = 0
    max_depth: int = 2
    rate: float = 0.1
    learning_rate: float = 0.1
    gradient_clip: float = 0.1
    hessian_clip: float = 1.0
    share: float = 0.2
    ridge: float = 15.0
    most: float = 2.0
    newton: bool = False
    start_share: float = 0.1
    start_clip: float = 1.0

    def deviations(self, noise: float) -> tuple[float, float]:
        """Return the deviations of the noise of both sums of a leaf.

        Parameters
        ----------
        noise : float
            Of a release that a row changes by at most 1. With the shares, a row at both clips
            changes the sums by 1 when they are measured in these deviations times ``1 / noise``.
        """
        return (
            noise * self.gradient_clip / math.sqrt(1 - self.share),
            noise * self.hessian_clip / math.sqrt(self.share),
        )

    def parts(self, gradients: np.ndarray, hessians: np.ndarray) -> np.ndarray:
        """Return how much of the largest squared change each row makes, between 0 and 1."""
        found: np.ndarray = (1 - self.share) * (gradients / self.gradient_clip) ** 2
        return found + self.share * (hessians / self.hessian_clip) ** 2


class Filter:
    """What every row has spent; a row takes part while its budget lasts.

    Parameters
    ----------
    n_rows : int
    n_trees : int
        Trees at the largest change, which is the budget of every row.
    noise : float
        As for `Settings.deviations`.
    order : int
        At which is counted.
    rate : float
        Chance of a row to be seen.
    """

    def __init__(self, n_rows: int, n_trees: int, noise: float, order: int, rate: float) -> None:
        steps = np.arange(1, _STEPS + 1) / _STEPS / (2 * noise**2)
        self.costs = np.array([divergence(order, shift, rate) for shift in steps])
        self.budget = n_trees * self.costs[-1] * (1 + 1e-12)
        self.spent = np.zeros(n_rows)

    def admit(self, parts: np.ndarray) -> np.ndarray:
        """Charge the rows whose budget is enough and return which they are."""
        step = np.clip(np.ceil(parts * _STEPS).astype(np.int64), 1, _STEPS) - 1
        cost = self.costs[step]
        admitted: np.ndarray = self.spent + cost <= self.budget
        self.spent[admitted] += cost[admitted]
        return admitted


def derivatives(scores: np.ndarray, y: np.ndarray, *, logistic: bool) -> tuple[np.ndarray, ...]:
    """Return the gradient and the Hessian of the loss of each row."""
    if not logistic:
        return scores - y, np.ones(len(y))
    probability = scipy.special.expit(scores)
    return probability - y, probability * (1 - probability)


def leaf_values(gradients: np.ndarray, hessians: np.ndarray, settings: Settings) -> np.ndarray:
    """Return the values of leaves with these noisy sums; a leaf with a negative Hessian has 0."""
    ratio = -gradients / np.maximum(hessians + settings.ridge, 1e-12)
    return np.where(hessians < 0, 0.0, np.clip(ratio, -settings.most, settings.most))


def boost(
    bins: np.ndarray,
    y: np.ndarray,
    structures: list[Structure],
    settings: Settings,
    *,
    start: float,
    noise: float,
    order: int,
    random: np.random.Generator,
) -> list[np.ndarray]:
    """Return the values of the leaves of all trees.

    Parameters
    ----------
    bins : ndarray of shape (n_rows, n_columns)
    y : ndarray
        Labels 0 and 1, or in [-1, 1].
    structures : list of Structure
        As many as planned and further trees.
    settings : Settings
    start : float
        Start value.
    noise : float
        As for `Settings.deviations`; 0 for none.
    order : int
        Of the accounting of rows.
    random : Generator
        Of the samples and the noise.
    """
    scores = np.full(len(y), start)
    filtered = settings.n_more_trees > 0 and noise > 0
    left = Filter(len(y), settings.n_trees, noise, order, settings.rate) if filtered else None
    scales, found = settings.deviations(noise), []
    for structure in structures:
        gradients, hessians = derivatives(scores, y, logistic=settings.newton)
        gradients = np.clip(gradients, -settings.gradient_clip, settings.gradient_clip)
        hessians = np.clip(hessians, 0, settings.hessian_clip)
        weights = (random.random(len(y)) < settings.rate).astype(np.float64)
        if left is not None:
            # Charged before the sample: the bound is for a row that may be drawn.
            weights *= left.admit(settings.parts(gradients, hessians))
        leaves, n_leaves = structure.leaves(bins), structure.n_leaves
        released = [
            sums(leaves, values * weights, n_leaves) + scale * random.standard_normal(n_leaves)
            for values, scale in zip((gradients, hessians), scales, strict=True)
        ]
        values = settings.learning_rate * leaf_values(released[0], released[1], settings)
        scores += values[leaves]
        found.append(values)
    return found


def start_value(y: np.ndarray, clip: float, epsilon: float, random: np.random.Generator) -> float:
    """Return a noisy mean of clipped labels: a noisy sum over a noisy number of rows."""
    noise = random.laplace(0, 2 / epsilon, 2) if math.isfinite(epsilon) else np.zeros(2)
    total = np.clip(y, -clip, clip).sum() + clip * noise[0]
    return float(np.clip(total / max(len(y) + noise[1], 1.0), -clip, clip))


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
    n_cuts: int = 32,
    numeric_range: tuple[float, float] | None = None,
    **settings: float,
) -> Result:
    """Fit with the declared bounds; see the package for the signature.

    Without epsilon there is no noise: what the same trees reach if nothing is to be kept private.
    """
    chosen = Settings(**settings)  # type: ignore[arg-type]
    known, regression = problem.dictionary, problem.task == "regression"
    low, high = known.label_bounds or (-1.0, 1.0)
    public, random = np.random.default_rng(seed), np.random.default_rng()
    with Meter() as meter:
        cuts = grid(list(train_X.columns), known, n_cuts, numeric_range)
        bins = cuts.bins(train_X, known)
        y = np.clip((2 * train_y - (low + high)) / (high - low), -1, 1) if regression else train_y
        budget = math.inf if epsilon is None else epsilon
        start = 0.0
        if chosen.start_share > 0:
            start = start_value(y, chosen.start_clip, chosen.start_share * budget, random)
        noise, order = 0.0, 2
        if epsilon is not None:
            rest = (1 - chosen.start_share) * epsilon
            noise, order = calibrated(rest, delta, chosen.n_trees, chosen.rate)
        structures = [
            random_structure(
                cuts,
                chosen.max_depth,
                np.array([tree % cuts.n_columns]),
                public,
                one_against_rest=True,
            )
            for tree in range(chosen.n_trees + chosen.n_more_trees)
        ]
        values = boost(
            bins,
            y.astype(np.float64),
            structures,
            chosen,
            start=start,
            noise=noise,
            order=order,
            random=random,
        )
    new = cuts.bins(test_X, known)
    scores = start + sum(
        own[structure.leaves(new)] for structure, own in zip(structures, values, strict=True)
    )
    if regression:
        prediction = (low + high + (high - low) * np.clip(scores, -1, 1)) / 2
    else:
        prediction = scipy.special.expit(scores) if chosen.newton else scores
    return Result(
        prediction=prediction,
        fit_seconds=meter.seconds,
        peak_mb=meter.peak_mb,
        n_trees=len(structures),
        epsilon_spent=epsilon,
    )


def versions() -> dict[str, str]:
    """Return what the figures depend on besides the settings."""
    return {"numpy": np.__version__, "variant": "1"}
