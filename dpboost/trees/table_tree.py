"""Trees that represent a table of values over the bins of at most two features."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner
from dpboost.trees.tree import SET_WORDS, Tree, pack_sets

_BINS = 256
# Shares of leaves are written as whole numbers of this unit.
_WEIGHTS = 1 << 20


def table_tree(
    features: tuple[int, ...],
    values: NDArray[np.int64],
    binner: Binner,
    shares: Sequence[NDArray[np.float64]],
) -> Tree:
    """Return a tree with a leaf for each stretch of equal values.

    Values are of shape (n_bins_first + 1,) or (n_bins_first + 1, n_bins_second + 1), missing bins
    last. The weights of the leaves are by shares of the rows in the bins of each feature, of shape
    (n_bins + 1,).
    """
    writer = _Writer()
    if len(features) == 1:
        writer.split(
            (features[0], bool(binner.is_categorical[features[0]])),
            values[:, np.newaxis],
            lambda low, high: writer.leaf(values[low], float(shares[0][low:high].sum())),
        )
        return writer.tree()
    # Lines of the second feature hang below those of the first one; a feature of categories comes
    # first, where it has one split for each that differs.
    first, second = features
    if binner.is_categorical[second] and not binner.is_categorical[first]:
        return table_tree((second, first), values.T, binner, shares[::-1])

    def below(low: int, high: int) -> int:
        mass = float(shares[0][low:high].sum())
        line = values[low]
        return writer.split(
            (second, bool(binner.is_categorical[second])),
            line[:, np.newaxis],
            lambda a, b: writer.leaf(line[a], mass * float(shares[1][a:b].sum())),
        )

    writer.split((first, bool(binner.is_categorical[first])), values, below)
    return writer.tree()


def constant_tree() -> Tree:
    """Return a tree of one leaf, which adds nothing to any row."""
    return Tree(
        feature=np.empty(0, dtype=np.int32),
        left_bins=np.empty((0, SET_WORDS), dtype=np.uint64),
        left=np.empty(0, dtype=np.int32),
        right=np.empty(0, dtype=np.int32),
        leaf_value=np.zeros(1, dtype=np.int64),
        leaf_count=np.array([_WEIGHTS], dtype=np.int64),
    )


class _Writer:
    """Nodes and leaves in order of creation; parents before their children."""

    def __init__(self) -> None:
        self._feature: list[int] = []
        self._sets: list[NDArray[np.bool_]] = []
        self._children: list[list[int]] = []
        self._values: list[int] = []
        self._weights: list[float] = []

    def leaf(self, value: int, weight: float) -> int:
        """Add a leaf and return what stands for it."""
        self._values.append(int(value))
        self._weights.append(weight)
        return ~(len(self._values) - 1)

    def split(
        self,
        feature: tuple[int, bool],
        lines: NDArray[np.int64],
        below: Callable[[int, int], int],
    ) -> int:
        """Divide lines into stretches of equal ones; ``below(low, high)`` writes each of them.

        Parameters
        ----------
        feature : (int, bool)
            And whether it holds categories.
        lines : ndarray of shape (n_bins + 1, n)
            Missing last, which has a stretch of its own.
        """
        n_bins = len(lines) - 1
        new = np.flatnonzero((np.diff(lines[:-1], axis=0) != 0).any(axis=1)) + 1
        starts = [0, *new.tolist(), n_bins, n_bins + 1]
        stretches = [(a, b) for a, b in zip(starts, starts[1:], strict=False) if a < b]
        # Missing goes right at the root, so that no other split has to ask for it.
        return self._root(feature, stretches, below)

    def _root(
        self,
        feature: tuple[int, bool],
        stretches: list[tuple[int, int]],
        below: Callable[[int, int], int],
    ) -> int:
        known, missing = stretches[:-1], stretches[-1]
        node = self._node(feature, 0, known[-1][1])
        self._children[node] = [self._half(feature, known, below), below(*missing)]
        return node

    def _half(
        self,
        feature: tuple[int, bool],
        stretches: list[tuple[int, int]],
        below: Callable[[int, int], int],
    ) -> int:
        if len(stretches) == 1:
            return below(*stretches[0])
        middle = len(stretches) // 2
        left, right = stretches[:middle], stretches[middle:]
        node = self._node(feature, left[0][0], left[-1][1])
        halves = [self._half(feature, half, below) for half in (left, right)]
        self._children[node] = halves
        return node

    def _node(self, feature: tuple[int, bool], low: int, high: int) -> int:
        """Add a node; bins up to the last one go left, or the categories between."""
        position, nominal = feature
        inside = np.zeros(_BINS, dtype=bool)
        inside[low if nominal else 0 : high] = True
        self._feature.append(position)
        self._sets.append(inside)
        self._children.append([0, 0])
        return len(self._feature) - 1

    def tree(self) -> Tree:
        """Return what was written."""
        children = np.array(self._children, dtype=np.int32)
        weights = np.array(self._weights) * _WEIGHTS
        return Tree(
            feature=np.array(self._feature, dtype=np.int32),
            left_bins=pack_sets(np.stack(self._sets)),
            left=np.ascontiguousarray(children[:, 0]),
            right=np.ascontiguousarray(children[:, 1]),
            leaf_value=np.array(self._values, dtype=np.int64),
            leaf_count=np.rint(weights).astype(np.int64),
        )
