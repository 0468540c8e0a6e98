"""Released trees in flat arrays for the prediction kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import predict
from dpboost.data.sparse import BinnedRows, SparseBins, dense_columns
from dpboost.trees.tree import SET_WORDS, Tree

# Bins of a sparse table that are held as dense columns at a time, unless one tree reads more.
_BINS_AT_ONCE = 1 << 26

_OF_NODES = ("feature", "left_bins", "left", "right")


class Forest:
    """Concatenated trees with amortized growth."""

    def __init__(self) -> None:
        self._feature = np.empty(64, dtype=np.int32)
        self._left_bins = np.empty((64, SET_WORDS), dtype=np.uint64)
        self._left = np.empty(64, dtype=np.int32)
        self._right = np.empty(64, dtype=np.int32)
        self._leaf_value = np.empty((1, 64), dtype=np.int64)
        self._node_start = np.zeros(65, dtype=np.int32)
        self._leaf_start = np.zeros(65, dtype=np.int32)
        self.n_trees = 0

    @classmethod
    def of(cls, *outputs: Sequence[Tree]) -> Forest:
        """Return the forest of released trees, without the time of appending each of them.

        The trees of every output are on the nodes of the first one's.
        """
        forest, trees = cls(), outputs[0]
        forest.n_trees = len(trees)
        if trees:
            for name in _OF_NODES:
                array = getattr(forest, f"_{name}")
                parts = [getattr(tree, name) for tree in trees]
                setattr(forest, f"_{name}", np.concatenate(parts, dtype=array.dtype))
            values = [np.concatenate([tree.leaf_value for tree in own]) for own in outputs]
            forest._leaf_value = np.stack(values).astype(np.int64, copy=False)
            forest._node_start = _starts([tree.n_nodes for tree in trees])
            forest._leaf_start = _starts([tree.n_leaves for tree in trees])
        return forest

    def append(self, tree: Tree) -> None:
        """Add a released tree at the end of a forest of one output."""
        index = self.n_trees
        node, leaf = int(self._node_start[index]), int(self._leaf_start[index])
        node_stop, leaf_stop = node + tree.n_nodes, leaf + tree.n_leaves
        for name in _OF_NODES:
            self._room(f"_{name}", node_stop)[node:node_stop] = getattr(tree, name)
        self._room("_leaf_value", leaf_stop, axis=1)[0, leaf:leaf_stop] = tree.leaf_value
        self._room("_node_start", index + 2)[index + 1] = node_stop
        self._room("_leaf_start", index + 2)[index + 1] = leaf_stop
        self.n_trees = index + 1

    def add_to(
        self,
        scores: NDArray[np.int64],
        bins: BinnedRows,
        rows: NDArray[np.int32],
        first_tree: NDArray[np.int32],
        n_threads: int,
        *,
        compact: bool = False,
    ) -> None:
        """Add to the score of each listed row the leaves it has not yet received.

        Parameters
        ----------
        scores : ndarray of shape (n_rows,) or (n_outputs, n_rows), int64
            Changed in place.
        bins : ndarray of shape (n_features, n_rows), uint8, or SparseBins
        rows : ndarray of int32
            Rows to bring up to date.
        first_tree : ndarray of shape (n_rows,), int32
            First tree that each row still misses.
        compact : bool, default=False
            Whether ``bins`` are those of the listed rows alone, in their order.
        """
        n_trees = self.n_trees
        if not isinstance(bins, SparseBins):
            self._add(scores, bins, self._feature, rows, first_tree, n_trees, n_threads, compact)
        elif len(rows):
            earliest = int(first_tree[rows].min())
            for first, stop in self._blocks(earliest, n_trees, _BINS_AT_ONCE // bins.shape[1]):
                nodes = slice(self._node_start[first], self._node_start[stop])
                feature = self._feature.copy()
                # Constants alone read no bin, but the kernel wants a matrix.
                read = feature[nodes] if nodes.stop > nodes.start else feature[:1] * 0
                columns, lines = dense_columns(bins, read)
                feature[nodes] = lines[: nodes.stop - nodes.start]
                since = np.maximum(first_tree, np.int32(first))
                self._add(scores, columns, feature, rows, since, stop, n_threads, compact)

    def _add(
        self,
        scores: NDArray[np.int64],
        bins: NDArray[np.uint8],
        feature: NDArray[np.int32],
        rows: NDArray[np.int32],
        first_tree: NDArray[np.int32],
        last_tree: int,
        n_threads: int,
        compact: bool,
    ) -> None:
        """Add trees whose nodes read these lines of a matrix of bins."""
        predict.add_trees(
            bins,
            rows,
            first_tree,
            last_tree,
            self._node_start,
            self._leaf_start,
            feature,
            self._left_bins,
            self._left,
            self._right,
            self._leaf_value,
            np.atleast_2d(scores),
            n_threads,
            compact,
        )

    def _blocks(self, first: int, last: int, n_nodes: int) -> Iterator[tuple[int, int]]:
        """Cut a run of trees in runs of about so many nodes, at least one tree each."""
        while first < last:
            limit = self._node_start[first] + n_nodes
            stop = int(np.searchsorted(self._node_start[: last + 1], limit, side="right")) - 1
            stop = min(max(stop, first + 1), last)
            yield first, stop
            first = stop

    def _room(self, name: str, stop: int, axis: int = 0) -> NDArray:
        """Return one of the arrays with room for so many entries, doubled where it is full."""
        array: NDArray = getattr(self, name)
        if stop > array.shape[axis]:
            shape = list(array.shape)
            shape[axis] = max(stop, 2 * shape[axis])
            grown = np.zeros(shape, dtype=array.dtype)
            grown[tuple(slice(size) for size in array.shape)] = array
            setattr(self, name, grown)
            return grown
        return array


def _starts(sizes: Sequence[int]) -> NDArray[np.int32]:
    return np.append(0, np.cumsum(sizes)).astype(np.int32, casting="same_kind")
