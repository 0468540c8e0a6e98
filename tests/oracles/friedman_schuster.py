"""Friedman and Schuster (KDD 2010) as printed: SuLQ-ID3, DiffPID3, DiffPC4.5, and their pruning.

Written from the text in plain NumPy, apart from the library. Noise is made of doubles and node
sizes are read without protection where the text does so: **not private**. With an infinite budget
the trees are ID3 and C4.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import beta


@dataclass
class Node:
    """A node: its noisy size, and the split or the noisy class counts."""

    size: float
    counts: np.ndarray | None = None
    attribute: int = -1
    threshold: float | None = None
    children: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class Domain:
    """Number of values of each attribute, or the range of a continuous one; number of classes."""

    values: tuple[int | tuple[float, float], ...]
    n_classes: int

    def arity(self, attribute: int) -> int:
        """Return the number of branches of a split by an attribute."""
        own = self.values[attribute]
        return own if isinstance(own, int) else 2


def noisy(count, epsilon, random):
    """NoisyCount: Laplace noise of scale 1 / epsilon."""
    exact = np.asarray(count, dtype=float)
    if math.isinf(epsilon):
        return exact
    return exact + random.laplace(scale=1 / epsilon, size=exact.shape)


def chosen(scores, weights, epsilon, sensitivity, random):
    """Exponential mechanism over options of given weights."""
    if math.isinf(epsilon):
        return int(np.argmax(np.where(np.asarray(weights) > 0, scores, -np.inf)))
    exponent = epsilon * np.asarray(scores) / (2 * sensitivity)
    exponent = exponent - exponent[np.asarray(weights) > 0].max()
    share = np.asarray(weights) * np.exp(exponent)
    return int(random.choice(len(share), p=share / share.sum()))


def table(branch, y, arity, n_classes):
    """Count rows by branch and class."""
    return np.bincount(branch * n_classes + y, minlength=arity * n_classes).reshape(
        arity, n_classes
    )


def score(counts, criterion):
    """Return q of section 4.2 for a table of branches and classes."""
    rows = counts.sum(axis=1, keepdims=True)
    if criterion == "max":
        return float(counts.max(axis=1).sum())
    part = counts / np.maximum(rows, 1)
    if criterion == "gini":
        return -float((rows[:, 0] * (1 - (part**2).sum(axis=1))).sum())
    return float((counts * np.log2(np.where(part > 0, part, 1))).sum())


def sensitivity(criterion, most_rows):
    """Return S(q)."""
    return {"max": 1.0, "gini": 2.0, "entropy": math.log2(most_rows + 1) + 1 / math.log(2)}[
        criterion
    ]


def threshold(column, y, own_range, n_classes, criterion, epsilon, most_rows, random):
    """Split point of a continuous attribute: the exponential mechanism over its range."""
    low, high = own_range
    order = np.argsort(column, kind="stable")
    borders = np.concatenate([[low], column[order], [high]])
    left = np.zeros((len(y) + 1, n_classes))
    left[1:] = np.cumsum(np.eye(n_classes)[y[order]], axis=0)
    scores = np.array([score(np.stack([own, left[-1] - own]), criterion) for own in left])
    widths = np.diff(borders)
    own = chosen(scores, widths, epsilon, sensitivity(criterion, most_rows), random)
    if math.isinf(epsilon):
        return (borders[own] + borders[own + 1]) / 2
    return random.uniform(borders[own], borders[own + 1])


class Induction:
    """Algorithms 1 and 2 and their extension to continuous attributes.

    Parameters
    ----------
    domain : Domain
    depth : int
    budget : float
        B; infinite for ID3 and C4.5.
    criterion : {"entropy", "gini", "max"}
    counted : bool
        Whether noisy counts choose the attribute (SuLQ-ID3) rather than the exponential
        mechanism.
    most_rows : int
        Bound on the size of the table.
    random : numpy.random.Generator
    """

    def __init__(self, domain, depth, budget, criterion, counted, most_rows, random):
        numeric = sum(not isinstance(own, int) for own in domain.values)
        parts = 2 * (depth + 1) if not numeric else (2 + numeric) * depth + 2
        self.epsilon = budget / parts
        self.domain, self.depth, self.criterion = domain, depth, criterion
        self.counted, self.most_rows, self.random = counted, most_rows, random

    def build(self, X, y, attributes=None, depth=None, above=None):
        """Return the tree of some rows."""
        domain, epsilon, random = self.domain, self.epsilon, self.random
        attributes = list(range(len(domain.values))) if attributes is None else attributes
        depth = self.depth if depth is None else depth
        classes = np.bincount(y, minlength=domain.n_classes)
        size = float(noisy(len(y), epsilon, random))
        arity = max((domain.arity(a) for a in attributes), default=1)
        few = size / (arity * domain.n_classes) < math.sqrt(2) / epsilon
        pure = math.isinf(epsilon) and (classes > 0).sum() <= 1
        if not attributes or depth == 0 or few or pure:
            empty = math.isinf(epsilon) and not len(y) and above is not None
            return Node(size, counts=above if empty else noisy(classes, epsilon, random))
        branches, thresholds = [], []
        for a in attributes:
            own, point = X[:, a], None
            if not isinstance(domain.values[a], int):
                point = threshold(
                    own,
                    y,
                    domain.values[a],
                    domain.n_classes,
                    self.criterion,
                    epsilon,
                    self.most_rows,
                    random,
                )
                own = own > point
            branches.append(own.astype(int))
            thresholds.append(point)
        tables = [
            table(own, y, domain.arity(a), domain.n_classes)
            for a, own in zip(attributes, branches, strict=True)
        ]
        best = self._best(tables)
        attribute, own, point = attributes[best], branches[best], thresholds[best]
        rest = [a for a in attributes if a != attribute or point is not None]
        children = [
            self.build(X[own == j], y[own == j], rest, depth - 1, classes)
            for j in range(domain.arity(attribute))
        ]
        return Node(size, attribute=attribute, threshold=point, children=children)

    def _best(self, tables):
        if self.counted:
            each = self.epsilon / (2 * len(tables))
            values = []
            for own in tables:
                rows = np.maximum(noisy(own.sum(axis=1), each, self.random), 1)
                cells = np.maximum(noisy(own, each, self.random), 0)
                part = np.minimum(cells / rows[:, np.newaxis], 1)
                values.append((cells * np.log2(np.where(part > 0, part, 1))).sum())
            return int(np.argmax(values))
        scores = [score(own, self.criterion) for own in tables]
        return chosen(
            scores,
            np.ones(len(scores)),
            self.epsilon,
            sensitivity(self.criterion, self.most_rows),
            self.random,
        )


def prune(node, certainty=0.25, size=None):
    """Algorithm 3: calibrate from the top, add up from the bottom, prune as C4.5 does."""
    node.size = max(node.size, 0.0) if size is None else size
    if not node.children:
        inside = np.maximum(node.counts, 0)
        total = inside.sum()
        even = np.full(len(inside), 1 / len(inside))
        node.counts = node.size * (inside / total if total > 0 else even)
        return errors(node.counts, certainty)
    sizes = np.array([max(child.size, 0.0) for child in node.children])
    share = sizes / sizes.sum() if sizes.sum() > 0 else np.full(len(sizes), 1 / len(sizes))
    below = sum(
        prune(child, certainty, node.size * own)
        for child, own in zip(node.children, share, strict=True)
    )
    node.counts = sum(child.counts for child in node.children)
    as_leaf = errors(node.counts, certainty)
    if as_leaf <= below + 0.1:
        node.children = []
        return as_leaf
    return below


def errors(counts, certainty):
    """Return the pessimistic estimate of the errors of a leaf."""
    total = counts.sum()
    wrong = total - counts.max()
    if total <= 0:
        return 0.0
    return float(total * beta.ppf(1 - certainty, wrong + 1, max(total - wrong, 1e-9)))


def predict(node, X):
    """Return classes."""
    if not node.children:
        return np.full(len(X), int(np.argmax(node.counts)))
    own = X[:, node.attribute]
    branch = own.astype(int) if node.threshold is None else (own > node.threshold).astype(int)
    found = np.zeros(len(X), dtype=int)
    for j, child in enumerate(node.children):
        found[branch == j] = predict(child, X[branch == j])
    return found


def n_leaves(node):
    """Return the number of leaves."""
    return sum(n_leaves(child) for child in node.children) if node.children else 1
