"""Validation of one tree block of a model text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.lightgbm.model_text.syntax import FLOAT, INTEGER, Entries, ModelTextError

# LightGBM's dump_model and pred_contrib call themselves once a level. 4,096 levels take 4 MB of
# the stack, half of what a thread has on Linux; more of them end the process. A tree of this
# library has 12 levels of splits at most, and a split into 256 branches is a chain of 255 nodes.
DEEPEST = 4096

_INTEGERS = Entries(INTEGER)
_FLOATS = Entries(FLOAT)
_INT32 = 2**31 - 1
_DOUBLE = np.finfo(np.float64)
# LightGBM keeps gains in single precision, and multiplies powers of ten for the other three, which
# overflows a little early.
_LIMITS = {
    "split_gain": float(np.finfo(np.float32).max),
    "internal_value": 1e307,
    "internal_weight": 1e307,
    "shrinkage": 1e307,
}
_NODE_FIELDS = ("split_feature", "threshold", "decision_type", "left_child", "right_child")


@dataclass
class TreeBlock:
    """The key=value lines of one tree."""

    #: Number of the tree.
    number: int
    #: Value and line number of each key.
    fields: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def error(self, key: str, what: str) -> ModelTextError:
        """Return the error about a field."""
        where = f"Line {self.lines[key]}" if key in self.lines else "A missing line"
        return ModelTextError(f"{where} of the model text, {key!r} of tree {self.number}: {what}.")

    def integers(self, key: str, size: int, low: int, high: int) -> NDArray[np.int64]:
        """Return the integers of a field after checking spelling, number and range."""
        numbers = self._numbers(key, size, _INTEGERS, "integers", np.int64)
        if len(numbers) and (numbers.min() < low or numbers.max() > high):
            raise self.error(key, f"every integer must be from {low} to {high}")
        return numbers

    def integer(self, key: str, low: int, high: int) -> int:
        """Return the one integer of a field."""
        return int(self.integers(key, 1, low, high)[0])

    def floats(self, key: str, size: int) -> NDArray[np.float64]:
        """Return the numbers of a field after checking spelling and number."""
        return self._numbers(key, size, _FLOATS, "numbers", np.float64)

    def finite(self, key: str, size: int) -> NDArray[np.float64]:
        """Return the numbers of a field, which LightGBM keeps finite."""
        numbers = self.floats(key, size)
        limit = _LIMITS.get(key, float(_DOUBLE.max))
        if not (np.abs(numbers) <= limit).all():
            raise self.error(key, f"every number must be finite, at most {limit:g}")
        return numbers

    def _numbers(
        self, key: str, size: int, entries: Entries, kind: str, dtype: Any
    ) -> NDArray[Any]:
        if key not in self.fields:
            raise self.error(key, "the field is required")
        value = self.fields[key]
        # A long line is counted before it is read.
        given = value.count(" ") + 1 if value else 0
        if given != size:
            raise self.error(key, f"must hold {size} numbers, holds {given}")
        if not value:
            return np.empty(0, dtype=dtype)
        if not entries.are_in(value):
            raise self.error(key, f"must be {kind} with a blank between")
        return np.fromstring(value, dtype=dtype, sep=" ")


def check_tree(block: TreeBlock, n_features: int) -> None:
    """Raise unless the block is one whole tree over ``n_features`` features."""
    n_leaves = block.integer("num_leaves", 1, _INT32)
    n_nodes = n_leaves - 1
    block.finite("leaf_value", n_leaves)
    n_categorical = block.integer("num_cat", 0, n_nodes)
    if n_nodes:
        block.integers("split_feature", n_nodes, 0, n_features - 1)
        left = block.integers("left_child", n_nodes, -n_leaves, n_nodes - 1)
        right = block.integers("right_child", n_nodes, -n_leaves, n_nodes - 1)
        _check_children(block, left, right)
        _check_splits(block, n_nodes, n_categorical)
    else:
        for key in _NODE_FIELDS:
            if block.fields.get(key):
                raise block.error(key, "a tree of one leaf has no splits")
    _check_statistics(block, n_leaves)
    if "is_linear" in block.fields and block.integer("is_linear", 0, 1):
        _check_linear(block, n_leaves, n_features)


def _check_children(block: TreeBlock, left: NDArray[np.int64], right: NDArray[np.int64]) -> None:
    """Check that every node but the root, and every leaf, is the child of one node."""
    n_nodes = len(left)
    children = np.sort(np.concatenate([left, right]))
    expected = np.concatenate([np.arange(-n_nodes - 1, 0), np.arange(1, n_nodes)])
    if not np.array_equal(children, expected):
        raise block.error("left_child", "children must reach each node and leaf exactly once")
    level, depth, n_seen = np.zeros(1, dtype=np.int64), 0, 0
    while len(level):
        depth, n_seen = depth + 1, n_seen + len(level)
        if depth > DEEPEST:
            raise block.error("left_child", f"the tree has more than {DEEPEST} levels of nodes")
        below = np.concatenate([left[level], right[level]])
        level = below[below >= 0]
    if n_seen != n_nodes:
        raise block.error("left_child", "some nodes form a cycle apart from the root")


def _check_splits(block: TreeBlock, n_nodes: int, n_categorical: int) -> None:
    # Bit 0: categorical; bit 1: default left; bits 2 and 3: missing type 0, 1 or 2.
    decisions = block.integers("decision_type", n_nodes, 0, 11)
    thresholds = block.floats("threshold", n_nodes)
    if np.isnan(thresholds).any():
        raise block.error("threshold", "NaN is no threshold")
    sets = thresholds[(decisions & 1) == 1]
    if not ((sets >= 0) & (sets < n_categorical) & (sets == np.floor(sets))).all():
        raise block.error("threshold", "a categorical split must name one of the num_cat sets")
    if not n_categorical:
        return
    boundaries = block.integers("cat_boundaries", n_categorical + 1, 0, _INT32)
    if boundaries[0] != 0 or (np.diff(boundaries) < 0).any():
        raise block.error("cat_boundaries", "must start at 0 and never fall")
    block.integers("cat_threshold", int(boundaries[-1]), 0, 2**32 - 1)


def _check_statistics(block: TreeBlock, n_leaves: int) -> None:
    """Check the fields that LightGBM can do without; a tree of one leaf may leave them empty."""
    single = n_leaves == 1
    for key, size in (
        ("leaf_weight", n_leaves),
        ("split_gain", n_leaves - 1),
        ("internal_value", n_leaves - 1),
        ("internal_weight", n_leaves - 1),
    ):
        if key in block.fields and not (single and not block.fields[key]):
            block.finite(key, size)
    for key, size in (("leaf_count", n_leaves), ("internal_count", n_leaves - 1)):
        if key in block.fields and not (single and not block.fields[key]):
            counts = block.integers(key, size, 0, _INT32)
            if key == "leaf_count" and counts.sum() > _INT32:
                raise block.error(key, "the counts add up to more than 2^31 - 1")
    if "shrinkage" in block.fields:
        block.finite("shrinkage", 1)


def _check_linear(block: TreeBlock, n_leaves: int, n_features: int) -> None:
    constants = block.finite("leaf_const", n_leaves)
    if ((constants != 0) & (np.abs(constants) < _DOUBLE.tiny)).any():
        raise block.error("leaf_const", "LightGBM reads no number as small as that")
    sizes = block.integers("num_features", n_leaves, 0, n_features)
    for key in ("leaf_features", "leaf_coeff"):
        # LightGBM separates the leaves by further blanks, which its parser skips.
        value = block.fields.get(key, "").strip(" ")
        while "  " in value:
            value = value.replace("  ", " ")
        block.fields[key] = value
    block.integers("leaf_features", int(sizes.sum()), 0, n_features - 1)
    block.finite("leaf_coeff", int(sizes.sum()))
