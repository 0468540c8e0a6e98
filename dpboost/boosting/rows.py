"""The private rows of a boosting run: bins, labels, scores, and who is in which tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import cells, newton
from dpboost.boosting.forest import Forest
from dpboost.boosting.schedule import EnsemblePlan
from dpboost.data.sparse import BinnedRows, dense_columns, take_rows
from dpboost.losses import LogisticLoss, Loss, SquaredLoss
from dpboost.losses.grid import Lookup
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.relation import Neighbours
from dpboost.privacy.sensitive import Sensitive
from dpboost.tree.layout import Layout
from dpboost.tree.noisy_leaves import SumScale
from dpboost.tree.partitions import Partition
from dpboost.tree.statistics import NodeStatistics
from dpboost.tree.structure import Tree

ALL_ROWS = np.empty(0, dtype=np.int32)
INIT_LIMIT = 1 << 52  # initial scores saturate there, in score units
NO_WEIGHTS = np.empty(0, dtype=np.int32)


class TrainingRows:
    """Rows on the private side of the gate.

    Scores are brought up to date lazily: only the rows of the next round need theirs, and a
    round of all rows adds the leaf values of the one before in the pass that it makes anyway.

    Parameters
    ----------
    bins : ndarray of shape (n_features, n_rows), uint8, or SparseBins
        Bins by column.
    labels : ndarray of shape (n_rows,), int64
        Labels on the score grid of the loss.
    present : ndarray of shape (n_rows,), bool
        False for rows whose label is not among the released or declared classes: they take no
        part, and nothing shows that they are there.
    loss : Loss
        Gradient of a row, its public bound and grid.
    layout : Layout
        Public positions of cells and candidates.
    n_threads : int
        Threads of the kernels.
    weights : ndarray of shape (n_rows,), int32, optional
        Of each row in units of 2^-16 of the largest one, 0 to 65536. A row's gradient and hessian
        are multiplied by it after their clip, so that none of their norms grows.
    init_scores : ndarray of shape (n_outputs, n_rows), float64, optional
        Where the scores of each row begin, beside the start of the loss; finite.

    Privacy
    -------
    Nothing leaves but through the Sensitive values of the ``TreeRows`` it makes. A row's
    gradient is a function of that row and of released trees; the filter that drops a row asks
    nothing else.
    """

    def __init__(
        self,
        bins: BinnedRows,
        labels: NDArray[np.int64],
        present: NDArray[np.bool_],
        loss: Loss,
        layout: Layout,
        n_threads: int,
        *,
        weights: NDArray[np.int32] | None = None,
        init_scores: NDArray[np.float64] | None = None,
    ) -> None:
        n_rows = bins.shape[1]
        self.bins = bins
        self.labels = labels
        self.present = present.view(np.uint8)
        self.weights = NO_WEIGHTS if weights is None else weights
        self.loss = loss
        self.layout = layout
        self.n_threads = n_threads
        starts = np.asarray(loss.start_units, dtype=np.int64).reshape(-1, 1)
        self.scores = np.repeat(starts, n_rows, axis=1)
        if init_scores is not None:
            units = np.clip(init_scores / loss.unit, -INIT_LIMIT, INIT_LIMIT)
            self.scores += np.rint(units).astype(np.int64)
        self.leaves = np.zeros(n_rows, dtype=np.uint16)
        self.pending = np.zeros((len(starts), 1), dtype=np.int64)
        self._forests = tuple(Forest() for _ in starts)
        self._trees: list[tuple[Tree, ...]] = []
        self._missing_from = np.zeros(n_rows, dtype=np.int32)
        self._n_current = 0
        self._order = np.arange(n_rows, dtype=np.int32)
        self._starts: NDArray[np.intp] | None = None

    @property
    def n_trees(self) -> int:
        """Rounds that were released so far."""
        return len(self._trees)

    def deal(self, plan: EnsemblePlan, ledger: Ledger) -> None:
        """Assign every row to one round of an ensemble by a secret coin of its own."""
        n_rows = len(self.labels)
        if plan.shares is None:
            if self._starts is not None:
                self._order = np.arange(n_rows, dtype=np.int32)
                self._starts = None
            return
        blocks = ledger.row_coins().blocks(plan.shares, n_rows, n_threads=self.n_threads)
        self._order = np.argsort(blocks, kind="stable").astype(np.int32)
        self._starts = np.searchsorted(blocks[self._order], np.arange(plan.n_trees + 1))

    def take(self, index: int) -> TreeRows:
        """Take the rows of round ``index`` of the ensemble, with scores up to date."""
        if self._starts is None:
            if self._n_current < self.n_trees:
                self._bring_up(self._order)
                self._n_current = self.n_trees
            return TreeRows(self, self._order, everybody=True)
        self._settle()
        rows = self._order[self._starts[index] : self._starts[index + 1]]
        self._bring_up(rows)
        return TreeRows(self, rows, everybody=False)

    def append(self, trees: tuple[Tree, ...]) -> None:
        """Take note of the released trees of a round, one for each output."""
        self._trees.append(trees)

    def hold(self, values: NDArray[np.int64]) -> None:
        """Keep the leaf values of a round of all rows: the next pass adds them to the scores."""
        self.pending = values
        self._n_current = self.n_trees + 1

    def mark_current(self, rows: NDArray[np.int32]) -> None:
        """Note that these rows' scores hold the round that will be appended next."""
        self._missing_from[rows] = self.n_trees + 1

    def _settle(self) -> None:
        """Go over from rounds of all rows, whose scores are behind together, to rounds of some."""
        for scores, values in zip(self.scores, self.pending, strict=True):
            cells.add_leaves(ALL_ROWS, self.leaves, values, scores, self.n_threads)
        self.leaves[:] = 0
        self.pending = np.zeros((len(self.pending), 1), dtype=np.int64)
        np.maximum(self._missing_from, np.int32(self._n_current), out=self._missing_from)

    def _bring_up(self, rows: NDArray[np.int32]) -> None:
        """Add to the scores of some rows the trees that they have not yet received."""
        for trees in self._trees[self._forests[0].n_trees :]:
            for forest, tree in zip(self._forests, trees, strict=True):
                forest.append(tree)
        for forest, scores in zip(self._forests, self.scores, strict=True):
            forest.add_to(scores, self.bins, rows, self._missing_from, self.n_threads)
        self._missing_from[rows] = self.n_trees


