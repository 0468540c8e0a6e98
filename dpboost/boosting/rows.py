"""The private rows of a boosting run: bins, labels, scores, and who is in which tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import histogram
from dpboost.boosting.forest import Forest
from dpboost.boosting.schedule import EnsemblePlan
from dpboost.losses import Loss
from dpboost.privacy.ledger import Ledger
from dpboost.tree.layout import Layout
from dpboost.tree.statistics import NodeStatistics


class TrainingRows:
    """Rows on the private side of the gate.

    Scores are brought up to date lazily: only the rows of the next tree need theirs.

    Parameters
    ----------
    bins : ndarray of shape (n_features, n_rows), uint8
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

    Privacy
    -------
    Nothing leaves but through the ``NodeStatistics`` it makes. A row's gradient is a function of
    that row and of released trees; the filter that drops a row asks nothing else.
    """

    def __init__(
        self,
        bins: NDArray[np.uint8],
        labels: NDArray[np.int64],
        present: NDArray[np.bool_],
        loss: Loss,
        layout: Layout,
        n_threads: int,
    ) -> None:
        n_rows = bins.shape[1]
        self._bins = bins
        self._labels = labels
        self._present = present
        self._loss = loss
        self._layout = layout
        self._n_threads = n_threads
        self._scores = np.full(n_rows, loss.start_units, dtype=np.int64)
        self._missing_from = np.zeros(n_rows, dtype=np.int32)
        self._order = np.arange(n_rows, dtype=np.int32)
        self._starts: NDArray[np.intp] | None = None

    def deal(self, plan: EnsemblePlan, ledger: Ledger) -> None:
        """Assign every row to one tree of an ensemble by a secret coin of its own."""
        if plan.shares is None:
            self._order = np.arange(len(self._labels), dtype=np.int32)
            self._starts = None
            return
        blocks = ledger.row_coins().blocks(plan.shares, len(self._labels))
        self._order = np.argsort(blocks, kind="stable").astype(np.int32)
        self._starts = np.searchsorted(blocks[self._order], np.arange(plan.n_trees + 1))

    def statistics(
        self, index: int, forest: Forest, *, gradient_bound: float, ledger: Ledger
    ) -> NodeStatistics:
        """Statistics of the rows of tree ``index`` of the ensemble, after the trees so far.

        Parameters
        ----------
        index : int
            Position of the tree in its ensemble, from 0.
        forest : Forest
            The released trees.
        gradient_bound : float
            Rows with a larger absolute gradient are dropped (gradient-based data filtering).
        ledger : Ledger
            Names the neighbour relation.

        Returns
        -------
        NodeStatistics
        """
        rows = self._order
        if self._starts is not None:
            rows = rows[self._starts[index] : self._starts[index + 1]]
        forest.add_to(self._scores, self._bins, rows, self._missing_from, self._n_threads)
        self._missing_from[rows] = forest.n_trees
        words = self._loss.words(
            self._scores,
            self._labels,
            rows,
            filter_limit=gradient_bound,
            gradient_limit=gradient_bound,
            n_threads=self._n_threads,
        )
        words *= self._present[rows]
        return NodeStatistics(
            self._columns(rows), words, self._layout, ledger.neighbours, self._n_threads
        )

    def _columns(self, rows: NDArray[np.int32]) -> NDArray[np.uint8]:
        """Bins of the given rows in compact columns; the whole matrix is not copied."""
        if self._starts is None:
            return self._bins
        columns = np.empty((len(self._bins), len(rows)), dtype=np.uint8)
        histogram.gather(self._bins, rows, columns, self._n_threads)
        return columns
