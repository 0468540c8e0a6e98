"""Leaves of single regression trees: released sums and their means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.class_leaves import GrownTree, add_up
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.rows.boosting_queries import SumScale
from dpboost.rows.label_statistics import LabelStatistics


def release_label_sums(
    rows: LabelStatistics,
    leaves: NDArray[np.int32],
    *,
    scale: SumScale,
    budget: PrivacyCost,
    ledger: Ledger,
) -> tuple[NDArray[np.float64], float]:
    """Release sums of labels and of weights of all leaves.

    Returns noisy sums of shape (n_leaves, 2), of scaled labels and of rows (or rows of the largest
    weight), and the standard deviation of the noise of a sum of labels.

    Privacy
    -------
    One release, a vector of disjoint leaves (``constants.newton_sums``).
    """
    noise = ledger.accountant.noise(budget)
    totals = rows.totals(leaves, scale)
    released = ledger.release(noise, totals, label="leaf sums")
    noise_stddev = totals.noise_stddev(noise) * scale.gradient_unit_value
    # One vector, one noise: the factors of the scale have divided the budget between the two sums,
    # and are taken off again here.
    units = (scale.gradient_unit_value, scale.hessian_unit_value)
    return released.T * np.array(units), noise_stddev


@dataclass(frozen=True, kw_only=True)
class ShrunkenMean:
    """Means of released sums, shrunk towards the parent node by the known noise.

    From the root down the mean of a node of n released rows is a mean of its own, of weight
    ``n^2 / (n^2 + n rows + q (s / prior)^2)``, and that of the node above it, where s is the
    standard deviation of the noise of a leaf's sum and q counts the leaves below: the posterior
    mean under a prior of variance ``prior**2`` for the step from a node to its child. Above the
    root is the middle of the label range.

    Privacy
    -------
    Post-processing of released sums and of the public size of their noise.
    """

    #: Typical difference of a mean between a node and its child, of labels scaled to [-1, 1].
    prior: float = 0.2
    #: Rows that the node above counts for.
    rows: float = 5.0

    def of(self, tree: GrownTree) -> NDArray[np.float64]:
        """Return the means of all nodes; shape (n_nodes,)."""
        growing = tree.growing
        sums, rows = tree.node_counts().T
        leaves_below = add_up(growing, np.ones(len(tree.counts)))
        noise = tree.noise_stddev**2 * leaves_below / self.prior**2
        total = np.maximum(rows, 0.0)
        weight = total**2 / (total**2 + total * self.rows + noise + 1e-12)
        own = np.clip(sums / np.maximum(total, 1.0), -1.0, 1.0)
        result = np.zeros(growing.n_nodes)
        parent = growing.parent
        for depth in range(int(growing.depth.max(initial=0)) + 1):
            level = np.flatnonzero(growing.depth == depth)
            above = result[parent[level]] if depth else result[level]
            result[level] = weight[level] * own[level] + (1 - weight[level]) * above
        return result
