"""The tree blocks of a model text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import forest_walk, model_text
from dpboost._utils.validation import refuse
from dpboost.lightgbm.model_text.counts import leaf_counts
from dpboost.lightgbm.model_text.gains import split_gains
from dpboost.lightgbm.model_text.nodes import Nodes, lay_out
from dpboost.lightgbm.model_text.splits import split_values
from dpboost.trees.tree import SET_WORDS, Tree

if TYPE_CHECKING:
    from dpboost.data.binner import Binner
    from dpboost.trees.ensemble import Ensemble

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

    Parameters
    ----------
    ensemble : Ensemble
        What training has released.

    Returns
    -------
    list of str
        ASCII; for an ensemble without trees one leaf for each output.

    Raises
    ------
    InvalidParameterError
        If a value or a category cannot be written, or a tree is malformed.
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
