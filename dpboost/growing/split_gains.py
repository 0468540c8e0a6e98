"""What the released leaves of a tree say of each of its splits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import splitgains
from dpboost.growing.shrunken_leaves import ShrunkenLeaf
from dpboost.trees.random_partition import Partition
from dpboost.trees.tree import Tree


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

    Parameters
    ----------
    values : ndarray of shape (2**depth,)
        Released values of the leaves from left to right.
    noise_stddev : float
        Standard deviation of their noise.

    Returns
    -------
    ndarray of shape (2**depth - 1,)
        Level by level; negative where noise shows less than its mean.

    Privacy
    -------
    Post-processing of released values and of the public size of their noise.
    """
    gains = np.empty(len(values) - 1)
    splitgains.value_gains(noise_stddev**2, values.astype(np.float64), gains)
    return gains
