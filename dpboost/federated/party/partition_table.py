"""The table of a public partition, which a party makes of the nodes that it is sent."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpboost.federated.party.admission import check
from dpboost.federated.party.tree_structure import check_structure
from dpboost.trees.random_partition import BINS, MAX_FEATURES, Partition

# Entries of a look-up table.
MOST_ENTRIES = 1 << 24
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
    steps, table = _steps_and_table(
        n_bins[features].tobytes(),
        features.tobytes(),
        partition.feature.tobytes(),
        partition.left_bins.astype("<u8").tobytes(),
        partition.left.tobytes(),
        partition.right.tobytes(),
    )
    return replace(partition, steps=steps, table=table)


# All parties of a simulation are sent the same partition.
@lru_cache(maxsize=1)
def _steps_and_table(
    own_bins: bytes, features: bytes, feature: bytes, left_bins: bytes, left: bytes, right: bytes
) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
    """Return what each bin moves in the table, and the table, of a partition that was checked.

    Parameters
    ----------
    own_bins : bytes
        Value bins of each of the features, int32.
    features, feature, left_bins, left, right : bytes
        The arrays of the partition.
    """
    listed, nodes = (np.frombuffer(each, dtype=np.int32) for each in (features, feature))
    goes_left = np.unpackbits(
        np.frombuffer(left_bins, dtype=np.uint8).reshape(len(nodes), BINS // 8),
        axis=1,
        bitorder="little",
    )
    steps = np.zeros((MAX_FEATURES, BINS), dtype=np.int32)
    ways = []  # by feature: to which side of its nodes the groups of its bins go
    stride = 1
    for line, n_bins in enumerate(np.frombuffer(own_bins, dtype=np.int32).tolist()):
        own = goes_left[nodes == listed[line]][:, : n_bins + 1]
        group, distinct = _groups(own)
        steps[line, : n_bins + 1] = group * stride
        ways.append(distinct.astype(bool))
        stride *= distinct.shape[1]
        check(stride <= MOST_ENTRIES)
    lines = [listed.tolist().index(each) for each in nodes.tolist()]
    children = (np.frombuffer(each, dtype=np.int32).tolist() for each in (left, right))
    table = _table(lines, list(zip(*children, strict=True)), ways)
    for made in (steps, table):
        made.setflags(write=False)
    return steps, table


def _groups(goes: NDArray[np.uint8]) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Put bins together that no node tells apart.

    Parameters
    ----------
    goes : ndarray of shape (n_nodes, n_bins), uint8
        Whether a node sends a bin left.

    Returns
    -------
    group : ndarray of shape (n_bins,), int32
    distinct : ndarray of shape (n_nodes, n_groups), uint8
    """
    # The sides of all nodes, as one word a bin.
    words = [column.tobytes() for column in np.packbits(goes, axis=0).T]
    numbers: dict[bytes, int] = {}
    group = [numbers.setdefault(word, len(numbers)) for word in words]
    first = [group.index(number) for number in range(len(numbers))]
    return np.array(group, dtype=np.int32), goes[:, first]


def _table(
    lines: list[int], children: list[tuple[int, int]], ways: list[NDArray[np.bool_]]
) -> NDArray[np.uint16]:
    """Return the leaf of every combination of groups, that of the first feature innermost.

    What comes to a node is a product of sets of groups, one of each feature: of the two children
    each has a part of one of them.
    """
    ways = ways + [np.zeros((0, 1), dtype=bool)] * (MAX_FEATURES - len(ways))
    shape = [one.shape[1] for one in ways]
    table = np.zeros(shape[::-1], dtype=np.uint16)
    next_way = [iter(one) for one in ways]
    # Parents come before children.
    regions = {0 if lines else ~0: [np.arange(n) for n in shape]}
    for node, (line, pair) in enumerate(zip(lines, children, strict=True)):
        region = regions.pop(node)
        goes = next(next_way[line])[region[line]]
        for child, side in zip(pair, (goes, ~goes), strict=True):
            regions[child] = [*region[:line], region[line][side], *region[line + 1 :]]
    for leaf, (first, second, third) in regions.items():
        table[third[:, np.newaxis, np.newaxis], second[:, np.newaxis], first] = ~leaf
    return table.reshape(-1)
