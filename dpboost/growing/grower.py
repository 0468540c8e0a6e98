"""Growth of one tree through the privacy gate, level by level or by a frontier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.clipped_leaves import ClippedLeaf
from dpboost.growing.frontier import Frontier
from dpboost.growing.selectors import PrivateArgmax
from dpboost.growing.shrunken_leaves import value_gains
from dpboost.privacy.exact_arithmetic import (
    Epsilon,
    PrivacyCost,
    pure_cost,
    pure_epsilon,
    split_tree,
)
from dpboost.privacy.ledger import Ledger
from dpboost.rows.gradient_statistics import NodeStatistics
from dpboost.trees.growing_tree import GrowingTree, Splits
from dpboost.trees.tree import SET_WORDS, Tree, complete_children, threshold_sets


def grow(
    propose_splits: Callable[[NDArray[np.int32], GrowingTree], Splits],
    route: Callable[[Splits], None],
    frontier: Frontier,
) -> GrowingTree:
    """Grow a tree; the loop that recipes of trees share whose shape is released.

    Parameters
    ----------
    propose_splits : callable
        ``propose_splits(nodes, growing)``: looks at new nodes through the gate, once, and
        returns the released splits of those that may be split.
    route : callable
        ``route(splits)``: sends rows on to the children of the splits.
    frontier : Frontier
        Decides which of the splits are made, and when.

    Privacy
    -------
    Releases nothing itself. Order and end of the growth are functions of what ``propose_splits``
    returns, and rows move by released splits.
    """
    growing = GrowingTree()
    nodes = growing.root
    while len(nodes):
        # A node is looked at once, when it appears: a frontier that takes it up later does so by
        # what was released then, at no further charge.
        frontier.push(propose_splits(nodes, growing))
        splits = frontier.pop()
        if len(splits):
            # The store and the sketch number children alike, in the order of the splits, without
            # asking each other: neither needs to know how many rows went where.
            route(splits)
        nodes = growing.split(splits)
    return growing


def grow_complete(
    budgets: Sequence[PrivacyCost],
    choose: Callable[[int, PrivacyCost], tuple[NDArray[np.int32], NDArray[np.uint8]]],
    route: Callable[[NDArray[np.int32], NDArray[np.uint8]], None],
    is_categorical: NDArray[np.uint8],
) -> tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.int32], NDArray[np.int32]]:
    """Grow a complete tree, a level at a time; the loop of trees whose shape is public.

    Parameters
    ----------
    budgets : sequence of Fraction or inf
        Of each level.
    choose : callable
        ``choose(n_nodes, budget)`` releases the splits of all nodes of a level.
    route : callable
        ``route(feature, split_bin)`` sends rows on.
    is_categorical : ndarray of shape (n_features,), uint8

    Returns
    -------
    feature, left_bins, left, right : ndarray
        Nodes as those of `Tree`.

    Privacy
    -------
    Releases nothing itself.
    """
    features = [np.empty(0, dtype=np.int32)]
    split_bins = [np.empty(0, dtype=np.uint8)]
    for level, budget in enumerate(budgets):
        feature, split_bin = choose(2**level, budget)
        route(feature, split_bin)
        features.append(feature)
        split_bins.append(split_bin)
    feature = np.concatenate(features)
    left_bins = threshold_sets(np.concatenate(split_bins), is_categorical[feature] == 1)
    return feature, left_bins, *complete_children(len(budgets))


@dataclass(frozen=True, kw_only=True)
class LevelwiseGrower:
    """Grow every node of a level at once, down to a public depth.

    Algorithm 1 of Li, Wu, Wen and He (AAAI 2020), without its per-node loop: a level is one
    release. Half of the tree's budget goes to the leaves, the rest in equal parts to the levels.
    The tree is always complete, so its shape reveals nothing about the rows.

    Parameters
    ----------
    selector : PrivateArgmax
        Chooses the splits of a level.
    max_depth : int
        Levels of internal nodes.

    Privacy
    -------
    Releases one array of splits a level and one array of leaf values. A row lies in one node of
    each level and in one leaf: levels and leaves add up, nodes of a level do not.
    """

    selector: PrivateArgmax
    max_depth: int

    def grow(
        self,
        statistics: NodeStatistics,
        *,
        leaf: ClippedLeaf,
        epsilon: Epsilon,
        ledger: Ledger,
    ) -> Tree:
        """Release one tree; its leaf values are in units of ``leaf.unit``, its gains of 1.

        Parameters
        ----------
        leaf : ClippedLeaf
            The leaf estimator of this tree.
        epsilon : Fraction or inf
            Budget of the tree.
        """
        # A row is in one node of every level and in one leaf, so that these parts add up, and
        # nothing else does: the budget of a level is not divided among its nodes.
        budget = split_tree(pure_cost(epsilon), self.max_depth)

        def choose(_: int, level: PrivacyCost) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
            return self.selector.choose(statistics, epsilon=pure_epsilon(level), ledger=ledger)

        feature, left_bins, left, right = grow_complete(
            budget.levels, choose, statistics.split, statistics.layout.is_categorical
        )
        values, noise_stddev = leaf.release(
            statistics, epsilon=pure_epsilon(budget.leaves), ledger=ledger
        )
        return Tree(
            feature=feature,
            left_bins=left_bins,
            left=left,
            right=right,
            leaf_value=values,
            split_gain=value_gains(values * leaf.unit, noise_stddev * leaf.unit),
        )


def binary_nodes(
    growing: GrowingTree, is_categorical: NDArray[np.uint8]
) -> tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.int32], NDArray[np.int32]]:
    """Write a sketch as binary nodes; a split into many branches becomes a chain.

    The chain asks for the branches one after the other: bin 0 against the rest, bin 1 against
    the rest, up to the last value bin against missing values. On a numeric feature it asks for
    bins up to 0, up to 1, ..., which comes to the same.

    Parameters
    ----------
    is_categorical : ndarray of shape (n_features,), uint8

    Returns
    -------
    feature : ndarray of shape (n,), int32
    left_bins : ndarray of shape (n, 4), uint64
    left, right : ndarray of shape (n,), int32
        Node numbers, or ``~leaf`` with leaves in the order of ``growing.leaves``. Chains stand
        in the order in which the splits were made.
    """
    splits, first_child = growing.splits, growing.first_child
    lengths = splits.n_branches - 1
    starts = np.cumsum(lengths) - lengths
    reference = np.empty(growing.n_nodes, dtype=np.int32)
    reference[splits.node] = starts
    leaves = growing.leaves
    reference[leaves] = ~np.arange(len(leaves), dtype=np.int32)
    owner = np.repeat(np.arange(len(splits)), lengths)
    link = np.arange(len(owner)) - starts[owner]
    last = link == lengths[owner] - 1
    left = reference[first_child[owner] + link]
    after = reference[np.minimum(first_child[owner] + link + 1, growing.n_nodes - 1)]
    right = np.where(last, after, np.arange(1, len(owner) + 1))
    feature = splits.feature[owner]
    # Two branches are one link, which keeps the bin of its split; a longer chain asks for bin after
    # bin.
    chained = splits.n_branches[owner] > 2
    own_bin = np.where(chained, link, splits.split_bin[owner]).astype(np.uint8)
    if not len(owner):
        return feature, np.empty((0, SET_WORDS), dtype=np.uint64), left, right.astype(np.int32)
    sets = threshold_sets(own_bin, is_categorical[feature] == 1)
    return feature, sets, left, right.astype(np.int32)
