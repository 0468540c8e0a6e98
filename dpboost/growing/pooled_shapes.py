"""Monotone constraints by projection of the pooled trees of a constrained feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner
from dpboost.growing.monotone_leaves import check_ordered
from dpboost.growing.shape_part import ShapePart, settle
from dpboost.trees.leaf_index import leaf_index
from dpboost.trees.table_tree import constant_tree, table_tree
from dpboost.trees.tree import Tree

# After these parts of the rounds what was released so far is brought into order, too.
_MIDWAY = (0.5, 0.75)
# No cell counts for less than this part of an even share.
_LEAST_SHARE = 1e-2
# Turns of the reconstruction of masses.
_ROUNDS = 2
# Mean of what a normal law has below zero, in deviations.
_BELOW = 0.8


@dataclass(frozen=True, kw_only=True, eq=False)
class PooledShapes:
    """Project the effects of features that share trees with at most one other.

    Proof: docs/proofs/constraints.md.

    A later tree may decrease where the noise of an earlier one has increased the sum too far. If
    each tree were monotone by itself, noise could never be corrected. Therefore the trees of such a
    feature are unconstrained, and their sum is projected after half and after three quarters of
    the rounds, so that later rounds fit the remainder by other features, and again at the end:

    1. Trees of the same one or two features are added up over their bins.
    2. The sums are projected one after the other, each with the remainders of the projections of
       the others along the shared feature: a decrease of one may be covered by an increase of
       another. After a few iterations the sums are the nearest ones with monotone parts.

    Distances are weighted by released bin frequencies. Every resulting tree is monotone, and so is
    their sum.

    Privacy
    -------
    Post-processing: reads released trees and the public size of their noise.
    """

    #: Of shape (n_features,). -1, 0 or 1. A tree of a feature with a direction has at most one
    #: other feature.
    direction: NDArray[np.int8]
    binner: Binner
    #: Standard deviation of the noise of a leaf's weight, in units of ``leaf_count``.
    weight_stddev: float

    @classmethod
    def of(
        cls,
        monotone: tuple[int, ...],
        binner: Binner,
        weight_stddev: float,
    ) -> PooledShapes:
        """Return what keeps these directions."""
        check_ordered(monotone, binner.is_categorical, binner.feature_names)
        return cls(
            direction=np.array(monotone, dtype=np.int8), binner=binner, weight_stddev=weight_stddev
        )

    def stops(self, n_rounds: int) -> frozenset[int]:
        """Return the numbers of rounds after which the sums are brought into order on the way."""
        return frozenset(round(n_rounds * part) for part in _MIDWAY) - {0, n_rounds}

    def corrections(
        self, trees: tuple[Tree, ...], earlier: Sequence[tuple[Tree, ...]], n_outputs: int
    ) -> list[tuple[Tree, ...]]:
        """Return trees that bring what was released so far into order.

        Trees are round by round, one for each output in a round. ``earlier`` are the corrections
        that were made before: like those that are returned, tuples of one tree for each output.
        """
        pooled, _ = self._pooled(trees, n_outputs)
        outputs = []
        for output in range(n_outputs):
            parts, shares = self._parts(pooled, earlier, output)
            outputs.append(
                [self._tree(p.features, np.rint(p.found) - p.aim, shares) for p in parts]
            )
        return list(zip(*outputs, strict=True))

    def rewrite(
        self, trees: tuple[Tree, ...], corrections: Sequence[tuple[Tree, ...]], n_outputs: int
    ) -> tuple[Tree, ...]:
        """Return the trees of the model, from trees round by round, one for each output in a round.

        Rounds without constrained features stay as they were. Then come those of the sums, which
        are few, then trees of one leaf that adds nothing: as many rounds as there were.
        ``corrections`` were made on the way.
        """
        pooled, kept = self._pooled(trees, n_outputs)
        if not pooled:
            return trees
        n_rounds = len(trees) // n_outputs - len(kept)
        outputs = []
        for output in range(n_outputs):
            parts, shares = self._parts(pooled, corrections, output)
            sums = _at_most(n_rounds, {part.features: np.rint(part.found) for part in parts})
            own = [self._tree(features, values, shares) for features, values in sums.items()]
            outputs.append(own + [constant_tree()] * (n_rounds - len(own)))
        new = list(zip(*outputs, strict=True))
        return tuple(tree for own in [*kept, *new] for tree in own)

    def _pooled(
        self, trees: tuple[Tree, ...], n_outputs: int
    ) -> tuple[dict[tuple[int, ...], list[tuple[Tree, ...]]], list[tuple[Tree, ...]]]:
        """Return the rounds of constrained features by their features, and the other rounds."""
        rounds = [trees[start : start + n_outputs] for start in range(0, len(trees), n_outputs)]
        pooled: dict[tuple[int, ...], list[tuple[Tree, ...]]] = {}
        kept = []
        for own in rounds:
            features = _features(own[0])
            if self.direction[list(features)].any():
                assert len(features) <= 2, "a feature with a direction meets one other at most"
                pooled.setdefault(features, []).append(own)
            else:
                kept.append(own)
        return pooled, kept

    def _parts(
        self,
        pooled: dict[tuple[int, ...], list[tuple[Tree, ...]]],
        corrections: Sequence[tuple[Tree, ...]],
        output: int,
    ) -> tuple[list[ShapePart], dict[int, NDArray[np.float64]]]:
        """Return the sums of one output in order, and the shares of rows in bins.

        There is a part for each feature with a direction alone, whether trees have it or not.
        """
        tables = {
            features: self._summed(features, [own[output] for own in rounds])
            for features, rounds in pooled.items()
        }
        shares = self._shares({features: mass for features, (_, mass) in tables.items()})
        sums: dict[tuple[int, ...], tuple[NDArray[np.float64], NDArray[np.float64]]] = {
            (f,): (np.zeros(len(own)), own) for f, own in shares.items() if self.direction[f]
        }
        sums |= tables
        for trees in corrections:
            features = _features(trees[output])
            total, mass = sums[features]
            sums[features] = (total + self._values(features, trees[output], total.shape), mass)
        parts = [
            ShapePart(
                features=features,
                signs=tuple(int(self.direction[f]) for f in features),
                aim=total,
                mass=mass,
            )
            for features, (total, mass) in sums.items()
        ]
        if parts:
            settle(parts)
        return parts, shares

    def _tree(
        self,
        features: tuple[int, ...],
        values: NDArray[np.float64],
        shares: dict[int, NDArray[np.float64]],
    ) -> Tree:
        own = [shares[feature] for feature in features]
        return table_tree(features, values.astype(np.int64), self.binner, own)

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

    def _values(
        self, features: tuple[int, ...], tree: Tree, shape: tuple[int, ...]
    ) -> NDArray[np.int64]:
        """Return the values of a tree over the bins of its features."""
        return tree.leaf_value[leaf_index(tree, self._grid(features, shape))].reshape(shape)


def _at_most(
    n_sums: int, sums: dict[tuple[int, ...], NDArray[np.float64]]
) -> dict[tuple[int, ...], NDArray[np.float64]]:
    """Return the same sums, those of single features first, in so many tables or fewer.

    If there are too many, the table of one feature is added to one that it is part of. There is
    such a table for each, since trees have it, and what is in order stays so when it is added up.
    """
    singles: dict[tuple[int, ...], NDArray[np.float64]] = {}
    pairs: dict[tuple[int, ...], NDArray[np.float64]] = {}
    for features, own in sums.items():
        (singles if len(features) == 1 else pairs)[features] = own
    for feature in sorted(singles):
        if len(singles) + len(pairs) <= n_sums:
            break
        pair = next((each for each in pairs if feature[0] in each), None)
        if pair is not None:
            line = singles.pop(feature)
            pairs[pair] = pairs[pair] + np.expand_dims(line, 1 - pair.index(feature[0]))
    return singles | pairs


def _features(tree: Tree) -> tuple[int, ...]:
    """Return the features of a tree."""
    return tuple(np.unique(tree.feature).tolist())
