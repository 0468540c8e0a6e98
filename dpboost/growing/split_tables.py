"""Class counts of a few splits of each node, from a histogram of the required cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.released_splits import consistent_tables
from dpboost.rows.class_queries import MOST_WORTH, GroupedCells
from dpboost.trees.split_candidates import THRESHOLD, Candidates


@dataclass(frozen=True, kw_only=True, eq=False)
class SplitTables:
    """The cells that some splits of each node distinguish.

    Splits of one feature share one histogram, whose cells lie between the borders of the splits:
    its charge is that of the table of a single split.

    Parameters
    ----------
    query : GroupedCells
        Asks for the counts.
    left : ndarray of shape (n_nodes, n_asked, n_groups), int8
        1 where a group goes to the first branch of a split, -1 to the second, 0 where it belongs
        to another feature.
    tables : ndarray of shape (n_nodes, n_groups), int32
        Number of the feature's histogram that a group is of; -1 where a node has fewer groups.
    """

    query: GroupedCells
    left: NDArray[np.int8]
    tables: NDArray[np.int32]

    @classmethod
    def of(
        cls,
        nodes: NDArray[np.int32],
        chosen: NDArray[np.int32],
        candidates: Candidates,
        n_classes: int,
    ) -> SplitTables:
        """Lay out the cells.

        Parameters
        ----------
        nodes : ndarray of shape (n_nodes,), int32
        chosen : ndarray of shape (n_nodes, n_asked), int32
            Candidates of each node: thresholds and single categories, some maybe twice.
        """
        n_nodes, n_asked = chosen.shape
        cells = candidates.cell_offsets
        # A split more on a feature makes a cell more, and the first one makes two.
        n_groups = 2 * n_asked
        groups = np.full((n_nodes, candidates.n_cells), -1, dtype=np.int32)
        left = np.zeros((n_nodes, n_asked, n_groups), dtype=np.int8)
        tables = np.full((n_nodes, n_groups), -1, dtype=np.int32)
        histograms = np.empty(n_nodes, dtype=np.int64)
        feature, own_bin = candidates.features_of(chosen), candidates.split_bins(chosen)
        for node in range(n_nodes):
            used = 0
            different = np.unique(feature[node])
            histograms[node] = len(different)
            for table, f in enumerate(different.tolist()):
                splits = np.flatnonzero(feature[node] == f)
                width = cells[f + 1] - cells[f]
                bins, own = np.arange(width), own_bin[node, splits, np.newaxis]
                first = bins <= own if candidates.kinds[f] == THRESHOLD else bins == own
                told, group = np.unique(first, axis=1, return_inverse=True)
                groups[node, cells[f] : cells[f + 1]] = used + np.ravel(group)
                left[node, splits, used : used + told.shape[1]] = np.where(told, 1, -1)
                tables[node, used : used + told.shape[1]] = table
                used += told.shape[1]
        query = GroupedCells(
            nodes=nodes,
            groups=groups,
            cell_offsets=cells,
            n_groups=n_groups,
            n_classes=n_classes,
            unit_value=MOST_WORTH // histograms
            if (histograms > 1).any()
            else np.ones_like(histograms),
        )
        return cls(query=query, left=left, tables=tables)

    def branches(
        self, released: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the class counts of both branches of every split, not negative.

        Parameters
        ----------
        released : ndarray of shape (n_nodes, n_groups, n_classes), int64

        Returns
        -------
        left, right : ndarray of shape (n_nodes, n_asked, n_classes), float64
        """
        noisy = released / self.query.unit_value[:, np.newaxis, np.newaxis]
        counts = consistent_tables(noisy, self.tables)
        left = np.einsum("nag,ngc->nac", (self.left > 0).astype(np.float64), counts)
        right = np.einsum("nag,ngc->nac", (self.left < 0).astype(np.float64), counts)
        return left, right
