"""The boosting loop: ensembles in sequence, with rounds on disjoint rows inside each.

Proof: docs/proofs/composition.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner
from dpboost.growing.column_choice import ColumnChoice
from dpboost.growing.growth import Grown, RoundCallback
from dpboost.growing.linear_start import LinearStart
from dpboost.growing.listed_parts import ListedParts
from dpboost.growing.shrunken_leaves import stretched
from dpboost.losses import Loss
from dpboost.privacy.exact_arithmetic import PrivacyCost, divide
from dpboost.privacy.ledger import Disjoint, Ledger
from dpboost.privacy.mechanisms import Noise
from dpboost.privacy.queries import Query, RowHandle, Sensitive
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.rows.boosting_queries import LeafSums, SumScale
from dpboost.rows.gradient_statistics import NodeStatistics
from dpboost.trees.bin_layout import Layout
from dpboost.trees.random_partition import Partition
from dpboost.trees.tree import Tree


class RoundLearner(Protocol):
    """Learn the trees of one round through the privacy gate."""

    def learn(
        self,
        rows: TreeRows,
        index: int,
        *,
        budget: PrivacyCost,
        ledger: Ledger,
        learning_rate: float | None = None,
    ) -> tuple[Tree, ...]:
        """Release one tree for each output, leaf values in score units.

        Parameters
        ----------
        rows : TreeRows
            The private rows of the round.
        index : int
            Position of the round in its ensemble, from 0.
        budget : Fraction or inf
            Budget of the round.
        ledger : Ledger
            The gate.
        learning_rate : float, optional
            Shrinkage of this round instead of the learner's own.
        """


@dataclass(frozen=True, kw_only=True)
class BoostingLoop:
    """Strategies of a boosting run, for every recipe.

    Parameters
    ----------
    n_rounds : int
        Number of rounds; public and independent of rows.
    schedule : Schedule
        How rounds share rows.
    learner : RoundLearner
        Learns the trees of one round.
    order : TreesInOrder, optional
        Makes sums of released trees monotone.
    choice : ColumnChoice, optional
        Releases before the first round.
    start : LinearStart, optional
        The first rounds, one for each of its columns.
    listed : ListedParts, optional
        Estimates of category frequencies from released sums.
    stretch : float, default=1
        How many times as far from their mean the leaf values of the model are as those that the
        rows train on: the rest of the fit, and the order of all scores, stay as they are.
    """

    n_rounds: int
    schedule: Schedule
    learner: RoundLearner
    order: TreesInOrder | None = None
    choice: ColumnChoice | None = None
    start: LinearStart | None = None
    listed: ListedParts | None = None
    stretch: float = 1.0

    candidates: ClassVar[None] = None

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
        """Release all trees of all rounds."""
        if self.choice is not None:
            budget = self.choice.release(rows, loss, ledger, budget)
        boosted = TrainingRows(
            rows, Layout.of(binner), n_outputs=loss.n_outputs, n_threads=n_threads
        )
        order = OrderOfSums.of(self.order, self.n_rounds, loss.n_outputs)
        trees = self.boost(
            boosted, budget=budget, ledger=ledger, on_tree=on_tree, callback=callback, order=order
        )
        if order is None:
            return Grown(trees=trees, listed=self.listed)
        best = callback.best_iteration if callback else 0
        released = trees[: best * loss.n_outputs] if best > 0 else trees
        return Grown(trees=order.rewritten(released), released=released, listed=self.listed)

    def boost(
        self,
        rows: TrainingRows,
        *,
        budget: PrivacyCost,
        ledger: Ledger,
        on_tree: Callable[[], None],
        callback: RoundCallback | None = None,
        order: OrderOfSums | None = None,
    ) -> tuple[Tree, ...]:
        """Train all trees; their leaf values are in units of the loss's score grid.

        Parameters
        ----------
        rows : TrainingRows
            Private rows.
        budget : Fraction or inf
            Budget of the loop, in the unit of the ledger's accountant.
        ledger : Ledger
            The gate.
        on_tree : callable
            Called after each round, for progress.
        callback : RoundCallback, optional
            May set the learning rate of a round, and may end training.
        order : OrderOfSums, optional
            Makes released trees monotone during training.

        Returns
        -------
        tuple of Tree
            Round by round.

        Privacy
        -------
        Ensembles are charged sequentially, and rounds of an ensemble in parallel: a row is randomly
        assigned to exactly one of them. Budgets are fixed before the first round: if a callback
        ends training, the remaining rounds are never charged.
        """
        trees: list[Tree] = []
        if self.start is not None:
            started, budget = self.start.release(rows, ledger, budget)
            for tree in started:
                trees.append(tree)
                on_tree()
                if callback:
                    callback.before(len(trees) - 1)
                    if callback.after((tree,)):
                        return tuple(trees)
        plans = self.schedule.plan(self.n_rounds - len(trees))
        shares = divide(budget, [1] * len(plans))
        for number, (plan, share) in enumerate(zip(plans, shares, strict=True)):
            with ledger.sequential(f"ensemble {number}"):
                rows.deal(plan, ledger)
                with ledger.parallel("disjoint rows", Disjoint.RANDOM):
                    for index in range(plan.n_trees):
                        with ledger.sequential(f"tree {index}"):
                            grown = self.learner.learn(
                                rows.take(index),
                                index,
                                budget=share,
                                ledger=ledger,
                                learning_rate=callback.before(rows.n_trees) if callback else None,
                            )
                        rows.append(grown)
                        if self.stretch != 1.0:
                            grown = tuple(stretched(tree, self.stretch) for tree in grown)
                        trees += grown
                        on_tree()
                        if callback and callback.after(grown):
                            return tuple(trees)
                        if order is not None:
                            order.after(trees, rows, callback)
        return tuple(trees)


class TrainingRows:
    """The handle of the rows for the boosting loop, and their public metadata.

    Parameters
    ----------
    source : RowHandle
        Of rows in the state of a ``BoostingState``.
    layout : Layout
        Public positions of cells and candidates.
    n_outputs : int, default=1
    n_threads : int, default=1

    Privacy
    -------
    Values are available only as Sensitive values of its ``TreeRows``.
    """

    def __init__(
        self,
        source: RowHandle,
        layout: Layout,
        *,
        n_outputs: int = 1,
        n_threads: int = 1,
    ) -> None:
        self.source = source
        self.layout = layout
        self.n_outputs = n_outputs
        self.n_threads = n_threads
        self._n_trees = 0

    @property
    def n_trees(self) -> int:
        """Rounds that were released so far."""
        return self._n_trees

    def deal(self, plan: EnsemblePlan, ledger: Ledger) -> None:
        """Assign every row to one round of an ensemble by an independent secret draw."""
        coins = None if plan.shares is None else ledger.row_coins()
        self.source.apply("deal", shares=plan.shares, coins=coins)

    def take(self, index: int) -> TreeRows:
        """Return the rows of round ``index`` of the ensemble, with updated scores."""
        self.source.apply("take", index=index)
        return TreeRows(self)

    def released(
        self, query: Query, budget: PrivacyCost, ledger: Ledger, label: str
    ) -> tuple[NDArray[np.float64], float]:
        """Release a query over all rows, at the scores of all trees so far.

        Returns
        -------
        values : ndarray
            In the unit of the query.
        noise_stddev : float
            Of the noise of each.
        """
        self.source.apply("deal", shares=None, coins=None)
        self.source.apply("take", index=0)
        noise = ledger.accountant.noise(budget)
        sums = self.source.ask(query, ledger.neighbors)
        values = ledger.release(noise, sums, label=label) * query.unit
        return values, sums.noise_stddev(noise) * query.unit

    def append(self, trees: tuple[Tree, ...]) -> None:
        """Append the released trees of a round, one for each output."""
        self.source.apply("append", trees=trees)
        self._n_trees += 1

    def correct(self, trees: tuple[Tree, ...]) -> None:
        """Add trees to all scores that are no round: made of released ones, one for each output."""
        self.source.apply("append", trees=trees)


class TreeRows:
    """The rows of one round; returns Sensitive values.

    Parameters
    ----------
    training : TrainingRows
        All rows.
    """

    __slots__ = ("_training",)

    def __init__(self, training: TrainingRows) -> None:
        self._training = training

    def node_statistics(
        self,
        gradient_bound: float,
        neighbors: Neighbors,
        *,
        summed: bool = False,
        features: NDArray[np.int32] | None = None,
    ) -> NodeStatistics:
        """Histograms and totals for splits chosen node by node.

        Parameters
        ----------
        gradient_bound : float
            Rows with a larger absolute gradient are dropped (gradient-based data filtering).
        neighbors : Neighbors
            Relation of the constants.
        summed : bool, default=False
            Whether the learner itself asks for histograms, which add up over sites. Without
            that, a place that has all rows need not keep any.
        features : ndarray of int32, optional
            Features that the tree may split, which it then numbers from 0; all by default.
        """
        training = self._training
        whole = training.source.one_place and not summed
        training.source.apply(
            "enter_nodes", gradient_bound=gradient_bound, whole=whole, features=features
        )
        return NodeStatistics(
            training.source,
            training.layout if features is None else training.layout.of_features(features),
            neighbors,
            whole=whole,
            n_threads=training.n_threads,
        )

    def leaf_sums(self, partition: Partition, scale: SumScale, neighbors: Neighbors) -> Sensitive:
        """Gradient and hessian sums of the leaves of a public partition, for every output.

        Parameters
        ----------
        partition : Partition
            Public tree.
        scale : SumScale
            Clips and factors.
        neighbors : Neighbors
            Relation of the constants.

        Returns
        -------
        Sensitive of shape (2, n_outputs, n_leaves)
        """
        training = self._training
        query = LeafSums(partition=partition, scale=scale, n_outputs=training.n_outputs)
        return training.source.ask(query, neighbors)

    def release(
        self, partition: Partition, scale: SumScale, noise: Noise, ledger: Ledger
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Release the sums of the leaves of a public partition.

        Returns
        -------
        gradients, hessians : ndarray of shape (n_outputs, n_leaves)
            Noisy sums.
        noise_stddev : float
            Of the noise of a gradient sum.
        """
        sums = self.leaf_sums(partition, scale, ledger.neighbors)
        released = ledger.release(noise, sums, label="leaf sums")
        noise_stddev = sums.noise_stddev(noise) * scale.gradient_unit_value
        gradients = released[0] * scale.gradient_unit_value
        hessians = released[1] * scale.hessian_unit_value
        if scale.one_hessian:
            # As many measurements of one number: their mean has the noise of one, over the root of
            # their number.
            hessians[:] = hessians.mean(axis=0)
        return gradients, hessians, noise_stddev

    def add(self, values: NDArray[np.int64]) -> None:
        """Add the released leaf values of the last partition to the rows' scores.

        Parameters
        ----------
        values : ndarray of shape (n_outputs, n_leaves), int64
            In score units.
        """
        self._training.source.apply("add", values=values)


