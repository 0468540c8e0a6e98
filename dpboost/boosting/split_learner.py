"""Rounds of the paper's kind: private splits, clipped leaves with noise."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dpboost.boosting.training_rows import TreeRows
from dpboost.growing.clipped_leaves import ClippedLeaf
from dpboost.growing.grower import LevelwiseGrower
from dpboost.losses import SplitLoss
from dpboost.privacy.exact_arithmetic import PrivacyCost, pure_epsilon
from dpboost.privacy.ledger import Ledger
from dpboost.trees.tree import Tree


@dataclass(frozen=True, kw_only=True)
class LeafClip:
    """The public clip of the leaves of tree ``t`` of an ensemble, counted from 0.

    Geometric leaf clipping (section 3.1 of Li, Wu, Wen and He, AAAI 2020):
    ``largest * (1 - decay)**t``; a decay of zero clips all trees alike.

    Deviation: the exponent counts trees inside the ensemble. With the global index that the
    paper prints, the leaves of later ensembles would be clipped to nothing.
    """

    largest: float
    decay: float

    def at(self, index: int) -> float:
        """Clip of the tree at this position of its ensemble."""
        return self.largest * (1.0 - self.decay) ** index


@dataclass(frozen=True, kw_only=True)
class SplitLearner:
    """Grow one tree with privately chosen splits and shrink its leaves.

    Parameters
    ----------
    loss : SplitLoss
        Turns released values into scores.
    grower : LevelwiseGrower
        Grows one tree through the gate.
    leaf : ClippedLeaf
        Leaf estimator; its clip is set for each tree by ``clip``.
    clip : LeafClip
        Public clip by position in the ensemble.
    gradient_bound : float
        Rows whose absolute gradient is larger are dropped (gradient-based data filtering).
    learning_rate : float
        Shrinkage of released leaf values.
    """

    loss: SplitLoss
    grower: LevelwiseGrower
    leaf: ClippedLeaf
    clip: LeafClip
    gradient_bound: float
    learning_rate: float

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
        tree = self.grower.grow(
            rows.node_statistics(self.gradient_bound, ledger.neighbours),
            leaf=leaf,
            epsilon=pure_epsilon(budget),
            ledger=ledger,
        )
        rate = self.learning_rate if learning_rate is None else learning_rate
        value = self.loss.to_score_units(tree.leaf_value, leaf.unit, rate)
        assert tree.split_gain is not None
        gain = tree.split_gain * self.loss.squared_step
        return (replace(tree, leaf_value=value, split_gain=gain),)
