"""The private rows of one row store in boosting: bins, labels, scores, and assignment to trees."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import lookup_trees, newton, row_assignment
from dpboost._utils.integer_units import to_integer_units
from dpboost._utils.threads import Threads
from dpboost.data.sparse import BinnedRows, dense_columns
from dpboost.losses import LogisticLoss, Loss, SquaredLoss
from dpboost.losses.newton_loss import Lookup
from dpboost.privacy.randomness import RowCoins
from dpboost.rows.node_rows import FewRows, NodeRows, whole_rows
from dpboost.rows.round_columns import RoundColumns
from dpboost.trees.bin_layout import Layout, Workspace
from dpboost.trees.forest import Forest
from dpboost.trees.random_partition import Partition
from dpboost.trees.tree import Tree

ALL_ROWS = np.empty(0, dtype=np.int32)
INIT_LIMIT = 1 << 52  # initial scores saturate there, in score units
NO_WEIGHTS = np.empty(0, dtype=np.int32)
ROWS_AT_ONCE = 2**18


class BoostingState:
    """Private rows; all results are private.

    Scores are updated lazily: only the rows of the next round need them, and a round of all rows
    adds the leaf values of the previous one in the same pass.

    Parameters
    ----------
    bins : ndarray of shape (n_features, n_rows), uint8, or SparseBins
        Bins by column.
    labels : ndarray of shape (n_rows,), int64
        Labels on the score grid of the loss.
    present : ndarray of shape (n_rows,), bool
        False for rows whose label is not a released or declared class: they take no part and have
        no visible effect.
    loss : Loss
        Gradient of a row, its public bound and grid.
    layout : Layout
        Public positions of cells and candidates.
    threads : Threads
        Of the kernels.
    weights : ndarray of shape (n_rows,), int32, optional
        Of each row in units of 2^-16 of the largest one, 0 to 65536. A row's gradient and hessian
        are multiplied by it after their clip, so that none of their norms grows.
    init_scores : ndarray of shape (n_outputs, n_rows), float64, optional
        Finite initial scores of each row, in addition to the start value of the loss.
    first_row : int, default=0
        Number of the first row among the rows of all row stores: coins go by it.

    Privacy
    -------
    A row's gradient, and the filter that drops a row, depend only on that row and released trees.
    """

    def __init__(
        self,
        bins: BinnedRows,
        labels: NDArray[np.int64],
        present: NDArray[np.bool_],
        loss: Loss,
        layout: Layout,
        threads: Threads,
        *,
        weights: NDArray[np.int32] | None = None,
        init_scores: NDArray[np.float64] | None = None,
        first_row: int = 0,
    ) -> None:
        n_rows = bins.shape[1]
        self.bins = bins
        self.labels = labels
        self.present = present.view(np.uint8)
        self.weights = NO_WEIGHTS if weights is None else weights
        self.loss = loss
        self.layout = layout
        self.threads = threads
        starts = np.asarray(loss.start_units, dtype=np.int64).reshape(-1, 1)
        self.scores = np.empty((len(starts), n_rows), dtype=np.int64)
        self.scores[:] = starts
        if init_scores is not None:
            with np.errstate(over="ignore"):  # a score that saturates must not show itself
                units = init_scores / loss.unit
            self.scores += to_integer_units(units, -INIT_LIMIT, INIT_LIMIT)
        self.leaves = np.zeros(n_rows, dtype=np.uint16)
        self.pending = np.zeros((len(starts), 1), dtype=np.int64)
        self._forests = tuple(Forest() for _ in starts)
        self._trees: list[tuple[Tree, ...]] = []
        self._missing_from = np.zeros(n_rows, dtype=np.int32)
        self._n_current = 0
        self._settled = True
        self._order = np.arange(n_rows, dtype=np.int32)
        self._starts: NDArray[np.intp] | None = None
        self._compact: RoundColumns | None = None
        self._first_row = first_row
        self._workspace = Workspace()
        self._index = 0
        self._round = self._order
        self._round_leaves = self.leaves

    @property
    def n_threads(self) -> int:
        """Threads that a kernel is to use now."""
        return self.threads.now()

    @property
    def n_trees(self) -> int:
        """Rounds that were released so far."""
        return len(self._trees)

    @property
    def uses_all_rows(self) -> bool:
        """Whether rounds take all rows (a public fact of the schedule)."""
        return self._starts is None

    def deal(self, shares: Sequence[Fraction] | None, coins: RowCoins | None) -> None:
        """Assign every row to one round of an ensemble by an independent secret draw."""
        n_rows = len(self.labels)
        if shares is None:
            if self._starts is not None:
                self._order = np.arange(n_rows, dtype=np.int32)
                self._starts = None
            return
        assert coins is not None
        # A row's round is a function of its own coin: one row more or less changes one round by one
        # row. Rounds of a fixed size would pass rows on, and change all of them.
        rounds = coins.blocks(shares, n_rows, self._first_row, n_threads=self.n_threads)
        order = np.empty(n_rows, dtype=np.int32)
        # One round more than there are, for the rows that no round uses.
        starts = np.empty(len(shares) + 2, dtype=np.intp)
        row_assignment.order_rows(rounds, order, starts, self.n_threads)
        self._order, self._starts = order, starts[:-1]

    def take(self, index: int) -> None:
        """Switch to the rows of round ``index`` of the ensemble."""
        if self._starts is None:
            if self._n_current < self.n_trees:
                self._settle()
                self.update_scores(self._order)
                self._n_current = self.n_trees
            self._round, self._round_leaves = self._order, self.leaves
            return
        self._settle()
        self._index = index
        self._round = self._order[self._starts[index] : self._starts[index + 1]]
        self._round_leaves = np.empty(len(self._round), dtype=np.uint16)

    def append(self, trees: tuple[Tree, ...]) -> None:
        """Append the released trees of a round, one for each output."""
        self._trees.append(trees)

    def enter_nodes(
        self,
        gradient_bound: float,
        *,
        whole: bool = False,
        features: NDArray[np.int32] | None = None,
    ) -> None:
        """Put the rows of the round into the root of a tree that may split ``features``, or all.

        Rows with a larger absolute gradient than the bound are dropped. ``whole`` says whether all
        rows of the fit are here.
        """
        # Recipes that choose splits node by node take these losses only, and no weights.
        assert isinstance(self.loss, SquaredLoss | LogisticLoss)
        assert not len(self.weights)
        columns = self._columns()
        if not self.uses_all_rows:
            self.update_scores(self._round, columns)
        # The filter looks at the row's own gradient: whether it drops a row does not depend on
        # others.
        packed = self.loss.packed_gradients(
            self.scores[0],
            self.labels,
            self._round,
            filter_limit=gradient_bound,
            gradient_limit=gradient_bound,
            n_threads=self.n_threads,
        )
        # A row that takes no part adds a word of zeros rather than being left out: the kernels do
        # the same work for it.
        packed *= self.present[self._round]
        layout = self.layout
        if features is not None:
            lines, positions = dense_columns(columns, features)
            columns, layout = lines[positions], layout.of_features(features)
        kind = whole_rows if whole else NodeRows
        self.nodes: NodeRows | FewRows = kind(
            columns, packed, layout, self.n_threads, self._workspace
        )

    def split(self, feature: NDArray[np.int32], split_bin: NDArray[np.uint8]) -> None:
        """Move the rows of every node of the level by its split."""
        self.nodes.split(feature, split_bin)

    def leaf_sums(self, partition: Partition, gradient_limit: float) -> NDArray[np.int64]:
        """Return gradient and hessian sums of a public partition; shape (2, n_outputs, n_leaves).

        The limit is the public clip of a row's gradient.
        """
        bins, features = self.bins, partition.features
        columns = (
            (bins, features) if isinstance(bins, np.ndarray) else dense_columns(bins, features)
        )
        lookup = (*columns, partition.steps, partition.table)
        sums = np.empty((2, len(self.scores), partition.n_leaves), dtype=np.int64)
        if self.uses_all_rows:
            self._sum_all(lookup, sums, gradient_limit)
            # They are in the scores now: to be asked once more changes nothing.
            self.pending = np.zeros((len(self.scores), partition.n_leaves), dtype=np.int64)
        else:
            self._sum_some(lookup, sums, gradient_limit)
        return sums

    def cell_sums(
        self, cells: NDArray[np.uint16], n_cells: int, gradient_limit: float
    ) -> NDArray[np.int64]:
        """Return gradient sums of shape (n_outputs, n_features, n_cells), before the first round.

        ``cells`` has the public cell of each bin, ``gradient_limit`` is the public clip of a row's
        gradient.
        """
        n_features, n_rows = self.bins.shape
        sums = np.zeros((len(self.scores), n_features, n_cells), dtype=np.int64)
        gradients, hessians = np.empty((2, n_cells), dtype=np.int64)
        for first in range(0, n_rows, ROWS_AT_ONCE):
            rows = np.arange(first, min(first + ROWS_AT_ONCE, n_rows), dtype=np.int32)
            packed = self.packed(rows, gradient_limit)
            for feature in range(n_features):
                bins, lines = dense_columns(self.bins, np.array([feature]))
                own = cells[feature][bins[lines[0], rows[0] : rows[-1] + 1]]
                for words, found in zip(packed, sums[:, feature], strict=True):
                    lookup_trees.leaf_sums(words, own, gradients, hessians, self.n_threads)
                    found += gradients
        return sums

    def add(self, values: NDArray[np.int64]) -> None:
        """Add the released leaf values of the last partition to the scores of the round's rows.

        Values are of shape (n_outputs, n_leaves), in score units.
        """
        if self.uses_all_rows:
            # The next pass over all rows adds them.
            self.pending = values
            self._settled = False
            self._n_current = self.n_trees + 1
            return
        for scores, own in zip(self.scores, values, strict=True):
            lookup_trees.add_leaves(self._round, self._round_leaves, own, scores, self.n_threads)
        # The tree of this round is appended after this; its leaves are in these scores already.
        self._missing_from[self._round] = self.n_trees + 1

    def _settle(self) -> None:
        """Go over from rounds of all rows, whose scores are behind together, to rounds of some."""
        if self._settled:
            return
        self._settled = True
        for scores, values in zip(self.scores, self.pending, strict=True):
            lookup_trees.add_leaves(ALL_ROWS, self.leaves, values, scores, self.n_threads)
        # Leaf 0 of the zeros below: a pass that adds what is pending adds nothing.
        self.leaves[:] = 0
        self.pending = np.zeros((len(self.pending), 1), dtype=np.int64)
        np.maximum(self._missing_from, np.int32(self._n_current), out=self._missing_from)

    def update_scores(self, rows: NDArray[np.int32], columns: BinnedRows | None = None) -> None:
        """Add to the scores of some rows the trees that they have not yet received.

        Where the bins of these rows are at hand in compact columns, every tree is read from bins
        that lie close together, instead of from lines of the whole matrix that hold one bin of the
        rows each.
        """
        for trees in self._trees[self._forests[0].n_trees :]:
            for forest, tree in zip(self._forests, trees, strict=True):
                forest.append(tree)
        compact = columns is not None
        bins = self.bins if columns is None else columns
        for forest, scores in zip(self._forests, self.scores, strict=True):
            # Integers, so that scores are the same whether a row got its trees at once or one by
            # one.
            forest.add_to(scores, bins, rows, self._missing_from, self.n_threads, compact=compact)
        self._missing_from[rows] = self.n_trees

    def _sum_all(self, lookup: Lookup, sums: NDArray[np.int64], gradient_limit: float) -> None:
        """Sum over all rows in one pass, which adds what is pending."""
        self.loss.pass_over(
            (
                self.scores,
                self.labels,
                self.present,
                self.weights,
                self.pending,
                self.leaves,
                *lookup,
                sums,
            ),
            gradient_limit=gradient_limit,
            n_threads=self.n_threads,
        )

    def _sum_some(self, lookup: Lookup, sums: NDArray[np.int64], gradient_limit: float) -> None:
        """Sum over the rows of this round."""
        bins, features, steps, table = lookup
        leaves = self._round_leaves
        self.update_scores(self._round)
        lookup_trees.find_leaves(bins, self._round, features, steps, table, leaves, self.n_threads)
        for output, own in enumerate(self.packed(self._round, gradient_limit)):
            lookup_trees.leaf_sums(own, leaves, sums[0, output], sums[1, output], self.n_threads)

    def packed(self, rows: NDArray[np.int32], gradient_limit: float) -> NDArray[np.int64]:
        """Pack the clipped gradients and hessians of some rows, for every output.

        As `Loss.packed_newton`, of scores that are up to date.
        """
        packed = self.loss.packed_newton(
            self.scores,
            self.labels,
            rows,
            gradient_limit=gradient_limit,
            n_threads=self.n_threads,
        )
        packed *= self.present[rows]
        if len(self.weights):
            newton.weighted(self.weights, rows, packed)
        return packed

    def _columns(self) -> BinnedRows:
        """Bins of the round's rows in compact columns; the whole matrix is not copied."""
        if self.uses_all_rows:
            return self.bins
        assert self._starts is not None
        if self._compact is None or self._compact.order is not self._order:
            self._compact = RoundColumns(self.bins, self._order, self._starts, self.n_threads)
        return self._compact.take(self._index)
