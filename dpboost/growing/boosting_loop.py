"""The one boosting loop: ensembles in sequence, rounds on disjoint rows inside each.

Proof: docs/proofs/composition.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from dpboost.data.binner import Binner
from dpboost.growing.column_choice import ColumnChoice
from dpboost.growing.growth import Grown, RoundCallback
from dpboost.growing.order_of_sums import OrderOfSums, TreesInOrder
from dpboost.growing.schedule import Schedule
from dpboost.growing.training_rows import TrainingRows, TreeRows
from dpboost.losses import Loss
from dpboost.privacy.budget_split import divide
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Disjoint, Ledger
from dpboost.privacy.queries import RowHandle
from dpboost.rows.row_attributes import Weighting
from dpboost.trees.bin_layout import Layout
from dpboost.trees.tree import Tree


class RoundLearner(Protocol):
    """Learns the trees of one round through the gate."""

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
            What the round may spend.
        ledger : Ledger
            The gate.
        learning_rate : float, optional
            Shrinkage of this round instead of the learner's own.
        """


@dataclass(frozen=True, kw_only=True)
class BoostingLoop:
    """Strategies of a boosting run; one object serves every recipe.

    Parameters
    ----------
    n_rounds : int
        Rounds in all; a public number that no row can change.
    schedule : Schedule
        How rounds share rows.
    learner : RoundLearner
        Learns the trees of one round.
    order : TreesInOrder, optional
        Brings sums of released trees into order.
    choice : ColumnChoice, optional
        What is released before the first round.
    """

    n_rounds: int
    schedule: Schedule
    learner: RoundLearner
    order: TreesInOrder | None = None
    choice: ColumnChoice | None = None

    def bin(self, rows: RowHandle, binner: Binner, loss: Loss, weighting: Weighting | None) -> None:
        """Have encoded rows put into bins, with scores at their start."""
        rows.apply("into_rounds", binner=binner, loss=loss, weighting=weighting)

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
            return Grown(trees=trees)
        best = callback.best_iteration if callback else 0
        released = trees[: best * loss.n_outputs] if best > 0 else trees
        return Grown(trees=order.rewritten(released), released=released)

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
            Brings what was released into order on the way.

        Returns
        -------
        tuple of Tree
            Round by round.

        Privacy
        -------
        Ensembles are charged one after the other, rounds of an ensemble side by side: a row's
        coin puts it into exactly one of them. Budgets are fixed before the first round: where a
        callback ends training, what the rounds left out would have cost is never charged.
        """
        plans = self.schedule.plan(self.n_rounds)
        shares = divide(budget, [1] * len(plans))
        trees: list[Tree] = []
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
                        trees += grown
                        on_tree()
                        if callback and callback.after(grown):
                            return tuple(trees)
                        if order is not None:
                            order.after(trees, rows, callback)
        return tuple(trees)
