"""Check one tree block of a model text."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from dpboost.lightgbm.model_text.syntax import FLOAT, INTEGER, ModelTextError

_INTEGERS = re.compile(f"{INTEGER}(?: {INTEGER})*")
_FLOATS = re.compile(f"{FLOAT}(?: {FLOAT})*")
_INT32 = 2**31 - 1
_NODE_FIELDS = ("split_feature", "threshold", "decision_type", "left_child", "right_child")


@dataclass
class TreeBlock:
    """The key=value lines of one tree.

    Parameters
    ----------
    number : int
        Number of the tree.
    fields, lines : dict
        Value and line number of each key.
    """

    number: int
    fields: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def error(self, key: str, what: str) -> ModelTextError:
        """Return the error about a field."""
        where = f"Line {self.lines[key]}" if key in self.lines else "A missing line"
        return ModelTextError(f"{where} of the model text, {key!r} of tree {self.number}: {what}.")

    def integers(self, key: str, size: int, low: int, high: int) -> list[int]:
        """Return the integers of a field after checking spelling, number and range."""
        value = self._text(key)
        if value and not _INTEGERS.fullmatch(value):
            raise self.error(key, "must be integers with a blank between")
        numbers = [*map(int, value.split(" "))] if value else []
        self._check_size(key, len(numbers), size)
        if numbers and (min(numbers) < low or max(numbers) > high):
            raise self.error(key, f"every integer must be from {low} to {high}")
        return numbers

    def integer(self, key: str, low: int, high: int) -> int:
        """Return the one integer of a field."""
        return self.integers(key, 1, low, high)[0]

    def floats(self, key: str, size: int) -> list[float]:
        """Return the numbers of a field after checking spelling and number."""
        value = self._text(key)
        if value and not _FLOATS.fullmatch(value):
            raise self.error(key, "must be numbers with a blank between")
        numbers = [*map(float, value.split(" "))] if value else []
        self._check_size(key, len(numbers), size)
        return numbers

    def finite(self, key: str, size: int) -> list[float]:
        """Return the finite numbers of a field."""
        numbers = self.floats(key, size)
        if not all(map(math.isfinite, numbers)):
            raise self.error(key, "every number must be finite")
        return numbers

    def _text(self, key: str) -> str:
        if key not in self.fields:
            raise self.error(key, "the field is required")
        return self.fields[key]

    def _check_size(self, key: str, size: int, must: int) -> None:
        if size != must:
            raise self.error(key, f"must hold {must} numbers, holds {size}")


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


def _check_children(block: TreeBlock, left: list[int], right: list[int]) -> None:
    """Check that every node but the root, and every leaf, is the child of one node."""
    n_nodes = len(left)
    children = sorted(left + right)
    if children != [*range(-n_nodes - 1, 0), *range(1, n_nodes)]:
        raise block.error("left_child", "children must reach each node and leaf exactly once")
    if all(child < 0 or child > node for side in (left, right) for node, child in enumerate(side)):
        return  # numbered downwards, so there is no cycle
    stack, n_seen = [0], 0
    while stack:
        node = stack.pop()
        n_seen += 1
        stack += [child for child in (left[node], right[node]) if child >= 0]
    if n_seen != n_nodes:
        raise block.error("left_child", "some nodes form a cycle apart from the root")


def _check_splits(block: TreeBlock, n_nodes: int, n_categorical: int) -> None:
    # Bit 0: categorical; bit 1: default left; bits 2 and 3: missing type 0, 1 or 2.
    decisions = block.integers("decision_type", n_nodes, 0, 11)
    thresholds = block.floats("threshold", n_nodes)
    if any(map(math.isnan, thresholds)):
        raise block.error("threshold", "NaN is no threshold")
    sets = {t for t, decision in zip(thresholds, decisions, strict=True) if decision & 1}
    if not sets <= set(range(n_categorical)):
        raise block.error("threshold", "a categorical split must name one of the num_cat sets")
    if not n_categorical:
        return
    boundaries = block.integers("cat_boundaries", n_categorical + 1, 0, _INT32)
    if boundaries[0] != 0 or boundaries != sorted(boundaries):
        raise block.error("cat_boundaries", "must start at 0 and never fall")
    block.integers("cat_threshold", boundaries[-1], 0, 2**32 - 1)


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
            block.floats(key, size)
    for key, size in (("leaf_count", n_leaves), ("internal_count", n_leaves - 1)):
        if key in block.fields and not (single and not block.fields[key]):
            counts = block.integers(key, size, 0, _INT32)
            if key == "leaf_count" and sum(counts) > _INT32:
                raise block.error(key, "the counts add up to more than 2^31 - 1")
    if "shrinkage" in block.fields:
        block.finite("shrinkage", 1)


def _check_linear(block: TreeBlock, n_leaves: int, n_features: int) -> None:
    block.finite("leaf_const", n_leaves)
    sizes = block.integers("num_features", n_leaves, 0, n_features)
    for key in ("leaf_features", "leaf_coeff"):
        # LightGBM separates the leaves by further blanks, which its parser skips.
        block.fields[key] = re.sub(" +", " ", block.fields.get(key, "")).strip(" ")
    block.integers("leaf_features", sum(sizes), 0, n_features - 1)
    block.finite("leaf_coeff", sum(sizes))
