"""Leaf values from noisy sums: means shrunk towards the parent node, or the paper's ratios."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost.local.label_levels import ClassLabels, Labels, NumericLabels
from dpboost.local.randomizer import ReportNoise
from dpboost.trees.tree import Tree

#: A noisy count below this has no meaning as a divisor.
LEAST_COUNT = 1.0

#: Least share of a class, so that no score is infinite.
LEAST_SHARE = 0.005

_LEAST_SPREAD = 1e-6
_LEAST_PART = 0.02


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimates:
    """Estimates of every cell from the reports."""

    #: Of shape (n_cells,). Unbiased numbers of records.
    counts: NDArray[np.float64]
    #: Of shape (n_cells, n_outputs). Unbiased sums of scaled labels, or of classes.
    sums: NDArray[np.float64]
    #: Variances that one report adds.
    noise: ReportNoise
    #: Of shape (n_outputs,). Unbiased sum over all records.
    whole_sum: NDArray[np.float64]
    #: Variance that one report adds to it, beyond that of a record inside.
    whole_variance: float
    #: Estimate of the mean square of what a label brings into a sum, added up over the
    #: outputs: of its level, or of the noisy label.
    second_moment: float
    n_reports: int

    def label_variance(self, mean: NDArray[np.float64]) -> float:
        """Return the variance that a record's label brings into a sum, over all records."""
        return self.second_moment - float((mean**2).sum())


def shrunk_means(tree: Tree, estimates: Estimates, prior: NDArray[np.float64]) -> NDArray:
    r"""Return mean labels of shape (n_leaves, n_outputs), from the root downwards.

    The mean of a node is its own noisy mean :math:`\hat m`, of known variance :math:`v`, pulled
    towards the mean :math:`m` of its parent: :math:`m + \tau^2 / (\tau^2 + v) (\hat m - m)`. Above
    the root is ``prior``, the middle of the scale of each output, which a tree without reports
    predicts. The spread :math:`\tau^2` of the nodes of a level around their parents is found from
    the reports by moments, each node with the precision that it has. A count below its own noise is
    taken for that noise.

    Deviation: the paper divides the noisy sum of a leaf by its noisy count (equation 5), which has
    no finite variance; ``estimate="paper"`` is that (`noisy_ratios`).

    Privacy
    -------
    Post-processing of reports.
    """
    nodes = _Nodes.of(tree, estimates)
    mean = np.clip(estimates.whole_sum / estimates.n_reports, -1.0, 1.0)
    whole = max(_LEAST_SPREAD, estimates.label_variance(mean))
    shrunk = _pull_down(nodes, estimates, prior, mean, whole)
    # What the leaves explain is not inside them: the second pass knows less noise.
    leaves = shrunk[tree.n_nodes :]
    share = np.maximum(estimates.counts, 0.0)
    share /= max(share.sum(), 1.0)
    explained = float(share @ ((leaves - shrunk[0]) ** 2).sum(axis=1))
    inside = max(_LEAST_PART * whole, whole - explained)
    return _pull_down(nodes, estimates, prior, mean, inside)[tree.n_nodes :]


def _pull_down(
    nodes: _Nodes,
    estimates: Estimates,
    prior: NDArray[np.float64],
    mean: NDArray[np.float64],
    spread: float,
) -> NDArray[np.float64]:
    """Return the shrunk mean of every node, given the variance of labels inside a node."""
    noise, n_reports = estimates.noise, estimates.n_reports
    of_record = (1 + noise.own) * spread
    own = (estimates.whole_variance + of_record) / n_reports
    least = np.sqrt(n_reports * nodes.n_leaves * noise.count)
    size = np.maximum(nodes.counts, np.maximum(1.0, least))
    means = np.clip(nodes.sums / size[:, np.newaxis], -1.0, 1.0)
    outside = n_reports * nodes.n_leaves * noise.of_mean(means)
    variance = (outside + size * of_record) / size**2
    shrunk = np.empty_like(means)
    shrunk[0] = _pulled(prior, mean, spread / (spread + own))
    for level in nodes.levels[1:]:
        parents = shrunk[nodes.parents[level]]
        gaps = ((means[level] - parents) ** 2).sum(axis=1)
        # As precise as the nodes are, but no node counts for more than four middling ones.
        precision = 1 / (variance[level] + np.median(variance[level])) ** 2
        between = max(0.0, float(np.average(gaps - variance[level], weights=precision)))
        share = between / (between + variance[level])
        shrunk[level] = _pulled(parents, means[level], share[:, np.newaxis])
    return shrunk