class TreeRows:
    """The private rows of one round; what it hands out is Sensitive.

    Parameters
    ----------
    training : TrainingRows
        All rows.
    rows : ndarray of int32
        Those of this round.
    everybody : bool
        Whether these are all rows in their order.
    """

    __slots__ = ("_everybody", "_leaves", "_rows", "_training")

    def __init__(self, training: TrainingRows, rows: NDArray[np.int32], *, everybody: bool) -> None:
        self._training = training
        self._rows = rows
        self._everybody = everybody
        self._leaves = training.leaves if everybody else np.empty(len(rows), dtype=np.uint16)

    def node_statistics(self, gradient_bound: float, neighbours: Neighbours) -> NodeStatistics:
        """Histograms and totals for splits chosen node by node.

        Parameters
        ----------
        gradient_bound : float
            Rows with a larger absolute gradient are dropped (gradient-based data filtering).
        neighbours : Neighbours
            Relation of the constants.
        """
        training, rows = self._training, self._rows
        # Recipes that choose splits node by node take these losses only, and no weights.
        assert isinstance(training.loss, SquaredLoss | LogisticLoss)
        assert not len(training.weights)
        words = training.loss.words(
            training.scores[0],
            training.labels,
            rows,
            filter_limit=gradient_bound,
            gradient_limit=gradient_bound,
            n_threads=training.n_threads,
        )
        words *= training.present[rows]
        return NodeStatistics(
            self._columns(), words, training.layout, neighbours, training.n_threads
        )

    def leaf_sums(self, partition: Partition, scale: SumScale, neighbours: Neighbours) -> Sensitive:
        """Gradient and hessian sums of the leaves of a public partition, for every output.

        Parameters
        ----------
        partition : Partition
            Public tree.
        scale : SumScale
            Clips and factors.
        neighbours : Neighbours
            Relation of the constants.

        Returns
        -------
        Sensitive of shape (2, n_outputs, n_leaves)
        """
        training = self._training
        columns = dense_columns(training.bins, partition.features)
        lookup = (*columns, partition.steps, partition.table)
        sums = np.empty((2, len(training.scores), partition.n_leaves), dtype=np.int64)
        if self._everybody:
            self._sum_all(lookup, sums, scale.gradient_limit)
        else:
            self._sum_some(lookup, sums, scale.gradient_limit)
        return scale.sensitive(sums, neighbours)

    def _sum_all(self, lookup: Lookup, sums: NDArray[np.int64], gradient_limit: float) -> None:
        """Sum over all rows in one pass, which adds what is pending."""
        training = self._training
        training.loss.pass_over(
            (
                training.scores,
                training.labels,
                training.present,
                training.weights,
                training.pending,
                training.leaves,
                *lookup,
                sums,
            ),
            gradient_limit=gradient_limit,
            n_threads=training.n_threads,
        )

    def _sum_some(self, lookup: Lookup, sums: NDArray[np.int64], gradient_limit: float) -> None:
        """Sum over the rows of this round."""
        training = self._training
        bins, features, steps, table = lookup
        cells.find_leaves(
            bins, self._rows, features, steps, table, self._leaves, training.n_threads
        )
        words = training.loss.newton_words(
            training.scores,
            training.labels,
            self._rows,
            gradient_limit=gradient_limit,
            n_threads=training.n_threads,
        )
        words *= training.present[self._rows]
        if len(training.weights):
            newton.weighted(training.weights, self._rows, words)
        for output, own in enumerate(words):
            cells.leaf_sums(own, self._leaves, sums[0, output], sums[1, output], training.n_threads)

    def add(self, values: NDArray[np.int64]) -> None:
        """Add the released leaf values of the last partition to the rows' scores.

        Parameters
        ----------
        values : ndarray of shape (n_outputs, n_leaves), int64
            In score units.
        """
        training = self._training
        if self._everybody:
            training.hold(values)
            return
        for scores, own in zip(training.scores, values, strict=True):
            cells.add_leaves(self._rows, self._leaves, own, scores, training.n_threads)
        training.mark_current(self._rows)

    def _columns(self) -> BinnedRows:
        """Bins of the rows in compact columns; the whole matrix is not copied."""
        training = self._training
        if self._everybody:
            return training.bins
        return take_rows(training.bins, self._rows, training.n_threads)
