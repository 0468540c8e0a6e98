"""Federated private trees (Gubler, 2023): Algorithms 3 to 6 as printed, and as released.

Written from the text, and from a description of the published program, in plain NumPy, apart from
the library. **Not private**: the printed bounds of p features are charged once, and the published
program takes its bin borders from the exact range of a node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def histogram(parts, edges, epsilon, random):
    """Algorithm 3: bin counts of the parties plus gamma noises, whose sum is Lap(1 / epsilon)."""
    total = np.zeros(len(edges) - 1)
    for column in parts:
        inside = np.clip(np.searchsorted(edges, column, side="right") - 1, 0, len(edges) - 2)
        shape = (2, len(edges) - 1)
        noise = random.gamma(1 / len(parts), 1 / epsilon, shape) if np.isfinite(epsilon) else 0.0
        total += np.bincount(inside, minlength=len(edges) - 1)
        if np.isfinite(epsilon):
            total += noise[0] - noise[1]
    return total


def impurities(zero, one):
    """Algorithm 4 at every inner bin border, from noisy counts as they are."""
    left = np.stack([np.cumsum(zero)[:-1], np.cumsum(one)[:-1]])
    right = np.array([[zero.sum()], [one.sum()]]) - left
    n_left, n_right = left.sum(axis=0), right.sum(axis=0)
    n = n_left + n_right
    with np.errstate(divide="ignore", invalid="ignore"):
        p, q = left[1] / n_left, right[1] / n_right
        found = n_left / n * p * (1 - p) + n_right / n * q * (1 - q)
    return np.where(np.isfinite(found), found, np.inf)


def local_bound(column, y, edges):
    """Return n G of the best split of a party's rows at the borders."""
    inside = np.clip(np.searchsorted(edges, column, side="right") - 1, 0, len(edges) - 2)
    zero, one = (np.bincount(inside[y == k], minlength=len(edges) - 1) for k in (0, 1))
    left = np.stack([np.cumsum(zero)[:-1], np.cumsum(one)[:-1]])
    right = np.array([[zero.sum()], [one.sum()]]) - left
    n_left, n_right = np.maximum(left.sum(axis=0), 1), np.maximum(right.sum(axis=0), 1)
    return float((left[0] * left[1] / n_left + right[0] * right[1] / n_right).min())


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of Algorithms 5 and 6.

    ``saving`` is Algorithm 6; ``released`` is the published program: borders from the range of a
    node, exact tests of emptiness, bounds of exactly zero, and a coin for a leaf of one class.
    """

    epsilon: float
    max_depth: int
    low: float
    high: float
    n_bins: int = 10
    min_samples: int = 10
    leaf_share: float = 0.5
    bounds_share: float = 0.25
    saving: bool = False
    released: bool = False


class Tree:
    """Algorithm 5.

    Parameters
    ----------
    parts : list of (X, y)
        Rows of each party.
    settings : Settings
    random : numpy.random.Generator
    """

    def __init__(self, parts, settings, random):
        self.settings, self.random = settings, random
        self.p = parts[0][0].shape[1]
        self.node = (1 - settings.leaf_share) * settings.epsilon / settings.max_depth
        self.root = self._grow(parts, 0, 0.0)

    def _leaf(self, parts):
        s = self.settings
        y = np.concatenate([own for _, own in parts])
        counts = np.bincount(y, minlength=2).astype(float)
        if s.released and len(y) and counts.min() == 0:
            return int(self.random.integers(2))
        if np.isfinite(s.epsilon):
            counts += self.random.laplace(scale=1 / (s.leaf_share * s.epsilon), size=2)
        return int(np.argmax(counts))

    def _edges(self, parts, j):
        s = self.settings
        if not s.released:
            return np.linspace(s.low, s.high, s.n_bins + 1)
        column = np.concatenate([X[:, j] for X, _ in parts])
        return np.linspace(column.min(), column.max() + 1e-9, s.n_bins + 1)

    def _tables(self, parts, j, epsilon):
        edges = self._edges(parts, j)
        by_class = [
            histogram([X[y == k][:, j] for X, y in parts], edges, epsilon, self.random)
            for k in (0, 1)
        ]
        return edges, by_class

    def _grow(self, parts, depth, saved):
        s = self.settings
        y = np.concatenate([own for _, own in parts])
        if depth >= s.max_depth or (s.released and (len(y) == 0 or len(set(y.tolist())) == 1)):
            return self._leaf(parts)
        found = self._saving(parts, self.node + saved) if s.saving else self._plain(parts)
        if found is None:
            return self._leaf(parts)
        j, t, left_over = found
        sides = [
            [(X[side], own[side]) for X, own in parts for side in [(X[:, j] < t) == first]]
            for first in (True, False)
        ]
        return (j, t, *(self._grow(side, depth + 1, left_over) for side in sides))

    def _plain(self, parts):
        s = self.settings
        tables = [self._tables(parts, j, self.node / self.p) for j in range(self.p)]
        sums = np.array([[own.sum() for own in by_class] for _, by_class in tables])
        if (sums.sum(axis=1) < s.min_samples).all() or (sums <= 0).all(axis=0).any():
            return None
        found = [impurities(*by_class) for _, by_class in tables]
        best = [own.min() for own in found]
        j = int(np.argmin(best))
        if not np.isfinite(best[j]):
            return None
        return j, float(tables[j][0][1 + int(np.argmin(found[j]))]), 0.0

    def _saving(self, parts, budget):
        s = self.settings
        for_bounds = s.bounds_share * budget
        each = (1 - s.bounds_share) * budget / self.p
        bounds = np.zeros(self.p)
        if not s.released:
            edges = [self._edges(parts, j) for j in range(self.p)]
            bounds = np.array(
                [sum(local_bound(X[:, j], y, edges[j]) for X, y in parts) for j in range(self.p)]
            )
        if np.isfinite(for_bounds):
            bounds = bounds + self.random.laplace(scale=1.25 / for_bounds, size=self.p)
        removed, left_over, best, split, sums = np.zeros(self.p, bool), 0.0, np.inf, None, []
        for j in np.argsort(bounds, kind="stable").tolist():
            if removed[j]:
                left_over += each
                continue
            edges, by_class = self._tables(parts, j, each)
            sums.append([own.sum() for own in by_class])
            found = impurities(*by_class)
            if found.min() < best:
                best, split = float(found.min()), (j, float(edges[1 + int(np.argmin(found))]))
            removed |= bounds > sum(sums[-1]) * best
        totals = np.array(sums)
        few = (totals.sum(axis=1) < s.min_samples).all()
        if split is None or few or (totals <= 0).all(axis=0).any():
            return None
        return (*split, left_over if np.isfinite(budget) else 0.0)

    def predict(self, X):
        """Return classes."""
        return np.array([self._walk(row) for row in X])

    def _walk(self, row):
        node = self.root
        while not isinstance(node, int):
            j, t, left, right = node
            node = left if row[j] < t else right
        return node
