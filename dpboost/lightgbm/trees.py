"""The tree blocks of a model text."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpboost._validation import refuse
from dpboost.lightgbm.counts import leaf_counts
from dpboost.lightgbm.nodes import Nodes, lay_out
from dpboost.lightgbm.splits import spell_splits

if TYPE_CHECKING:
    from dpboost.boosting.ensemble import Ensemble

_LARGEST_EXACT = 2**53


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
    if not ensemble.trees:
        values = _exact(np.array(starts, dtype=np.int64), unit)
        return [_single_leaf(number, value, 1) for number, value in enumerate(values)]
    nodes = lay_out(ensemble.trees)
    units = np.concatenate([tree.leaf_value for tree in ensemble.trees], dtype=np.int64)
    for start, low, high in zip(starts, nodes.leaf_start, nodes.leaf_start[1:], strict=False):
        units[low:high] += start
    counts = leaf_counts(ensemble.trees, nodes, ensemble.binner)
    return _spell(ensemble, nodes, _exact(units, unit), counts)


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


def _node_sums(
    nodes: Nodes, counts: NDArray[np.int64], values: NDArray[np.float64]
) -> tuple[list[int], list[float]]:
    """Return each node's count and the count-weighted mean of its leaves, children first."""
    counts = np.concatenate([np.zeros(nodes.n_nodes, dtype=np.int64), counts])
    values = np.concatenate([np.zeros(nodes.n_nodes), values])
    with np.errstate(over="ignore", invalid="ignore"):
        for level in reversed(nodes.levels):
            left, right = nodes.children[:, level]
            counts[level] = counts[left] + counts[right]
            weighted = counts[left] * values[left] + counts[right] * values[right]
            values[level] = weighted / counts[level]
    return counts[: nodes.n_nodes].tolist(), values[: nodes.n_nodes].tolist()


def _spell(
    ensemble: Ensemble,
    nodes: Nodes,
    values: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> list[str]:
    splits = spell_splits(nodes, ensemble.binner)
    node_counts, node_values = _node_sums(nodes, counts, values)
    every_value, every_count = values.tolist(), counts.tolist()
    blocks = []
    for number, tree in enumerate(ensemble.trees):
        own = slice(*nodes.node_start[number : number + 2])
        leaves = slice(*nodes.leaf_start[number : number + 2])
        if tree.n_nodes == 0:
            blocks.append(
                _single_leaf(number, every_value[leaves.start], every_count[leaves.start])
            )
            continue
        leaf_count = " ".join(map(str, every_count[leaves]))
        numbers = (
            *(number, splits.n_sets[number], *tree.feature.tolist()),
            *(*splits.threshold[own], *splits.decision_type[own]),
            *(*tree.left.tolist(), *tree.right.tolist()),
            *(*every_value[leaves], leaf_count, leaf_count),
            *(*node_values[own], *node_counts[own], *node_counts[own]),
            splits.set_lines[number],
        )
        blocks.append(_pattern(tree.n_leaves) % numbers)
    return blocks


@lru_cache(maxsize=64)
def _pattern(n_leaves: int) -> str:
    """Return a block with a place for each number: one ``%`` is the fastest way to spell many."""

    def places(place: str, size: int = n_leaves - 1) -> str:
        return " ".join([place] * size)

    return (
        f"Tree=%d\nnum_leaves={n_leaves}\nnum_cat=%d\n"
        f"split_feature={places('%d')}\nsplit_gain={places('1')}\n"
        f"threshold={places('%s')}\ndecision_type={places('%d')}\n"
        f"left_child={places('%d')}\nright_child={places('%d')}\n"
        f"leaf_value={places('%.17g', n_leaves)}\nleaf_weight=%s\nleaf_count=%s\n"
        f"internal_value={places('%g')}\ninternal_weight={places('%g')}\n"
        f"internal_count={places('%d')}\n%sis_linear=0\nshrinkage=1\n\n\n"
    )


def _single_leaf(number: int, value: float, count: int) -> str:
    return (
        f"Tree={number}\nnum_leaves=1\nnum_cat=0\nsplit_feature=\nsplit_gain=\nthreshold=\n"
        f"decision_type=\nleft_child=\nright_child=\nleaf_value={value:.17g}\nleaf_weight=\n"
        f"leaf_count={count}\ninternal_value=\ninternal_weight=\ninternal_count=\nis_linear=0\n"
        "shrinkage=1\n\n\n"
    )
