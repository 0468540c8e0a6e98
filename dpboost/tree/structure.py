"""A released tree: public splits in bins and public leaf values on an integer grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SET_WORDS = 4
"""A set of bins is 256 bits in four 64-bit words."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Tree:
    """One binary tree over binned features, made of released values and public choices only.

    A row goes left at a node when its bin of the node's feature is in the node's set of bins.

    Parameters
    ----------
    feature : ndarray of shape (n_nodes,), int32
        Feature of each internal node; the root is node 0.
    left_bins : ndarray of shape (n_nodes, 4), uint64
        Bins that go left, as bits. On a numeric feature they are bins ``0..b``, with or without
        the missing bin; on a categorical feature any bins but the missing one.
    left, right : ndarray of shape (n_nodes,), int32
        Children: ``v >= 0`` is an internal node, ``v < 0`` is leaf ``~v``.
    leaf_value : ndarray of shape (n_leaves,), int64
        Released outputs, learning rate included, in units of the ensemble's grid.
    leaf_count : ndarray of shape (n_leaves,), int64, or None
        Released weights of the leaves in proportion to their rows; None where the recipe
        releases none.
    """

    feature: NDArray[np.int32]
    left_bins: NDArray[np.uint64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    leaf_value: NDArray[np.int64]
    leaf_count: NDArray[np.int64] | None = None

    @property
    def n_nodes(self) -> int:
        """Number of internal nodes."""
        return len(self.feature)

    def sets(self) -> list[int]:
        """Return each node's set of left bins as one integer."""
        words = self.left_bins.tolist()
        return [a | b << 64 | c << 128 | d << 192 for a, b, c, d in words]

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaf_value)


def threshold_sets(
    split_bin: NDArray[np.uint8], is_categorical: NDArray[np.bool_]
) -> NDArray[np.uint64]:
    """Return the bins that go left for thresholds and for one category against the rest.

    Parameters
    ----------
    split_bin : ndarray of shape (n_nodes,), uint8
        Last bin that goes left, or the one category that does.
    is_categorical : ndarray of shape (n_nodes,), bool
        Whether a node's feature is categorical.

    Returns
    -------
    ndarray of shape (n_nodes, 4), uint64
    """
    bins = np.arange(64 * SET_WORDS)
    threshold = split_bin[:, np.newaxis]
    inside = np.where(is_categorical[:, np.newaxis], bins == threshold, bins <= threshold)
    return pack_sets(inside)


def pack_sets(inside: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack rows of 256 flags into sets of bins."""
    packed = np.packbits(inside, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u8").astype(np.uint64)
