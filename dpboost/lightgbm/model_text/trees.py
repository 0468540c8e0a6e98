"""The tree blocks of a model text: nodes, thresholds, gains and row counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import forest_walk, model_text
from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.trees.tree import SET_WORDS, Tree

if TYPE_CHECKING:
    from dpboost.data.binner import Binner
    from dpboost.trees.ensemble import Ensemble
    from dpboost.trees.tree import Tree


_LARGEST_EXACT = 2**53
_NO_NODES = np.empty(0, dtype=np.int32)
_ONE_LEAF = Tree(
    feature=_NO_NODES,
    left_bins=np.empty((0, SET_WORDS), dtype=np.uint64),
    left=_NO_NODES,
    right=_NO_NODES,
    leaf_value=np.zeros(1, dtype=np.int64),
    leaf_count=np.ones(1, dtype=np.int64),
)


def tree_blocks(ensemble: Ensemble) -> list[str]:
    """Return the block of each tree, with the start values added to the leaves of the first round.

    All are ASCII; for an ensemble without trees there is one leaf for each output.
    """
    unit = ensemble.unit
    starts = [_start_units(start, unit) for start in ensemble.start]
    trees = ensemble.trees or [_ONE_LEAF] * len(starts)
    nodes = lay_out(trees)
    units = np.concatenate([tree.leaf_value for tree in trees], dtype=np.int64)
    for start, low, high in zip(starts, nodes.leaf_start, nodes.leaf_start[1:], strict=False):
        units[low:high] += start
    counts = leaf_counts(ensemble, trees, nodes)
    gains = split_gains(trees, nodes)
    return _spell(nodes, _exact(units, unit), counts, gains, ensemble.binner)


def _start_units(start: float, unit: float) -> int:
    if not (unit > 0 and math.isfinite(unit) and math.frexp(unit)[0] == 0.5):
        raise refuse("unit", "the ensemble", "a power of two", unit)
    units = start / unit
    if not (abs(units) <= _LARGEST_EXACT and units == int(units)):
        raise refuse("start", "the ensemble", f"a multiple of the unit {unit!r}", start)
    return int(units)


def _exact(units: NDArray[np.int64], unit: float) -> NDArray[np.float64]:
    """Return the doubles of leaf values in units, refusing to round one."""
    wrong = units[(units > _LARGEST_EXACT) | (units < -_LARGEST_EXACT)]
    if len(wrong):
        raise refuse("leaf_value", "the ensemble", "at most 2^53 units in size", int(wrong[0]))
    with np.errstate(over="ignore"):
        values = units.astype(np.float64) * unit
    if not np.isfinite(values).all():
        raise refuse("unit", "the ensemble", "so small that every leaf value is finite", unit)
    return values


def _spell(
    nodes: Nodes,
    values: NDArray[np.float64],
    counts: NDArray[np.int64],
    gains: NDArray[np.float64],
    binner: Binner,
) -> list[str]:
    """Return the blocks of some trees with these values and counts of leaves, gains of splits."""
    node_counts, node_values = _node_sums(nodes, counts, values)
    meaning = split_values(nodes, binner)
    # Room for the sets of the tree that needs most: as many words as its features can ask for.
    words = np.append(0, np.cumsum(meaning.n_words[nodes.feature], dtype=np.int64))
    return model_text.spell_trees(
        nodes.node_start,
        nodes.leaf_start,
        nodes.feature,
        nodes.left_bins,
        nodes.left,
        nodes.right,
        values,
        counts,
        node_values,
        node_counts,
        gains,
        binner.n_bins,
        binner.is_categorical,
        meaning.first,
        meaning.values,
        binner.zero_as_missing,
        np.empty(1 + np.diff(words[nodes.node_start]).max(), dtype=np.uint32),
        np.empty(1 + np.diff(nodes.node_start).max(), dtype=np.int32),
    )


def _node_sums(
    nodes: Nodes, counts: NDArray[np.int64], values: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return each node's count and the count-weighted mean of its leaves."""
    below_counts, below_values = (
        np.empty(2 * nodes.n_nodes, dtype=np.int64),
        np.empty(2 * nodes.n_nodes),
    )
    node_counts, node_values = np.empty(nodes.n_nodes, dtype=np.int64), np.empty(nodes.n_nodes)
    forest_walk.add_up(
        nodes.order,
        nodes.node_position,
        nodes.leaf_position,
        counts,
        values,
        below_counts,
        below_values,
        node_counts,
        node_values,
    )
    return node_counts, node_values


#: Stands for no gain: LightGBM counts a split as a use of its feature where its gain is positive.
LEAST_GAIN = 1e-37
#: LightGBM holds gains in single precision.
LARGEST_GAIN = 1e37


