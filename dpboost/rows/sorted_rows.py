"""The rows of one row store, sorted by the nodes of a single tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import classcounts
from dpboost._utils.threads import Threads
from dpboost._utils.validation import InvalidParameterError
from dpboost.data.sparse import BinnedRows, SparseBins, dense_columns
from dpboost.trees.growing_tree import Splits
from dpboost.trees.split_candidates import Candidates

#: Every row counts one.
ONE_EACH = np.empty(0, dtype=np.int32)

# Nodes of a sparse table that are split at a time: each may need a dense column.
_AT_ONCE = 64


class SortedRows:
    """Bins of rows, sorted by node.

    Nodes have the numbers of the growing tree: the root is 0, and children come in the order in
    which splits are added.

    Parameters
    ----------
    bins : ndarray of shape (n_features, n_rows), uint8, or SparseBins
    present : ndarray of shape (n_rows,), bool
        False for rows that take no part.

    Privacy
    -------
    Holds private rows, and returns exact sums of them: for the queries of `dpboost.rows` only.
    Rows are routed by released splits.
    """

    def __init__(
        self,
        bins: BinnedRows,
        present: NDArray[np.bool_],
        *,
        candidates: Candidates,
        threads: Threads,
    ) -> None:
        self.bins = bins
        self.candidates = candidates
        self.threads = threads
        self._order = np.flatnonzero(present).astype(np.int32, casting="same_kind")
        self._scratch = np.empty_like(self._order)
        self._begins = np.zeros(1, dtype=np.int32)
        self._ends = np.array([len(self._order)], dtype=np.int32)
        self._parent = np.full(1, -1, dtype=np.int32)
        self._depth = np.zeros(1, dtype=np.int32)
        self._split = np.zeros(1, dtype=bool)
        self._cells = candidates.cell_offsets
        # A path stays what it is: splits add nodes below.
        self._path_ends: dict[tuple[str, ...], int] = {(): 0}

    @property
    def n_threads(self) -> int:
        """Threads that a kernel is to use now."""
        return self.threads.now()

    def split(self, splits: Splits) -> None:
        """Send the rows of the split nodes on to their children, which get the next numbers."""
        candidates = self.candidates
        self._check_disjoint(splits.node)
        columns = (splits.node, splits.feature, splits.split_bin)
        if not all(part.dtype == np.int32 and part.shape == (len(splits),) for part in columns):
            raise InvalidParameterError("A split has a node, a feature and a bin.")
        if not ((splits.feature >= 0) & (splits.feature < candidates.n_features)).all():
            raise InvalidParameterError("A split is by a feature that the rows do not have.")
        if len(np.unique(splits.node)) < len(splits.node) or self._split[splits.node].any():
            # Rows would be in two nodes that are not above one another.
            raise InvalidParameterError("A node is split once.")
        counts = candidates.n_branches(splits.feature)
        offsets = np.append(0, np.cumsum(counts)).astype(np.int32, casting="same_kind")
        ends = np.empty(int(offsets[-1]), dtype=np.int32)
        step = _AT_ONCE if isinstance(self.bins, SparseBins) else max(len(splits), 1)
        for first in range(0, len(splits), step):
            part = slice(first, first + step)
            own = offsets[first : first + step + 1]
            self._sort(splits, part, own - own[0], ends[own[0] : own[-1]])
        # Children lie where their parent lay, one after the other: a split moves rows inside its
        # own range, so that nodes may be split in any order.
        begins = np.empty_like(ends)
        begins[1:] = ends[:-1]
        begins[offsets[:-1]] = self._begins[splits.node]
        self._parent = np.concatenate((self._parent, np.repeat(splits.node, counts)))
        depth = np.repeat(self._depth[splits.node] + 1, counts)
        self._depth = np.concatenate((self._depth, depth))
        self._split[splits.node] = True
        self._split = np.concatenate((self._split, np.zeros(len(ends), dtype=bool)))
        self._begins = np.concatenate((self._begins, begins))
        self._ends = np.concatenate((self._ends, ends))

    def check_cells(self, cell_offsets: NDArray[np.int32]) -> None:
        """Raise unless a query is about these cells."""
        if not np.array_equal(cell_offsets, self._cells):
            raise InvalidParameterError("A question is about other bins or classes than agreed.")

    def check_branches(self, parts: Sequence[tuple[tuple[str, ...], NDArray[np.int32]]]) -> None:
        """Raise unless the nodes of each part lie below the end of its branch.

        A branch is a path of children from the root.
        """
        nodes = np.concatenate([own for _, own in parts])
        self._check_disjoint(nodes)
        ends = [self._end_of(branch) for branch, _ in parts]
        above = np.repeat(ends, [len(own) for _, own in parts])
        at = nodes
        # Climb from all nodes at once; one that passes the root was never below.
        while not (at == above).all():
            at = np.where(at == above, above, self._parent[at])
            if (at < 0).any():
                raise InvalidParameterError("A question names a part where its nodes are not.")

    def _end_of(self, branch: tuple[str, ...]) -> int:
        """Return the last node of a path of children from the root."""
        if not isinstance(branch, tuple) or not all(isinstance(name, str) for name in branch):
            raise InvalidParameterError("A question names a part that is no path of the tree.")
        if branch in self._path_ends:
            return self._path_ends[branch]
        above, child = self._end_of(branch[:-1]), int(branch[-1])
        # One name for each node: "07" would be another scope for the rows of "7".
        known = branch[-1] == str(child) and 0 < child < len(self._parent)
        if not known or self._parent[child] != above:
            raise InvalidParameterError("A question names a part that is no path of the tree.")
        self._path_ends[branch] = child
        return child

    def _sort(
        self, splits: Splits, part: slice, offsets: NDArray[np.int32], ends: NDArray[np.int32]
    ) -> None:
        """Sort the rows of some of the split nodes by their branches."""
        node, feature = splits.node[part], splits.feature[part]
        columns, lines = dense_columns(self.bins, feature)
        classcounts.split_rows(
            columns,
            self._order,
            self._scratch,
            self._begins[node],
            self._ends[node],
            lines,
            self.candidates.branches(feature, splits.split_bin[part]),
            offsets,
            ends,
            self.n_threads,
        )

    def _totals(
        self,
        nodes: NDArray[np.int32],
        groups: NDArray[np.uint8],
        n_groups: int,
        amounts: NDArray[np.int32],
    ) -> NDArray[np.int64]:
        """Add up amounts of the rows of each group in some nodes; shape (n_nodes, n_groups)."""
        self._check_disjoint(nodes)
        counts = np.empty((len(nodes), n_groups), dtype=np.int64)
        classcounts.totals(
            self._order, self._begins[nodes], self._ends[nodes], groups, amounts, counts
        )
        return counts

    def _histograms(
        self,
        nodes: NDArray[np.int32],
        groups: NDArray[np.uint8],
        n_groups: int,
        amounts: NDArray[np.int32],
    ) -> NDArray[np.int64]:
        """Do the same for every cell; shape (n_nodes, n_cells, n_groups)."""
        totals = self._totals(nodes, groups, n_groups, amounts)
        counts = np.empty((len(nodes), self.candidates.n_cells * n_groups), dtype=np.int64)
        if isinstance(self.bins, SparseBins):
            classcounts.build_stored(
                self.bins.column_start,
                self.bins.rows,
                self.bins.bins,
                self.bins.fill,
                self._listed(nodes),
                groups,
                amounts,
                totals,
                self._cells,
                counts,
                self.n_threads,
            )
        else:
            classcounts.build(
                self.bins,
                self._order,
                self._begins[nodes],
                self._ends[nodes],
                groups,
                amounts,
                self._cells,
                n_groups,
                counts,
                self.n_threads,
            )
        return counts.reshape(len(nodes), -1, n_groups)

    def _listed(self, nodes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return which of some nodes each row is in, -1 for none."""
        listed = np.full(self.bins.shape[1], -1, dtype=np.int32)
        sizes = self._ends[nodes] - self._begins[nodes]
        shift = self._begins[nodes] - (np.cumsum(sizes) - sizes)
        positions = np.repeat(shift, sizes) + np.arange(sizes.sum())
        listed[self._order[positions]] = np.repeat(np.arange(len(nodes), dtype=np.int32), sizes)
        return listed

    def _check_disjoint(self, nodes: NDArray[np.int32]) -> None:
        """Raise unless there are such nodes and none is above another one: public numbers."""
        if len(nodes) and not (nodes.min() >= 0 and nodes.max() < len(self._parent)):
            raise InvalidParameterError("A question is about nodes that the tree does not have.")
        depth = self._depth[nodes]
        if not len(nodes) or (depth == depth[0]).all():
            return
        asked = np.zeros(len(self._parent), dtype=bool)
        asked[nodes] = True
        at = self._parent[nodes]
        at = at[at >= 0]
        while len(at):
            if asked[at].any():
                raise InvalidParameterError("A question is about nodes that share rows.")
            at = self._parent[np.unique(at)]
            at = at[at >= 0]
