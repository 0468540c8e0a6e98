"""Class counts of a few splits of each node: which cells they need, and what they say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.rows.class_queries import MOST_WORTH, GroupedCells
from dpboost.trees.split_candidates import THRESHOLD, Candidates


@dataclass(frozen=True, kw_only=True, eq=False)
class SplitTables:
    """The cells that some splits of each node tell apart.

    Splits of one feature share one histogram, whose cells lie between the borders of the splits:
    it costs what the table of a single split costs.

    Parameters
    ----------
    query : GroupedCells
        Asks for the counts.
    left : ndarray of shape (n_nodes, n_asked, n_groups), int8
        1 where a group goes to the first branch of a split, -1 to the second, 0 where it belongs
        to another feature.
    """

    query: GroupedCells
    left: NDArray[np.int8]

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
        candidates : Candidates
        n_classes : int
        """
        n_nodes, n_asked = chosen.shape
        cells = candidates.cell_offsets
        # A split more on a feature makes a cell more, and the first one makes two.
        n_groups = 2 * n_asked
        groups = np.full((n_nodes, candidates.n_cells), -1, dtype=np.int32)
        left = np.zeros((n_nodes, n_asked, n_groups), dtype=np.int8)
        histograms = np.empty(n_nodes, dtype=np.int64)
        feature, own_bin = candidates.features_of(chosen), candidates.split_bins(chosen)
        for node in range(n_nodes):
            used = 0
            different = np.unique(feature[node])
            histograms[node] = len(different)
            for f in different.tolist():
                splits = np.flatnonzero(feature[node] == f)
                width = cells[f + 1] - cells[f]
                bins, own = np.arange(width), own_bin[node, splits, np.newaxis]
                first = bins <= own if candidates.kinds[f] == THRESHOLD else bins == own
                told, group = np.unique(first, axis=1, return_inverse=True)
                groups[node, cells[f] : cells[f + 1]] = used + np.ravel(group)
                left[node, splits, used : used + told.shape[1]] = np.where(told, 1, -1)
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
        return cls(query=query, left=left)

    def branches(
        self, released: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the class counts of both branches of every split, cut at zero.

        Parameters
        ----------
        released : ndarray of shape (n_nodes, n_groups, n_classes), int64

        Returns
        -------
        left, right : ndarray of shape (n_nodes, n_asked, n_classes), float64
        """
        counts = released / self.query.unit_value[:, np.newaxis, np.newaxis]
        left = np.einsum("nag,ngc->nac", (self.left > 0).astype(np.float64), counts)
        right = np.einsum("nag,ngc->nac", (self.left < 0).astype(np.float64), counts)
        return np.maximum(left, 0.0), np.maximum(right, 0.0)
