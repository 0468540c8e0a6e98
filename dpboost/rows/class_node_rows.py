"""The rows of one row store with classes, sorted by the nodes of a single tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.threads import Threads
from dpboost._utils.validation import InvalidParameterError
from dpboost.data.sparse import BinnedRows
from dpboost.rows.row_attributes import WEIGHT_ONE
from dpboost.rows.sorted_rows import ONE_EACH, SortedRows
from dpboost.trees.split_candidates import Candidates


class ClassRows(SortedRows):
    """Bins and classes of rows, sorted by node.

    Parameters
    ----------
    bins : ndarray of shape (n_features, n_rows), uint8, or SparseBins
    classes : ndarray of shape (n_rows,), uint8
        Position of each row's label in the public list of classes.
    present : ndarray of shape (n_rows,), bool
        False for rows whose label is not in the list: they take no part.
    weights : ndarray of shape (n_rows,), int32, optional
        Of each row in units of 2^-16 of the largest one, 0 to 65536: what it counts. Without
        them a row counts one.

    Privacy
    -------
    Holds private rows, and returns exact counts of them: for the queries of
    ``dpboost.rows.class_queries`` only. Rows are routed by released splits.
    """

    def __init__(
        self,
        bins: BinnedRows,
        classes: NDArray[np.uint8],
        present: NDArray[np.bool_],
        *,
        n_classes: int,
        candidates: Candidates,
        threads: Threads,
        weights: NDArray[np.int32] | None = None,
    ) -> None:
        super().__init__(bins, present, candidates=candidates, threads=threads)
        self._classes = classes
        self._weights = ONE_EACH if weights is None else weights
        self.n_classes = n_classes
        self.row_units = 1 if weights is None else WEIGHT_ONE

    def sizes(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Count the rows of some nodes."""
        return np.asarray(self.totals(nodes).sum(axis=1))

    def totals(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Count the rows of each class of some nodes; shape (n_nodes, n_classes)."""
        return self._totals(nodes, self._classes, self.n_classes, self._weights)

    def histograms(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Count the rows of each class in every cell; shape (n_nodes, n_cells, n_classes)."""
        return self._histograms(nodes, self._classes, self.n_classes, self._weights)

    def check_layout(self, cell_offsets: NDArray[np.int32], n_classes: int) -> None:
        """Raise unless a query is about these cells and classes."""
        if n_classes != self.n_classes:
            raise InvalidParameterError("A question is about other bins or classes than agreed.")
        self.check_cells(cell_offsets)

    def check_units(self, row_units: int) -> None:
        """Raise unless a query takes a row for as many units as it counts here."""
        if row_units != self.row_units:
            raise InvalidParameterError("A question takes a row for another number of units.")
