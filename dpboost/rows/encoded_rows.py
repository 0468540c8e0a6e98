"""The rows of one site once their labels are on the grid of a loss, not yet binned."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.integer_units import to_integer_units
from dpboost._utils.threads import Threads
from dpboost.data.binner import Binner
from dpboost.data.sparse import BinnedRows
from dpboost.data.table import Table
from dpboost.losses import Loss, SquaredLoss
from dpboost.rows.boosting_state import BoostingState
from dpboost.rows.class_node_rows import ClassRows
from dpboost.rows.label_node_rows import LabelRows
from dpboost.rows.row_attributes import RowExtras, Weighting
from dpboost.trees.bin_layout import Layout
from dpboost.trees.split_candidates import Candidates

#: Commands by which rows go into bins, which are then all that is kept of them.
BINNING = ("into_rounds", "into_classes", "into_labels")


@dataclass(frozen=True, kw_only=True, eq=False)
class EncodedRows:
    """Private rows with labels on the grid of a loss.

    Parameters
    ----------
    table : Table or None
        None where only labels are asked for.
    targets : ndarray of shape (n_rows,), int64
        Labels on the grid.
    present : ndarray of shape (n_rows,), bool
        Rows with a label that counts.
    indices : ndarray of shape (n_rows,), int64
        Class of each row; zeros in a regression.
    first_row : int, default=0
        Number of the first row among the rows of all sites.
    threads : Threads, optional
        Of the kernels; one by default.
    """

    table: Table | None
    targets: NDArray[np.int64]
    present: NDArray[np.bool_]
    indices: NDArray[np.int64]
    extras: RowExtras
    first_row: int = 0
    threads: Threads = field(default_factory=lambda: Threads(1))

    @property
    def n_threads(self) -> int:
        """Threads that a kernel is to use now."""
        return self.threads.now()

    def weights(self, weighting: Weighting | None) -> NDArray[np.int32] | None:
        """Return the weight of each row in units of 2^-16 of the largest one."""
        if weighting is None:
            return None
        return self.extras.weight_units(weighting, self.indices, self.targets)

    def bins(self, binner: Binner) -> BinnedRows:
        """Return the bins of the table."""
        assert self.table is not None
        return binner.transform(self.table, self.n_threads)

    def into_rounds(self, binner: Binner, loss: Loss, weighting: Weighting | None) -> BoostingState:
        """Return the rows as boosting has them: in bins, with scores at their start.

        Parameters
        ----------
        loss : Loss
            With its start value.
        """
        return BoostingState(
            self.bins(binner),
            self.targets,
            self.present,
            loss,
            Layout.of(binner),
            self.threads,
            weights=self.weights(weighting),
            init_scores=self.extras.scores_for(loss.n_outputs),
            first_row=self.first_row,
        )

    def into_classes(
        self, binner: Binner, weighting: Weighting | None, candidates: Candidates, n_classes: int
    ) -> ClassRows:
        """Return the rows of public classes at the root of a tree that counts them."""
        return ClassRows(
            self.bins(binner),
            to_integer_units(self.indices, 0, 255, dtype=np.uint8),
            self.present,
            n_classes=n_classes,
            candidates=candidates,
            threads=self.threads,
            weights=self.weights(weighting),
        )

    def into_labels(
        self, binner: Binner, loss: Loss, weighting: Weighting | None, candidates: Candidates
    ) -> LabelRows:
        """Return the rows at the root of a tree that adds up their labels, scaled to [-1, 1]."""
        assert isinstance(loss, SquaredLoss)
        return LabelRows(
            self.bins(binner),
            loss.scaled_labels(self.targets),
            candidates=candidates,
            threads=self.threads,
            weights=self.weights(weighting),
        )
