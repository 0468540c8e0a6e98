"""The rows of one site once their labels are on the grid of a loss, not yet binned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.integer_units import to_integer_units
from dpboost._utils.threads import Threads
from dpboost.data.binner import Binner
from dpboost.data.labels import encode_classes
from dpboost.data.table import Table
from dpboost.losses import Loss, SquaredLoss
from dpboost.rows.boosting_state import BoostingState
from dpboost.rows.class_node_rows import ClassRows
from dpboost.rows.label_node_rows import LabelRows
from dpboost.rows.raw_rows import RawRows
from dpboost.rows.row_attributes import RowExtras, Weighting
from dpboost.rows.sorted_rows import SortedRows
from dpboost.trees.bin_layout import Layout
from dpboost.trees.split_candidates import Candidates


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
    extras : RowExtras
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
        return None if weighting is None else self.extras.weight_units(weighting, self.indices)


@dataclass(frozen=True, kw_only=True, eq=False)
class EncodeLabels:
    """Labels go to the grid of a loss.

    Parameters
    ----------
    loss : Loss
    classes : tuple
        Public classes in their order, empty for a regression.
    """

    loss: Loss
    classes: tuple[Any, ...]

    def execute(self, rows: RawRows) -> EncodedRows:
        """Encode the labels of one place."""
        n_rows = len(rows.labels)
        if self.classes:
            indices, present = encode_classes(rows.labels, self.classes)
            targets = self.loss.encode_labels(indices)
        else:
            indices, present = np.zeros(n_rows, dtype=np.int64), np.ones(n_rows, dtype=bool)
            targets = self.loss.encode_labels(rows.labels)
        return EncodedRows(
            table=rows.table,
            targets=targets,
            present=present,
            indices=indices,
            extras=rows.extras,
            first_row=rows.first_row,
            threads=rows.threads,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class BinRows:
    """Tables go to bins, scores to their start.

    Parameters
    ----------
    binner : Binner
    loss : Loss
        With its start value.
    weighting : Weighting or None
    """

    binner: Binner
    loss: Loss
    weighting: Weighting | None

    def execute(self, rows: EncodedRows) -> BoostingState | SortedRows:
        """Bin the rows of one place."""
        assert rows.table is not None
        return BoostingState(
            self.binner.transform(rows.table, rows.n_threads),
            rows.targets,
            rows.present,
            self.loss,
            Layout.of(self.binner),
            rows.threads,
            weights=rows.weights(self.weighting),
            init_scores=rows.extras.scores_for(self.loss.n_outputs),
            first_row=rows.first_row,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class SortByClass(BinRows):
    """Tables go to bins, rows of public classes to the root of a tree that counts them.

    Parameters
    ----------
    binner, loss, weighting
        As in `BinRows`.
    candidates : Candidates
        The public set of splits.
    n_classes : int
    """

    candidates: Candidates
    n_classes: int

    def execute(self, rows: EncodedRows) -> ClassRows:
        """Bin the rows of one place."""
        assert rows.table is not None
        return ClassRows(
            self.binner.transform(rows.table, rows.n_threads),
            to_integer_units(rows.indices, 0, 255, dtype=np.uint8),
            rows.present,
            n_classes=self.n_classes,
            candidates=self.candidates,
            threads=rows.threads,
            weights=rows.weights(self.weighting),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class SortByLabel(BinRows):
    """Tables go to bins, rows to the root of a tree that adds up their labels.

    Parameters
    ----------
    binner, loss, weighting
        As in `BinRows`; the loss scales labels to [-1, 1].
    candidates : Candidates
        The public set of splits.
    """

    candidates: Candidates

    def execute(self, rows: EncodedRows) -> LabelRows:
        """Bin the rows of one place."""
        assert rows.table is not None
        assert isinstance(self.loss, SquaredLoss)
        return LabelRows(
            self.binner.transform(rows.table, rows.n_threads),
            self.loss.scaled_labels(rows.targets),
            candidates=self.candidates,
            threads=rows.threads,
            weights=rows.weights(self.weighting),
        )
