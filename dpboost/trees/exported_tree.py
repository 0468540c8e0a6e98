"""A released single tree: its splits with names, its counts, and its class probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner
from dpboost.trees.growing_tree import Splits
from dpboost.trees.split_candidates import MULTIWAY


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedTree:
    """A readable tree: a split into several branches is one node.

    Privacy
    -------
    Released numbers, public choices, and what is computed from them.
    """

    #: In the order in which they were made.
    splits: Splits
    #: Of shape (n_splits,). First child of each split; the others follow it.
    first_child: NDArray[np.int32]
    #: Of shape (n_features,). How each feature splits.
    kinds: NDArray[np.uint8]
    #: Of shape (n_nodes, n_classes). Released class counts of the leaves, not cut at zero, and
    #: their sums above; in a tree of numbers one count of rows. Where rows have weights they are in
    #: rows of the largest one.
    counts: NDArray[np.float64]
    #: Standard deviation of the noise of a leaf's count of a class, or sum of scaled labels.
    noise_stddev: float
    #: Of shape (n_nodes, n_classes). Of the leaves; NaN above. None in a tree of numbers.
    probability: NDArray[np.float64] | None = None
    #: Of shape (n_nodes,). Mean label of the nodes of a tree of numbers, as far as it is known.
    value: NDArray[np.float64] | None = None
    #: Of shape (n_nodes,). Released sizes of nodes, where the recipe releases any.
    sizes: NDArray[np.float64] | None = None

    @property
    def n_nodes(self) -> int:
        """Nodes, leaves included."""
        return len(self.counts)

    @property
    def n_leaves(self) -> int:
        """Leaves."""
        return self.n_nodes - len(self.splits)

    @property
    def depth(self) -> int:
        """Most splits above a leaf."""
        depth = np.zeros(self.n_nodes, dtype=np.int64)
        for position, first in enumerate(self.first_child):
            children = slice(first, first + self.splits.n_branches[position])
            depth[children] = depth[self.splits.node[position]] + 1
        return int(depth.max())

    def text(
        self,
        binner: Binner,
        classes: Sequence[Any],
        *,
        feature_names: Sequence[str] | None = None,
        max_depth: int | None = None,
        decimals: int = 2,
        show_counts: bool = True,
    ) -> str:
        """Return the tree as indented text, in the manner of ``sklearn.tree.export_text``.

        Parameters
        ----------
        classes : sequence
            None are there in a tree of numbers.
        feature_names : sequence of str, optional
            Those of the table by default.
        max_depth : int, optional
            Deeper nodes are left out.
        decimals : int
            Digits of thresholds.
        show_counts : bool
            Whether leaves show their released counts.
        """
        names = list(binner.feature_names if feature_names is None else feature_names)
        split_of = {int(node): position for position, node in enumerate(self.splits.node)}
        lines: list[str] = []
        stack: list[tuple[int, int, str]] = [(0, 0, "")]
        while stack:
            node, depth, condition = stack.pop()
            if condition:
                lines.append("|   " * (depth - 1) + f"|--- {condition}")
            position = split_of.get(node)
            if position is None:
                lines.append("|   " * depth + self._leaf(node, classes, decimals, show_counts))
            elif max_depth is not None and depth == max_depth:
                lines.append("|   " * depth + "|--- ...")
            else:
                first = int(self.first_child[position])
                texts = self._conditions(position, binner, names, decimals)
                branches = [(first + i, depth + 1, text) for i, text in enumerate(texts)]
                stack += branches[::-1]
        return "\n".join(lines) + "\n"

    def _leaf(self, node: int, classes: Sequence[Any], decimals: int, show_counts: bool) -> str:
        """Spell a leaf."""
        if self.value is not None:
            end = f"  rows: {self.counts[node, 0]:.1f}" if show_counts else ""
            return f"|--- value: [{self.value[node]:.{decimals}f}]{end}"
        assert self.probability is not None
        best = classes[int(self.probability[node].argmax())]
        counts = ", ".join(f"{count:g}" for count in self.counts[node])
        return f"|--- class: {best}" + (f"  counts: [{counts}]" if show_counts else "")

    def _conditions(
        self, position: int, binner: Binner, names: list[str], decimals: int
    ) -> list[str]:
        """Spell the branches of a split."""
        feature, own = int(self.splits.feature[position]), int(self.splits.split_bin[position])
        name = names[feature]
        many = self.kinds[feature] == MULTIWAY
        if binner.is_categorical[feature]:
            known = binner.labels.get(feature, tuple(binner.category_codes(feature).tolist()))
            if many:
                return [*(f"{name} = {value}" for value in known), f"{name} = other or missing"]
            return [f"{name} = {known[own]}", f"{name} != {known[own]}"]
        edges = [f"{edge:.{decimals}f}" for edge in binner.thresholds(feature)]
        if not many and own < len(edges) - 1:
            return [f"{name} <= {edges[own]}", f"{name} >  {edges[own]} or missing"]
        if not many or len(edges) == 1:
            return [f"{name} known", f"{name} missing"]
        inner = [f"{low} < {name} <= {high}" for low, high in zip(edges, edges[1:-1], strict=False)]
        return [f"{name} <= {edges[0]}", *inner, f"{name} >  {edges[-2]}", f"{name} missing"]
