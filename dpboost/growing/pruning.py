"""Pruning of subtrees by released counts: post-processing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from dpboost.growing.class_leaves import GrownTree, add_up
from dpboost.trees.growing_tree import GrowingTree

#: Confidence limit of C4.5: an error rate is taken for its upper limit at this probability.
CERTAINTY_FACTOR = 0.25

# A leaf may be estimated worse than the subtree that it replaces by this many rows, as in C4.5.
_TOLERANCE = 0.1


def prune(tree: GrownTree) -> GrownTree:
    """Cut subtrees that a leaf is estimated to do as well as.

    Algorithm 3 of Friedman and Schuster (KDD 2010): released sizes, which all nodes have, are made
    to agree from the root down, leaf counts are made to agree with them and added up, and subtrees
    are replaced by leaves from the bottom up where that does not raise the pessimistic estimate of
    the errors. Counts and sizes of the result are those that agree.

    Notes
    -----
    Subtree raising of C4.5 would need counts of rows that went another way, hence more budget.
    """
    assert tree.sizes is not None
    growing = tree.growing
    sizes = calibrated_sizes(growing, tree.sizes)
    counts = add_up(growing, calibrated_counts(tree.counts, sizes[growing.leaves]))
    as_leaf = pessimistic_errors(counts)
    estimate = as_leaf.copy()
    splits, first_child = growing.splits, growing.first_child
    cut = np.zeros(growing.n_nodes, dtype=bool)
    for position in range(len(splits) - 1, -1, -1):
        # Splits of deeper nodes come later: backwards is from the bottom up.
        node, first = splits.node[position], first_child[position]
        below = estimate[first : first + splits.n_branches[position]].sum()
        cut[node] = as_leaf[node] <= below + _TOLERANCE
        estimate[node] = as_leaf[node] if cut[node] else below
    kept, origin = without(growing, cut)
    return replace(tree, growing=kept, counts=counts[origin][kept.leaves], sizes=sizes[origin])


def stop_at_pure_nodes(tree: GrownTree) -> GrownTree:
    """Cut a tree without noise at its nodes of one class.

    Growth by choices sees no class counts, and goes on below a node of one class. Without noise the
    counts of the leaves show which nodes those are; with noise no node is known to be one, and the
    tree stays the same.
    """
    if tree.noise_stddev > 0:
        return tree
    counts = tree.node_counts()
    kept, origin = without(tree.growing, (counts > 0).sum(axis=1) <= 1)
    sizes = None if tree.sizes is None else tree.sizes[origin]
    return replace(tree, growing=kept, counts=counts[origin][kept.leaves], sizes=sizes)


def calibrated_sizes(growing: GrowingTree, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rescale the sizes of children so that they add up to that of their parent, from the root."""
    fixed = np.maximum(sizes, 0.0)
    first_child, splits = growing.first_child, growing.splits
    for position in range(len(splits)):
        children = slice(first_child[position], first_child[position] + splits.n_branches[position])
        total = fixed[children].sum()
        parent = fixed[splits.node[position]]
        if total > 0:
            fixed[children] *= parent / total
        else:
            fixed[children] = parent / splits.n_branches[position]
    return fixed


def calibrated_counts(
    counts: NDArray[np.float64], sizes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Rescale the class counts of leaves so that they add up to the leaves' sizes."""
    inside = np.maximum(counts, 0.0)
    total = inside.sum(axis=1, keepdims=True)
    even = np.full_like(inside, 1 / inside.shape[1])
    return sizes[:, np.newaxis] * np.where(total > 0, inside / np.where(total > 0, total, 1), even)


def pessimistic_errors(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return upper limits of the errors that nodes would make as leaves.

    The number of errors is taken for a draw from a binomial distribution, whose rate is taken at
    its upper confidence limit (Quinlan, *C4.5*, 1993, chapter 4). Counts are not negative.
    """
    total = counts.sum(axis=1)
    errors = total - counts.max(axis=1)
    right = np.maximum(total - errors, 1e-9)
    rate = betaincinv(errors + 1, right, 1 - CERTAINTY_FACTOR)
    return total * np.where(total > errors, rate, 1.0)


def without(growing: GrowingTree, cut: NDArray[np.bool_]) -> tuple[GrowingTree, NDArray[np.int32]]:
    """Return the sketch without the splits at and below cut nodes, and where its nodes were."""
    kept = GrowingTree()
    number = np.full(growing.n_nodes, -1, dtype=np.int32)
    number[0] = 0
    splits, first_child = growing.splits, growing.first_child
    for position in range(len(splits)):
        node = splits.node[position]
        if cut[node] or number[node] < 0:
            continue
        own = splits.at(position)
        children = kept.split(replace(own, node=number[own.node]))
        number[first_child[position] : first_child[position] + len(children)] = children
    origin = np.empty(kept.n_nodes, dtype=np.int32)
    there = np.flatnonzero(number >= 0)
    origin[number[there]] = there
    return kept, origin


# What becomes of the numbered statements of the papers; docs/deviations.md is made of this.
# Numbered: Friedman and Schuster | Algorithm 3 | as printed | pruning by noisy counts, free as
#   post-processing | unit/growing/test_pruning.py
