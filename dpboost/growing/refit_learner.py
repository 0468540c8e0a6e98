"""Rounds that release new leaf sums for the structure of released trees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpboost.growing.boosting_loop import TreeRows
from dpboost.growing.partition_learner import leaf_noise, leaf_steps, tree_of
from dpboost.growing.shrunken_leaves import LeafRules, ShrunkenLeaf, split_gains
from dpboost.losses import Loss
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.rows.boosting_queries import SumScale
from dpboost.trees.leaf_boxes import leaf_boxes
from dpboost.trees.random_partition import BINS, MAX_FEATURES, Partition
from dpboost.trees.tree import Tree


@dataclass(kw_only=True, eq=False)
class RefitLearner:
    """Release the noisy leaf sums of the partition of an earlier round.

    Privacy
    -------
    One release a round, as `PartitionLearner`. Partitions are released already.
    """

    loss: Loss
    #: Clips of a row's gradient and hessian, and their shares.
    scale: SumScale
    #: Turns noisy sums into steps.
    leaf: ShrunkenLeaf
    learning_rate: float
    #: Of the earlier rounds, the first one last.
    partitions: list[Partition]
    #: What else the user asked of steps.
    rules: LeafRules | None = None

    def learn(
        self,
        rows: TreeRows,
        index: int,
        *,
        budget: PrivacyCost,
        ledger: Ledger,
        learning_rate: float | None = None,
    ) -> tuple[Tree, ...]:
        """Release the trees of one round; their structure is shared by all outputs."""
        partition = self.partitions.pop()
        gradients, hessians, noise_stddev = rows.release(
            partition, self.scale, ledger.accountant.noise(budget), ledger
        )
        steps = leaf_steps(partition, gradients, hessians, noise_stddev, self.leaf, self.rules)
        shown = split_gains(partition, gradients, hessians, noise_stddev, self.leaf)
        rate = self.learning_rate if learning_rate is None else learning_rate
        values = self.loss.to_score_units(steps, 1.0, rate)
        rows.add(values)
        gain = shown[0] * (self.loss.squared_step / len(values))
        noise = leaf_noise(self.leaf, self.rules, self.loss, noise_stddev, rate)
        return tuple(
            tree_of(partition, value, weight, gain, noise)
            for value, weight in zip(values, hessians, strict=True)
        )


def partitions_of(trees: Sequence[Tree], n_outputs: int, n_bins: np.ndarray) -> list[Partition]:
    """Return the partitions of released rounds, the first one last.

    Trees are round by round, of one structure for all outputs; each of at most three features.
    Missing values have a bin more than the value bins that ``n_bins`` counts.
    """
    return [_partition(tree, n_bins) for tree in trees[::n_outputs]][::-1]


def _partition(tree: Tree, n_bins: np.ndarray) -> Partition:
    """Return a tree with the table that finds the leaf of a row."""
    features = np.unique(tree.feature).astype(np.int32)
    sizes = [int(n_bins[feature]) + 1 for feature in features]
    steps = np.zeros((MAX_FEATURES, BINS), dtype=np.int32)
    for row, size in enumerate(sizes):
        steps[row, :size] = np.arange(size) * math.prod(sizes[:row])
    # The cells of a leaf are all combinations of some bins of each feature. The first feature has
    # the smallest step, so that it is the last axis.
    table = np.empty(sizes[::-1], dtype=np.uint16)
    boxes = leaf_boxes(tree.feature, tree.left_bins, tree.left, tree.right, n_bins)
    for leaf in range(tree.n_leaves):
        table[np.ix_(*(np.flatnonzero(boxes[f][leaf]) for f in features[::-1].tolist()))] = leaf
    return Partition(
        features=features,
        steps=steps,
        table=table.ravel(),
        n_leaves=tree.n_leaves,
        feature=tree.feature,
        left_bins=tree.left_bins,
        left=tree.left,
        right=tree.right,
    )
