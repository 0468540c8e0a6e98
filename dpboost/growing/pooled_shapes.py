"""Monotone shapes: all trees of one feature as one tree, brought into order at the end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner
from dpboost.growing.monotone_leaves import check_ordered
from dpboost.trees.leaf_boxes import leaf_boxes
from dpboost.trees.tree import Tree, threshold_sets


@dataclass(frozen=True, kw_only=True, eq=False)
class PooledShapes:
    """Bring features that have trees of their own into order.

    While trees are released, one may fall where the noise of an earlier one has risen too far: were
    each tree in order by itself, noise could go up and never come down again. So the trees of such
    a feature are free, and their sum over its bins is projected once, when all are there. The sum
    is written as one tree in the place of the first; the model is then a sum of trees each of which
    is in order.

    Parameters
    ----------
    direction : ndarray of shape (n_features,), int8
        -1, 0 or 1. A tree of a feature with a direction has no other feature.
    n_bins : ndarray of shape (n_features,), int32
        Value bins of each feature.

    Privacy
    -------
    Post-processing: reads released trees and the public size of their noise.
    """

    direction: NDArray[np.int8]
    n_bins: NDArray[np.int32]

    @classmethod
    def of(cls, monotone: tuple[int, ...], binner: Binner) -> PooledShapes | None:
        """Return what keeps these directions, None where there are none.

        Raises
        ------
        InvalidParameterError
            If a feature with a direction holds categories, which have no order.
        """
        if not monotone:
            return None
        check_ordered(monotone, binner.is_categorical, binner.feature_names)
        return cls(direction=np.array(monotone, dtype=np.int8), n_bins=binner.n_bins)

    def rewrite(self, trees: tuple[Tree, ...], n_outputs: int) -> tuple[Tree, ...]:
        """Return the trees of the model.

        Parameters
        ----------
        trees : tuple of Tree
            Round by round, one for each output in a round.
        n_outputs : int

        Returns
        -------
        tuple of Tree
            With one round in the place of all rounds of a feature with a direction.
        """
        rounds = [trees[start : start + n_outputs] for start in range(0, len(trees), n_outputs)]
        places: dict[int, list[int]] = {}
        for place, (first, *_) in enumerate(rounds):
            features = np.unique(first.feature)
            if self.direction[features].any():
                assert len(features) == 1, "a feature with a direction has trees of its own"
                places.setdefault(int(features[0]), []).append(place)
        new = {
            own[0]: tuple(
                self._pooled(feature, [rounds[place][output] for place in own])
                for output in range(n_outputs)
            )
            for feature, own in places.items()
        }
        gone = {place for own in places.values() for place in own[1:]}
        kept = [new.get(place, own) for place, own in enumerate(rounds) if place not in gone]
        return tuple(tree for own in kept for tree in own)

    def _pooled(self, feature: int, trees: list[Tree]) -> Tree:
        """Return the sum of some trees of one feature, in order."""
        n_bins = int(self.n_bins[feature])
        value = np.zeros(n_bins + 1, dtype=np.int64)
        variance = np.zeros(n_bins + 1)
        counts = [tree.leaf_count for tree in trees]
        weights = np.zeros(n_bins + 1)
        for tree in trees:
            boxes = leaf_boxes(tree.feature, tree.left_bins, tree.left, tree.right, self.n_bins)
            reach = boxes[feature]
            leaf = reach.argmax(axis=0)
            value += tree.leaf_value[leaf]
            assert tree.noise is not None
            assert tree.leaf_count is not None
            variance += tree.noise.stddev(tree.leaf_count)[leaf] ** 2
            weights += (tree.leaf_count / reach.sum(axis=1))[leaf]
        direction = int(self.direction[feature])
        precision = 1 / variance[:-1] if variance[:-1].all() else np.maximum(weights[:-1], 1.0)
        in_order = direction * ascending(direction * value[:-1].astype(np.float64), precision)
        value[:-1] = np.rint(in_order).astype(np.int64)
        return _staircase(feature, value, np.rint(weights / len(counts)).astype(np.int64))


def ascending(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest values that never fall, by weighted squared distance.

    Adjacent blocks that fall are pooled to their mean (Ayer et al. 1955).

    Parameters
    ----------
    values, weights : ndarray of shape (n,)
        Weights are greater than zero.

    Returns
    -------
    ndarray of shape (n,)
    """
    means: list[float] = []
    masses: list[float] = []
    sizes: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        means.append(value)
        masses.append(weight)
        sizes.append(1)
        while len(means) > 1 and means[-2] > means[-1]:
            mass = masses[-2] + masses[-1]
            mean = (means[-2] * masses[-2] + means[-1] * masses[-1]) / mass
            means[-2:], masses[-2:] = [mean], [mass]
            sizes[-2:] = [sizes[-2] + sizes[-1]]
    return np.repeat(means, sizes)


def _staircase(feature: int, value: NDArray[np.int64], count: NDArray[np.int64]) -> Tree:
    """Return a tree with a leaf for each run of equal values of one feature, and one for missing.

    Parameters
    ----------
    feature : int
    value, count : ndarray of shape (n_bins + 1,), int64
        The missing bin comes last.
    """
    n_bins = len(value) - 1
    ends = np.append(np.flatnonzero(np.diff(value[:-1])), n_bins - 1)
    run = np.append(np.searchsorted(ends, np.arange(n_bins)), len(ends))
    # The root parts what is missing; a balanced tree over the runs hangs left of it.
    last = np.minimum(ends, 255).astype(np.uint8)
    cuts, left, right = [n_bins - 1], [0], [~len(ends)]
    stack = [(0, 0, len(ends))]
    while stack:
        parent, low, high = stack.pop()
        child = ~low
        if high - low > 1:
            child, middle = len(cuts), (low + high) // 2
            cuts.append(int(last[middle - 1]))
            left.append(0)
            right.append(0)
            # Filled in by the halves: the right one marks itself by a negative parent.
            stack += [(child, low, middle), (~child, middle, high)]
        if parent < 0:
            right[~parent] = child
        else:
            left[parent] = child
    nodes = len(cuts)
    split = np.array(cuts, dtype=np.uint8)
    return Tree(
        feature=np.full(nodes, feature, dtype=np.int32),
        left_bins=threshold_sets(split, np.zeros(nodes, dtype=bool)),
        left=np.array(left, dtype=np.int32),
        right=np.array(right, dtype=np.int32),
        leaf_value=value[np.append(ends, n_bins)],
        leaf_count=np.bincount(run, count).astype(np.int64),
    )