def _pulled(towards: NDArray, mean: NDArray, share: NDArray | float) -> NDArray:
    result: NDArray = towards + share * (mean - towards)
    return result


@dataclass(frozen=True, kw_only=True, eq=False)
class _Nodes:
    """Inner nodes and leaves in one array: leaf k is node ``n_nodes + k``."""

    #: Nodes by depth.
    levels: list[NDArray[np.int64]]
    #: Of shape (n_all,).
    parents: NDArray[np.int64]
    #: Of shape (n_all,).
    counts: NDArray[np.float64]
    #: Of shape (n_all, n_outputs).
    sums: NDArray[np.float64]
    #: Of shape (n_all,).
    n_leaves: NDArray[np.float64]

    @classmethod
    def of(cls, tree: Tree, estimates: Estimates) -> _Nodes:
        """Add the estimates of the leaves up to the root."""
        levels, parents = _levels(tree), _parents(tree)
        counts = np.concatenate([np.zeros(tree.n_nodes), estimates.counts])
        sums = np.vstack([np.zeros((tree.n_nodes, estimates.sums.shape[1])), estimates.sums])
        n_leaves = np.concatenate([np.zeros(tree.n_nodes), np.ones(tree.n_leaves)])
        for level in reversed(levels[1:]):
            for total in (counts, sums, n_leaves):
                np.add.at(total, parents[level], total[level])
        return cls(levels=levels, parents=parents, counts=counts, sums=sums, n_leaves=n_leaves)


def _levels(tree: Tree) -> list[NDArray[np.int64]]:
    """Return the nodes by depth; leaf k is node ``n_nodes + k``."""
    levels = [np.array([0], dtype=np.int64)]
    while True:
        inner = levels[-1][levels[-1] < tree.n_nodes]
        if not inner.size:
            return levels
        children = np.concatenate([tree.left[inner], tree.right[inner]]).astype(
            np.int64, casting="safe"
        )
        levels.append(np.where(children < 0, tree.n_nodes + ~children, children))


def _parents(tree: Tree) -> NDArray[np.int64]:
    parents = np.zeros(tree.n_nodes + tree.n_leaves, dtype=np.int64)
    for side in (tree.left, tree.right):
        children = np.where(side < 0, tree.n_nodes + ~side, side)
        parents[children] = np.arange(tree.n_nodes)
    return parents


def noisy_ratios(estimates: Estimates) -> NDArray[np.float64]:
    """Return mean labels of shape (n_cells, n_outputs), by equation 5 of the paper.

    The noisy sum of a cell is divided by its noisy count. A ratio of two noisy numbers has no
    finite variance, so a cell of few records may have any value; it is clipped to the label range
    where scores are made of it. A count below one is taken for one.

    Privacy
    -------
    Post-processing of reports.
    """
    return estimates.sums / np.maximum(estimates.counts, LEAST_COUNT)[:, np.newaxis]


def raw_scores(means: NDArray[np.float64], labels: Labels) -> NDArray[np.float64]:
    """Return scores in the scale of the model text, shape (n_leaves, n_scores).

    Means are scaled labels, or shares of classes, of shape (n_leaves, n_outputs).
    """
    if isinstance(labels, NumericLabels):
        half = labels.upper / 2 - labels.lower / 2
        values = labels.lower / 2 + labels.upper / 2 + np.clip(means, -1.0, 1.0) * half
        return np.clip(values, labels.lower, labels.upper)
    shares = class_shares(means)
    if labels.n_levels == 2:
        return np.log(shares[:, 1:] / shares[:, :1])
    return np.log(shares)


def class_shares(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return shares that are positive and sum to one."""
    shares = np.clip(means, LEAST_SHARE, 1.0)
    return shares / shares.sum(axis=1, keepdims=True)


def prior_mean(labels: Labels) -> NDArray[np.float64]:
    """Return what is predicted where nothing is known: the middle, or equal shares."""
    if isinstance(labels, ClassLabels):
        return np.full(labels.n_outputs, 1 / labels.n_outputs)
    return np.zeros(1)
