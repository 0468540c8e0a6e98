"""A released tree: public splits in bins and public leaf values on an integer grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Tree:
    """One binary tree over binned features, made of released values only.

    A row goes left at node ``i`` when its bin of feature ``feature[i]`` is at most
    ``split_bin[i]`` (numeric feature) or equal to it (categorical feature).

    Parameters
    ----------
    feature : ndarray of shape (n_nodes,), int32
        Feature of each internal node; the root is node 0.
    split_bin : ndarray of shape (n_nodes,), uint8
        Last bin that goes left, or the one category that does.
    left, right : ndarray of shape (n_nodes,), int32
        Children: ``v >= 0`` is an internal node, ``v < 0`` is leaf ``~v``.
    leaf_value : ndarray of shape (n_leaves,), int64
        Released outputs, learning rate included, in units of the ensemble's grid.
    leaf_count : ndarray of shape (n_leaves,), int64, or None
        Released row counts; None where the recipe releases none.
    """

    feature: NDArray[np.int32]
    split_bin: NDArray[np.uint8]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    leaf_value: NDArray[np.int64]
    leaf_count: NDArray[np.int64] | None = None

    @property
    def n_nodes(self) -> int:
        """Number of internal nodes."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaf_value)