class TreesInOrder(Protocol):
    """Post-processing that makes sums of released trees monotone."""

    def stops(self, n_rounds: int) -> frozenset[int]:
        """Return the numbers of rounds after which this is done on the way."""

    def corrections(
        self, trees: tuple[Tree, ...], earlier: Sequence[tuple[Tree, ...]], n_outputs: int
    ) -> list[tuple[Tree, ...]]:
        """Return trees that bring those so far, and earlier corrections, into order."""

    def rewrite(
        self, trees: tuple[Tree, ...], corrections: Sequence[tuple[Tree, ...]], n_outputs: int
    ) -> tuple[Tree, ...]:
        """Return the trees of the model, from released ones and from all corrections."""


@dataclass(kw_only=True, eq=False)
class OrderOfSums:
    """Correct the scores of the rows during training, and write the trees of the model.

    Proof: docs/proofs/constraints.md.

    Parameters
    ----------
    n_rounds : int
        Planned.

    Privacy
    -------
    Post-processing: corrections are functions of released trees, and come after rounds whose
    numbers are public.
    """

    trees_in_order: TreesInOrder
    n_rounds: int
    n_outputs: int
    _made: list[tuple[int, tuple[Tree, ...]]] = field(default_factory=list, init=False)

    @classmethod
    def of(
        cls, trees_in_order: TreesInOrder | None, n_rounds: int, n_outputs: int
    ) -> OrderOfSums | None:
        """Return what brings sums into order, None if nothing asks for it."""
        if trees_in_order is None:
            return None
        return cls(trees_in_order=trees_in_order, n_rounds=n_rounds, n_outputs=n_outputs)

    def after(
        self, trees: Sequence[Tree], rows: TrainingRows, callback: RoundCallback | None
    ) -> None:
        """Correct all scores where the rounds so far are one of the stops."""
        n_rounds = len(trees) // self.n_outputs
        if n_rounds not in self.trees_in_order.stops(self.n_rounds):
            return
        earlier = self._until(n_rounds)
        found = self.trees_in_order.corrections(tuple(trees), earlier, self.n_outputs)
        for own in found:
            rows.correct(own)
            if callback is not None:
                callback.correct(own)
            self._made.append((n_rounds, own))

    def rewritten(self, trees: tuple[Tree, ...]) -> tuple[Tree, ...]:
        """Return the trees of the model, from the rounds that are kept.

        Corrections after the last of them were made of rounds that are not kept.
        """
        made = self._until(len(trees) // self.n_outputs)
        return self.trees_in_order.rewrite(trees, made, self.n_outputs)

    def _until(self, n_rounds: int) -> list[tuple[Tree, ...]]:
        return [own for after, own in self._made if after < n_rounds]


# Chances of rows to take part are multiples of one over this.
_COIN_UNITS = 2**16


@dataclass(frozen=True, kw_only=True)
class EnsemblePlan:
    """Trees that are grown on disjoint rows.

    Parameters
    ----------
    n_trees : int
        Trees of the ensemble.
    shares : tuple of Fraction, or None
        Probability that a row belongs to each tree; together at most one. None means that the
        single tree takes every row.
    """

    n_trees: int
    shares: tuple[Fraction, ...] | None


class Schedule(Protocol):
    """A public rule that turns a number of trees into ensembles."""

    def plan(self, n_estimators: int) -> tuple[EnsemblePlan, ...]:
        """Plan the ensembles; their numbers of trees add up to ``n_estimators``."""


def geometric_shares(n_trees: int, learning_rate: float) -> tuple[Fraction, ...]:
    """Shares proportional to ``(1 - learning_rate)**t`` that sum to exactly one.

    Algorithm 2, line 8, of Li, Wu, Wen and He (AAAI 2020), with ``t`` counted from 0 inside the
    ensemble.

    Deviation: the paper's ``t mod T_e`` is 0 for the *last* tree of an ensemble, which would
    give that tree the largest share although its leaves are clipped most.
    """
    weights = [Fraction((1.0 - learning_rate) ** index) for index in range(n_trees)]
    total = sum(weights)
    return tuple(weight / total for weight in weights)


@dataclass(frozen=True, kw_only=True)
class EnsembleOfEnsembles:
    """Ensembles in sequence; inside one, trees on disjoint rows in geometric shares.

    Algorithm 2 of Li, Wu, Wen and He (AAAI 2020). A last ensemble with fewer trees divides all
    rows among those it has.

    Parameters
    ----------
    trees_per_ensemble : int
        ``T_e`` of the paper.
    learning_rate : float
        Shrinkage, which also sets the shares.
    part : Fraction
        Probability that a row takes part in an ensemble at all.

    Privacy
    -------
    Deviation: every row draws its tree by an independent secret draw. Subsets of fixed size
    depend on the number of rows, and adding a row would displace others from theirs.
    """

    trees_per_ensemble: int
    learning_rate: float
    part: Fraction = Fraction(1)

    def plan(self, n_estimators: int) -> tuple[EnsemblePlan, ...]:
        """Plan ``ceil(n_estimators / trees_per_ensemble)`` ensembles."""
        full, rest = divmod(n_estimators, self.trees_per_ensemble)
        sizes = [self.trees_per_ensemble] * full + ([rest] if rest else [])
        return tuple(
            EnsemblePlan(
                n_trees=size, shares=_parts(geometric_shares(size, self.learning_rate), self.part)
            )
            for size in sizes
        )


@dataclass(frozen=True, kw_only=True)
class HalfOfTheUnused:
    """One ensemble in which each tree takes half of the rows that no tree has used.

    The schedule of Zhao et al., "InPrivate Digging: Enabling Tree-based Distributed Data Mining
    with Differential Privacy" (INFOCOM 2018), the baseline PARA.

    Parameters
    ----------
    part : Fraction
        Probability that a row takes part at all.
    """

    part: Fraction = Fraction(1)

    def plan(self, n_estimators: int) -> tuple[EnsemblePlan, ...]:
        """Plan one ensemble; a share of ``2**-n_estimators`` of its rows stays unused."""
        # Halving what is left is one draw for each row beforehand, with the chances 1/2, 1/4, ...:
        # no round has to know which rows an earlier one has used.
        shares = tuple(Fraction(1, 2 ** (index + 1)) for index in range(n_estimators))
        return (EnsemblePlan(n_trees=n_estimators, shares=_parts(shares, self.part)),)


@dataclass(frozen=True, kw_only=True)
class Sequential:
    """Every tree on all rows, one after the other: the baseline SEQ (Liu et al. 2018).

    Parameters
    ----------
    part : Fraction
        Probability that a row takes part in a round.

    Privacy
    -------
    Every round is charged to every row, whether or not the row takes part.
    """

    part: Fraction = Fraction(1)

    def plan(self, n_estimators: int) -> tuple[EnsemblePlan, ...]:
        """Plan one ensemble of one tree for each estimator."""
        shares = None if self.part == 1 else (self.part,)
        return (EnsemblePlan(n_trees=1, shares=shares),) * n_estimators


def bagged(fraction: float | None) -> Fraction:
    """Return the probability that a row takes part, as a fraction that can be drawn."""
    if fraction is None:
        return Fraction(1)
    return Fraction(max(1, round(fraction * _COIN_UNITS)), _COIN_UNITS)


def _parts(shares: tuple[Fraction, ...], part: Fraction) -> tuple[Fraction, ...]:
    """Return shares of a part of the rows."""
    return tuple(share * part for share in shares)


# What becomes of the numbered statements of the papers; docs/deviations.md is made of this.
# Numbered: DPBoost | Theorem 8 | corrected | not for blocks of fixed size, which one row more
#   displaces; for secret independent assignments | audit/test_mutations.py
# Numbered: DPBoost | Algorithm 2 | corrected | independent assignments in the place of blocks,
#   trees counted from 0 | oracles/test_oracles.py
