"""Leaf values and split gains from noisy sums: Newton steps, shrinkage, LightGBM's rules."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import splitgains
from dpboost.trees.random_partition import Partition
from dpboost.trees.tree import LeafNoise, Tree


@dataclass(frozen=True, kw_only=True)
class ShrunkenLeaf:
    """Newton steps from noisy sums, shrunk towards zero by their known noise.

    With denominator ``h = max(H, 0) + lambda`` the raw step ``-G / h`` carries noise of variance
    ``(s / h)**2``, where ``s`` is the standard deviation of the noise of ``G``. Multiplied by
    ``tau**2 / (tau**2 + (s / h)**2)`` it is the posterior mean of a step with prior variance
    ``tau**2``. An empty leaf then adds almost nothing, which makes deep partitions harmless.

    Privacy
    -------
    Post-processing of released sums and of the public size of their noise.
    """

    #: Added to the denominator.
    reg_lambda: float
    #: ``tau``, the typical size of a step.
    prior: float
    #: Steps are clipped to +- this.
    largest: float = 2.0

    def steps(
        self, gradients: NDArray[np.float64], hessians: NDArray[np.float64], noise_stddev: float
    ) -> NDArray[np.float64]:
        """Return steps of shape (n_outputs, n_leaves), before the learning rate.

        Gradients and hessians are released sums of the same shape; the noise is that of a gradient
        sum.
        """
        # A noisy sum of hessians may be negative, and the true one is not: cut at zero, the
        # denominator can neither vanish nor turn a step round.
        denominator = np.maximum(hessians, 0.0) + self.reg_lambda
        steps = -gradients / denominator * self.shrinkage((noise_stddev / denominator) ** 2)
        # Shrinkage bounds the noise of a step, not a step of a leaf with few rows and hessians near
        # zero, where scores would run away.
        return np.minimum(np.maximum(steps, -self.largest), self.largest)

    def precision(self, hessians: NDArray[np.float64], noise_stddev: float) -> NDArray[np.float64]:
        """Return the inverse of the posterior variance of every step, up to a common factor.

        The steps that are in order and likeliest under noise and prior are the projection of the
        posterior means by these weights. If there is no noise they are the denominators, the
        weights of the Newton step itself. Sums and noise are as in `steps`.
        """
        denominator = np.maximum(hessians, 0.0) + self.reg_lambda
        if noise_stddev == 0:
            return denominator
        return (denominator / noise_stddev) ** 2 + self.prior**-2

    def shrinkage(self, variance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weight of the posterior mean for noise of this variance."""
        return self.prior**2 / (self.prior**2 + variance)


@dataclass(frozen=True, kw_only=True)
class LeafRules:
    """Leaf steps with rules that depend on the parent nodes.

    Proof: docs/proofs/constraints.md.

    Privacy
    -------
    Post-processing of released sums and of the public size of their noise.
    """

    #: Turns the released sums of a node into its own step.
    leaf: ShrunkenLeaf
    #: LightGBM's ``path_smooth``: a node of released hessian sum ``h`` takes ``h / (h + s)`` of
    #: its own step and the rest of that of the node above it. LightGBM counts rows instead of
    #: ``h``.
    path_smooth: float = 0.0
    #: LightGBM's ``min_sum_hessian_in_leaf``: a node that releases less takes the step of the
    #: node above it, as if it had not been split off.
    least_hessian: float = 0.0

    @classmethod
    def of(
        cls, leaf: ShrunkenLeaf, path_smooth: float | None, least_hessian: float | None
    ) -> LeafRules | None:
        """Return the rules that are asked for, None if leaves stand alone."""
        if not path_smooth and not least_hessian:
            return None
        return cls(leaf=leaf, path_smooth=path_smooth or 0.0, least_hessian=least_hessian or 0.0)

    def steps(
        self,
        partition: Partition,
        gradients: NDArray[np.float64],
        hessians: NDArray[np.float64],
        noise_stddev: float,
    ) -> NDArray[np.float64]:
        """Return the steps of the leaves of a partition, as `ShrunkenLeaf.steps`."""
        children = np.stack([partition.left, partition.right])
        n_nodes = children.shape[1]
        if not n_nodes:
            return self.leaf.steps(gradients, hessians, noise_stddev)
        # Nodes first, then leaves: the position of leaf ~v is n_nodes + v.
        positions = np.where(children >= 0, children, n_nodes + ~children)
        levels = _levels(positions, n_nodes)
        sums = np.zeros((3, len(gradients), 2 * n_nodes + 1))
        sums[0, :, n_nodes:], sums[1, :, n_nodes:] = gradients, np.maximum(hessians, 0.0)
        sums[2, :, n_nodes:] = 1.0
        for nodes in levels[::-1]:
            sums[:, :, nodes] = sums[:, :, positions[:, nodes]].sum(axis=2)
        steps = self._own(sums, noise_stddev)
        share = sums[1] / np.maximum(sums[1] + self.path_smooth, 1e-300)
        share[sums[1] < self.least_hessian] = 0.0
        for nodes in levels:
            above = steps[:, nodes]
            for side in positions[:, nodes]:
                steps[:, side] = above + share[:, side] * (steps[:, side] - above)
        return steps[:, n_nodes:]

    def _own(self, sums: NDArray[np.float64], noise_stddev: float) -> NDArray[np.float64]:
        """Return the step of every node by its own sums, which add up the noise of its leaves."""
        denominator = sums[1] + self.leaf.reg_lambda
        variance = sums[2] * (noise_stddev / denominator) ** 2
        steps = -sums[0] / denominator * self.leaf.shrinkage(variance)
        return np.clip(steps, -self.leaf.largest, self.leaf.largest)


