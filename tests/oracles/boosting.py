"""DPBoost (Li, Wu, Wen, He, AAAI 2020), Algorithms 1 and 2 as printed, for square loss.

Written from the text in plain NumPy, apart from the library. Subsets of fixed size and noise of
doubles are **not private** for the budget that is stated.
"""

from __future__ import annotations

import math

import numpy as np


def gain_table(bins, gradients, n_bins, reg_lambda):
    """Return G of equation 3 for every feature and threshold; shape (n_features, n_bins - 1)."""
    d = bins.shape[1]
    cell = bins + n_bins * np.arange(d)
    sums = np.bincount(cell.ravel(), np.repeat(gradients, d), minlength=d * n_bins)
    counts = np.bincount(cell.ravel(), minlength=d * n_bins)
    left = np.cumsum(sums.reshape(d, n_bins), axis=1)[:, :-1]
    rows = np.cumsum(counts.reshape(d, n_bins), axis=1)[:, :-1]
    total = gradients.sum()
    return left**2 / (rows + reg_lambda) + (total - left) ** 2 / (
        len(gradients) - rows + reg_lambda
    )


class Tree:
    """Algorithm 1: a complete tree of private splits and noisy leaves.

    Parameters
    ----------
    bins : ndarray of shape (n_rows, n_features), int
        Cells of public thresholds.
    gradients : ndarray of shape (n_rows,)
        Those of the filtered rows.
    epsilon : float
        Budget of the tree.
    clip : float
        Geometric clip of the leaves.
    """

    def __init__(self, bins, gradients, *, n_bins, depth, reg_lambda, epsilon, clip, random):
        self.random, self.n_bins, self.reg_lambda = random, n_bins, reg_lambda
        self.for_leaf, self.for_node = epsilon / 2, epsilon / (2 * depth) if depth else 0.0
        self.clip = clip
        self.root = self._grow(bins, gradients, depth)

    def _grow(self, bins, gradients, depth):
        if depth == 0:
            value = -gradients.sum() / (len(gradients) + self.reg_lambda)
            value = np.clip(value, -self.clip, self.clip)
            change = min(1 / (1 + self.reg_lambda), 2 * self.clip)
            noise = 0.0 if math.isinf(self.for_leaf) else change / self.for_leaf
            return float(value + (self.random.laplace(scale=noise) if noise else 0.0))
        gain = gain_table(bins, gradients, self.n_bins, self.reg_lambda).ravel()
        if math.isinf(self.for_node):
            own = int(gain.argmax())
        else:
            exponent = self.for_node * (gain - gain.max()) / (2 * 3.0)
            share = np.exp(exponent)
            own = int(self.random.choice(len(share), p=share / share.sum()))
        feature, split = divmod(own, self.n_bins - 1)
        left = bins[:, feature] <= split
        sides = [self._grow(bins[s], gradients[s], depth - 1) for s in (left, ~left)]
        return feature, split, *sides

    def predict(self, bins):
        """Return values of leaves."""
        found = np.empty(len(bins))

        def walk(node, rows):
            if isinstance(node, float):
                found[rows] = node
                return
            left = bins[rows, node[0]] <= node[1]
            walk(node[2], rows[left])
            walk(node[3], rows[~left])

        walk(self.root, np.arange(len(bins)))
        return found


def boosted(
    bins,
    labels,
    test_bins,
    *,
    epsilon,
    random,
    n_bins,
    n_trees=50,
    per_ensemble=50,
    depth=6,
    reg_lambda=0.1,
    rate=0.1,
    printed_index=False,
):
    """Return the predictions of Algorithm 2 on other rows.

    Parameters
    ----------
    bins, labels : ndarray
        Training rows; labels in [-1, 1].
    test_bins : ndarray
    epsilon : float
    random : numpy.random.Generator
    n_bins, n_trees, per_ensemble, depth : int
    reg_lambda, rate : float
    printed_index : bool, default=False
        Whether clip and share of rows take the printed index, of the tree among all trees and
        ``t mod T_e``, instead of the tree's place in its ensemble, counted from 0.
    """
    n, score, found = len(labels), np.zeros(len(labels)), np.zeros(len(test_bins))
    each = epsilon / math.ceil(n_trees / per_ensemble)
    unused = np.arange(n)
    for t in range(1, n_trees + 1):
        place = (t - 1) % per_ensemble
        if place == 0:
            unused = random.permutation(n)
        index = t % per_ensemble if printed_index else place
        share = rate * (1 - rate) ** index / (1 - (1 - rate) ** per_ensemble)
        own, unused = np.split(unused, [min(int(n * share), len(unused))])
        gradients = score[own] - labels[own]
        kept = np.abs(gradients) <= 1
        tree = Tree(
            bins[own[kept]],
            gradients[kept],
            n_bins=n_bins,
            depth=depth,
            reg_lambda=reg_lambda,
            epsilon=each,
            clip=(1 - rate) ** (t - 1 if printed_index else place),
            random=random,
        )
        score += rate * tree.predict(bins)
        found += rate * tree.predict(test_bins)
    return found
