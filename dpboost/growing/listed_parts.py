"""Frequencies of listed category values, from sums that trees have released."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpboost.trees.random_partition import Partition


class ListedPart(NamedTuple):
    """An estimate, and the standard deviation that the noise of the sums gives it."""

    part: float
    deviation: float


class _Cut(NamedTuple):
    """A set of listed values, the released weight of their rows, and the leaves it is a sum of."""

    values: NDArray[np.bool_]
    weight: float
    n_leaves: int


@dataclass(kw_only=True, eq=False)
class ListedParts:
    """Collect the released weights of sets of listed values.

    An unlisted value shares the missing bin, which goes right at each categorical split. Therefore
    the left child of the root of a tree contains a set of listed values; in a tree of one feature
    every leaf but one is such a set. A least-squares fit of all of them gives the frequency of
    each value.

    Privacy
    -------
    Post-processing: what comes in was released, or is the public structure of trees.
    """

    #: Of shape (n_features,). Value bins of each feature.
    n_bins: NDArray[np.int32]
    #: Of shape (n_features,). Which features are categories.
    is_nominal: NDArray[np.uint8]
    _cuts: dict[int, list[_Cut]] = field(default_factory=dict, init=False)
    _weight: float = field(default=0.0, init=False)
    _n_rounds: int = field(default=0, init=False)
    _noise_stddev: float = field(default=0.0, init=False)

    def learn(
        self, partition: Partition, weights: NDArray[np.float64], noise_stddev: float
    ) -> None:
        """Take the released weights of the leaves of a round, and the deviation of their noise."""
        self._weight += float(weights.sum())
        self._n_rounds += 1
        self._noise_stddev = max(self._noise_stddev, noise_stddev)
        root = int(partition.feature[0]) if len(partition.feature) else -1
        if root < 0 or not self.is_nominal[root]:
            return
        n_bins = int(self.n_bins[root])
        cuts = self._cuts.setdefault(root, [])
        if len(partition.features) == 1:
            leaf_of = partition.table[partition.steps[0, : n_bins + 1]]
            for leaf in set(leaf_of[:n_bins].tolist()) - {int(leaf_of[n_bins])}:
                cuts.append(_Cut(leaf_of[:n_bins] == leaf, float(weights[leaf]), 1))
            return
        leaves = _leaves_below(partition, int(partition.left[0]))
        bits = np.unpackbits(partition.left_bins[0].view(np.uint8), bitorder="little")
        weight = float(weights[leaves].sum())
        cuts.append(_Cut(bits[:n_bins].astype(bool), weight, len(leaves)))

    def of(self, feature: int) -> ListedPart | None:
        """Return the part of a feature; None if the trees do not tell its values apart."""
        cuts, n_bins = self._cuts.get(feature, []), int(self.n_bins[feature])
        if self._weight <= 0 or len(cuts) < n_bins:
            return None
        scale = 1 / np.sqrt([cut.n_leaves for cut in cuts])
        design = np.array([cut.values for cut in cuts]) * scale[:, np.newaxis]
        normal = design.T @ design
        if np.linalg.matrix_rank(normal) < n_bins:
            return None
        seen = design.T @ (scale * [cut.weight for cut in cuts])
        to_sum = np.linalg.solve(normal, np.ones(n_bins))
        whole = self._weight / self._n_rounds
        deviation = self._noise_stddev * math.sqrt(float(to_sum.sum()))
        return ListedPart(float(to_sum @ seen) / whole, deviation / whole)


def _leaves_below(partition: Partition, node: int) -> list[int]:
    """Return the leaves of the subtree at a node, which is below zero where it is a leaf."""
    left, right = partition.left.tolist(), partition.right.tolist()
    found, open_nodes = [], [node]
    while open_nodes:
        node = open_nodes.pop()
        if node < 0:
            found.append(~node)
        else:
            open_nodes += left[node], right[node]
    return found
