"""A public partition as a message: its nodes. Parties make the look-up table themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.federated.party.boosting_state import check, check_structure
from dpboost.trees.random_partition import BINS, MAX_FEATURES, Partition

# Entries of a look-up table, and ways at nodes that are looked up to make it.
MOST_ENTRIES = 1 << 24
MOST_WAYS = 1 << 30
# The kernels have room for so many leaves: no partition of a recipe is deeper than 12.
MOST_LEAVES = 1 << 12


@dataclass(frozen=True, kw_only=True, eq=False)
class Nodes:
    """The nodes of a partition.

    Parameters
    ----------
    features : ndarray of shape (k,), int32
        Features of the partition, at most three.
    feature : ndarray of shape (n_nodes,), int32
        Feature of each node.
    left_bins : ndarray of shape (n_nodes, 4), uint64
        Bins that go left.
    left, right : ndarray of shape (n_nodes,), int32
        Children, ``~leaf`` for a leaf.
    """

    features: NDArray[np.int32]
    feature: NDArray[np.int32]
    left_bins: NDArray[np.uint64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]

    @classmethod
    def of(cls, partition: Partition) -> Nodes:
        """Return the nodes of a partition."""
        return cls(
            features=partition.features,
            feature=partition.feature,
            left_bins=partition.left_bins,
            left=partition.left,
            right=partition.right,
        )

    def partition(self, n_bins: NDArray[np.int32]) -> Partition:
        """Return the partition with a table over these bins; leaves keep their numbers.

        Parameters
        ----------
        n_bins : ndarray of shape (n_features,), int32
            Value bins of every feature; each has one bin more, of missing values.
        """
        features = self.features
        n_leaves = len(self.feature) + 1
        check(isinstance(features, np.ndarray) and features.dtype == np.int32)
        check(features.ndim == 1)
        check(1 <= len(features) <= MAX_FEATURES and len(set(features.tolist())) == len(features))
        check(bool(((features >= 0) & (features < len(n_bins))).all()))
        check(n_leaves <= MOST_LEAVES)
        check_structure(self, n_leaves, len(n_bins))
        check(set(self.feature.tolist()) <= set(features.tolist()))
        goes_left = np.unpackbits(
            self.left_bins.astype("<u8").view(np.uint8), axis=1, bitorder="little"
        )
        steps = np.zeros((MAX_FEATURES, BINS), dtype=np.int32)
        groups = []  # of bins that no node of the partition tells apart
        stride = 1
        for line, feature in enumerate(features.tolist()):
            own = goes_left[self.feature == feature][:, : n_bins[feature] + 1]
            if len(own):
                distinct, group = np.unique(own, axis=1, return_inverse=True)
            else:
                distinct, group = np.zeros((0, 1), np.uint8), np.zeros(own.shape[1], np.intp)
            steps[line, : n_bins[feature] + 1] = group.reshape(-1) * stride
            groups.append((stride, distinct))
            stride *= distinct.shape[1]
            check(stride <= MOST_ENTRIES and stride * len(self.feature) <= MOST_WAYS)
        return Partition(
            features=features,
            steps=steps,
            table=self._table(groups, stride),
            n_leaves=n_leaves,
            feature=self.feature,
            left_bins=self.left_bins,
            left=self.left,
            right=self.right,
        )

    def _table(
        self, groups: list[tuple[int, NDArray[np.uint8]]], n_entries: int
    ) -> NDArray[np.uint16]:
        """Return the leaf of every combination of groups."""
        entries = np.arange(n_entries)
        goes = np.empty((len(self.feature), n_entries), dtype=bool)
        for (stride, distinct), feature in zip(groups, self.features.tolist(), strict=True):
            group = entries // stride % distinct.shape[1]
            goes[self.feature == feature] = distinct[:, group] == 1
        at = np.full(n_entries, 0 if len(self.feature) else ~0, dtype=np.int64)
        moving = np.flatnonzero(at >= 0)
        while len(moving):
            node = at[moving]
            at[moving] = np.where(goes[node, moving], self.left[node], self.right[node])
            moving = moving[at[moving] >= 0]
        return (~at).astype(np.uint16)
