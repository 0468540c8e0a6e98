"""A released tree: public splits in bins and public leaf values on an integer grid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

SET_WORDS = 4
"""A set of bins is 256 bits in four 64-bit words."""


WEIGHT_UNITS = 16
"""Released weights of leaves are written in this part of a row, so that small ones stay apart."""


@dataclass(frozen=True, kw_only=True)
class LeafNoise:
    """The effect of the noise of released sums on the leaves of a tree; public.

    A leaf of gradient sum ``G`` and hessian sum ``H`` has the step ``-w G / h`` with
    ``h = max(H, 0) + lambda``. Its weight ``w = tau**2 / (tau**2 + (s / h)**2)`` shrinks it by the
    standard deviation ``s`` of the noise of ``G``.
    """

    #: ``s``.
    gradient_stddev: float
    #: ``lambda`` and ``tau``.
    reg_lambda: float
    prior: float
    #: Units of the ensemble's grid in a step of one.
    units_per_one: float
    #: By which steps are multiplied.
    learning_rate: float
    #: What one unit of ``leaf_count`` is worth in ``H``.
    weight_unit: float

    def response(self, leaf_count: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return by how many units a leaf falls where its gradient sum rises by one."""
        steps = self._weight(leaf_count) / self._denominator(leaf_count)
        return np.asarray(self.units_per_one * self.learning_rate * steps, dtype=np.float64)

    def stddev(self, leaf_count: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the standard deviation of the noise of each leaf, in units of the grid."""
        return np.asarray(self.gradient_stddev * self.response(leaf_count), dtype=np.float64)

    def _denominator(self, leaf_count: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(leaf_count * self.weight_unit + self.reg_lambda, dtype=np.float64)

    def _weight(self, leaf_count: NDArray[np.int64]) -> NDArray[np.float64]:
        variance = (self.gradient_stddev / self._denominator(leaf_count)) ** 2
        return np.asarray(self.prior**2 / (self.prior**2 + variance), dtype=np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class SlopeNoise:
    """The effect of the noise of a linear model on the leaves of a tree of it; public."""

    #: Of shape (n_leaves, n_sources). By how many units of the ensemble's grid a leaf moves with
    #: each of some independent standard normal numbers, which are the same for all trees of the
    #: linear model.
    loadings: NDArray[np.float64]

    def stddev(self, leaf_count: object) -> NDArray[np.float64]:
        """Return the standard deviation of the noise of each leaf, in units of the grid."""
        return np.sqrt(np.square(self.loadings).sum(axis=1))


@dataclass(frozen=True, kw_only=True, eq=False)
class Tree:
    """A binary tree over binned features, from released values and public choices only.

    A row goes left at a node when its bin of the node's feature is in the node's set of bins.
    """

    #: Of shape (n_nodes,). Feature of each internal node; the root is node 0.
    feature: NDArray[np.int32]
    #: Of shape (n_nodes, 4). Bins that go left, as bits. On a numeric feature they are bins
    #: ``0..b``, with or without the missing bin; on a categorical feature any bins but the missing
    #: one.
    left_bins: NDArray[np.uint64]
    #: Of shape (n_nodes,). Children: ``v >= 0`` is an internal node, ``v < 0`` is leaf ``~v``.
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    #: Of shape (n_leaves,). Released outputs, learning rate included, in units of the ensemble's
    #: grid.
    leaf_value: NDArray[np.int64]
    #: Of shape (n_leaves,). Released weights of the leaves in proportion to their rows; None if the
    #: recipe releases none.
    leaf_count: NDArray[np.int64] | None = None
    #: Of shape (n_nodes,). What released numbers show of the gain of each split, less what noise
    #: alone would show: negative where it would show more. Squares of raw scores, times weights of
    #: the sides.
    split_gain: NDArray[np.float64] | None = None
    #: How the noise of the released sums comes into the leaves, where the recipe releases sums.
    noise: LeafNoise | SlopeNoise | None = None

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
    """Return the bins that go left, as ``Tree.left_bins``, for thresholds and single categories.

    ``split_bin`` is the last bin of a node that goes left, or the one category that does.
    """
    return _split_sets()[is_categorical.view(np.uint8), split_bin]


@lru_cache(maxsize=1)
def _split_sets() -> NDArray[np.uint64]:
    """Return the sets of all thresholds, then of all single categories; shape (2, 256, 4)."""
    bins = np.arange(64 * SET_WORDS)
    inside = np.stack([bins <= bins[:, np.newaxis], bins == bins[:, np.newaxis]])
    return pack_sets(inside.reshape(-1, len(bins))).reshape(2, len(bins), SET_WORDS)


@lru_cache(maxsize=32)
def complete_children(depth: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the children of the nodes of a complete tree, level by level.

    They are left and right children as in `Tree`, for all trees of this depth: they cannot be
    written to. Leaf ``k`` hangs left where ``k`` is even, below node ``k // 2`` of the last level.
    """
    n_nodes = 2**depth - 1
    child = np.arange(1, 2 * n_nodes + 1, dtype=np.int32)
    child[child >= n_nodes] = ~(child[child >= n_nodes] - n_nodes)
    left, right = child[::2].copy(), child[1::2].copy()
    left.flags.writeable = right.flags.writeable = False
    return left, right


def pack_sets(inside: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack rows of 256 flags into sets of bins."""
    packed = np.packbits(inside, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u8").astype(np.uint64)