def _levels(positions: NDArray[np.integer], n_nodes: int) -> list[NDArray[np.integer]]:
    """Return the nodes of a tree level by level, from the root."""
    levels = []
    nodes = np.zeros(1, dtype=positions.dtype)
    while len(nodes):
        levels.append(nodes)
        below = positions[:, nodes].ravel()
        nodes = below[below < n_nodes]
    return levels


def split_gains(
    partition: Partition | Tree,
    gradients: NDArray[np.float64],
    hessians: NDArray[np.float64],
    noise_stddev: float,
    leaf: ShrunkenLeaf,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the released gain of every split, in excess of what noise alone would show.

    Let ``G`` and ``h = max(H, 0) + lambda`` be the sums of the released leaves below the two
    children of a split. The difference ``d = G_l / h_l - G_r / h_r`` of their steps carries noise
    of variance ``v = s**2 (q_l / h_l**2 + q_r / h_r**2)``, where ``s`` is the standard deviation
    of the noise of one leaf and ``q`` counts the leaves below a child. With the weight
    ``w = h_l h_r / (h_l + h_r)``, by which ``w d**2`` is the gain of the split in a Newton step,
    the split shows ``w (d**2 - v) tau**2 / (tau**2 + v)``; were there noise alone, that would have
    mean 0 and variance ``2 (w v tau**2 / (tau**2 + v))**2``.

    Parameters
    ----------
    partition : Partition or Tree
        Public tree; children have larger numbers than their parents.
    gradients, hessians : ndarray of shape (n_outputs, n_leaves)
        Released sums.
    noise_stddev : float
        Standard deviation of the noise of a gradient sum.
    leaf : ShrunkenLeaf
        Its ``lambda`` and ``tau``.

    Returns
    -------
    gains : ndarray of shape (n_leaves - 1,)
        By node, summed over outputs; negative where noise shows less than its mean.
    variances : ndarray of shape (n_leaves - 1,)
        Of the gains, were there noise alone.

    Privacy
    -------
    Post-processing of released sums and of the public size of their noise.
    """
    n_nodes = len(partition.left)
    shown = np.zeros((2, n_nodes))
    splitgains.split_gains(
        partition.left,
        partition.right,
        gradients,
        hessians,
        noise_stddev,
        leaf.reg_lambda,
        leaf.prior,
        np.empty((3, n_nodes)),
        shown,
    )
    return shown[0], shown[1]


def value_gains(values: NDArray[np.floating], noise_stddev: float) -> NDArray[np.float64]:
    """Return what the released values of the leaves of a complete tree say of each split.

    For recipes that release no sums, hence no sizes either: every leaf counts as if it held an
    equal part of the rows. Let ``m_l`` and ``m_r`` be the means of the ``k`` leaves below the two
    children of a split on level ``j``. It shows ``2**-(j + 2) ((m_l - m_r)**2 - 2 s**2 / k)``, a
    gain for each row of the table, where ``s`` is the standard deviation of the noise of one value.
    Values are those of the leaves from left to right; gains are level by level, negative where
    noise shows less than its mean.

    Privacy
    -------
    Post-processing of released values and of the public size of their noise.
    """
    gains = np.empty(len(values) - 1)
    splitgains.value_gains(noise_stddev**2, values.astype(np.float64), gains)
    return gains


def stretched(tree: Tree, factor: float) -> Tree:
    """Return a tree whose leaves are so many times as far from their released mean; public.

    The mean stays, since it corrects the start value. Of its own noise, which all rows share,
    nothing is said.
    """
    noise = tree.noise
    if isinstance(noise, LeafNoise):
        noise = replace(noise, learning_rate=factor * noise.learning_rate)
    value, middle = tree.leaf_value, 0.0
    if tree.leaf_count is not None and tree.leaf_count.any():
        # Integers, so that every machine finds the same leaves.
        weights = tree.leaf_count.tolist()
        pairs = zip(value.tolist(), weights, strict=True)
        middle = sum(leaf * weight for leaf, weight in pairs) / sum(weights)
    value = np.rint(middle + factor * (value - middle)).astype(np.int64)
    return replace(tree, leaf_value=value, noise=noise)
