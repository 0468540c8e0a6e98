"""Best splits from released class counts: post-processing."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.pruning import without
from dpboost.privacy.sensitivity.impurities import Impurity
from dpboost.trees.growing_tree import GrowingTree
from dpboost.trees.split_candidates import CATEGORY, Candidates


def impurity_of(measure: Impurity, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the impurity of sets of rows, which is not divided by their number.

    Counts are not negative, their last axis the classes. The impurity is that of
    ``dpboost.privacy.sensitivity.impurities``, not clipped.
    """
    total = counts.sum(axis=-1)
    if measure is Impurity.ERRORS:
        return total - counts.max(axis=-1)
    if measure is Impurity.ROOT_GINI:
        return np.sqrt(counts * (total[..., np.newaxis] - counts)).sum(axis=-1)
    part = counts / np.maximum(total, 1e-300)[..., np.newaxis]
    if measure is Impurity.GINI:
        return total * (1 - (part**2).sum(axis=-1)) * (total > 0)
    return -(counts * np.log2(np.where(part > 0, part, 1.0))).sum(axis=-1)


def consistent_tables(counts: NDArray[Any], tables: NDArray[np.integer]) -> NDArray[np.float64]:
    """Make released tables of the same rows agree: no cell below zero, and one total.

    A branch adds cells up. The sum of noisy cells may be far below zero for one class, and a
    branch that is cut at zero afterwards looks pure and wins; cells are cut first, therefore.
    The total of a node is the mean of its tables' noisy sums, which cutting would raise.

    Parameters
    ----------
    counts : ndarray of shape (n_nodes, n_cells, n_classes)
        Released counts.
    tables : ndarray of shape (n_cells,) or (n_nodes, n_cells), integer
        The table of each cell; -1 where a cell is of none.

    Returns
    -------
    ndarray of shape (n_nodes, n_cells, n_classes), float64
        Equal to ``counts`` where those agree already, as counts without noise do; zero in cells
        of no table, and in tables without a cell above zero.
    """
    n_nodes, n_cells = counts.shape[:2]
    of_cell = np.broadcast_to(tables, (n_nodes, n_cells))
    present = of_cell >= 0
    n_tables = int(of_cell.max(initial=-1)) + 1
    slot = (of_cell + n_tables * np.arange(n_nodes)[:, np.newaxis])[present]

    def sums(cells: NDArray[Any]) -> NDArray[np.float64]:
        flat = np.bincount(slot, cells.sum(axis=2)[present], minlength=n_nodes * n_tables)
        return flat.astype(np.float64).reshape(n_nodes, n_tables)

    inside = np.where(present[..., np.newaxis], np.maximum(counts, 0), 0).astype(np.float64)
    noisy, cut = sums(counts), sums(inside)
    n_present = np.zeros((n_nodes, n_tables))
    n_present.ravel()[slot] = 1
    number = np.maximum(n_present.sum(axis=1, keepdims=True), 1)
    mean = noisy.sum(axis=1, keepdims=True) / number
    # A node that seems empty has at most one row, so that its cells keep their proportions.
    total = np.maximum(mean, np.minimum(cut.sum(axis=1, keepdims=True) / number, 1.0))
    factor = np.where(cut > 0, total / np.where(cut > 0, cut, 1.0), 1.0)
    inside[present] *= factor.ravel()[slot][:, np.newaxis]
    return inside


def branch_counts(
    counts: NDArray[np.float64], kind: NDArray[np.uint8] | int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the class counts of both branches of every split of a feature.

    Counts, of shape (..., n_cells, n_classes), are of the cells of features, the missing bin last,
    and not negative; ``kind`` is that of each feature, thresholds or single categories. Both
    results are of shape (..., n_cells - 1, n_classes), of the split by each cell but the last one.
    """
    single = np.asarray(kind == CATEGORY)[..., np.newaxis, np.newaxis]
    left = np.where(single, counts, np.cumsum(counts, axis=-2))[..., :-1, :]
    right = counts.sum(axis=-2, keepdims=True) - left
    # What the order of a sum of fractions leaves below zero.
    return left, np.maximum(right, 0.0)


def split_gain(
    measure: Impurity, left: NDArray[np.float64], right: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the gain of splits for each row: 0 where no row seems to be there.

    The last axis of the branches' counts, which are not negative, are the classes.
    """
    whole = left + right
    after = impurity_of(measure, left) + impurity_of(measure, right)
    return (impurity_of(measure, whole) - after) / np.maximum(whole.sum(axis=-1), 1.0)


def split_purity(
    measure: Impurity, left: NDArray[np.float64], right: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return minus the impurity that splits leave for each row: -inf without a row."""
    after = impurity_of(measure, left) + impurity_of(measure, right)
    total = left.sum(axis=-1) + right.sum(axis=-1)
    return np.where(total > 0, -after / np.where(total > 0, total, 1.0), -np.inf)


def best_candidates(
    histograms: NDArray[Any],
    candidates: Candidates,
    score: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]],
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the best split of each node by released histograms of all features, and its score.

    Histograms are of shape (n_nodes, n_cells, n_classes), candidates thresholds and single
    categories. ``score(left, right)`` is of class counts of the branches; the largest is the best.
    """
    cells, positions = candidates.cell_offsets, candidates.candidate_offsets
    scores = np.empty((len(histograms), candidates.n_candidates))
    tables = np.repeat(np.arange(len(cells) - 1), np.diff(cells))
    counts = consistent_tables(histograms, tables)
    for feature, kind in enumerate(candidates.kinds.tolist()):
        own = counts[:, cells[feature] : cells[feature + 1]]
        scores[:, positions[feature] : positions[feature + 1]] = score(*branch_counts(own, kind))
    chosen = scores.argmax(axis=1).astype(np.int32)
    return chosen, scores[np.arange(len(scores)), chosen]


def worth_splitting(sums: NDArray[Any], min_rows: int) -> NDArray[np.bool_]:
    """Return which nodes have enough rows, and rows of two classes, by one of their histograms.

    ``sums`` are those of the released histograms, of shape (n_nodes, n_features, n_classes).
    """
    enough = (sums.sum(axis=2) >= min_rows).any(axis=1)
    classes = (sums > 0).any(axis=1).sum(axis=1)
    return enough & (classes >= 2)


def keep_best(
    growing: GrowingTree, priority: NDArray[np.float64], n_splits: int
) -> tuple[GrowingTree, NDArray[np.int32]]:
    """Cut a tree down to the splits that best-first growth makes.

    What a node shows does not depend on when it is looked at, so that growth from a queue of
    released priorities is a function of a tree grown level by level. In ``growing`` everything that
    may be split is split; priorities of the nodes that are not have no meaning. Returns the tree,
    and the number in ``growing`` of each of its nodes.
    """
    splits, first_child = growing.splits, growing.first_child
    position_of = {int(node): position for position, node in enumerate(splits.node)}
    cut = np.ones(growing.n_nodes, dtype=bool)
    # Equal priorities: the older node first.
    queue = [(-float(priority[0]), 0)] if 0 in position_of else []
    for _ in range(n_splits):
        if not queue:
            break
        _, node = heapq.heappop(queue)
        cut[node] = False
        position = position_of[node]
        for child in range(
            first_child[position], first_child[position] + splits.n_branches[position]
        ):
            if child in position_of:
                heapq.heappush(queue, (-float(priority[child]), child))
    return without(growing, cut)
