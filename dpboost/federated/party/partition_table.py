"""The table of a public partition, which a party makes of the nodes that it is sent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpboost.federated.party.admission import check
from dpboost.federated.party.tree_structure import check_structure
from dpboost.trees.random_partition import BINS, MAX_FEATURES, Partition

# Entries of a look-up table, and ways at nodes that are looked up to make it.
MOST_ENTRIES = 1 << 24
MOST_WAYS = 1 << 30
# The kernels have room for so many leaves: no partition of a recipe is deeper than 12.
MOST_LEAVES = 1 << 12


def without_table(partition: Partition) -> Partition:
    """Return a partition as it is sent: a table is long, and no party believes one."""
    return replace(partition, steps=np.empty((0, BINS), np.int32), table=np.empty(0, np.uint16))


def with_table(partition: Partition, n_bins: NDArray[np.int32]) -> Partition:
    """Return a partition with a table over these bins; leaves keep their numbers.

    Parameters
    ----------
    partition : Partition
        As it was sent: its nodes are checked, its table is not looked at.
    n_bins : ndarray of shape (n_features,), int32
        Value bins of every feature; each has one bin more, of missing values.

    Raises
    ------
    UnusableMessageError
        Unless the nodes make a tree over the features of the partition.
    """
    features, n_leaves = partition.features, partition.n_leaves
    check(isinstance(features, np.ndarray) and features.dtype == np.int32)
    check(features.ndim == 1)
    check(1 <= len(features) <= MAX_FEATURES and len(set(features.tolist())) == len(features))
    check(bool(((features >= 0) & (features < len(n_bins))).all()))
    check(type(n_leaves) is int and 1 <= n_leaves <= MOST_LEAVES)
    check_structure(partition, n_leaves, len(n_bins))
    check(set(partition.feature.tolist()) <= set(features.tolist()))
    goes_left = np.unpackbits(
        partition.left_bins.astype("<u8").view(np.uint8), axis=1, bitorder="little"
    )
    steps = np.zeros((MAX_FEATURES, BINS), dtype=np.int32)
    groups = []  # of bins that no node of the partition tells apart
    stride = 1
    for line, feature in enumerate(features.tolist()):
        own = goes_left[partition.feature == feature][:, : n_bins[feature] + 1]
        if len(own):
            distinct, group = np.unique(own, axis=1, return_inverse=True)
        else:
            distinct, group = np.zeros((0, 1), np.uint8), np.zeros(own.shape[1], np.intp)
        steps[line, : n_bins[feature] + 1] = group.reshape(-1) * stride
        groups.append((stride, distinct))
        stride *= distinct.shape[1]
        check(stride <= MOST_ENTRIES and stride * len(partition.feature) <= MOST_WAYS)
    return replace(partition, steps=steps, table=_table(partition, groups, stride))


def _table(
    partition: Partition, groups: list[tuple[int, NDArray[np.uint8]]], n_entries: int
) -> NDArray[np.uint16]:
    """Return the leaf of every combination of groups."""
    n_nodes = len(partition.feature)
    entries = np.arange(n_entries)
    goes = np.empty((n_nodes, n_entries), dtype=bool)
    for (stride, distinct), feature in zip(groups, partition.features.tolist(), strict=True):
        group = entries // stride % distinct.shape[1]
        goes[partition.feature == feature] = distinct[:, group] == 1
    at = np.full(n_entries, 0 if n_nodes else ~0, dtype=np.int64)
    moving = np.flatnonzero(at >= 0)
    while len(moving):
        node = at[moving]
        at[moving] = np.where(goes[node, moving], partition.left[node], partition.right[node])
        moving = moving[at[moving] >= 0]
    return (~at).astype(np.uint16)
