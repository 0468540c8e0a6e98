"""What the released leaves of a partition say of each of its splits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import randomtree
from dpboost.tree.noisy_leaves import ShrunkenLeaf
from dpboost.tree.partitions import Partition


def split_gains(
    partition: Partition,
    gradients: NDArray[np.float64],
    hessians: NDArray[np.float64],
    deviation: float,
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
    partition : Partition
        Public tree; children have larger numbers than their parents.
    gradients, hessians : ndarray of shape (n_outputs, n_leaves)
        Released sums.
    deviation : float
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
    first, middle, last = np.empty((3, len(partition.left)), dtype=np.int32)
    order = np.empty(partition.n_leaves, dtype=np.int32)
    randomtree.order_leaves(partition.left, partition.right, first, middle, last, order)
    G = _running(gradients[:, order])
    H = _running(np.maximum(hessians, 0.0)[:, order])
    left_h = H[:, middle] - H[:, first] + leaf.reg_lambda
    right_h = H[:, last] - H[:, middle] + leaf.reg_lambda
    difference = (G[:, middle] - G[:, first]) / left_h - (G[:, last] - G[:, middle]) / right_h
    noise = deviation**2 * ((middle - first) / left_h**2 + (last - middle) / right_h**2)
    weight = left_h * right_h / (left_h + right_h) * leaf.shrinkage(noise)
    gains = (weight * (difference**2 - noise)).sum(axis=0)
    return gains, 2 * ((weight * noise) ** 2).sum(axis=0)


def _running(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of the first 0, 1, ... leaves."""
    sums = np.zeros((len(values), values.shape[1] + 1))
    np.cumsum(values, axis=1, out=sums[:, 1:])
    return sums
