"""The public tree: the engine's grower on public rows, without noise."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner
from dpboost.growing.frontier import DepthWise
from dpboost.growing.grower import binary_nodes, grow
from dpboost.local.public_rows import PublicRows
from dpboost.trees.growing_tree import GrowingTree, Splits
from dpboost.trees.tree import Tree

Rule = Literal["max_edge", "variance"]
RULES = ("max_edge", "variance")

#: Labels are scaled to [-1, 1]; smaller gains of a row are rounding.
_LEAST_GAIN = 1e-12


def grow_public(
    rows: PublicRows, rule: Rule, *, max_depth: int, min_samples_leaf: int
) -> GrowingTree:
    """Grow a tree on public rows, which ``rows`` then holds in its leaves.

    ``max_edge`` halves one of the longest edges of a node, the one that lowers the squared error of
    the labels most, and prunes the split when a side is too small: LPDT, section 2.3 and equation
    6. ``variance`` takes the best of all splits whose sides are large enough (CART). A node that
    cannot be split once is never looked at again.

    Deviation: edges consist of bins, 128 of a numeric feature with bounds, so that one is halved at
    most seven times. The paper has numeric features only; a nominal one is split by one category
    against the rest, and its length is the share of the categories that are left.

    Parameters
    ----------
    min_samples_leaf : int
        Least number of choosing rows on either side of a split.
    """

    def propose_splits(nodes: NDArray[np.int32], growing: GrowingTree) -> Splits:
        if growing.depth[nodes[0]] == max_depth:
            return Splits.none()
        return _best_splits(rows, rule, nodes, min_samples_leaf)

    return grow(propose_splits, rows.split, DepthWise())


def _best_splits(
    rows: PublicRows, rule: Rule, nodes: NDArray[np.int32], min_samples_leaf: int
) -> Splits:
    """Return the best allowed split of each of the nodes that have any."""
    nodes = nodes[rows.sizes(nodes) >= 2 * min_samples_leaf]
    every = np.arange(len(nodes))
    best = np.full(len(nodes), -np.inf)
    chosen, enough = np.zeros(len(nodes), dtype=np.int32), np.zeros(len(nodes), dtype=bool)
    offsets = rows.candidates.candidate_offsets
    for feature, (gain, smaller) in enumerate(rows.gains(nodes) if len(nodes) else ()):
        gain[~_allowed(rows, rule, nodes, feature)] = -np.inf
        large = smaller >= min_samples_leaf
        if rule == "variance":
            gain[~large] = -np.inf
        at = gain.argmax(axis=1)
        # Equal gains: the earlier feature, and of its bins the first.
        better = gain[every, at] > best
        best = np.where(better, gain[every, at], best)
        chosen[better] = offsets[feature] + at[better]
        enough[better] = large[every, at][better]
    # The max-edge rule chooses first and then prunes the split (section 2.3 of the paper), and
    # halves a node whose labels are all alike; the other rule has nothing to gain there.
    least = _LEAST_GAIN * rows.n_choosing if rule == "variance" else -np.inf
    found = enough & (best > least)
    return Splits.of(rows.candidates, nodes[found], chosen[found])


def _allowed(
    rows: PublicRows, rule: Rule, nodes: NDArray[np.int32], feature: int
) -> NDArray[np.bool_]:
    """Return at which bins of a feature a rule may split some nodes; shape (n_nodes, n_bins)."""
    low, sides = rows.low[nodes], rows.high[nodes] - rows.low[nodes]
    bins = np.arange(rows.candidates.n_bins[feature])
    several = (sides[:, feature] > 1)[:, np.newaxis]
    if rule == "variance":
        return np.broadcast_to(several, (len(nodes), len(bins)))
    # The length of an edge is its share of the feature's bins; what has one bin left has none.
    lengths = np.where(sides > 1, sides / rows.candidates.n_bins, 0.0)
    longest = (lengths[:, feature] >= lengths.max(axis=1))[:, np.newaxis] & several
    middle = low[:, feature, np.newaxis] + sides[:, feature, np.newaxis] // 2 - 1
    return longest & (rows.candidates.is_categorical[feature] | (bins == middle)).astype(bool)


def public_tree(growing: GrowingTree, binner: Binner) -> Tree:
    """Return the tree of a partition: leaf k is cell k, and leaf values are zero."""
    feature, left_bins, left, right = binary_nodes(growing, binner.is_categorical)
    zeros = np.zeros(len(growing.leaves), dtype=np.int64)
    return Tree(feature=feature, left_bins=left_bins, left=left, right=right, leaf_value=zeros)


# What becomes of the numbered statements of the papers; docs/deviations.md is made of this.
# Numbered: LPDT | Algorithm 1 | corrected | edges are bins; the estimate shrinks leaves, and is
#   the printed one by `estimate="paper"` | oracles/test_oracles.py
# Numbered: LPDT | Theorem 3.4 | not claimed | a rate up to constants; figure 2 has the shape that
#   it implies | -
# Numbered: LPDT | Theorem 3.5 | not claimed | a lower bound without public rows for some
#   distribution; figure 1 is an example | -
