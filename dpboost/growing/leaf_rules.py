"""LightGBM's rules for the values of leaves, over released sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.shrunken_leaves import ShrunkenLeaf
from dpboost.trees.random_partition import Partition


@dataclass(frozen=True, kw_only=True)
class LeafRules:
    """Steps of leaves that lean on the nodes above them.

    Proof: docs/proofs/constraints.md.

    Parameters
    ----------
    leaf : ShrunkenLeaf
        Turns the released sums of a node into its own step.
    path_smooth : float
        LightGBM's ``path_smooth``: a node of released hessian sum ``h`` takes ``h / (h + s)`` of
        its own step and the rest of that of the node above it. LightGBM counts rows instead of
        ``h``.
    least_hessian : float
        LightGBM's ``min_sum_hessian_in_leaf``: a node that releases less takes the step of the
        node above it, as if it had not been split off.

    Privacy
    -------
    Post-processing of released sums and of the public size of their noise.
    """

    leaf: ShrunkenLeaf
    path_smooth: float = 0.0
    least_hessian: float = 0.0

    @classmethod
    def of(
        cls, leaf: ShrunkenLeaf, path_smooth: float | None, least_hessian: float | None
    ) -> LeafRules | None:
        """Return the rules that are asked for, None where leaves stand alone."""
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
        """Return the step of every leaf, before the learning rate.

        Parameters
        ----------
        partition : Partition
            Public tree.
        gradients, hessians : ndarray of shape (n_outputs, n_leaves)
            Released sums.
        noise_stddev : float
            Standard deviation of the noise of a gradient sum.

        Returns
        -------
        ndarray of shape (n_outputs, n_leaves)
        """
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
