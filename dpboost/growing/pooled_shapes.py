"""Monotone shapes: all trees of a constrained feature as few, brought into order at the end."""

from __future__ import annotations

from dataclasses import dataclass, field

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
_TURNS = 3
# Turns of all parts.
_SWEEPS = 4
# Turns of the reconstruction of masses.
_ROUNDS = 2
# Mean of what a normal law has below zero, in deviations.
_BELOW = 0.8


@dataclass(frozen=True, kw_only=True, eq=False)
class PooledShapes:
    """Bring features that meet at most one other in a tree into order.

    Proof: docs/proofs/constraints.md.

    While trees are released, one may fall where the noise of an earlier one has risen too far: were
    each tree in order by itself, noise could go up and never come down again. So the trees of such
    a feature are free, and their sum is brought into order once, when all are there:

    1. Trees of the same one or two features are added up over their bins.
    2. One sum after the other is projected, with what the projections of the others have left over
       along the feature that they share: a fall of one may stand on the rise of another. After a
       few turns the sums are the nearest ones whose parts are in order.

    Distances are weighted by released masses of bins. Every tree that comes out is in order, and so
    is their sum.

    Parameters
    ----------
    direction : ndarray of shape (n_features,), int8
        -1, 0 or 1. A tree of a feature with a direction has at most one other feature.
    binner : Binner
    weight_stddev : float
        Standard deviation of the noise of a leaf's weight, in units of ``leaf_count``.

    Privacy
    -------
    Post-processing: reads released trees and the public size of their noise.
    """

    direction: NDArray[np.int8]
    binner: Binner
    weight_stddev: float

    @classmethod
    def of(
        cls,
        monotone: tuple[int, ...],
        binner: Binner,
        weight_stddev: float,
    ) -> PooledShapes | None:
        """Return what keeps these directions, None where there are none.

        Raises
        ------
        InvalidParameterError
            If a feature with a direction holds categories, which have no order.
        """
        if not monotone:
            return None
        check_ordered(monotone, binner.is_categorical, binner.feature_names)
        return cls(
            direction=np.array(monotone, dtype=np.int8), binner=binner, weight_stddev=weight_stddev
        )

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
        tables = {features: self._summed(features, own) for features, own in groups.items()}
        shares = self._shares({features: mass for features, (_, mass) in tables.items()})
        parts: dict[tuple[int, ...], _Part] = {
            (f,): _Part(features=(f,), aim=np.zeros(len(share)), mass=share)
            for f, share in shares.items()
            if self.direction[f]
        }
        for features, (table, mass) in tables.items():
            parts[features] = _Part(features=features, aim=table, mass=mass)
        self._settle(list(parts.values()))
        return [
            table_tree(
                part.features,
                np.rint(part.found).astype(np.int64),
                self.binner,
                [shares[f] for f in part.features],
            )
            for part in sorted(parts.values(), key=lambda part: len(part.features))
        ]

    def _settle(self, parts: list[_Part]) -> None:
        """Project one part after the other, with what the others have left over."""
        left = {
            (f, part.features): part.left_along(f)
            for part in parts
            for f in part.features
            if self.direction[f]
        }
        for _ in range(_SWEEPS):
            for part in sorted(parts, key=lambda part: -len(part.features)):
                wanted = part.aim
                for axis, feature in enumerate(part.features):
                    others = [
                        line
                        for (own, features), line in left.items()
                        if own == feature and features != part.features
                    ]
                    if others:
                        wanted = wanted + _along(np.sum(others, axis=0), axis, part.aim.ndim)
                part.found = self._projected(part, wanted)
                for feature in part.features:
                    if self.direction[feature]:
                        left[feature, part.features] = part.left_along(feature)
        # Lines have no mean, so that no constant is handed on twice.
        parts[0].found = parts[0].found + sum(part.mean_left() for part in parts)

    def _shares(
        self, masses: dict[tuple[int, ...], NDArray[np.float64]]
    ) -> dict[int, NDArray[np.float64]]:
        """Return the share of the rows in each bin of each feature, missing last."""
        shares: dict[int, NDArray[np.float64]] = {}
        for features, mass in masses.items():
            for axis, feature in enumerate(features):
                line = mass.sum(axis=1 - axis) if mass.ndim == 2 else mass
                shares[feature] = shares.get(feature, 0.0) + line
        return {feature: line / line.sum() for feature, line in shares.items()}

    def _summed(
        self, features: tuple[int, ...], trees: list[Tree]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the sum of some trees over the bins of their features, and its mass.

        The mass of a cell is about the share of the rows in it: a table whose sums over leaves are
        the released weights, as nearly as a few turns of simultaneous reconstruction bring it. A
        weight of zero is noise that was cut off; it counts as what noise is below zero on average.
        """
        shape = tuple(int(self.binner.n_bins[f]) + 1 for f in features)
        grid = self._grid(features, shape)
        total = np.zeros(shape)
        seen = []
        for tree in trees:
            leaf = leaf_index(tree, grid)
            total += tree.leaf_value[leaf].reshape(shape)
            assert tree.leaf_count is not None
            weight = tree.leaf_count.astype(np.float64)
            weight[weight == 0] = -_BELOW * self.weight_stddev
            cells = np.maximum(np.bincount(leaf, minlength=tree.n_leaves), 1)
            seen.append((leaf, weight, cells))
        mass: NDArray[np.float64] = np.zeros(grid.shape[1])
        for _ in range(_ROUNDS):
            change = np.zeros_like(mass)
            for leaf, weight, cells in seen:
                change += ((weight - np.bincount(leaf, mass, len(weight))) / cells)[leaf]
            mass = np.maximum(mass + change / len(seen), 0.0)
        mass = np.maximum(mass, _LEAST_SHARE * max(float(mass.mean()), 1e-300))
        return total, (mass / mass.sum()).reshape(shape)

    def _grid(self, features: tuple[int, ...], shape: tuple[int, ...]) -> NDArray[np.uint8]:
        """Return a row for each combination of bins of some features."""
        grid = np.zeros((self.binner.n_features, int(np.prod(shape))), dtype=np.uint8)
        for feature, bins in zip(features, np.indices(shape), strict=True):
            grid[feature] = bins.ravel()
        return grid

    def _projected(self, part: _Part, wanted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bring the lines of a table into order, along each of its constrained features.

        The projection along one feature is exact. Where both have a direction, projections along
        one and the other take turns, and a running maximum along both ends them.
        """
        axes = [axis for axis, f in enumerate(part.features) if self.direction[f]]
        table = wanted.copy()
        for axis in axes if len(axes) == 1 else axes * _TURNS:
            sign = float(self.direction[part.features[axis]])
            lines, mass = np.moveaxis(table, axis, -1), np.moveaxis(part.mass, axis, -1)
            for position in np.ndindex(lines.shape[:-1]):
                own = ascending(sign * lines[position][:-1], mass[position][:-1])
                lines[position][:-1] = sign * own
        for axis in axes:
            sign = float(self.direction[part.features[axis]])
            lines = np.moveaxis(table, axis, 0)
            lines[:-1] = sign * np.maximum.accumulate(sign * lines[:-1], axis=0)
        return table


@dataclass(kw_only=True, eq=False)
class _Part:
    """What one or two features do, on a table of their bins.

    Parameters
    ----------
    features : tuple of int
    aim, mass : ndarray of shape (n_bins + 1,) or (n_bins_first + 1, n_bins_second + 1)
        Sums of trees, and about the share of the rows in each cell.
    """

    features: tuple[int, ...]
    aim: NDArray[np.float64]
    mass: NDArray[np.float64]
    found: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self.found = np.zeros_like(self.aim)

    def mean_left(self) -> float:
        """Return the mean of what the projection has left over."""
        return float(((self.aim - self.found) * self.mass).sum() / self.mass.sum())

    def left_along(self, feature: int) -> NDArray[np.float64]:
        """Return the mean of what is left over at each bin of a feature, less that of all."""
        axis = self.features.index(feature)
        mass = np.moveaxis(self.mass, axis, 0).reshape(self.mass.shape[axis], -1)
        left = np.moveaxis(self.aim - self.found, axis, 0).reshape(mass.shape)
        line = (left * mass).sum(axis=1) / mass.sum(axis=1)
        return np.asarray(line - self.mean_left())


def _along(line: NDArray[np.float64], axis: int, n_axes: int) -> NDArray[np.float64]:
    """Return a line that broadcasts along the other side of a table."""
    return line[:, np.newaxis] if n_axes == 2 and axis == 0 else line


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
