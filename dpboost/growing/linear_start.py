"""A linear model of the numeric columns before the first round, as one tree of each column.

Proof: docs/proofs/linear-start.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner
from dpboost.losses import Loss
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import Query
from dpboost.rows.linear_sums import MOST, ONE, GradientMoments, LinearColumns, SecondMoments
from dpboost.trees.tree import WEIGHT_UNITS, SlopeNoise, Tree, threshold_sets

# Half of the start's budget is for the second moments, the other half for these steps.
N_STEPS = 2
# What every bin has at least, as a part of what one has on average.
LEAST_MASS = 0.01
# So many times values beyond two deviations are cut.
N_CUTS = 8
# With a single column there is nothing to learn that its trees do not.
LEAST_COLUMNS = 2


class LinearRows(Protocol):
    """Rows whose scores trees are added to."""

    def released(
        self, query: Query, budget: PrivacyCost, ledger: Ledger, label: str
    ) -> tuple[NDArray[np.float64], float]:
        """Release a query at the scores of all trees so far; return it, and its noise."""

    def append(self, trees: tuple[Tree, ...]) -> None:
        """Append the trees of a round."""

    def correct(self, trees: tuple[Tree, ...]) -> None:
        """Add trees to all scores that are no round."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearStart:
    """Release a linear model of standardized bins, in two steps by their second moments.

    Privacy
    -------
    Three releases with Gaussian noise (``constants.second_moments`` and
    ``constants.gradient_moments``). Values of bins are public or released. Coefficients and trees
    are post-processing.
    """

    #: Returns the features that come first; the numeric ones are the columns.
    first: Callable[[], NDArray[np.integer]]
    #: Without a model if these are more.
    most_columns: int
    #: Public or released bins.
    binner: Binner
    #: Released rows in the bins of a column, of shape (n_bins + 1,); where there are none, bins are
    #: taken to have equally many.
    masses: Mapping[int, NDArray[np.float64]]
    #: Of one output.
    loss: Loss
    #: Part of the trees' budget.
    share: Fraction
    #: Public clip of a row's gradient, as the loss takes it.
    gradient_limit: float
    #: Standard deviation of a coefficient before anything is known.
    prior: float

    def release(
        self, rows: LinearRows, ledger: Ledger, budget: PrivacyCost
    ) -> tuple[tuple[Tree, ...], PrivacyCost]:
        """Release the trees, one for each column, and add them to the scores of the rows.

        The rows are before their first round, and the budget is that of all trees. Returns no trees
        where there are too few columns, or too many, and the budget that is left.
        """
        first, budget_of_start = self.first(), budget * self.share
        columns = first[(self.binner.is_categorical[first] == 0) & (self.binner.n_bins[first] > 1)]
        if not LEAST_COLUMNS <= len(columns) <= self.most_columns:
            return (), budget
        design = linear_columns(self.binner, columns, self.masses)
        moments = SecondMoments(design=design, loss=self.loss)
        steps = GradientMoments(design=design, loss=self.loss, gradient_limit=self.gradient_limit)
        of_moments = budget_of_start * Fraction(1, 2)
        of_a_step = of_moments * Fraction(1, N_STEPS)
        with ledger.sequential("linear start"):
            trees = self._released(rows, ledger, (moments, of_moments), (steps, of_a_step))
        return trees, budget if budget == math.inf else budget - budget_of_start

    def _released(
        self,
        rows: LinearRows,
        ledger: Ledger,
        moments: tuple[SecondMoments, PrivacyCost],
        steps: tuple[GradientMoments, PrivacyCost],
    ) -> tuple[Tree, ...]:
        """Release the moments, and the sums of each step, each for its budget."""
        design = moments[0].design
        shapes = [
            one_leaf_a_bin(column, int(self.binner.n_bins[column]), values)
            for column, values in zip(design.columns.tolist(), design.values, strict=True)
        ]
        triangle, moments_noise = rows.released(*moments, ledger, "second moments")
        matrix = moments[0].matrix(triangle)
        coefficients, loadings = np.zeros(design.size), np.zeros((design.size, 0))
        trees: list[Tree] = []
        for step in range(N_STEPS):
            sums, stddev = rows.released(*steps, ledger, "gradient moments")
            response = self._response(matrix, moments_noise, stddev)
            change = -_product(response, sums[:, np.newaxis])[:, 0]
            coefficients = coefficients + change
            # The gradients of a step see the noise of the one before. That of the moments counts
            # by the size of what they change.
            seen = loadings - _product(response, _product(matrix, loadings))
            squares = math.fsum((change**2).tolist())
            own = math.sqrt(stddev**2 + moments_noise**2 * squares)
            loadings = np.hstack([seen, own * response])
            before, trees = trees, self._trees(shapes, design, coefficients, loadings)
            add = rows.append if step == N_STEPS - 1 else rows.correct
            for tree in _differences(trees, before):
                add((tree,))
        # The constant's second moment is the number of rows.
        n_rows = max(float(matrix[0, 0]), 0.0)
        return tuple(self._with_weights(tree, n_rows) for tree in trees)

    def _response(
        self, moments: NDArray[np.float64], moments_noise: float, noise_stddev: float
    ) -> NDArray[np.float64]:
        """Return the matrix by which coefficients answer gradient sums: their posterior mean.

        The sums are ``A w`` and noise, where ``A`` are the moments. Noise is that of the release,
        that of the rows, whose gradients deviate by half their clip, and that of ``A`` times
        typical coefficients. With variance ``v`` of the prior, ``c A`` of the rows and ``s**2`` of
        the other noise, the response is ``(A A + (c A + s**2) / v)**-1 A``.
        """
        size, prior = len(moments), self.prior**2
        of_rows = (self.gradient_limit / 2) ** 2 / prior
        others = noise_stddev**2 / prior + size * moments_noise**2
        # The noise of moments may turn small ones around; this much keeps the sum definite.
        others = max(others, of_rows**2)
        left = _product(moments, moments) + of_rows * moments + others * np.eye(size)
        return _solution(left, moments)

    def _trees(
        self,
        shapes: list[Tree],
        design: LinearColumns,
        coefficients: NDArray[np.float64],
        loadings: NDArray[np.float64],
    ) -> list[Tree]:
        """Return the model as trees; the first has the constant."""
        trees = []
        for place, shape in enumerate(shapes, 1):
            vectors = np.zeros((shape.n_leaves, design.size))
            vectors[:, 0] = float(place == 1)
            vectors[:, place] = design.values[place - 1, : shape.n_leaves] / ONE
            value = vectors[:, 0] * coefficients[0] + vectors[:, place] * coefficients[place]
            trees.append(
                replace(
                    shape,
                    leaf_value=self.loss.to_score_units(value, 1.0, 1.0),
                    noise=SlopeNoise(
                        loadings=_product(vectors, loadings) * self.loss.units_per_one
                    ),
                )
            )
        return trees

    def _with_weights(self, tree: Tree, n_rows: float) -> Tree:
        """Return a tree with its rows, and with the gain of each split, less that of its noise."""
        assert isinstance(tree.noise, SlopeNoise)
        column, n_nodes, n_leaves = int(tree.feature[0]), len(tree.feature), tree.n_leaves
        own = self.masses.get(column, np.full(n_leaves, n_rows / n_leaves))[:n_leaves]
        rows = np.concatenate([np.zeros(n_nodes), own])
        leaves = np.column_stack([tree.leaf_value, tree.noise.loadings]) / self.loss.units_per_one
        sums = np.vstack([np.zeros((n_nodes, leaves.shape[1])), leaves]) * rows[:, np.newaxis]
        gain = np.zeros(n_nodes)
        # Children come after their parents.
        for node in reversed(range(n_nodes)):
            pair = int(tree.left[node]), int(tree.right[node])
            sides = [child if child >= 0 else n_nodes + ~child for child in pair]
            sums[node], rows[node] = sums[sides].sum(axis=0), rows[sides].sum()
            if rows[sides].all():
                apart = np.subtract(*(sums[sides] / rows[sides, np.newaxis])) ** 2
                gain[node] = (apart[0] - apart[1:].sum()) * rows[sides].prod() / rows[node]
        return replace(
            tree,
            leaf_count=np.rint(own * WEIGHT_UNITS).astype(np.int64),
            split_gain=gain * self.loss.squared_step,
        )


