"""Effects of single features and of pairs, from the leaves of trees and the bin frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dpboost.trees.leaf_boxes import leaf_boxes
from dpboost.trees.tree import Tree

Shares = Sequence[NDArray[np.float64]]
"""The share of the rows in each bin of each feature, missing last."""


class EffectSums:
    """Sums of trees, averaged over all but one or two features, assumed independent.

    ``vectors``, of shape (n_leaves, k), are what each leaf adds: its value, or its deviations on k
    courses of the noise. ``shares``, of shape (n_bins + 1,), are those of every feature.
    """

    def __init__(
        self,
        trees: Sequence[Tree],
        vectors: Sequence[NDArray[np.floating]],
        shares: Shares,
        n_bins: NDArray[np.int32],
    ) -> None:
        self._shares = shares
        self._parts = []
        for tree, vector in zip(trees, vectors, strict=True):
            boxes = leaf_boxes(tree.feature, tree.left_bins, tree.left, tree.right, n_bins)
            reach = {f: own.astype(np.float32) for f, own in boxes.items()}
            weights = {f: own @ shares[f].astype(np.float32) for f, own in reach.items()}
            self._parts.append((reach, weights, np.asarray(vector, dtype=np.float32)))

    def of(self, vectors: Sequence[NDArray[np.floating]]) -> EffectSums:
        """Return the sums of other vectors over the leaves of the same trees."""
        other: EffectSums = copy(self)
        other._parts = [
            (reach, weights, np.asarray(vector, dtype=np.float32))
            for (reach, weights, _), vector in zip(self._parts, vectors, strict=True)
        ]
        return other

    @property
    def features(self) -> list[int]:
        """Features that some tree splits."""
        return sorted({f for reach, _, _ in self._parts for f in reach})

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of features that meet in some tree."""
        return sorted({pair for reach, _, _ in self._parts for pair in combinations(reach, 2)})

    def mean(self) -> NDArray[np.float64]:
        """Return the mean over all rows; shape (k,)."""
        total: NDArray[np.float64] = np.zeros(self._width)
        for _, weights, vector in self._parts:
            total += _others(weights, (), len(vector)) @ vector
        return total

    def mains(self) -> dict[int, NDArray[np.float64]]:
        """Return the effect of each feature; shapes (n_bins + 1, k), of mean zero."""
        effects = {f: np.zeros((len(self._shares[f]), self._width)) for f in self.features}
        for reach, weights, vector in self._parts:
            for f, own in reach.items():
                effects[f] += own.T @ (_others(weights, (f,), len(vector))[:, np.newaxis] * vector)
        for f, effect in effects.items():
            effect -= self._shares[f] @ effect
        return effects

    def pair(self, first: int, second: int, k: int | None = None) -> NDArray[np.float64]:
        """Return the pure effect of a pair: what its two features do not do alone.

        The result, of only ``k`` columns of the vectors, has shape (k, n_bins_first + 1,
        n_bins_second + 1) and mean zero along both axes.
        """
        width = self._width if k is None else k
        shape = (width, len(self._shares[first]), len(self._shares[second]))
        effect = np.zeros(shape, dtype=np.float32)
        for reach, weights, vector in self._parts:
            if first in reach and second in reach:
                rest = _others(weights, (first, second), len(vector))
                scaled = vector[:, :width] * rest[:, np.newaxis]
                left = scaled.T[:, np.newaxis, :] * reach[first].T
                effect += left @ reach[second]
        pure = effect.astype(np.float64)
        pure -= np.einsum("i,kij->kj", self._shares[first], pure)[:, np.newaxis, :]
        pure -= (pure @ self._shares[second])[:, :, np.newaxis]
        return pure

    @property
    def _width(self) -> int:
        return self._parts[0][2].shape[1] if self._parts else 1


def _others(
    weights: dict[int, NDArray[np.float32]], left_out: tuple[int, ...], n_leaves: int
) -> NDArray[np.float32]:
    """Return the share of each leaf in the features that are not left out."""
    product = np.ones(n_leaves, dtype=np.float32)
    for feature, weight in weights.items():
        if feature not in left_out:
            product *= weight
    return product
