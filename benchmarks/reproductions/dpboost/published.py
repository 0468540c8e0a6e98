"""DPBoost as published: what the paper's curves rest on. NOT PRIVATE; for benchmarks only.

`PublishedBoosting` spends epsilon by the paper's own reckoning. It does not keep it:

* blocks of fixed size: one more row moves others from block to block, and changes the sizes;
* the *code* reading besides takes bin borders and the start value from the private labels and
  features, orders leaves by exact gains, stops on exact counts and gains, and divides by a
  sensitivity of the gain that is three times too small;
* *frozen* noise comes from one known seed, as in the released code;
* the *logistic* branch of the code divides by hessians, which are at most 1/4 for a row, and takes
  the sensitivity of a leaf for that of a count: a row moves such a leaf further than its noise.

All noise here is from NumPy's generator in floating point, for speed: another reason not to use
it for anything but these curves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

DEPTH = 6
LEARNING_RATE = 0.1
REG_LAMBDA = 0.1
BOUND = 1.0
N_BINS = 255
FROZEN_SEED = 42
_LEAVES = 31
_LEAST_ROWS = 20


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How the paper is read.

    Attributes
    ----------
    sensitivity : float
        Of the gain, as it was taken: the exponent is epsilon G / (2 sensitivity).
    level_share : float
        Part of a tree's budget that is divided among the levels of its nodes; leaves get a half.
    uses_data : bool
        Whether bins, start value, order of growth and stops look at the private rows.
    frozen : bool
        Whether the noise has a known seed.
    logistic : bool
        Whether the loss is logistic, with its own hessians, instead of squared.
    """

    sensitivity: float
    level_share: float
    uses_data: bool
    frozen: bool = False
    logistic: bool = False


