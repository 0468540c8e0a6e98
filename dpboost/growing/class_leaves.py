"""Leaves of single trees: released class counts and their probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.rows.class_statistics import ClassStatistics
from dpboost.trees.growing_tree import GrowingTree

#: Scores of leaves are integers in this unit.
SCORE_UNIT = 2.0**-20

# No leaf is surer than this.
_LEAST_PROBABILITY = 1e-6


def release_leaf_counts(
    rows: ClassStatistics, leaves: NDArray[np.int32], *, budget: PrivacyCost, ledger: Ledger
) -> tuple[NDArray[np.float64], float]:
    """Release the class counts of all leaves: rows, or rows of the largest weight.

    Returns noisy counts, not cut at zero, of shape (n_leaves, n_classes), and the standard
    deviation of their noise.

    Privacy
    -------
    One release: a row is in one leaf and of one class.
    """
    noise = ledger.accountant.noise(budget)
    counts = rows.class_counts(leaves)
    released = ledger.release(noise, counts, label="leaf counts")
    noise_stddev = counts.noise_stddev(noise) / rows.row_units
    return released / rows.row_units, noise_stddev


@dataclass(frozen=True, kw_only=True, eq=False)
class GrownTree:
    """The releases of a single tree."""

    growing: GrowingTree
    #: Of shape (n_leaves, n_classes). Class counts of the leaves in the order of
    #: ``growing.leaves``.
    counts: NDArray[np.float64]
    #: Standard deviation of the noise of a count.
    noise_stddev: float
    #: Of shape (n_nodes,). Released sizes of nodes, NaN where none was released; None if there are
    #: none at all.
    sizes: NDArray[np.float64] | None = None

    def node_counts(self) -> NDArray[np.float64]:
        """Class counts of all nodes: those of the leaves, and their sums above."""
        return add_up(self.growing, self.counts)


def add_up(growing: GrowingTree, of_leaves: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of leaves' values at every node; shape (n_nodes, ...)."""
    sums = np.zeros((growing.n_nodes, *of_leaves.shape[1:]))
    sums[growing.leaves] = of_leaves
    parent = growing.parent
    for depth in range(int(growing.depth.max(initial=0)), 0, -1):
        level = np.flatnonzero(growing.depth == depth)
        np.add.at(sums, parent[level], sums[level])
    return sums


class ClassProbability(Protocol):
    """Compute the class probabilities of leaves from released counts."""

    def of(self, tree: GrownTree) -> NDArray[np.float64]:
        """Return probabilities of shape (n_leaves, n_classes)."""


@dataclass(frozen=True, kw_only=True)
class CountedProbability:
    """Fractions of the released counts; the class of the largest count is the most probable.

    Negative counts are set to zero and half a row is added to every class. A leaf without a
    positive count takes the fractions of its nearest ancestor with one.
    """

    def of(self, tree: GrownTree) -> NDArray[np.float64]:
        """Return probabilities of shape (n_leaves, n_classes)."""
        counts = tree.node_counts()
        parent, source = tree.growing.parent, tree.growing.leaves
        while True:
            empty = (counts[source] <= 0).all(axis=1) & (source > 0)
            if not empty.any():
                break
            source = np.where(empty, parent[source], source)
        inside = np.maximum(counts[source], 0.0) + 0.5
        return inside / inside.sum(axis=1, keepdims=True)


@dataclass(frozen=True, kw_only=True)
class ShrunkenProbability:
    """Fractions of the released counts, shrunk towards the parent node by the known noise.

    From the root down the share of a node of n released rows is a mean of its own, of weight
    ``n^2 / (n^2 + n rows + (s / prior)^2)``, and that of the node above it, where s is the
    standard deviation of the noise of its counts: the posterior mean under a prior of variance
    ``prior**2`` for the step from a node to its child. A leaf of pure noise has the probabilities
    of its parent, so additional depth does little harm.
    """

    #: Typical difference of a probability between a node and its child.
    prior: float = 0.2
    #: Rows that the node above counts for.
    rows: float = 5.0

    def of(self, tree: GrownTree) -> NDArray[np.float64]:
        """Return probabilities of shape (n_leaves, n_classes)."""
        growing = tree.growing
        counts = np.maximum(tree.node_counts(), 0.0)
        leaves_below = add_up(growing, np.ones(len(tree.counts)))
        noise = tree.noise_stddev**2 * leaves_below / self.prior**2
        total = counts.sum(axis=1)
        weight = total**2 / (total**2 + total * self.rows + noise + 1e-12)
        n_classes = counts.shape[1]
        own = np.where(
            total[:, np.newaxis] > 0, counts / np.maximum(total, 1.0)[:, np.newaxis], 1 / n_classes
        )
        result = np.full(counts.shape, 1 / n_classes)
        parent = growing.parent
        for depth in range(int(growing.depth.max(initial=0)) + 1):
            level = np.flatnonzero(growing.depth == depth)
            above = result[parent[level]] if depth else result[level]
            share = weight[level, np.newaxis]
            result[level] = share * own[level] + (1 - share) * above
        return result[growing.leaves]


def leaf_scores(probability: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return raw scores in units of ``SCORE_UNIT``, whose link gives the probabilities back.

    Probabilities are of shape (n_leaves, n_classes), scores of shape (n_outputs, n_leaves): one
    output of log-odds for at most two classes, else the logarithm for each class.
    """
    inside = np.clip(probability, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
    if probability.shape[1] == 1:
        raw = np.zeros((1, len(probability)))
    elif probability.shape[1] == 2:
        raw = np.log(inside[:, 1:] / inside[:, :1]).T
    else:
        raw = np.log(inside).T
    return np.rint(raw / SCORE_UNIT).astype(np.int64)


def class_probabilities(scores: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the class probabilities of scores of `leaf_scores`; shape (n_leaves, n_classes)."""
    raw = scores * SCORE_UNIT
    if len(raw) == 1:
        raw = np.concatenate([np.zeros_like(raw), raw])
    # The largest is e^0: no score is too large for a double.
    odds = np.exp(raw - raw.max(axis=0))
    shares: NDArray[np.float64] = (odds / odds.sum(axis=0)).T
    return shares


def score_precision(probability: NDArray[np.float64], tree: GrownTree) -> NDArray[np.float64]:
    """Return the inverse variance of the noise of every raw score, up to a common factor.

    The shape is (n_outputs, n_leaves), for probabilities of shape (n_leaves, n_classes). To first
    order: the noise of each count, over the released size of the leaf, divided by what a
    score gains where a probability does.
    """
    inside = np.clip(probability, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
    size = np.maximum(tree.counts.sum(axis=1), max(tree.noise_stddev, 1.0))
    others = max(probability.shape[1] - 1, 1)
    spread = (1 - inside) ** 2 + others * (inside / others) ** 2
    slope = inside * (1 - inside) if probability.shape[1] == 2 else inside
    precision = (size[:, np.newaxis] * slope) ** 2 / spread
    shown = precision[:, 1:] if probability.shape[1] == 2 else precision
    return np.ascontiguousarray(shown.T)