def split_gains(trees: Sequence[Tree], nodes: Nodes) -> NDArray[np.float64]:
    """Return a positive gain for each split, whose sums over a feature hold no noise on average.

    Trees are released ones, at least one. The result has shape (n_nodes,), tree by tree: the gain
    where it is positive, else `LEAST_GAIN`. Positive ones alone would add up to more than the
    splits of a feature have shown together, most so where all is noise. So the gains of a feature's
    splits are reduced by one factor, by which they add up to the sum of the positive and the
    negative ones, or to nothing where that is negative. Trees without gains have 1 for each split.

    Privacy
    -------
    Post-processing of released numbers.
    """
    if not nodes.n_nodes:
        return np.empty(0)
    parts = [
        np.ones(tree.n_nodes) if tree.split_gain is None else tree.split_gain for tree in trees
    ]
    # Sums of gains near the largest double are only to be finite.
    shown = np.clip(np.concatenate(parts), -LARGEST_GAIN, LARGEST_GAIN)
    positive = np.maximum(shown, 0.0)
    together = np.maximum(np.bincount(nodes.feature, weights=shown), 0.0)
    alone = np.bincount(nodes.feature, weights=positive)
    factor = np.divide(together, alone, out=np.zeros_like(alone), where=alone > 0)
    return np.clip(positive * factor[nodes.feature], LEAST_GAIN, LARGEST_GAIN)


#: Counts of a tree without released rows add up to this: a leaf's share in parts per billion.
GRID_TOTAL = 10**9
#: LightGBM sums counts as int32.
LARGEST_TOTAL = 2**31 - 1


def leaf_counts(ensemble: Ensemble, trees: Sequence[Tree], nodes: Nodes) -> NDArray[np.int64]:
    """Return a positive count for each leaf; LightGBM can hold the total of every tree.

    SHAP values weigh the two branches of a node by these counts and need them positive. The
    ensemble has the public bins, and the released number of rows where there is one; there is at
    least one tree.

    The result has shape (n_leaves,), tree by tree: the released number of rows, divided in
    proportion to what the leaves have released; where no number of rows is released, the sum of
    what they have. A tree without either has each leaf's share of the cells of the bin grid, in
    parts per billion. A leaf counts for at least 1, and a tree for at least its leaves.

    Privacy
    -------
    Post-processing of released counts, or a function of the released splits and the public bins.
    """
    starts = nodes.leaf_start[:-1]
    bare = np.array([tree.leaf_count is None for tree in trees])
    weights = np.empty(nodes.n_leaves)
    if bare.any():
        weights[:] = _grid_shares(nodes, ensemble.binner)
    for tree, low, high in zip(trees, starts, nodes.leaf_start[1:], strict=True):
        if tree.leaf_count is not None:
            # What is more than one: every leaf has that one.
            weights[low:high] = np.maximum(tree.leaf_count, 1) - 1
    sums = np.add.reduceat(weights, starts)
    sizes = np.diff(nodes.leaf_start)
    of_rows = sums + sizes if ensemble.n_rows is None else np.full(len(trees), ensemble.n_rows)
    totals = np.where(bare, float(GRID_TOTAL), of_rows)
    return _divided(np.minimum(totals, LARGEST_TOTAL), weights, sums, nodes)


def _divided(
    totals: NDArray[np.float64],
    weights: NDArray[np.float64],
    sums: NDArray[np.float64],
    nodes: Nodes,
) -> NDArray[np.int64]:
    """Divide a whole number for each tree among its leaves: one for each, the rest by weight."""
    sizes = np.diff(nodes.leaf_start)
    tree_of = np.repeat(np.arange(len(sizes)), sizes)
    rest = np.maximum(np.rint(totals) - sizes, 0.0)
    some = sums > 0
    # Leaves of no weight at all have equal parts.
    share = np.where(some[tree_of], weights, 1.0) / np.where(some, sums, sizes)[tree_of]
    first, last = nodes.leaf_start[:-1], nodes.leaf_start[1:] - 1
    reached = np.cumsum(share)
    reached -= np.concatenate([[0.0], reached[last[:-1]]])[tree_of]
    # Whole numbers between what is reached with each leaf, so that a tree's add up to its total.
    whole = np.minimum(np.floor(reached * rest[tree_of] + 0.5), rest[tree_of])
    whole[last] = rest
    parts = np.diff(whole, prepend=0.0)
    parts[first] = whole[first]
    return 1 + parts.astype(np.int64)


def _grid_shares(nodes: Nodes, binner: Binner) -> NDArray[np.float64]:
    """Return each leaf's share of the public bin grid.

    A cell of the grid is one bin of every feature, the missing bin included; all cells weigh
    the same.
    """
    reach = np.empty((nodes.n_nodes, SET_WORDS), dtype=np.uint64)
    # The last one is the whole grid, for trees of one leaf: their position is -1.
    share = np.ones(2 * nodes.n_nodes + 1)
    forest_walk.share_grid(
        nodes.order,
        nodes.node_position,
        nodes.feature,
        nodes.left_bins,
        binner.n_bins,
        reach,
        share,
    )
    return share[nodes.leaf_position]


