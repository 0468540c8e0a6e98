"""Rounds of the DPBoost paper: private splits, and clipped leaves with noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.boosting_loop import TreeRows
from dpboost.growing.clipped_leaves import ClippedLeaf
from dpboost.growing.feature_sampler import AllowedFeatures
from dpboost.growing.grower import LevelwiseGrower
from dpboost.growing.monotone_leaves import MonotoneLeaves
from dpboost.losses import SplitLoss
from dpboost.privacy.exact_arithmetic import PrivacyCost, pure_epsilon
from dpboost.privacy.ledger import Ledger
from dpboost.trees.tree import Tree


@dataclass(frozen=True, kw_only=True)
class LeafClip:
    """The public clip of the leaves of tree ``t`` of an ensemble, counted from 0.

    Proof: docs/proofs/constraints.md.

    Geometric leaf clipping (section 3.1 of Li, Wu, Wen and He, AAAI 2020):
    ``largest * (1 - decay)**t``; a decay of zero clips all trees alike.

    Deviation: the exponent counts trees inside the ensemble. With the global index that the
    paper states, the leaves of later ensembles would be clipped to almost zero.
    """

    largest: float
    decay: float
    #: What no leaf may exceed, LightGBM's ``max_delta_step``.
    limit: float = math.inf

    def at(self, index: int) -> float:
        """Clip of the tree at this position of its ensemble."""
        return min(self.largest * (1.0 - self.decay) ** index, self.limit)

    def limited(self, values: NDArray[np.number], unit: float) -> NDArray[np.number]:
        """Return released leaf values, which noise may have moved, within the limit."""
        if self.limit == math.inf:
            return values
        most = math.floor(self.limit / unit)
        return np.clip(values, -most, most)


@dataclass(frozen=True, kw_only=True)
class SplitLearner:
    """Grow one tree with privately chosen splits and shrink its leaves."""

    loss: SplitLoss
    #: Grows one tree through the gate.
    grower: LevelwiseGrower
    #: Leaf estimator; its clip is set for each tree by ``clip``.
    leaf: ClippedLeaf
    #: Public clip by position in the ensemble.
    clip: LeafClip
    #: Rows whose absolute gradient is larger are dropped (gradient-based data filtering).
    gradient_bound: float
    #: Shrinkage of released leaf values.
    learning_rate: float
    #: Which features the next tree may split; all where there is none.
    allowed: AllowedFeatures | None = None
    #: Brings the leaves of a tree, whose noise is equally large, into order.
    monotone: MonotoneLeaves | None = None

    def learn(
        self,
        rows: TreeRows,
        index: int,
        *,
        budget: PrivacyCost,
        ledger: Ledger,
        learning_rate: float | None = None,
    ) -> tuple[Tree, ...]:
        """Release the tree at position ``index`` of its ensemble."""
        leaf = replace(self.leaf, clip=self.clip.at(index))
        features = None if self.allowed is None else self.allowed.draw()
        tree = self.grower.grow(
            rows.node_statistics(self.gradient_bound, ledger.neighbors, features=features),
            leaf=leaf,
            epsilon=pure_epsilon(budget),
            ledger=ledger,
        )
        if features is not None:
            tree = replace(tree, feature=features[tree.feature])
        rate = self.learning_rate if learning_rate is None else learning_rate
        released = self.clip.limited(self.in_order(tree), leaf.unit)
        value = self.loss.to_score_units(released, leaf.unit, rate)
        assert tree.split_gain is not None
        gain = tree.split_gain * self.loss.squared_step
        return (replace(tree, leaf_value=value, split_gain=gain),)

    def in_order(self, tree: Tree) -> NDArray[np.number]:
        """Return the leaf values of a tree as the constraints want them."""
        if self.monotone is None:
            return tree.leaf_value
        nodes = (tree.feature, tree.left_bins, tree.left, tree.right)
        values = tree.leaf_value[np.newaxis].astype(np.float64)
        return self.monotone.project(nodes, values, np.ones_like(values))[0]