def linear_columns(
    binner: Binner, columns: NDArray[np.integer], masses: Mapping[int, NDArray[np.float64]]
) -> LinearColumns:
    """Return the values of the bins of some numeric columns: their middles, standardized.

    The middles of a column get mean 0 and deviation 1 after those beyond two deviations are cut. A
    missing value is that of the bin next to 0. Rows may be as long as one whose entries are one
    deviation each.
    """
    values = np.zeros((len(columns), 256), dtype=np.int64)
    for own, column in zip(values, columns.tolist(), strict=True):
        n_bins = int(binner.n_bins[column])
        weights = masses.get(column, np.ones(n_bins))[:n_bins]
        own[:n_bins] = _standardized(binner.thresholds(column)[: n_bins - 1], weights)
        own[n_bins] = own[_middle(own[:n_bins])]
    return LinearColumns.of_length_one(columns.astype(np.int32), values)


def _middle(values: NDArray[np.int64]) -> int:
    """Return the bin next to 0."""
    return int(np.abs(values).argmin())


def _standardized(edges: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return values of the bins between some edges, in units; the same on every machine."""
    # The first and the last bin have no outer edge, and get the width of their neighbors.
    inner = np.diff(edges)
    first, last = (inner[0], inner[-1]) if len(inner) else (1.0, 1.0)
    outer = np.concatenate([[edges[0] - first], edges, [edges[-1] + last]])
    middles = outer[1:] / 2 + outer[:-1] / 2
    # No bin without any weight, as noise may hide what is there.
    weights = weights + LEAST_MASS * max(math.fsum(weights.tolist()) / len(weights), 1.0)
    # Cut again and again: bins far away, where wide bounds are almost empty, must not set the unit
    # of the others. Each time in another unit, so that nothing overflows or vanishes.
    for _ in range(N_CUTS):
        middles = middles - _mean(middles, weights)
        middles = middles / (np.abs(middles).max() or 1.0)
        deviation = math.sqrt(_mean(middles**2, weights))
        middles = np.clip(middles, -2 * deviation, 2 * deviation)
    middles = middles - _mean(middles, weights)
    deviation = math.sqrt(_mean(middles**2, weights))
    units = np.rint(middles / (deviation or 1.0) * ONE)
    return np.clip(units, -MOST, MOST).astype(np.int64)


def _mean(numbers: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return the weighted mean."""
    return math.fsum((numbers * weights).tolist()) / math.fsum(weights.tolist())


def one_leaf_a_bin(column: int, n_bins: int, values: NDArray[np.int64]) -> Tree:
    """Return a balanced tree whose leaf b is value bin b of a numeric column.

    Missing values are with the bin next to 0, as in `linear_columns`.
    """
    missing = _middle(values[:n_bins])
    split, left, right = np.zeros((3, n_bins - 1), dtype=np.int32)
    pending, n_nodes = [(0, n_bins, left, 0)], 0
    while pending:
        low, high, side, parent = pending.pop()
        if high - low == 1:
            side[parent] = ~low
            continue
        node, middle = n_nodes, (low + high) // 2
        if node:
            side[parent] = node
        n_nodes += 1
        split[node] = middle - 1
        pending += [(low, middle, left, node), (middle, high, right, node)]
    left_bins = threshold_sets(split.astype(np.uint8), np.zeros(len(split), dtype=bool)).copy()
    left_bins[missing <= split, n_bins >> 6] |= np.uint64(1 << (n_bins & 63))
    return Tree(
        feature=np.full(n_bins - 1, column, dtype=np.int32),
        left_bins=left_bins,
        left=left,
        right=right,
        leaf_value=np.zeros(n_bins, dtype=np.int64),
        split_gain=np.zeros(n_bins - 1),
    )


def _differences(trees: list[Tree], before: list[Tree]) -> list[Tree]:
    """Return what trees have more than those before, if there were any."""
    if not before:
        return trees
    return [
        replace(tree, leaf_value=tree.leaf_value - old.leaf_value)
        for tree, old in zip(trees, before, strict=True)
    ]


# Below, every entry is computed by the same operations in the same order on every machine, which
# libraries of linear algebra do not promise: parties and replays must find the same leaves.


def _product(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the product of two matrices."""
    found = np.zeros((len(left), right.shape[1]))
    for column, line in zip(left.T, right, strict=True):
        found += np.multiply.outer(column, line)
    return found


def _solution(matrix: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the solution of equations with a positive definite matrix, by elimination."""
    size = len(matrix)
    both = np.hstack([matrix, right])
    for pivot in range(size):
        both[pivot] /= both[pivot, pivot]
        for lines in (slice(0, pivot), slice(pivot + 1, size)):
            both[lines] -= np.multiply.outer(both[lines, pivot], both[pivot])
    return both[:, size:]
