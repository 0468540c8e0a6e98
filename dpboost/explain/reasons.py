"""Reasons of a prediction: the largest contributions, each with its error."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import factorial

import numpy as np
from numpy.typing import NDArray

from dpboost.explain.masses import feature_shares
from dpboost.explain.noise_paths import noise_paths
from dpboost.trees.ensemble import Ensemble
from dpboost.trees.leaf_boxes import leaf_boxes
from dpboost.trees.tree import Tree

# Rows that are looked at together.
_ROWS_AT_ONCE = 256
# Courses of the noise.
_N_PATHS = 50


@dataclass(frozen=True)
class Reason:
    """A contribution to one prediction.

    Parameters
    ----------
    contribution : float
        Of the raw score, above or below the mean over the released shares.
    """

    name: str
    contribution: float
    error: float

    def __str__(self) -> str:
        return f"{self.name}: {self.contribution:+.3g} ± {self.error:.2g}"

    __repr__ = __str__


def contributions(
    ensemble: Ensemble, bins: NDArray[np.uint8], output: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return Shapley contributions of all features to raw scores, and their standard errors.

    What a feature is worth is averaged over the released shares of the others' bins, as if they
    were independent; a tree has at most three features, so that it is exact for each tree. Together
    with the mean over the shares the contributions of a row add up to its raw score. ``bins`` have
    shape (n_features, n_rows), both results (n_rows, n_features); they are None if the recipe
    releases no sums of leaves.
    """
    paths = noise_paths(ensemble, _N_PATHS)
    if paths is None:
        return None
    shares = feature_shares(ensemble)
    step, n_bins = ensemble.n_outputs, ensemble.binner.n_bins
    trees = ensemble.trees[output::step]
    values = [tree.leaf_value[:, np.newaxis].astype(np.float32) for tree in trees]
    found, errors = [], []
    for first in range(0, bins.shape[1], _ROWS_AT_ONCE):
        some = bins[:, first : first + _ROWS_AT_ONCE]
        own = _summed(trees, values, some, shares, n_bins)
        noise = _summed(
            paths.trees[output::step], paths.deviations[output::step], some, shares, n_bins
        )
        found.append(own[:, :, 0].T)
        errors.append(noise.std(axis=2).T)
    unit = ensemble.unit
    return unit * np.concatenate(found), unit * np.concatenate(errors)


def _summed(
    trees: tuple[Tree, ...],
    vectors: tuple[NDArray[np.float32], ...] | list[NDArray[np.float32]],
    bins: NDArray[np.uint8],
    shares: list[NDArray[np.float64]],
    n_bins: NDArray[np.int32],
) -> NDArray[np.float64]:
    """Return the contributions of the features; shape (n_features, n_rows, n_columns)."""
    total = np.zeros((len(n_bins), bins.shape[1], vectors[0].shape[1]), dtype=np.float32)
    for tree, vector in zip(trees, vectors, strict=True):
        boxes = leaf_boxes(tree.feature, tree.left_bins, tree.left, tree.right, n_bins)
        known = {f: own[:, bins[f]].T.astype(np.float32) for f, own in boxes.items()}
        mean = {f: (own @ shares[f]).astype(np.float32) for f, own in boxes.items()}
        for feature, weight in _shapley(known, mean).items():
            total[feature] += weight @ vector
    return total.astype(np.float64)


def _shapley(
    known: dict[int, NDArray[np.float32]], mean: dict[int, NDArray[np.float32]]
) -> dict[int, NDArray[np.float32]]:
    """Return by how much of each leaf's value each feature contributes; (n_rows, n_leaves)."""
    k = len(known)
    result = {}
    for feature in known:
        others = [f for f in known if f != feature]
        total = np.zeros_like(known[feature])
        for size in range(k):
            share = np.float32(factorial(size) * factorial(k - 1 - size) / factorial(k))
            for coalition in combinations(others, size):
                product = known[feature] - mean[feature]
                for other in others:
                    product = product * (known[other] if other in coalition else mean[other])
                total += share * product
        result[feature] = total
    return result
