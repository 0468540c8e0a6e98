"""Monotone shapes: all trees of a constrained feature as few, brought into order at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner
from dpboost.growing.monotone_leaves import check_ordered
from dpboost.trees.leaf_index import leaf_index
from dpboost.trees.table_tree import table_tree
from dpboost.trees.tree import Tree

# No cell counts for less than this part of an even share.
_LEAST_SHARE = 1e-2
# Turns of a projection that goes from one side of a table to the other.
_TURNS = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class PooledShapes:
    """Bring features that meet at most one other in a tree into order.

    Proof: docs/proofs/constraints.md.

    While trees are released, one may fall where the noise of an earlier one has risen too far: were
    each tree in order by itself, noise could go up and never come down again. So the trees of such
    a feature are free, and their sum is brought into order once, when all are there:

    1. Trees of the same one or two features are added up over their bins. The mean of a sum over
       the other feature is taken out, and added to what the constrained feature does alone.
    2. What a feature does alone is projected: the nearest that never falls, by released weights.
    3. What is left of a pair may fall where it stands. So each pair is given as much of the rise of
       the feature alone as it needs, as far as there is enough, and is then projected line by line.

    The rise that no pair needs stays a tree of the feature alone. Every tree that comes out is in
    order, and so is their sum.

    Parameters
    ----------
    direction : ndarray of shape (n_features,), int8
        -1, 0 or 1. A tree of a feature with a direction has at most one other feature.
    binner : Binner

    Privacy
    -------
    Post-processing: reads released trees and the public size of their noise.
    """

    direction: NDArray[np.int8]
    binner: Binner

    @classmethod
    def of(cls, monotone: tuple[int, ...], binner: Binner) -> PooledShapes | None:
        """Return what keeps these directions, None where there are none.

        Raises
        ------
        InvalidParameterError
            If a feature with a direction holds categories, which have no order.
        """
        if not monotone:
            return None
        check_ordered(monotone, binner.is_categorical, binner.feature_names)
        return cls(direction=np.array(monotone, dtype=np.int8), binner=binner)

    def rewrite(self, trees: tuple[Tree, ...], n_outputs: int) -> tuple[Tree, ...]:
        """Return the trees of the model.

        Parameters
        ----------
        trees : tuple of Tree
            Round by round, one for each output in a round.
        n_outputs : int

        Returns
        -------
        tuple of Tree
            Rounds without constrained features as they were, then those of the sums.
        """
        rounds = [trees[start : start + n_outputs] for start in range(0, len(trees), n_outputs)]
        pooled: dict[tuple[int, ...], list[int]] = {}
        kept = []
        for position, (first, *_) in enumerate(rounds):
            features = tuple(np.unique(first.feature).tolist())
            if self.direction[list(features)].any():
                assert len(features) <= 2, "a feature with a direction meets one other at most"
                pooled.setdefault(features, []).append(position)
            else:
                kept.append(position)
        if not pooled:
            return trees
        outputs = [
            self._in_order({s: [rounds[p][k] for p in own] for s, own in pooled.items()})
            for k in range(n_outputs)
        ]
        new = [tuple(own[number] for own in outputs) for number in range(len(outputs[0]))]
        return tuple(tree for own in [*(rounds[p] for p in kept), *new] for tree in own)

    def _in_order(self, groups: dict[tuple[int, ...], list[Tree]]) -> list[Tree]:
        """Return the trees of the sums of one output: those of features alone, then pairs."""
        n_bins = self.binner.n_bins
        used = sorted({f for features in groups for f in features})
        alone = {f: np.zeros(n_bins[f] + 1) for f in used if self.direction[f]}
        masses = {f: np.zeros(n_bins[f] + 1) for f in used}
        pairs: dict[tuple[int, ...], _Pair] = {}
        for features, trees in groups.items():
            table, mass = self._summed(features, trees)
            for axis, feature in enumerate(features):
                masses[feature] += mass.sum(axis=1 - axis) if mass.ndim == 2 else mass
            if len(features) == 1:
                alone[features[0]] += table
            else:
                pairs[features] = _Pair(features=features, table=table, mass=mass)
        shares = {f: mass / mass.sum() for f, mass in masses.items()}
        for features, pair in pairs.items():
            for axis, feature in enumerate(features):
                if feature in alone:
                    other = shares[features[1 - axis]]
                    line = np.moveaxis(pair.table, axis, 0) @ other
                    alone[feature] += line
                    pair.table = pair.table - _along(line, axis)
        rises = {}
        for feature, effect in alone.items():
            sign = self.direction[feature]
            in_order = sign * ascending(sign * effect[:-1], shares[feature][:-1])
            rises[feature] = np.append(in_order, effect[-1])
        self._divide(list(pairs.values()), rises)
        found = [
            table_tree((f,), np.rint(rise).astype(np.int64), self.binner, [shares[f]])
            for f, rise in rises.items()
        ]
        for features, pair in pairs.items():
            values = np.rint(self._projected(pair)).astype(np.int64)
            found.append(table_tree(features, values, self.binner, [shares[f] for f in features]))
        return found

    def _summed(
        self, features: tuple[int, ...], trees: list[Tree]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the sum of some trees over the bins of their features, and its mass.

        The mass of a cell is about the share of the rows in it: a leaf's released weight is spread
        evenly over its cells, and the trees are averaged.
        """
        shape = tuple(int(self.binner.n_bins[f]) + 1 for f in features)
        grid = self._grid(features, shape)
        total, mass = np.zeros(shape), np.zeros(shape)
        for tree in trees:
            leaf = leaf_index(tree, grid).reshape(shape)
            total += tree.leaf_value[leaf]
            assert tree.leaf_count is not None
            cells = np.maximum(np.bincount(leaf.ravel(), minlength=tree.n_leaves), 1)
            mass += (tree.leaf_count / max(float(tree.leaf_count.sum()), 1.0) / cells)[leaf]
        mass = np.maximum(mass / max(float(mass.sum()), 1e-300), _LEAST_SHARE / mass.size)
        return total, mass / mass.sum()

    def _grid(self, features: tuple[int, ...], shape: tuple[int, ...]) -> NDArray[np.uint8]:
        """Return a row for each combination of bins of some features."""
        grid = np.zeros((self.binner.n_features, int(np.prod(shape))), dtype=np.uint8)
        for feature, bins in zip(features, np.indices(shape), strict=True):
            grid[feature] = bins.ravel()
        return grid

    def _divide(self, pairs: Sequence[_Pair], rises: dict[int, NDArray[np.float64]]) -> None:
        """Give each pair as much of the rise of its features as it needs; takes it from them."""
        for feature, rise in rises.items():
            sign = float(self.direction[feature])
            there = sign * np.diff(rise[:-1])
            needs = [
                (pair, pair.features.index(feature), pair.need(feature, sign))
                for pair in pairs
                if feature in pair.features
            ]
            wanted = np.sum([need for _, _, need in needs], axis=0) if needs else there
            part = np.minimum(there / np.maximum(wanted, 1e-300), 1.0)
            for pair, axis, need in needs:
                line = sign * np.concatenate([[0.0], np.cumsum(need * part)])
                line -= line.mean()
                pair.table = pair.table + _along(np.append(line, 0.0), axis)
                rise[:-1] -= line
            # What rounding may have turned.
            rise[:-1] = sign * np.maximum.accumulate(sign * rise[:-1])

    def _projected(self, pair: _Pair) -> NDArray[np.float64]:
        """Bring the lines of a table into order, along each of its constrained features.

        The projection along one feature is exact. Where both have a direction, projections along
        one and the other take turns, and a running maximum along both ends them.
        """
        axes = [axis for axis, f in enumerate(pair.features) if self.direction[f]]
        table = pair.table
        for axis in axes if len(axes) == 1 else axes * _TURNS:
            sign = float(self.direction[pair.features[axis]])
            lines, mass = np.moveaxis(table, axis, 0).copy(), np.moveaxis(pair.mass, axis, 0)
            for position in range(lines.shape[1]):
                own = ascending(sign * lines[:-1, position], mass[:-1, position])
                lines[:-1, position] = sign * own
            table = np.moveaxis(lines, 0, axis)
        table = table.copy()
        for axis in axes:
            sign = float(self.direction[pair.features[axis]])
            lines = np.moveaxis(table, axis, 0)
            lines[:-1] = sign * np.maximum.accumulate(sign * lines[:-1], axis=0)
        return table


