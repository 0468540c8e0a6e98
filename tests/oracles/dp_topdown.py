"""DP-TopDown (Wang, Dick, Balcan, 2020) as printed: SingleMachine, NoisyCounts and LocalRNM.

Written from the text in plain NumPy, apart from the library. The noisy maximum returns its value
and the scale of its noise is the size of the node: **not private** for the budget that it states.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np


def entropy(counts):
    """Return the entropy in bits of tables whose last axis are classes."""
    total = counts.sum(axis=-1, keepdims=True)
    part = counts / np.where(total > 0, total, 1)
    return -(part * np.log2(np.where(part > 0, part, 1))).sum(axis=-1)


def gains(left, right):
    """Return J of splits from class counts of both sides."""
    whole = left + right
    m = whole.sum(axis=-1)
    inside = np.where(m > 0, m, 1)
    after = left.sum(axis=-1) * entropy(left) + right.sum(axis=-1) * entropy(right)
    return np.where(m > 0, entropy(whole) - after / inside, 0.0)


def tables(splits, y, n_classes):
    """Return class counts of both sides of every split; shape (n_splits, n_classes) each."""
    hot = np.eye(n_classes)[y]
    left = splits.T @ hot
    return left, hot.sum(axis=0) - left


def laplace(scale, size, random):
    """Return Laplace noise; none of scale 0."""
    return random.laplace(scale=scale, size=size) if scale else np.zeros(size)


def delta(m):
    """Return the sensitivity of J of Lemma 11: (2 / m) (3 lg m + 1)."""
    return 2 / m * (3 * math.log2(m) + 1)


class SingleMachine:
    """PrivateSplit by report-noisy-max with Lap(2 delta / alpha), which returns the value too."""

    def __call__(self, splits, y, of, n_classes, alpha, random):
        """Return the index of a split and its noisy gain."""
        m = max(len(y), 2)
        exact = gains(*tables(splits, y, n_classes))
        found = exact + laplace(2 * delta(m) / alpha, len(exact), random)
        return int(np.argmax(found)), float(found.max())


class NoisyCounts:
    """PrivateSplit by Laplace counts of each split at each entity, alpha / (3 |H|) a count.

    Parameters
    ----------
    candidates : ndarray of int, optional
        Indices of the splits that are counted; all by default.
    """

    def __init__(self, candidates=None):
        self.candidates = candidates

    def __call__(self, splits, y, of, n_classes, alpha, random):
        """Return the index of a split and its noisy gain."""
        own = np.arange(splits.shape[1]) if self.candidates is None else self.candidates
        scale = 3 * len(own) / alpha
        both = np.zeros((2, len(own), n_classes))
        for entity in range(of.max(initial=0) + 1):
            rows = of == entity
            counts = np.stack(tables(splits[rows][:, own], y[rows], n_classes))
            both += counts + laplace(scale, counts.shape, random)
        found = gains(*np.maximum(both, 0))
        return int(own[np.argmax(found)]), float(found.max())


class LocalRNM:
    """PrivateSplit by the noisy maximum of each entity, then NoisyCounts over what they chose."""

    def __call__(self, splits, y, of, n_classes, alpha, random):
        """Return the index of a split and its noisy gain."""
        single = SingleMachine()
        entities = range(of.max(initial=0) + 1)
        chosen = [
            single(splits[of == e], y[of == e], None, n_classes, alpha / 2, random)[0]
            for e in entities
        ]
        counts = NoisyCounts(np.unique(chosen))
        return counts(splits, y, of, n_classes, alpha / 2, random)


@dataclass(frozen=True)
class Tree:
    """Splits by node, the first child of each, and classes of leaves."""

    split: dict[int, int]
    first: dict[int, int]
    label: dict[int, int]
    depth: dict[int, int]

    def predict(self, splits):
        """Return classes of rows by the values of the splits."""
        at = np.zeros(len(splits), dtype=int)
        moved = True
        while moved:
            moved = False
            for node in np.unique(at).tolist():
                if node in self.split:
                    rows = at == node
                    at[rows] = self.first[node] + 1 - splits[rows, self.split[node]]
                    moved = True
        return np.array([self.label[node] for node in at.tolist()])


def dp_topdown(
    splits,
    y,
    n_classes,
    alpha,
    private_split,
    random,
    *,
    of=None,
    n_splits=512,
    error=0.1,
    leaf_share=0.5,
    decay=True,
    min_gain=0.01,
):
    """Return a tree of Algorithm 1, whose depth has no cap.

    Parameters
    ----------
    splits : ndarray of shape (n_rows, n_splits), bool
        Values of all splitting functions H.
    y : ndarray of shape (n_rows,), int
    n_classes : int
    alpha : float
        Budget; infinite for no noise.
    private_split : callable
        Subroutine.
    random : numpy.random.Generator
    of : ndarray of shape (n_rows,), int, optional
        Entity of each row.
    n_splits : int
        M.
    error : float
    leaf_share : float
        Part of alpha for the leaves.
    decay : bool
        B(d) = 2^-d rather than 1 / M.
    min_gain : float
        A node whose noisy gain is not above is not pushed.
    """
    n, bits = len(y), splits.astype(int)
    of = np.zeros(n, dtype=int) if of is None else of
    n_entities = of.max() + 1
    rows, depth = {0: np.arange(n)}, {0: 1}

    def appraised(node):
        own = rows[node]
        budget = alpha * (1 - leaf_share) * (2.0 ** -depth[node] if decay else 1 / n_splits)
        noise = sum(laplace(2 / (n * budget), 1, random)[0] for _ in range(n_entities))
        weight = 1.0 if node == 0 else len(own) / n + noise
        part = budget if node == 0 else budget / 2
        return weight, private_split(splits[own], y[own], of[own], n_classes, part, random)

    queue, split, first = [], {}, {}
    _, (h, gain) = appraised(0)
    heapq.heappush(queue, (-gain, 0, h))
    count = 1
    for _ in range(n_splits):
        if not queue:
            break
        _, node, h = heapq.heappop(queue)
        split[node], first[node] = h, count
        for child, side in ((count, 1), (count + 1, 0)):
            rows[child] = rows[node][bits[rows[node], h] == side]
            depth[child] = depth[node] + 1
            weight, (own, gain) = appraised(child)
            if weight >= error / n_splits and gain > min_gain:
                heapq.heappush(queue, (-weight * gain, child, own))
        count += 2
    label = {}
    for leaf in set(rows) - set(split):
        counts = np.zeros(n_classes)
        for entity in range(n_entities):
            own = np.bincount(y[rows[leaf]][of[rows[leaf]] == entity], minlength=n_classes)
            counts += own + laplace(1 / (alpha * leaf_share), n_classes, random)
        label[leaf] = int(np.argmax(counts))
    return Tree(split=split, first=first, label=label, depth=depth)
