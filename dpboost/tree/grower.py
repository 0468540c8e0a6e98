"""Level-wise growth of one tree through the gate."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.budget import split_tree
from dpboost.privacy.ledger import Ledger
from dpboost.tree.leaves import ClippedLeaf
from dpboost.tree.selectors import PrivateArgmax
from dpboost.tree.statistics import NodeStatistics
from dpboost.tree.structure import SET_WORDS, Tree, threshold_sets


@dataclass(frozen=True, kw_only=True)
class LevelwiseGrower:
    """Grow every node of a level at once, down to a public depth.

    Algorithm 1 of Li, Wu, Wen and He (AAAI 2020), without its per-node loop: a level is one
    release. Half of the tree's budget goes to the leaves, the rest in equal parts to the levels.
    The tree is always complete, so its shape says nothing about the rows.

    Parameters
    ----------
    selector : PrivateArgmax
        Chooses the splits of a level.
    max_depth : int
        Levels of internal nodes.

    Privacy
    -------
    Releases one array of splits a level and one array of leaf values. A row lies in one node of
    each level and in one leaf: levels and leaves add up, nodes of a level do not.
    """

    selector: PrivateArgmax
    max_depth: int

    def grow(
        self,
        statistics: NodeStatistics,
        *,
        leaf: ClippedLeaf,
        epsilon: Fraction | float,
        ledger: Ledger,
    ) -> Tree:
        """Release one tree; its leaf values are in units of ``leaf.unit``.

        Parameters
        ----------
        statistics : NodeStatistics
            The tree's rows.
        leaf : ClippedLeaf
            The leaf estimator of this tree.
        epsilon : Fraction or inf
            Budget of the tree.
        ledger : Ledger
            The gate.

        Returns
        -------
        Tree
        """
        budget = split_tree(epsilon, self.max_depth)
        layout = statistics.layout
        features, sets = [], []
        for level in budget.levels:
            feature, split_bin = self.selector.choose(statistics, epsilon=level, ledger=ledger)
            statistics.split(feature, split_bin)
            features.append(feature)
            sets.append(threshold_sets(split_bin, layout.is_categorical[feature] == 1))
        left, right = complete_children(self.max_depth)
        return Tree(
            feature=np.concatenate([np.empty(0, dtype=np.int32), *features]),
            left_bins=np.concatenate([np.empty((0, SET_WORDS), dtype=np.uint64), *sets]),
            left=left,
            right=right,
            leaf_value=leaf.release(statistics, epsilon=budget.leaves, ledger=ledger),
        )


def complete_children(depth: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Children of a complete tree whose nodes are numbered level by level.

    Returns
    -------
    left, right : ndarray of shape (2**depth - 1,), int32
        Node numbers, or ``~leaf`` below the last level.
    """
    n_nodes = 2**depth - 1
    children = np.arange(1, 2 * n_nodes + 1, dtype=np.int32)
    children = np.where(children < n_nodes, children, ~(children - n_nodes))
    left, right = children[0::2], children[1::2]
    return np.ascontiguousarray(left), np.ascontiguousarray(right)