@dataclass(kw_only=True, eq=False)
class _Pair:
    """What two features do together, on a table of their bins.

    Parameters
    ----------
    features : (int, int)
    table, mass : ndarray of shape (n_bins_first + 1, n_bins_second + 1)
        Values, and about the share of the rows in each cell.
    """

    features: tuple[int, ...]
    table: NDArray[np.float64]
    mass: NDArray[np.float64]

    def need(self, feature: int, sign: float) -> NDArray[np.float64]:
        """Return the steepest fall between neighbouring bins."""
        lines = np.moveaxis(self.table, self.features.index(feature), 0)[:-1]
        return np.maximum(-sign * np.diff(lines, axis=0), 0.0).max(axis=1)


def _along(line: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Return a line that broadcasts along the other side of a table."""
    return line[:, np.newaxis] if axis == 0 else line


def ascending(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest values that never fall, by weighted squared distance.

    Adjacent blocks that fall are pooled to their mean (Ayer et al. 1955).

    Parameters
    ----------
    values, weights : ndarray of shape (n,)
        Weights are greater than zero.

    Returns
    -------
    ndarray of shape (n,)
    """
    means: list[float] = []
    masses: list[float] = []
    sizes: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        means.append(value)
        masses.append(weight)
        sizes.append(1)
        while len(means) > 1 and means[-2] > means[-1]:
            mass = masses[-2] + masses[-1]
            mean = (means[-2] * masses[-2] + means[-1] * masses[-1]) / mass
            means[-2:], masses[-2:] = [mean], [mass]
            sizes[-2:] = [sizes[-2] + sizes[-1]]
    return np.repeat(means, sizes)
