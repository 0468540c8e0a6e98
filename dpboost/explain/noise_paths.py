"""Simulation of the effect of the known noise on every leaf, without refits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.explain.masses import feature_shares
from dpboost.trees.ensemble import Ensemble
from dpboost.trees.leaf_index import leaf_index
from dpboost.trees.tree import SlopeNoise, Tree

#: Simulated courses of the noise.
N_PATHS = 100
# Rows drawn from the released shares, on which later trees answer earlier noise.
_N_ROWS = 2048
# Turns of the fit of their weights to released leaves, and how far one leaf moves them.
_TURNS = 3
_STEP = 0.3
# How much of a deviation the gradients of later trees show: rows whose gradient is clipped show
# nothing of it, and how many these are is not released. From 0.2 to 1 spreads change by a tenth.
_ANSWER = 0.5


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisePaths:
    """Deviations of leaves from a fit without noise on the same tree structures."""

    #: As they were released, before they were brought into order.
    trees: tuple[Tree, ...]
    #: Of shape (n_leaves, n_paths) for each tree, in units of the ensemble's grid.
    deviations: tuple[NDArray[np.float32], ...]

    @property
    def n_paths(self) -> int:
        """Simulated courses."""
        return self.deviations[0].shape[1]


def noise_paths(ensemble: Ensemble, n_paths: int = N_PATHS) -> NoisePaths | None:
    """Simulate the noise of a fit.

    The leaf of a tree falls by ``w n / h`` where the noise of its gradient sum is ``n``; its shrink
    weight ``w`` and its denominator ``h`` are the released ones. Gradients of later trees see the
    deviation ``e`` of the scores that came of it: in a leaf of hessian sum ``H`` they move by half
    of ``H mean(e)``, for rows whose gradient is clipped show nothing of it. So noise is corrected,
    as errors are. Rows are drawn from the released shares of the bins, feature by feature, and
    weighted so that every leaf has about its released weight: so they are where the rows are,
    although features depend on each other. The trees of a linear model share their noise.

    Neglected: the noise of hessian sums, of bins and of the start value; that released gains decide
    which features later trees cut; that several outputs answer each other's noise; and what
    monotone constraints take away from noise.

    The simulation is the same for the same model. The result is None if the recipe releases no sums
    of leaves.
    """
    trees = ensemble.released or ensemble.trees
    if not trees or any(tree.noise is None for tree in trees):
        return None
    rng = np.random.default_rng(0)
    bins = draw_bins(feature_shares(ensemble), _N_ROWS, rng)
    leaves = [leaf_index(tree, bins) for tree in trees[:: ensemble.n_outputs]]
    weights = _row_weights(trees[:: ensemble.n_outputs], leaves)
    deviations: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(trees)
    for output in range(ensemble.n_outputs):
        own = trees[output :: ensemble.n_outputs]
        deviations[output :: ensemble.n_outputs] = _simulate(own, leaves, weights, n_paths, rng)
    return NoisePaths(trees=trees, deviations=tuple(deviations))


def draw_bins(
    shares: list[NDArray[np.float64]], n_rows: int, rng: np.random.Generator
) -> NDArray[np.uint8]:
    """Draw rows of bins, each feature by itself; shape (n_features, n_rows)."""
    return np.stack([rng.choice(len(share), n_rows, p=share).astype(np.uint8) for share in shares])


def _row_weights(trees: tuple[Tree, ...], leaves: list[NDArray[np.intp]]) -> NDArray[np.float64]:
    """Return weights of drawn rows under which the leaves have about their released weights.

    Leaf by leaf, each moves the weights of its rows a part of the way, and less where its own
    weight is not much more than the regularization, which follows the noise of such weights.
    """
    weights = np.full(len(leaves[0]), 1 / len(leaves[0]))
    for _ in range(_TURNS):
        for tree, leaf in zip(trees, leaves, strict=True):
            noise, count = tree.noise, tree.leaf_count
            if isinstance(noise, SlopeNoise):  # its weights are those of the bins already
                continue
            assert noise is not None
            assert count is not None
            released = count * noise.weight_unit
            inside = np.bincount(leaf, weights, tree.n_leaves) * released.sum()
            ratio = (released + noise.reg_lambda) / np.maximum(inside + noise.reg_lambda, 1e-12)
            weights = weights * np.maximum(ratio, 1e-12)[leaf] ** _STEP
            weights /= weights.sum()
    return weights


def _simulate(
    trees: tuple[Tree, ...],
    leaves: list[NDArray[np.intp]],
    weights: NDArray[np.float64],
    n_paths: int,
    rng: np.random.Generator,
) -> list[NDArray[np.float32]]:
    """Return the deviations of the leaves of one output."""
    scores = np.zeros((len(weights), n_paths), dtype=np.float32)
    own = weights.astype(np.float32)
    # Those of a linear model, the same for all its trees.
    sources: NDArray[np.float32] | None = None
    found = []
    for tree, leaf in zip(trees, leaves, strict=True):
        noise, count = tree.noise, tree.leaf_count
        if isinstance(noise, SlopeNoise):
            if sources is None:
                n_sources = noise.loadings.shape[1]
                sources = rng.standard_normal((n_sources, n_paths), dtype=np.float32)
            deviation = noise.loadings.astype(np.float32) @ sources
            scores += deviation[leaf]
            found.append(deviation)
            continue
        assert noise is not None
        assert count is not None
        order = np.argsort(leaf, kind="stable")
        present, starts = np.unique(leaf[order], return_index=True)
        size = np.maximum(np.add.reduceat(own[order], starts), np.float32(1e-30))
        sums = np.add.reduceat(scores[order] * own[order, np.newaxis], starts, axis=0)
        # The gradient sum that a deviation of the scores makes, in steps of one.
        answer = count * noise.weight_unit * _ANSWER / noise.units_per_one
        gradient = rng.standard_normal((tree.n_leaves, n_paths), dtype=np.float32)
        gradient *= np.float32(noise.gradient_stddev)
        gradient[present] += sums * (answer[present] / size)[:, np.newaxis].astype(np.float32)
        deviation = -noise.response(count)[:, np.newaxis].astype(np.float32) * gradient
        scores += deviation[leaf]
        found.append(deviation)
    return found
