"""Rounds of the recipes from papers over parties: splits from noisy histograms."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.integer_units import LARGEST_UNITS, to_integer_units
from dpboost.federated.training.level_queries import LeafTotals, LevelSums
from dpboost.growing.boosting_loop import TreeRows
from dpboost.growing.grower import grow_complete
from dpboost.growing.shrunken_leaves import ShrunkenLeaf, split_gains
from dpboost.growing.split_learner import SplitLearner
from dpboost.losses import GRADIENT_UNIT
from dpboost.privacy.exact_arithmetic import Epsilon, PrivacyCost, pure_epsilon, split_tree
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.mechanisms import DiscreteLaplace
from dpboost.privacy.queries import RowHandle
from dpboost.trees.bin_layout import Layout
from dpboost.trees.tree import Tree

# Squared gradient sums stand out from their noise beyond so many variances.
DOUBT = 2.0


@dataclass(frozen=True, kw_only=True)
class HistogramLearner:
    """Grow one tree from noisy sums of all parties.

    Deviation: the papers choose each split by an exponential mechanism over exact gains, and
    release clipped leaves. Both need exact sums over all rows, which no party has. They are
    replaced by two noisy sums: gradient sums and counts of all cells of all features of a level,
    charged for every feature (`privacy.level_sums.level_sums`), which determine the best split; and
    sums and counts of the leaves, whose steps are shrunk by their known noise and clipped as in
    the papers. Schedules, filter, clips, and budget fractions are those of the recipe.

    Privacy
    -------
    One release a level and one of the leaves, with discrete Laplace noise.
    """

    central: SplitLearner
    source: RowHandle
    layout: Layout

    def learn(
        self,
        rows: TreeRows,
        index: int,
        *,
        budget: PrivacyCost,
        ledger: Ledger,
        learning_rate: float | None = None,
    ) -> tuple[Tree, ...]:
        """Release the tree at position ``index`` of its ensemble."""
        central = self.central
        statistics = rows.node_statistics(central.gradient_bound, ledger.neighbors, summed=True)
        parts = split_tree(budget, central.grower.max_depth)

        def choose(n_nodes: int, level: PrivacyCost) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
            return self._choose(n_nodes, pure_epsilon(level), ledger)

        feature, left_bins, left, right = grow_complete(
            parts.levels, choose, statistics.split, self.layout.is_categorical
        )
        released, noise_stddev = self._release(len(feature) + 1, pure_epsilon(parts.leaves), ledger)
        clip = replace(central.leaf, clip=central.clip.at(index)).clip
        leaf = ShrunkenLeaf(reg_lambda=central.leaf.reg_lambda, prior=clip, largest=clip)
        gradients, counts = released[0], np.maximum(released[1], 0.0)
        hessians = central.leaf.hessian * counts
        rate = central.learning_rate if learning_rate is None else learning_rate
        steps = leaf.steps(gradients, hessians, noise_stddev)
        if central.monotone is not None:
            weights = leaf.precision(hessians, noise_stddev)[np.newaxis]
            nodes = (feature, left_bins, left, right)
            steps = central.monotone.project(nodes, steps[np.newaxis], weights)[0]
        tree = Tree(
            feature=feature,
            left_bins=left_bins,
            left=left,
            right=right,
            leaf_value=central.loss.to_score_units(steps, 1.0, rate),
            leaf_count=to_integer_units(counts, 0, LARGEST_UNITS),
        )
        shown = split_gains(tree, gradients[np.newaxis], hessians[np.newaxis], noise_stddev, leaf)
        return (replace(tree, split_gain=shown[0] * central.loss.squared_step),)

    def _choose(
        self, n_nodes: int, epsilon: Epsilon, ledger: Ledger
    ) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Release the histograms of a level and return the best split of every node."""
        query = LevelSums(
            n_nodes=n_nodes, layout=self.layout, gradient_bound=self.central.gradient_bound
        )
        sums = self.source.ask(query, ledger.neighbors)
        noise = DiscreteLaplace(epsilon=epsilon)
        released = ledger.release(noise, sums, label="level histograms")
        noise_stddev = sums.noise_stddev(noise) * GRADIENT_UNIT
        gradients = released[0] * GRADIENT_UNIT
        counts = released[1] / query.count_units
        gains = self._gains(gradients, counts, noise_stddev)
        return self.layout.splits(np.argmax(gains, axis=1))

    def _gains(
        self, gradients: NDArray[np.float64], counts: NDArray[np.float64], noise_stddev: float
    ) -> NDArray[np.float64]:
        """Return the gain of every candidate of every node, less what noise alone would show."""
        layout = self.layout
        gains = np.empty((len(gradients), layout.n_candidates))
        # A count is worth as many units as the largest gradient.
        doubt_of_count = noise_stddev / self.central.gradient_bound
        for feature in range(len(layout.cell_offsets) - 1):
            cells = slice(*layout.cell_offsets[feature : feature + 2])
            candidates = slice(*layout.candidate_offsets[feature : feature + 2])
            n_bins = cells.stop - cells.start - 1
            own = np.stack([gradients[:, cells], counts[:, cells]])
            total = own.sum(axis=2, keepdims=True)
            left = own[:, :, :n_bins]
            n_left = np.ones(n_bins)
            if not layout.is_categorical[feature]:
                left, n_left = np.cumsum(left, axis=2), np.arange(1, n_bins + 1)
            sides = ((left, n_left), (total - left, n_bins + 1 - n_left))
            gains[:, candidates] = sum(
                self._score(side, n_cells, noise_stddev, doubt_of_count) for side, n_cells in sides
            )
        return gains

    def _score(
        self,
        side: NDArray[np.float64],
        n_cells: NDArray[np.floating],
        noise_stddev: float,
        doubt_of_count: float,
    ) -> NDArray[np.float64]:
        """Return S^2 / (c n + lambda) of one side, for sums over so many noisy cells."""
        leaf = self.central.leaf
        squares = np.maximum(side[0] ** 2 - DOUBT * n_cells * noise_stddev**2, 0.0)
        rows = np.maximum(side[1], 0.0) + doubt_of_count * np.sqrt(n_cells)
        score: NDArray[np.float64] = squares / (leaf.hessian * rows + leaf.reg_lambda)
        return score

    def _release(
        self, n_leaves: int, epsilon: Epsilon, ledger: Ledger
    ) -> tuple[NDArray[np.float64], float]:
        """Release gradient sums and numbers of rows of the leaves, with the noise of a sum."""
        query = LeafTotals(n_nodes=n_leaves, gradient_bound=self.central.gradient_bound)
        totals = self.source.ask(query, ledger.neighbors)
        noise = DiscreteLaplace(epsilon=epsilon)
        released = ledger.release(noise, totals, label="leaf sums")
        noise_stddev = totals.noise_stddev(noise) * GRADIENT_UNIT
        return np.stack(
            [released[0] * GRADIENT_UNIT, released[1] / query.count_units]
        ), noise_stddev
