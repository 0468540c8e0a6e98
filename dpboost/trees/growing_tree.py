"""A growing tree: released splits and node indices, without rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.trees.split_candidates import Candidates


@dataclass(frozen=True, kw_only=True, eq=False)
class Splits:
    """Some released splits: arrays of shape (n_splits,)."""

    #: Nodes that are to be split.
    node: NDArray[np.int32]
    feature: NDArray[np.int32]
    #: Bin of a threshold or category; without meaning where there is a branch for each bin.
    split_bin: NDArray[np.int32]
    n_branches: NDArray[np.int32]
    #: Released numbers by which the best of them is found.
    priority: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.node)

    @classmethod
    def of(
        cls,
        candidates: Candidates,
        nodes: NDArray[np.int32],
        chosen: NDArray[np.int32],
        priority: NDArray[np.float64] | None = None,
    ) -> Splits:
        """Return released choices of candidates as splits."""
        feature = candidates.features_of(chosen)
        return cls(
            node=nodes,
            feature=feature,
            split_bin=candidates.split_bins(chosen),
            n_branches=candidates.n_branches(feature),
            priority=priority,
        )

    @classmethod
    def none(cls) -> Splits:
        """Return no splits."""
        nothing = np.empty(0, dtype=np.int32)
        return cls(node=nothing, feature=nothing, split_bin=nothing, n_branches=nothing)

    def at(self, position: int) -> Splits:
        """Return one of the splits."""
        one = slice(position, position + 1)
        return Splits(
            node=self.node[one],
            feature=self.feature[one],
            split_bin=self.split_bin[one],
            n_branches=self.n_branches[one],
        )


class GrowingTree:
    """Nodes and splits in the order of their creation.

    Node 0 is the root; the children of a split get the next numbers, branch by branch.
    """

    def __init__(self) -> None:
        self._depth = [np.zeros(1, dtype=np.int32)]
        self._parent = [np.full(1, -1, dtype=np.int32)]
        self._splits: list[Splits] = []
        self._first_child: list[NDArray[np.int32]] = []
        self.n_nodes = 1

    @property
    def root(self) -> NDArray[np.int32]:
        """The root alone."""
        return np.zeros(1, dtype=np.int32)

    @property
    def depth(self) -> NDArray[np.int32]:
        """Splits above each node."""
        self._depth = [np.concatenate(self._depth)]
        return self._depth[0]

    @property
    def parent(self) -> NDArray[np.int32]:
        """Parent of each node, -1 for the root."""
        self._parent = [np.concatenate(self._parent)]
        return self._parent[0]

    def split(self, splits: Splits) -> NDArray[np.int32]:
        """Add splits and return the numbers of their children."""
        if not len(splits):
            return np.empty(0, dtype=np.int32)
        ends = self.n_nodes + np.cumsum(splits.n_branches)
        children = np.arange(self.n_nodes, ends[-1], dtype=np.int32)
        depth = np.repeat(self.depth[splits.node] + 1, splits.n_branches)
        self._depth.append(depth)
        self._parent.append(np.repeat(splits.node, splits.n_branches))
        self._splits.append(splits)
        self._first_child.append((ends - splits.n_branches).astype(np.int32))
        self.n_nodes = int(ends[-1])
        return children

    @property
    def splits(self) -> Splits:
        """All splits in their order."""
        if not self._splits:
            return Splits.none()
        return Splits(
            node=np.concatenate([part.node for part in self._splits]),
            feature=np.concatenate([part.feature for part in self._splits]),
            split_bin=np.concatenate([part.split_bin for part in self._splits]),
            n_branches=np.concatenate([part.n_branches for part in self._splits]),
        )

    @property
    def first_child(self) -> NDArray[np.int32]:
        """First child of each split; the others follow it."""
        return np.concatenate([np.empty(0, dtype=np.int32), *self._first_child])

    @property
    def leaves(self) -> NDArray[np.int32]:
        """Nodes without a split, in ascending order."""
        inner = np.zeros(self.n_nodes, dtype=bool)
        inner[self.splits.node] = True
        return np.flatnonzero(~inner).astype(np.int32)

    def features_above(self, nodes: NDArray[np.int32], n_features: int) -> NDArray[np.bool_]:
        """Return which features were split on the way to each node; shape (n_nodes, n_features)."""
        feature = np.full(self.n_nodes, -1, dtype=np.int32)
        feature[self.splits.node] = self.splits.feature
        used = np.zeros((len(nodes), n_features), dtype=bool)
        at = self.parent[nodes]
        while (at >= 0).any():
            inside = np.flatnonzero(at >= 0)
            used[inside, feature[at[inside]]] = True
            at = np.where(at >= 0, self.parent[at], -1)
        return used
