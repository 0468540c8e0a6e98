"""The one boosting loop: ensembles in sequence, trees on disjoint rows inside each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from dpboost.boosting.forest import Forest
from dpboost.boosting.rows import TrainingRows
from dpboost.boosting.schedule import Schedule
from dpboost.losses import Loss
from dpboost.privacy.budget import divide
from dpboost.privacy.ledger import Ledger
from dpboost.tree.grower import LevelwiseGrower
from dpboost.tree.leaves import ClippedLeaf
from dpboost.tree.structure import Tree


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
class BoostingLoop:
    """Strategies of a boosting run; one object serves every recipe.

    Parameters
    ----------
    n_estimators : int
        Trees in all; a public number that no row can change.
    learning_rate : float
        Shrinkage of released leaf values.
    schedule : Schedule
        How trees share rows.
    grower : LevelwiseGrower
        Grows one tree through the gate.
    leaf : ClippedLeaf
        Leaf estimator; its clip is set for each tree by ``clip``.
    clip : LeafClip
        Public clip by position in the ensemble.
    gradient_bound : float
        Rows whose absolute gradient is larger are dropped (gradient-based data filtering).
    """

    n_estimators: int
    learning_rate: float
    schedule: Schedule
    grower: LevelwiseGrower
    leaf: ClippedLeaf
    clip: LeafClip
    gradient_bound: float

    def boost(
        self,
        rows: TrainingRows,
        forest: Forest,
        *,
        loss: Loss,
        epsilon: Fraction | float,
        ledger: Ledger,
        on_tree: Callable[[], None],
    ) -> tuple[Tree, ...]:
        """Train all trees; their leaf values are in units of the loss's score grid.

        Parameters
        ----------
        rows : TrainingRows
            Private rows.
        forest : Forest
            Empty; filled with the released trees.
        loss : Loss
            Turns released values into scores.
        epsilon : Fraction or inf
            Budget of the loop.
        ledger : Ledger
            The gate.
        on_tree : callable
            Called after each tree, for progress.

        Returns
        -------
        tuple of Tree

        Privacy
        -------
        Ensembles are charged one after the other, trees of an ensemble side by side: a row's
        coin puts it into exactly one of them.
        """
        plans = self.schedule.plan(self.n_estimators)
        shares = divide(epsilon, [1] * len(plans))
        trees: list[Tree] = []
        for number, (plan, share) in enumerate(zip(plans, shares, strict=True)):
            with ledger.sequential(f"ensemble {number}"):
                rows.deal(plan, ledger)
                with ledger.parallel("disjoint rows"):
                    for index in range(plan.n_trees):
                        with ledger.sequential(f"tree {index}"):
                            tree = self._grow(index, rows, forest, loss, share, ledger)
                        forest.append(tree)
                        trees.append(tree)
                        on_tree()
        return tuple(trees)

    def _grow(
        self,
        index: int,
        rows: TrainingRows,
        forest: Forest,
        loss: Loss,
        epsilon: Fraction | float,
        ledger: Ledger,
    ) -> Tree:
        """Grow the tree at position ``index`` of its ensemble and shrink its leaves."""
        leaf = replace(self.leaf, clip=self.clip.at(index))
        tree = self.grower.grow(
            rows.statistics(index, forest, gradient_bound=self.gradient_bound, ledger=ledger),
            leaf=leaf,
            epsilon=epsilon,
            ledger=ledger,
        )
        value = loss.to_score_units(tree.leaf_value, leaf.unit, self.learning_rate)
        return replace(tree, leaf_value=value)
