"""The rows of a boosting run, seen from the side of the gate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.schedule import EnsemblePlan
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.neighbors import Neighbors
from dpboost.privacy.queries import RowHandle
from dpboost.privacy.sensitive import Sensitive
from dpboost.rows.boosting_queries import LeafSums
from dpboost.rows.gradient_statistics import NodeStatistics
from dpboost.rows.newton_sums import SumScale
from dpboost.trees.bin_layout import Layout
from dpboost.trees.random_partition import Partition
from dpboost.trees.tree import Tree


class TrainingRows:
    """What the boosting loop knows of the rows: where to ask, and what is public about them.

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
    Nothing leaves but through the Sensitive values of the ``TreeRows`` it makes.
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
        """Take the rows of round ``index`` of the ensemble, with scores up to date."""
        self.source.apply("take", index=index)
        return TreeRows(self)

    def append(self, trees: tuple[Tree, ...]) -> None:
        """Take note of the released trees of a round, one for each output."""
        self.source.apply("append", trees=trees)
        self._n_trees += 1

    def correct(self, trees: tuple[Tree, ...]) -> None:
        """Add trees to all scores that are no round: made of released ones, one for each output."""
        self.source.apply("append", trees=trees)


class TreeRows:
    """The rows of one round; what it hands out is Sensitive.

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

    def add(self, values: NDArray[np.int64]) -> None:
        """Add the released leaf values of the last partition to the rows' scores.

        Parameters
        ----------
        values : ndarray of shape (n_outputs, n_leaves), int64
            In score units.
        """
        self._training.source.apply("add", values=values)
