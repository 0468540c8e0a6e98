"""The rows of a single tree, seen as class counts per node. All it hands out is Sensitive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import classcounts, impurity
from dpboost.privacy import constants, impurities
from dpboost.privacy.impurities import Impurity
from dpboost.privacy.relation import Neighbours
from dpboost.privacy.sensitive import Sensitive
from dpboost.tree.candidates import Candidates
from dpboost.tree.sketch import Splits

#: Score of a candidate that is not offered: far below any score of rows, in units.
NOT_OFFERED = -(1 << 50)

# Counts that are held at once while scores are computed: 128 MiB.
_MOST_COUNTS = 1 << 24


class ClassStatistics:
    """Class histograms of the nodes of one growing tree.

    Nodes have the numbers of the tree's sketch: the root is 0, and children come in the order in
    which splits are added.

    Parameters
    ----------
    bins : ndarray of shape (n_features, n_rows), uint8
    classes : ndarray of shape (n_rows,), uint8
        Position of each row's label in the public list of classes.
    present : ndarray of shape (n_rows,), bool
        False for rows whose label is not in the list: they take no part.
    n_classes : int
    candidates : Candidates
        The public set of splits.
    neighbours : Neighbours
        The relation whose constants go with each value.
    n_threads : int
        Threads of the kernels; results do not depend on it.

    Privacy
    -------
    Holds private rows and counts of them. Rows are routed by released splits only.
    """

    def __init__(
        self,
        bins: NDArray[np.uint8],
        classes: NDArray[np.uint8],
        present: NDArray[np.bool_],
        *,
        n_classes: int,
        candidates: Candidates,
        neighbours: Neighbours,
        n_threads: int,
    ) -> None:
        self._bins = bins
        self._classes = classes
        self._n_classes = n_classes
        self._candidates = candidates
        self._neighbours = neighbours
        self._n_threads = n_threads
        self._order = np.flatnonzero(present).astype(np.int32)
        self._scratch = np.empty_like(self._order)
        self._begins = np.zeros(1, dtype=np.int32)
        self._ends = np.array([len(self._order)], dtype=np.int32)
        self._cells = candidates.cell_offsets
        self._places = candidates.candidate_offsets

    @property
    def candidates(self) -> Candidates:
        """The public set of splits."""
        return self._candidates

    @property
    def n_classes(self) -> int:
        """Number of public classes."""
        return self._n_classes

    @property
    def neighbours(self) -> Neighbours:
        """The relation."""
        return self._neighbours

    def sizes(self, nodes: NDArray[np.int32]) -> Sensitive:
        """Numbers of rows of some nodes, which are disjoint."""
        sizes = (self._ends[nodes] - self._begins[nodes]).astype(np.int64)
        return Sensitive(sizes, constants.counts(self._neighbours))

    def class_counts(self, nodes: NDArray[np.int32]) -> Sensitive:
        """Rows of each class of some nodes, which are disjoint; shape (n_nodes, n_classes)."""
        return Sensitive(self._totals(nodes), constants.counts(self._neighbours))

    def histograms(self, nodes: NDArray[np.int32], offered: NDArray[np.bool_]) -> Sensitive:
        """Rows of each class in every cell of the offered features of some nodes.

        Parameters
        ----------
        nodes : ndarray of shape (n_nodes,), int32
        offered : ndarray of shape (n_nodes, n_features), bool
            Cells of other features hold zero, whatever the rows are. Every node must offer as
            many features.

        Returns
        -------
        Sensitive of shape (n_nodes, n_cells, n_classes)
        """
        counts = self._histograms(nodes).reshape(len(nodes), -1, self._n_classes)
        counts[~np.repeat(offered, np.diff(self._cells), axis=1)] = 0
        return Sensitive(counts, self._histogram_bounds(offered))

    def cell_sizes(self, nodes: NDArray[np.int32], offered: NDArray[np.bool_]) -> Sensitive:
        """Rows in every cell of the offered features; shape (n_nodes, n_cells)."""
        counts = self._histograms(nodes).reshape(len(nodes), -1, self._n_classes).sum(axis=2)
        counts[~np.repeat(offered, np.diff(self._cells), axis=1)] = 0
        return Sensitive(counts, self._histogram_bounds(offered))

    def scores(
        self,
        nodes: NDArray[np.int32],
        measure: Impurity,
        row_limits: NDArray[np.int64],
        offered: NDArray[np.bool_] | None = None,
    ) -> Sensitive:
        """Score every candidate of some nodes.

        Parameters
        ----------
        nodes : ndarray of shape (n_nodes,), int32
        measure : Impurity
        row_limits : ndarray of shape (n_nodes,), int64
            The public number of rows by which each node's impurity is clipped.
        offered : ndarray of shape (n_nodes, n_features), bool, optional
            Candidates of other features get one public score below all others.

        Returns
        -------
        Sensitive of shape (n_nodes, n_candidates)
        """
        scores = np.empty((len(nodes), self._candidates.n_candidates), dtype=np.int64)
        caps, scales = self._clips(measure, row_limits)
        step = max(1, _MOST_COUNTS // max(1, self._candidates.n_cells * self._n_classes))
        for first in range(0, len(nodes), step):
            part = slice(first, first + step)
            impurity.scores(
                self._histograms(nodes[part]),
                self._cells,
                self._places,
                self._candidates.kinds,
                self._n_classes,
                int(measure),
                caps[part],
                scales[part],
                scores[part],
                self._n_threads,
            )
        if offered is not None:
            scores[~self._candidates.spread(offered)] = NOT_OFFERED
        return Sensitive(scores, (impurities.split_score(self._neighbours),))

    def gains(
        self,
        scores: Sensitive,
        chosen: NDArray[np.int32],
        nodes: NDArray[np.int32],
        measure: Impurity,
        row_limits: NDArray[np.int64],
    ) -> Sensitive:
        """Gains of the chosen candidates: the nodes' impurity less that of their branches.

        Parameters
        ----------
        scores : Sensitive
            What ``scores`` returned for these nodes, measure and limits.
        chosen : ndarray of shape (n_nodes,), int32
            Released choices among offered candidates.
        nodes, measure, row_limits
            As in ``scores``.

        Returns
        -------
        Sensitive of shape (n_nodes,)
        """
        own = np.empty(len(nodes), dtype=np.int64)
        caps, scales = self._clips(measure, row_limits)
        impurity.node_scores(self._totals(nodes), int(measure), caps, scales, own)

        def difference(values: NDArray[np.int64]) -> NDArray[np.int64]:
            best = values[np.arange(len(chosen)), chosen]
            return np.where(best == NOT_OFFERED, 0, best - own)

        return scores.map(difference, bounds=(impurities.split_gain(self._neighbours),))

    def split(self, splits: Splits) -> None:
        """Send the rows of the split nodes on to their children, which get the next numbers."""
        candidates = self._candidates
        counts = candidates.n_branches(splits.feature)
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
        ends = np.empty(int(offsets[-1]), dtype=np.int32)
        classcounts.split_rows(
            self._bins,
            self._order,
            self._scratch,
            self._begins[splits.node],
            self._ends[splits.node],
            splits.feature,
            candidates.branches(splits.feature, splits.split_bin),
            offsets,
            ends,
            self._n_threads,
        )
        begins = np.empty_like(ends)
        begins[1:] = ends[:-1]
        begins[offsets[:-1]] = self._begins[splits.node]
        self._begins = np.concatenate((self._begins, begins))
        self._ends = np.concatenate((self._ends, ends))

    def _clips(
        self, measure: Impurity, row_limits: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        distinct, places = np.unique(row_limits, return_inverse=True)
        caps = [impurities.cap(measure, int(rows)) for rows in distinct]
        scales = [impurities.scale(measure, int(rows), self._n_classes) for rows in distinct]
        return np.array(caps)[places], np.array(scales)[places]

    def _histogram_bounds(self, offered: NDArray[np.bool_]) -> tuple:
        numbers = set(offered.sum(axis=1).tolist())
        assert len(numbers) == 1
        return constants.counts(self._neighbours, histograms=numbers.pop())

    def _histograms(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        counts = np.empty((len(nodes), self._candidates.n_cells * self._n_classes), dtype=np.int64)
        classcounts.build(
            self._bins,
            self._order,
            self._begins[nodes],
            self._ends[nodes],
            self._classes,
            self._cells,
            self._n_classes,
            counts,
            self._n_threads,
        )
        return counts

    def _totals(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        counts = np.empty((len(nodes), self._n_classes), dtype=np.int64)
        classcounts.totals(
            self._order, self._begins[nodes], self._ends[nodes], self._classes, counts
        )
        return counts
