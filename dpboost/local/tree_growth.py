"""Growing the public tree, level by level, on public rows alone."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner
from dpboost.trees.tree import Tree, threshold_sets

Rule = Literal["max_edge", "variance"]
RULES = ("max_edge", "variance")

#: Labels are scaled to [-1, 1]; smaller gains of a row are rounding.
_LEAST_GAIN = 1e-12


class Growth:
    """A tree that grows over binned rows, some of which choose the splits.

    ``max_edge`` halves one of the longest edges of a cell, the one that lowers the squared error of
    the labels most, and prunes the split when a side is too small: LPDT, section 2.3 and equation
    6. ``variance`` takes the best of all splits whose sides are large enough (CART). A cell that
    cannot be split once is never looked at again.

    Deviation: edges consist of bins, 128 of a numeric feature with bounds, so that one is halved at
    most seven times. The paper has numeric features only; a nominal one is split by one category
    against the rest, and its length is the share of the categories that are left.

    Parameters
    ----------
    bins : ndarray of shape (n_features, n_rows), uint8
        Public rows.
    targets : ndarray of shape (n_rows, n_outputs), float64
        Their labels: scaled numbers, or one-hot classes, whose variance is the Gini index.
    choosing : ndarray of shape (n_rows,), bool
        Rows that choose the splits and count for the least leaf size. The others only fall.
    binner : Binner
        The public bins.
    rule : {"max_edge", "variance"}
    min_samples_leaf : int
        Least number of choosing rows on either side of a split.
    """

    def __init__(
        self,
        *,
        bins: NDArray[np.uint8],
        targets: NDArray[np.float64],
        choosing: NDArray[np.bool_],
        binner: Binner,
        rule: Rule,
        min_samples_leaf: int,
    ) -> None:
        self._bins = bins
        self._chosen = np.flatnonzero(choosing)
        self._targets = targets[self._chosen]
        self._binner = binner
        self._rule = rule
        self._min_samples_leaf = min_samples_leaf
        #: The cell of every row.
        self.cell = np.zeros(bins.shape[1], dtype=np.int64)
        self.n_cells = 1
        self._open = np.ones(1, dtype=bool)
        self._box = _Boxes(binner)
        self._nodes: list[tuple[int, int]] = []
        self._children: list[list[int]] = []
        self._parent: list[tuple[int, int]] = [(-1, 0)]

    def split_level(self) -> bool:
        """Split every cell that can be split once; return whether there was one."""
        feature, split_bin, found = self._best_splits()
        self._open = found.copy()
        first_new = self.n_cells
        right_cell = np.full(first_new, -1)
        for cell in np.flatnonzero(found).tolist():
            right_cell[cell] = self._split(cell, int(feature[cell]), int(split_bin[cell]))
        if self.n_cells == first_new:
            return False
        self._open = np.append(self._open, np.ones(self.n_cells - first_new, dtype=bool))
        moving = np.flatnonzero(right_cell[self.cell] >= 0)
        cells = self.cell[moving]
        own = self._bins[feature[cells], moving]
        nominal = self._binner.is_categorical[feature[cells]].astype(bool)
        left = np.where(nominal, own == split_bin[cells], own <= split_bin[cells])
        self.cell[moving[~left]] = right_cell[cells[~left]]
        return True

    def tree(self) -> Tree:
        """Return the tree so far; leaf k is cell k, and leaf values are zero."""
        feature = np.array([node[0] for node in self._nodes], dtype=np.int32)
        split_bin = np.array([node[1] for node in self._nodes], dtype=np.uint8)
        children = np.array(self._children, dtype=np.int32).reshape(-1, 2)
        return Tree(
            feature=feature,
            left_bins=threshold_sets(split_bin, self._binner.is_categorical[feature].astype(bool)),
            left=children[:, 0].copy(),
            right=children[:, 1].copy(),
            leaf_value=np.zeros(self.n_cells, dtype=np.int64),
        )

    def _split(self, cell: int, feature: int, split_bin: int) -> int:
        """Turn a cell into a node whose left child keeps its number; return the right one's."""
        node, right = len(self._nodes), self.n_cells
        self._nodes.append((feature, split_bin))
        self._children.append([~cell, ~right])
        parent, side = self._parent[cell]
        if parent >= 0:
            self._children[parent][side] = node
        self._parent[cell] = (node, 0)
        self._parent.append((node, 1))
        self._box.split(cell, feature, split_bin)
        self.n_cells += 1
        return right

    def _best_splits(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
        """Return each cell's best feature and bin, and whether the split is allowed."""
        own = self.cell[self._chosen]
        size = np.bincount(own, minlength=self.n_cells)
        may = np.flatnonzero(self._open & (size >= 2 * self._min_samples_leaf))
        position_of = np.full(self.n_cells, -1)
        position_of[may] = np.arange(len(may))
        rows = position_of[own] >= 0
        choice = _Choice(len(may))
        if len(may):
            chosen, cell = self._chosen[rows], position_of[own[rows]]
            for feature in range(self._binner.n_features):
                gain, smaller = self._gains(feature, chosen, cell, self._targets[rows], len(may))
                gain[~self._box.allowed(feature, self._rule, may)] = -np.inf
                if self._rule == "variance":
                    gain[smaller < self._min_samples_leaf] = -np.inf
                choice.consider(feature, gain, smaller >= self._min_samples_leaf)
        # The max-edge rule chooses first and then prunes the split (section 2.3 of the paper),
        # and halves a cell whose labels are all alike; the other rule has nothing to gain there.
        least = _LEAST_GAIN * len(self._chosen) if self._rule == "variance" else -np.inf
        found = np.zeros(self.n_cells, dtype=bool)
        found[may] = choice.enough & (choice.gain > least)
        feature_of, bin_of = np.zeros((2, self.n_cells), dtype=np.int64)
        feature_of[may], bin_of[may] = choice.feature, choice.split_bin
        return feature_of, bin_of, found

    def _gains(
        self,
        feature: int,
        chosen: NDArray[np.int64],
        cell: NDArray[np.int64],
        targets: NDArray[np.float64],
        n_cells: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return gain and size of the smaller side for each cell and value bin."""
        n_bins = int(self._binner.n_bins[feature])
        width = n_bins + 1
        keys = cell * width + self._bins[feature, chosen]
        shape = (n_cells, width)
        size = n_cells * width
        count = np.bincount(keys, minlength=size).reshape(shape).astype(np.float64)
        total = count.sum(axis=1, keepdims=True)
        nominal = bool(self._binner.is_categorical[feature])
        left = count if nominal else count.cumsum(axis=1)
        gain = np.zeros(shape)
        for output in targets.T:
            sums = np.bincount(keys, weights=output, minlength=size).reshape(shape)
            whole = sums.sum(axis=1, keepdims=True)
            part = sums if nominal else sums.cumsum(axis=1)
            right = (whole - part) ** 2 / np.maximum(total - left, 1)
            gain += part**2 / np.maximum(left, 1) + right - whole**2 / np.maximum(total, 1)
        return gain[:, :n_bins], np.minimum(left, total - left)[:, :n_bins]


class _Choice:
    """The best split of each cell among the features seen so far."""

    def __init__(self, n_cells: int) -> None:
        self.gain = np.full(n_cells, -np.inf)
        self.feature, self.split_bin = np.zeros((2, n_cells), dtype=np.int64)
        self.enough = np.zeros(n_cells, dtype=bool)

    def consider(self, feature: int, gain: NDArray[np.float64], enough: NDArray[np.bool_]) -> None:
        """Take a feature's first best bin where it is better; ties keep the earlier feature."""
        at = gain.argmax(axis=1)
        rows = np.arange(len(at))
        better = gain[rows, at] > self.gain
        self.gain[better] = gain[rows, at][better]
        self.feature[better] = feature
        self.split_bin[better] = at[better]
        self.enough[better] = enough[rows, at][better]


class _Boxes:
    """The public box of every cell, and which splits the max-edge rule looks at.

    A numeric edge is an interval of bins; a nominal one the categories that were not split off.
    Its length is the share of the feature's bins, and zero where nothing can be split.
    """

    def __init__(self, binner: Binner) -> None:
        self._n_bins = binner.n_bins.astype(np.int64, casting="safe")
        self._nominal = binner.is_categorical.astype(bool)
        self._low = np.zeros((1, binner.n_features), dtype=np.int64)
        self._high = self._n_bins[np.newaxis].copy()

    def allowed(self, feature: int, rule: Rule, cells: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which bins of a feature some cells may split at, (n_listed, n_bins)."""
        bins = np.arange(self._n_bins[feature])
        lows, highs = self._low[cells], self._high[cells]
        low, high = lows[:, feature, np.newaxis], highs[:, feature, np.newaxis]
        if rule == "variance":
            splits: NDArray[np.bool_] = (high - low > 1) & (bins >= 0)
            return splits
        sides = highs - lows
        lengths = np.where(sides > 1, sides / self._n_bins, 0.0)
        longest = lengths[:, feature] >= lengths.max(axis=1)
        may = (longest & (lengths[:, feature] > 0))[:, np.newaxis]
        if self._nominal[feature]:
            return may & (bins >= 0)
        middle: NDArray[np.bool_] = bins == (low + high) // 2 - 1
        return may & middle

    def split(self, cell: int, feature: int, split_bin: int) -> None:
        """Cut the box of a cell; the right part goes to the end."""
        low, high = self._low[cell].copy(), self._high[cell].copy()
        if self._nominal[feature]:
            # One category on the left, one fewer on the right.
            self._high[cell, feature] = low[feature] + 1
            high[feature] -= 1
        else:
            self._high[cell, feature] = split_bin + 1
            low[feature] = split_bin + 1
        self._low = np.vstack([self._low, low])
        self._high = np.vstack([self._high, high])