@dataclass(frozen=True, kw_only=True, eq=False)
class Nodes:
    """All nodes and leaves of some trees, tree by tree."""

    #: Of shape (n_nodes,). Feature of each internal node.
    feature: NDArray[np.int32]
    #: Of shape (n_nodes, 4). Bins that go left, as in `Tree`.
    left_bins: NDArray[np.uint64]
    #: Of shape (n_nodes,). Children by their number in the tree, as in `Tree`.
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    #: Of shape (n_trees + 1,). The nodes of tree ``t`` are ``node_start[t]:node_start[t + 1]``; the
    #: same for its leaves.
    node_start: NDArray[np.int32]
    leaf_start: NDArray[np.int32]
    #: Of shape (n_nodes,). The nodes in an order in which each comes before those below it.
    order: NDArray[np.int32]
    #: Of shapes (n_nodes,) and (n_leaves,). Where each hangs: ``2 v`` on the left of node ``v``,
    #: ``2 v + 1`` on its right, -1 for the root of a tree.
    node_position: NDArray[np.int32]
    leaf_position: NDArray[np.int32]

    @property
    def n_nodes(self) -> int:
        """Number of internal nodes."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaf_position)


def lay_out(trees: Sequence[Tree]) -> Nodes:
    """Return the nodes of some trees, at least one.

    InvalidParameterError unless the children of each tree reach each of its nodes and leaves
    exactly once: LightGBM would read foreign memory or run for ever.
    """
    node_start = _starts([len(tree.feature) for tree in trees])
    leaf_start = _starts([len(tree.leaf_value) for tree in trees])
    n_nodes, n_leaves = node_start[-1], leaf_start[-1]
    # With `out` arrays of other lengths raise, before a kernel could read behind them.
    feature, left, right = np.empty((3, n_nodes), dtype=np.int32)
    left_bins = np.empty((n_nodes, SET_WORDS), dtype=np.uint64)
    np.concatenate([tree.feature for tree in trees], out=feature)
    np.concatenate([tree.left_bins for tree in trees], out=left_bins)
    np.concatenate([tree.left for tree in trees], out=left)
    np.concatenate([tree.right for tree in trees], out=right)
    order, node_position = np.empty((2, n_nodes), dtype=np.int32)
    leaf_position = np.empty(n_leaves, dtype=np.int32)
    if not forest_walk.order_nodes(
        node_start, leaf_start, left, right, order, node_position, leaf_position
    ):
        raise InvalidParameterError(
            "The children of a tree must reach each of its nodes and leaves exactly once."
        )
    return Nodes(
        feature=feature,
        left_bins=left_bins,
        left=left,
        right=right,
        node_start=node_start,
        leaf_start=leaf_start,
        order=order,
        node_position=node_position,
        leaf_position=leaf_position,
    )


def _starts(sizes: Sequence[int]) -> NDArray[np.int32]:
    return np.cumsum([0, *sizes], dtype=np.int32)


@dataclass(frozen=True, kw_only=True, eq=False)
class SplitValues:
    """The values of each bin of each feature with a split."""

    #: Of shape (n_features,). Where the bins of a feature begin in ``values``; 0 for features
    #: without a split.
    first: NDArray[np.int32]
    #: Of shape (n_values,). The largest double of a bin of numbers, the code of a category.
    values: NDArray[np.float64]
    #: Of shape (n_features,). How many words of 32 bits hold the codes of a feature; 0 for numbers
    #: and for features without a split.
    n_words: NDArray[np.int32]


def split_values(nodes: Nodes, binner: Binner) -> SplitValues:
    """Return what the bins of all splits stand for.

    InvalidParameterError if a feature with a split has category codes that the format cannot hold.
    """
    n_features = len(binner.n_bins)
    used = np.flatnonzero(np.bincount(nodes.feature, minlength=n_features))
    nominal = binner.is_categorical[used] != 0
    binner.find_thresholds(used[~nominal].tolist())
    first = np.zeros(n_features, dtype=np.int32)
    first[used[1:]] = np.cumsum(binner.n_bins[used[:-1]])
    n_words = np.zeros(n_features, dtype=np.int32)
    values: list[NDArray[np.float64] | NDArray[np.int64]] = []
    for feature, is_nominal in zip(used.tolist(), nominal.tolist(), strict=True):
        if is_nominal:
            codes = binner.category_codes(feature)
            for code in codes.tolist():
                check_code(code, binner.feature_names[feature])
            n_words[feature] = codes.max() // 32 + 1
            values.append(codes)
        else:
            values.append(binner.thresholds(feature))
    return SplitValues(
        first=first,
        values=np.concatenate([np.empty(0), *values], dtype=np.float64),
        n_words=n_words,
    )


def check_code(code: int, name: str) -> int:
    """Return a category code, raising unless the format can hold it."""
    if not 0 <= code < 2**31:
        raise InvalidParameterError(
            f"Category code {code} of feature {name!r} cannot be written to a LightGBM model: "
            "codes are integers from 0 to 2^31 - 1."
        )
    return code
