"""Random partitions: trees with public splits and look-up tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import random_partition
from dpboost.trees.tree import SET_WORDS

MAX_FEATURES = 3
WORDS_PER_NODE = 8
BINS = 256
# How a split cuts a feature's bins: numbers 0, one category 1, half of the time a subset 2.
ORDERED_CATEGORIES = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Partition:
    """A public tree over a few features, and the look-up table of its leaves.

    Privacy
    -------
    Made of public randomness, public bins and released values; it reads no rows.
    """

    #: Of shape (k,). Features of the table, at most three.
    features: NDArray[np.int32]
    #: Of shape (3, 256). What each bin of each feature moves in the table; zeros for features that
    #: are not there.
    steps: NDArray[np.int32]
    #: Leaf of every combination of bins, at the sum of their steps.
    table: NDArray[np.uint16]
    n_leaves: int
    #: Of shape (n_leaves - 1,). Feature of each internal node.
    feature: NDArray[np.int32]
    #: Of shape (n_leaves - 1, 4). Bins that go left.
    left_bins: NDArray[np.uint64]
    #: Of shape (n_leaves - 1,). Children, ``~leaf`` for a leaf.
    left: NDArray[np.int32]
    right: NDArray[np.int32]


@dataclass(kw_only=True, eq=False)
class PartitionGrid:
    """The public bins for random partitions."""

    #: Of shape (n_features,). Value bins of each feature.
    n_bins: NDArray[np.int32]
    #: Of shape (n_features,). 0 for numbers; of the others 1 where a split takes one bin, 2 where
    #: half of the splits take a random subset.
    is_nominal: NDArray[np.uint8]

    def __post_init__(self) -> None:
        self.is_nominal = self.is_nominal.copy()
        # Only categories have an order of their own: a table may have very many numbers.
        nominal = np.flatnonzero(self.is_nominal)
        self._orders = np.tile(np.arange(BINS, dtype=np.uint8), (len(nominal), 1))
        self._line = np.zeros(len(self.n_bins), dtype=np.int32)
        self._line[nominal] = np.arange(len(nominal))

    def order(self, feature: int) -> NDArray[np.uint8]:
        """Return the bins of a nominal feature in the order in which thresholds cut them."""
        return self._orders[self._line[feature]]

    def set_order(self, feature: int, ranked_bins: NDArray[np.integer]) -> None:
        """Order the categories of a nominal feature by something released."""
        self.order(feature)[: len(ranked_bins)] = ranked_bins
        self.is_nominal[feature] = ORDERED_CATEGORIES

    def random(
        self, features: NDArray[np.int32], depth: int, public: np.random.Generator
    ) -> Partition:
        """Grow a random partition of at most three different features, with ``depth`` levels."""
        words = public.integers(
            0, 2**64, size=WORDS_PER_NODE * 2**depth, dtype=np.uint64, endpoint=False
        )
        feature, left, right, left_bins, steps, table = random_partition.grow(
            features, self.n_bins, self.is_nominal, self._orders, self._line, depth, words
        )
        return Partition(
            features=features,
            steps=steps,
            table=table,
            n_leaves=len(left) + 1,
            feature=feature,
            left_bins=left_bins,
            left=left,
            right=right,
        )

    def by_category(self, feature: int) -> Partition:
        """Give every category of a nominal feature a leaf of its own; the last takes the rest."""
        n_bins = int(self.n_bins[feature])
        steps = np.zeros((MAX_FEATURES, BINS), dtype=np.int32)
        steps[0, : n_bins + 1] = np.arange(n_bins + 1)
        nodes = np.arange(n_bins, dtype=np.int32)
        left_bins = np.zeros((n_bins, SET_WORDS), dtype=np.uint64)
        left_bins[nodes, nodes >> 6] = np.uint64(1) << (nodes & 63).astype(np.uint64)
        right = np.append(nodes[1:], ~n_bins).astype(np.int32)
        return Partition(
            features=np.array([feature], dtype=np.int32),
            steps=steps,
            table=np.arange(n_bins + 1, dtype=np.uint16),
            n_leaves=n_bins + 1,
            feature=np.full(n_bins, feature, dtype=np.int32),
            left_bins=left_bins,
            left=~nodes,
            right=right,
        )