#: Algorithms 1 and 2 word by word, with the 0-based index of a tree in its ensemble.
TEXT = Reading(sensitivity=3.0, level_share=0.5, uses_data=False)
#: The code released with the paper: (3 lambda + 2) / ((2 + lambda)(1 + lambda)) instead of 3.
_RELEASED = (3 * REG_LAMBDA + 2) / ((2 + REG_LAMBDA) * (1 + REG_LAMBDA))
CODE = Reading(sensitivity=_RELEASED, level_share=0.25, uses_data=True)
#: Its branch for two classes under logistic loss.
LOGISTIC = Reading(sensitivity=_RELEASED, level_share=0.25, uses_data=True, logistic=True)
FROZEN = Reading(sensitivity=_RELEASED, level_share=0.25, uses_data=True, frozen=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class Borders:
    """Upper borders of the bins of every feature; a value belongs to the first bin that holds it.

    Attributes
    ----------
    borders : tuple of ndarray
        Ascending, one array a feature; its last bin has no upper border.
    """

    borders: tuple[Floats, ...]

    @classmethod
    def equal(cls, bounds: list[tuple[float, float]], n_bins: int) -> Borders:
        """Return bins of equal width between public bounds."""
        return cls(borders=tuple(np.linspace(*ends, n_bins + 1)[1:-1] for ends in bounds))

    @classmethod
    def of_the_rows(cls, X: Floats, n_bins: int) -> Borders:
        """Return bins between the values of private rows, all of them or quantiles."""
        found = []
        for column in X.T:
            values = np.unique(column)
            if len(values) > n_bins:
                shares = np.linspace(0, 1, n_bins + 1)[1:-1]
                values = np.unique(np.quantile(column, shares, method="lower"))
            else:
                values = values[:-1]
            found.append(values)
        return cls(borders=tuple(found))

    @cached_property
    def starts(self) -> Integers:
        """First cell of each feature, and the number of all cells."""
        return np.concatenate([[0], np.cumsum([len(own) + 1 for own in self.borders])])

    @cached_property
    def feature_of(self) -> Integers:
        """Feature of each cell."""
        return np.repeat(np.arange(len(self.borders)), np.diff(self.starts))

    def cells(self, X: Floats) -> Integers:
        """Return the cell of every value, of shape (n_rows, n_features)."""
        columns = [
            np.searchsorted(own, X[:, position]) for position, own in enumerate(self.borders)
        ]
        return np.column_stack(columns) + self.starts[:-1]


@dataclass(frozen=True, kw_only=True, eq=False)
class GrownTree:
    """A tree whose nodes are numbered as they were made; children of a node stand together.

    Attributes
    ----------
    feature, cell, child : list of int
        Split of each node: rows whose cell is at most ``cell`` go to ``child``, others to the one
        after it. The feature of a leaf is -1.
    value : ndarray
        Of each node; only those of leaves mean something.
    """

    feature: list[int]
    cell: list[int]
    child: list[int]
    value: Floats

    def predict(self, cells: Integers) -> Floats:
        """Return the leaf values of rows."""
        nodes = np.zeros(len(cells), dtype=np.int64)
        feature, cell, child = map(np.array, (self.feature, self.cell, self.child))
        rows = np.arange(len(cells))
        for _ in range(DEPTH):
            inner = feature[nodes] >= 0
            right = cells[rows, feature[nodes]] > cell[nodes]
            nodes = np.where(inner, child[nodes] + right, nodes)
        return self.value[nodes]


@dataclass(frozen=True, kw_only=True, eq=False)
class Grower:
    """Grows one tree on some rows.

    Attributes
    ----------
    reading : Reading
    borders : Borders
    epsilon : float
        Of the tree, by the paper's reckoning.
    random : numpy.random.Generator
    """

    reading: Reading
    borders: Borders
    epsilon: float
    random: np.random.Generator

    def grow(
        self, cells: Integers, gradients: Floats, index: int, hessians: Floats | None = None
    ) -> GrownTree:
        """Return the tree at ``index`` of its ensemble, with noise in splits and leaves.

        Hessians are 1 under squared loss.
        """
        hessians = np.ones(len(gradients)) if hessians is None else hessians
        feature, cell, child = [-1], [-1], [-1]
        members, depth = [np.arange(len(gradients))], [0]
        gains = {0: self._gains(members[0], cells, gradients, hessians)}
        while gains:
            node = self._next(gains)
            scores = gains.pop(node)
            if self.reading.uses_data and (not scores.max() > 0 or feature.count(-1) == _LEAVES):
                break
            chosen = self._draw(scores)
            feature[node], cell[node] = int(self.borders.feature_of[chosen]), chosen
            child[node] = len(feature)
            right = cells[members[node], feature[node]] > chosen
            for part in (members[node][~right], members[node][right]):
                depth.append(depth[node] + 1)
                members.append(part)
                if depth[-1] < DEPTH:
                    gains[len(feature)] = self._gains(part, cells, gradients, hessians)
                for column in (feature, cell, child):
                    column.append(-1)
        sums = np.array([gradients[rows].sum() for rows in members])
        weights = np.array([hessians[rows].sum() for rows in members])
        limit = BOUND * clip_at(index)
        values = np.clip(-sums / (weights + REG_LAMBDA), -limit, limit)
        noise = self.random.laplace(scale=leaf_noise(self.epsilon, index), size=len(values))
        return GrownTree(feature=feature, cell=cell, child=child, value=values + noise)

    def _next(self, gains: dict[int, Floats]) -> int:
        """Return the node to be split next: the one of the best exact gain, or the oldest."""
        if self.reading.uses_data:
            return max(gains, key=lambda node: float(gains[node].max()))
        return min(gains)

    def _gains(
        self, rows: Integers, cells: Integers, gradients: Floats, hessians: Floats
    ) -> Floats:
        """Return the gain of every candidate, minus infinity where there is none."""
        n_cells = int(self.borders.starts[-1])
        own = cells[rows].ravel()
        sums = np.bincount(own, np.repeat(gradients[rows], cells.shape[1]), minlength=n_cells)
        counts = np.bincount(own, minlength=n_cells)
        weights = np.bincount(own, np.repeat(hessians[rows], cells.shape[1]), minlength=n_cells)
        starts = self.borders.starts[:-1]
        left_sums, left_counts, left = (
            _from_start(values, starts) for values in (sums, counts, weights)
        )
        total, n_rows, whole = gradients[rows].sum(), len(rows), hessians[rows].sum()
        right_sums, right_counts = total - left_sums, n_rows - left_counts
        gains = left_sums**2 / (left + REG_LAMBDA)
        gains += right_sums**2 / (np.maximum(whole - left, 0.0) + REG_LAMBDA)
        gains[self.borders.starts[1:] - 1] = -np.inf  # nothing lies right of the last bin
        if self.reading.uses_data:
            gains -= total**2 / (whole + REG_LAMBDA)
            few = np.minimum(left_counts, right_counts) < _LEAST_ROWS
            gains[few | (gains <= 0)] = -np.inf
        return gains

    def _draw(self, gains: Floats) -> int:
        """Draw a candidate by the exponential mechanism."""
        level = self.epsilon * self.reading.level_share / DEPTH
        exponents = level * gains / (2 * self.reading.sensitivity)
        return int(np.argmax(exponents + self.random.gumbel(size=len(gains))))


def _from_start(values: NDArray, starts: Integers) -> Floats:
    """Return cumulative sums that begin again at every start."""
    sums = np.cumsum(values, dtype=np.float64)
    before = np.concatenate([[0.0], sums])[starts]
    return sums - np.repeat(before, np.diff(np.append(starts, len(values))))


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedBoosting:
    """Ensembles of trees on disjoint blocks of fixed size. NOT PRIVATE.

    Attributes
    ----------
    reading : Reading
    bounds : list of (float, float)
        Declared bounds of the features.
    n_bins : int
    epsilon : float
        Of the model, by the paper's reckoning.
    n_trees, trees_per_ensemble : int
    start_from_mean : bool
        Whether a reading that uses data starts from the exact mean label, not from 0.
    seed : int
        Of everything; a frozen reading has its own.
    """

    reading: Reading
    bounds: list[tuple[float, float]]
    n_bins: int
    epsilon: float
    n_trees: int
    trees_per_ensemble: int
    start_from_mean: bool
    seed: int

    def staged(self, X: Floats, labels: Floats, held_out: Floats) -> Iterator[Floats]:
        """Yield the scores of held-out rows after every tree.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Training rows.
        labels : ndarray of shape (n_rows,)
            In [-1, 1].
        held_out : ndarray of shape (n_held_out, n_features)
        """
        seed = FROZEN_SEED if self.reading.frozen else self.seed
        random = np.random.default_rng(seed)
        if self.reading.uses_data:
            borders = Borders.of_the_rows(X, self.n_bins)
        else:
            borders = Borders.equal(self.bounds, self.n_bins)
        from_mean = self.reading.uses_data and self.start_from_mean
        start = float(np.mean(labels)) if from_mean else 0.0
        cells, unseen = borders.cells(X), borders.cells(held_out)
        scores, predicted = np.full(len(X), start), np.full(len(held_out), start)
        n_ensembles = -(-self.n_trees // self.trees_per_ensemble)
        grower = Grower(
            reading=self.reading, borders=borders, epsilon=self.epsilon / n_ensembles, random=random
        )
        for tree in range(self.n_trees):
            index = tree % self.trees_per_ensemble
            if index == 0:
                unused = random.permutation(len(X))
            size = block_size(len(X), index, self.trees_per_ensemble)
            block, unused = unused[:size], unused[size:]
            gradients, hessians = self._derivatives(scores[block], labels[block])
            kept = np.abs(gradients) <= BOUND
            grown = grower.grow(cells[block[kept]], gradients[kept], index, hessians[kept])
            scores += LEARNING_RATE * grown.predict(cells)
            predicted += LEARNING_RATE * grown.predict(unseen)
            yield predicted.copy()

    def _derivatives(self, scores: Floats, labels: Floats) -> tuple[Floats, Floats]:
        """Return the gradients and hessians of rows."""
        if not self.reading.logistic:
            return scores - labels, np.ones(len(scores))
        shares = 1 / (1 + np.exp(-scores))
        return shares - (labels + 1) / 2, shares * (1 - shares)


def block_size(n_rows: int, index: int, n_trees: int) -> int:
    """Return the fixed size of a block: Algorithm 2, line 8, rounded down."""
    rest = 1 - LEARNING_RATE
    return int(n_rows * LEARNING_RATE * rest**index / (1 - rest**n_trees))


def clip_at(index: int) -> float:
    """Return the clip of the leaves of a tree, as a share of the gradient bound."""
    return (1 - LEARNING_RATE) ** index


def leaf_noise(epsilon: float, index: int) -> float:
    """Return the scale of the Laplace noise of a tree's leaves: half of epsilon is theirs."""
    return min(BOUND / (1 + REG_LAMBDA), 2 * BOUND * clip_at(index)) / (epsilon / 2)


def score_noise(epsilon: float, n_trees: int) -> float:
    """Return the standard deviation of the noise in a score after one ensemble of trees."""
    scales = [LEARNING_RATE * leaf_noise(epsilon, index) for index in range(n_trees)]
    return float(np.sqrt(2 * np.sum(np.square(scales))))
