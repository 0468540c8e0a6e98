"""The trees of a model text, as arrays."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_HEADER = re.compile(r"^(feature_names|num_tree_per_iteration|objective)=(.*)$", re.MULTILINE)
_BLOCK = re.compile(r"^Tree=\d+\r?\n(.*?)(?:\r?\n){2}", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, kw_only=True, eq=False)
class TextTree:
    """One tree as LightGBM writes it."""

    #: Of shape (n_nodes,).
    feature: NDArray[np.int64]
    #: Of shape (n_nodes,). Of a number the largest value that goes left; of categories the position
    #: of their set.
    threshold: NDArray[np.float64]
    #: Of shape (n_nodes,). Bit 0: categories. Bit 1: what is missing goes left. Bits 2 and 3:
    #: nothing, zeros or NaN are missing.
    decision_type: NDArray[np.int64]
    #: Of shape (n_nodes,). Children, ``~leaf`` for a leaf.
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    #: Of shape (n_leaves,).
    leaf_value: NDArray[np.float64]
    #: Categories of each set.
    sets: tuple[NDArray[np.int64], ...]
    #: Whether leaves hold linear functions.
    is_linear: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class TextForest:
    """The trees of a model and the names of its columns."""

    feature_names: tuple[str, ...]
    trees: tuple[TextTree, ...]
    #: Trees a round.
    n_outputs: int


def read_trees(text: str) -> TextForest:
    """Read the trees of a model text that has been checked.

    It is one that passes `dpboost.lightgbm.check_model_text`.
    """
    start = text.index("\nTree=0") + 1 if "\nTree=0" in text else text.index("end of trees")
    header = {key: value.strip() for key, value in _HEADER.findall(text[:start])}
    trees = text[start : text.index("end of trees")] + "\n"
    return TextForest(
        feature_names=tuple(header["feature_names"].split(" ")),
        trees=tuple(_tree(block) for block in _BLOCK.findall(trees)),
        n_outputs=int(header.get("num_tree_per_iteration", "1")),
    )


def _tree(block: str) -> TextTree:
    """Read one block."""
    fields = dict(line.rstrip("\r").split("=", 1) for line in block.split("\n") if "=" in line)
    n_nodes = int(fields["num_leaves"]) - 1

    def integers(key: str) -> NDArray[np.int64]:
        return np.array(fields[key].split(), dtype=np.int64)[:n_nodes]

    def numbers(key: str) -> NDArray[np.float64]:
        return np.array(fields[key].split(), dtype=np.float64)

    nodes = fields if n_nodes else dict.fromkeys(_NODE_FIELDS, "")
    fields = {**fields, **nodes}
    return TextTree(
        feature=integers("split_feature"),
        threshold=numbers("threshold"),
        decision_type=integers("decision_type"),
        left=integers("left_child"),
        right=integers("right_child"),
        leaf_value=numbers("leaf_value"),
        sets=_sets(fields),
        is_linear=fields.get("is_linear", "0") == "1",
    )


_NODE_FIELDS = ("split_feature", "threshold", "decision_type", "left_child", "right_child")


def _sets(fields: dict[str, str]) -> tuple[NDArray[np.int64], ...]:
    """Return the categories of every set, which are bits of words of 32."""
    if not int(fields["num_cat"]):
        return ()
    bounds = np.array(fields["cat_boundaries"].split(), dtype=np.int64)
    words = np.array(fields["cat_threshold"].split(), dtype="<u4")
    return tuple(
        np.flatnonzero(np.unpackbits(words[low:high].view(np.uint8), bitorder="little"))
        for low, high in zip(bounds[:-1], bounds[1:], strict=True)
    )
