"""Growth of a single-tree model with the statistics, splits and leaves of a recipe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner
from dpboost.growing.class_leaves import (
    ClassProbability,
    GrownTree,
    class_probabilities,
    leaf_scores,
    score_precision,
)
from dpboost.growing.grower import binary_nodes
from dpboost.growing.growth import Grown, RoundCallback
from dpboost.growing.label_leaves import ShrunkenMean
from dpboost.growing.monotone_leaves import MonotoneLeaves, Nodes
from dpboost.growing.pruning import stop_at_pure_nodes
from dpboost.growing.shrunken_leaves import ShrunkenLeaf, split_gains
from dpboost.losses import Loss
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import RowHandle
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.rows.class_statistics import ClassStatistics
from dpboost.rows.label_statistics import LabelStatistics
from dpboost.rows.row_attributes import WEIGHT_ONE
from dpboost.rows.tree_statistics import TreeStatistics
from dpboost.trees.exported_tree import ReleasedTree
from dpboost.trees.split_candidates import Candidates
from dpboost.trees.tree import Tree

#: Shares of classes differ by at most 1 between the sides of a split, each taken for a row larger.
_SHARES = ShrunkenLeaf(reg_lambda=1.0, prior=1.0)

#: Means of scaled labels differ by at most 2.
_MEANS = ShrunkenLeaf(reg_lambda=1.0, prior=2.0)


class TreeLearner(Protocol):
    """Grow one tree through the privacy gate."""

    def learn(self, rows: Any, *, budget: PrivacyCost, ledger: Ledger) -> GrownTree:
        """Release one tree within the budget, from the statistics of its response."""


class Response(Protocol):
    """The response of a tree: its statistics and leaf values."""

    def statistics(
        self,
        rows: RowHandle,
        candidates: Candidates,
        neighbors: Neighbors,
        n_threads: int,
    ) -> TreeStatistics:
        """Return what the learner may know of the rows."""

    def grown(self, tree: GrownTree, binner: Binner, loss: Loss, candidates: Candidates) -> Grown:
        """Return the tree as LightGBM knows trees, and for people."""


@dataclass(frozen=True, kw_only=True)
class ClassResponse:
    """Classes: leaves have counts and probabilities."""

    n_classes: int
    probability: ClassProbability
    weighted: bool = False
    #: Brings the raw scores of the leaves into order.
    monotone: MonotoneLeaves | None = None

    def statistics(
        self,
        rows: RowHandle,
        candidates: Candidates,
        neighbors: Neighbors,
        n_threads: int,
    ) -> ClassStatistics:
        """Return class counts."""
        return ClassStatistics(
            rows,
            n_classes=self.n_classes,
            candidates=candidates,
            neighbors=neighbors,
            n_threads=n_threads,
            row_units=WEIGHT_ONE if self.weighted else 1,
        )

    def grown(self, tree: GrownTree, binner: Binner, loss: Loss, candidates: Candidates) -> Grown:
        """Return one tree for each output, of one structure."""
        tree = stop_at_pure_nodes(tree)
        growing = tree.growing
        probability = self.probability.of(tree)
        nodes = binary_nodes(growing, binner.is_categorical)
        values = leaf_scores(probability)
        if self.monotone is not None:
            weights = score_precision(probability, tree)
            ordered = self.monotone.project(nodes, values.astype(np.float64), weights)
            values = np.rint(ordered).astype(np.int64)
            probability = class_probabilities(values)
        sizes = np.maximum(tree.counts, 0.0).sum(axis=1)
        first = binary_tree(nodes, values[0], sizes)
        counts = np.ascontiguousarray(tree.counts.T)
        of_class = np.repeat(sizes[np.newaxis], self.n_classes, axis=0)
        shown, _ = split_gains(first, counts, of_class, tree.noise_stddev, _SHARES)
        gain = shown / len(values)
        of_nodes = np.full((growing.n_nodes, probability.shape[1]), np.nan)
        of_nodes[growing.leaves] = probability
        return Grown(
            trees=tuple(replace(first, leaf_value=own, split_gain=gain) for own in values),
            readable=ReleasedTree(
                splits=growing.splits,
                first_child=growing.first_child,
                kinds=candidates.kinds,
                counts=tree.node_counts(),
                probability=of_nodes,
                noise_stddev=tree.noise_stddev,
                sizes=tree.sizes,
            ),
            class_sizes=tree.counts.sum(axis=0),
            noise_stddev=tree.noise_stddev * float(np.sqrt(len(tree.counts))),
            n_rows=max(float(tree.counts.sum()), 1.0),
        )


@dataclass(frozen=True, kw_only=True)
class NumberResponse:
    """Numbers: leaves have sums of labels and rows, and means."""

    mean: ShrunkenMean
    #: Brings the values of the leaves into order.
    monotone: MonotoneLeaves | None = None

    def statistics(
        self,
        rows: RowHandle,
        candidates: Candidates,
        neighbors: Neighbors,
        n_threads: int,
    ) -> LabelStatistics:
        """Return sums of labels and weights."""
        return LabelStatistics(
            rows, candidates=candidates, neighbors=neighbors, n_threads=n_threads
        )

    def grown(self, tree: GrownTree, binner: Binner, loss: Loss, candidates: Candidates) -> Grown:
        """Return the tree."""
        growing = tree.growing
        nodes = binary_nodes(growing, binner.is_categorical)
        means = self.mean.of(tree)
        sums, rows = np.ascontiguousarray(tree.counts.T[:, np.newaxis])
        sizes = np.maximum(rows, 0.0)
        if self.monotone is not None:
            leaves = means[np.newaxis, growing.leaves]
            weights = np.maximum(sizes, 1.0) ** 2
            means[growing.leaves] = self.monotone.project(nodes, leaves, weights)[0]
        scores = loss.to_score_units(means, 1.0, 1.0)
        counts = tree.node_counts()[:, 1:]
        starts = np.atleast_1d(np.asarray(loss.start_units, dtype=np.int64))
        values = (starts[0] + scores) * loss.unit
        first = binary_tree(nodes, scores[growing.leaves], sizes[0])
        shown, _ = split_gains(first, sums, sizes, tree.noise_stddev, _MEANS)
        return Grown(
            trees=(replace(first, split_gain=shown * loss.squared_step),),
            readable=ReleasedTree(
                splits=growing.splits,
                first_child=growing.first_child,
                kinds=candidates.kinds,
                counts=counts,
                value=values,
                noise_stddev=tree.noise_stddev,
            ),
            n_rows=max(float(rows.sum()), 1.0),
        )


@dataclass(frozen=True, kw_only=True)
class SingleTree:
    """Strategies of a single-tree model."""

    learner: Any
    response: Response
    candidates: Candidates

    n_rounds: ClassVar[int] = 1

    def run(
        self,
        rows: RowHandle,
        binner: Binner,
        loss: Loss,
        *,
        budget: PrivacyCost,
        ledger: Ledger,
        n_threads: int,
        on_tree: Callable[[], None],
        callback: RoundCallback | None = None,
    ) -> Grown:
        """Release the tree; the learning rate of a callback has no meaning for it."""
        statistics = self.response.statistics(rows, self.candidates, ledger.neighbors, n_threads)
        tree = self.learner.learn(statistics, budget=budget, ledger=ledger)
        grown = self.response.grown(tree, binner, loss, self.candidates)
        on_tree()
        if callback is not None:
            callback.after(grown.trees)
        return grown


def binary_tree(nodes: Nodes, values: NDArray[np.int64], sizes: NDArray[np.float64]) -> Tree:
    """Write a tree as LightGBM knows trees: binary, with values in score units."""
    feature, left_bins, left, right = nodes
    return Tree(
        feature=feature,
        left_bins=left_bins,
        left=left,
        right=right,
        leaf_value=values,
        leaf_count=np.rint(sizes).astype(np.int64),
    )
