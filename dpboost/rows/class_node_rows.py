"""The rows of one place, as a single tree sorts them: the private state behind the questions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import classcounts
from dpboost._utils.validation import InvalidParameterError
from dpboost.trees.growing_tree import Splits
from dpboost.trees.split_candidates import Candidates


class ClassRows:
    """Bins and classes of rows, in the order of the nodes that they fall into.

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
    n_threads : int
        Threads of the kernels; results do not depend on it.

    Privacy
    -------
    Holds private rows, and returns exact counts of them: for the questions of
    ``dpboost.rows.class_queries`` only. Rows are routed by released splits.
    """

    def __init__(
        self,
        bins: NDArray[np.uint8],
        classes: NDArray[np.uint8],
        present: NDArray[np.bool_],
        *,
        n_classes: int,
        candidates: Candidates,
        n_threads: int,
    ) -> None:
        self._bins = bins
        self._classes = classes
        self.n_classes = n_classes
        self.candidates = candidates
        self.n_threads = n_threads
        self._order = np.flatnonzero(present).astype(np.int32)
        self._scratch = np.empty_like(self._order)
        self._begins = np.zeros(1, dtype=np.int32)
        self._ends = np.array([len(self._order)], dtype=np.int32)
        self._parent = np.full(1, -1, dtype=np.int32)
        self._depth = np.zeros(1, dtype=np.int32)
        self._split = np.zeros(1, dtype=bool)
        self._cells = candidates.cell_offsets

    def sizes(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Count the rows of some nodes."""
        self._check_disjoint(nodes)
        return (self._ends[nodes] - self._begins[nodes]).astype(np.int64)

    def totals(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Count the rows of each class of some nodes; shape (n_nodes, n_classes)."""
        self._check_disjoint(nodes)
        counts = np.empty((len(nodes), self.n_classes), dtype=np.int64)
        classcounts.totals(
            self._order, self._begins[nodes], self._ends[nodes], self._classes, counts
        )
        return counts

    def histograms(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Count the rows of each class in every cell; shape (n_nodes, n_cells, n_classes)."""
        self._check_disjoint(nodes)
        counts = np.empty((len(nodes), self.candidates.n_cells * self.n_classes), dtype=np.int64)
        classcounts.build(
            self._bins,
            self._order,
            self._begins[nodes],
            self._ends[nodes],
            self._classes,
            self._cells,
            self.n_classes,
            counts,
            self.n_threads,
        )
        return counts.reshape(len(nodes), -1, self.n_classes)

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
            self.n_threads,
        )
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

    def check_layout(self, cell_offsets: NDArray[np.int32], n_classes: int) -> None:
        """Raise unless a question is about these cells and classes."""
        if n_classes != self.n_classes or not np.array_equal(cell_offsets, self._cells):
            raise InvalidParameterError("A question is about other bins or classes than agreed.")

    def check_branch(self, branch: tuple[str, ...], nodes: NDArray[np.int32]) -> None:
        """Raise unless nodes lie below the end of a path of children from the root."""
        self._check_disjoint(nodes)
        if not isinstance(branch, tuple) or not all(isinstance(name, str) for name in branch):
            raise InvalidParameterError("A question names a part that is no path of the tree.")
        above = 0
        for name in branch:
            child = int(name)
            # One name for each node: "07" would be another scope for the rows of "7".
            known = name == str(child) and 0 < child < len(self._parent)
            if not known or self._parent[child] != above:
                raise InvalidParameterError("A question names a part that is no path of the tree.")
            above = child
        at = nodes
        while not (at == above).all():
            at = np.where(at == above, above, self._parent[at])
            if (at < 0).any():
                raise InvalidParameterError("A question names a part where its nodes are not.")

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
