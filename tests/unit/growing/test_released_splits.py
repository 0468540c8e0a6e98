import math

import numpy as np
import pytest

from dpboost._kernels import impurity as kernel
from dpboost.growing.frontier import BestFirst, DepthWise
from dpboost.growing.grower import grow
from dpboost.growing.released_splits import (
    best_candidates,
    branch_counts,
    consistent_tables,
    impurity_of,
    keep_best,
    split_gain,
    split_purity,
    worth_splitting,
)
from dpboost.privacy.sensitivity.impurities import Impurity
from dpboost.trees.growing_tree import Splits
from dpboost.trees.split_candidates import CATEGORY, THRESHOLD, Candidates

EACH = pytest.mark.parametrize("measure", list(Impurity))


@EACH
def test_impurities_are_those_of_the_kernel(measure):
    random = np.random.default_rng(0)
    counts = random.integers(0, 60, (200, 3))
    counts[:5] = [[0, 0, 0], [7, 0, 0], [1, 1, 1], [0, 0, 9], [30, 30, 0]]
    out = np.empty(len(counts), dtype=np.int64)
    caps, scales = np.full(len(counts), np.inf), np.full(len(counts), 1000.0)
    kernel.node_scores(counts, int(measure), caps, scales, out)
    found = impurity_of(measure, counts.astype(np.float64))
    assert np.abs(found + out / 1000).max() <= 0.0011


def test_branches_of_thresholds_and_categories_with_missing_values_last():
    counts = np.array([[5.0, 0], [0, 3], [2, 1], [1, 1]])
    left, right = branch_counts(counts, THRESHOLD)
    assert left.tolist() == [[5, 0], [5, 3], [7, 4]]
    assert right.tolist() == [[3, 5], [3, 2], [1, 1]]
    left, right = branch_counts(counts, CATEGORY)
    assert left.tolist() == [[5, 0], [0, 3], [2, 1]]
    assert right.tolist() == [[3, 5], [8, 2], [6, 4]]
    both = branch_counts(np.stack([counts, counts]), np.array([THRESHOLD, CATEGORY]))
    assert np.array_equal(both[0][1], left)
    assert np.array_equal(both[1][1], right)


def test_tables_agree_in_their_total_and_have_no_cell_below_zero():
    random = np.random.default_rng(0)
    noisy = random.integers(-30, 60, (40, 9, 2))
    noisy[:, [0, 4, 7], 0] = 40
    tables = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2])
    agreed = consistent_tables(noisy, tables)
    sums = np.add.reduceat(noisy.sum(axis=2), [0, 4, 7], axis=1)
    totals = np.add.reduceat(agreed.sum(axis=2), [0, 4, 7], axis=1)
    assert agreed.min() == 0
    expected = np.maximum(sums.mean(axis=1, keepdims=True), 1)
    assert np.allclose(totals, np.broadcast_to(expected, totals.shape))
    # Inside a table proportions are those of the cells that were cut.
    first, cut = agreed[:, :4], np.maximum(noisy[:, :4], 0)
    whole = cut.sum(axis=(1, 2), keepdims=True)
    assert np.allclose(first, cut * (expected[..., np.newaxis] / whole))


@pytest.mark.parametrize("unit", [1.0, 2.0**-16])
def test_tables_that_agree_stay_as_they_are(unit):
    random = np.random.default_rng(1)
    cells = random.integers(0, 5, (200, 20))
    classes = random.integers(0, 3, 200)
    counts = np.zeros((20, 3, 5, 3))
    for feature in range(3):
        np.add.at(counts, (cells[:20].T, feature, cells[20:40].T, classes[:20]), unit)
    counts[:, 1] = counts[:, 0, ::-1]
    counts[:, 2] = counts[:, 0, :, ::-1]
    flat = counts.reshape(20, 15, 3)
    assert np.array_equal(consistent_tables(flat, np.repeat(np.arange(3), 5)), flat)


def test_cells_of_no_table_and_tables_of_nobody():
    counts = np.array([[[4, 6], [-3, -1], [-2, 0], [9, 9]], [[0, 0], [5, 5], [7, 3], [2, 2]]])
    tables = np.array([[0, 0, 1, -1], [0, 0, 0, 1]])
    agreed = consistent_tables(counts, tables)
    # Sums of 6 and -2 have the mean 2; the second table of the first node has no cell above zero.
    assert np.allclose(agreed[0], [[0.8, 1.2], [0, 0], [0, 0], [0, 0]])
    assert agreed[1].sum(axis=1).tolist() == pytest.approx([0, 6, 6, 12])


def test_a_branch_of_negative_cells_does_not_win():
    """The sum of a class's cells is far below zero in one branch, which is not pure for that."""
    layout = Candidates(
        n_bins=np.array([4, 1], dtype=np.int32),
        is_categorical=np.zeros(2, dtype=np.uint8),
        kinds=np.full(2, THRESHOLD, dtype=np.uint8),
    )
    noisy = np.array([[[20, -40], [20, 30], [5, 30], [5, 20], [0, 0], [40, 10], [10, 30]]])

    def score(left, right):
        return split_purity(Impurity.GINI, left, right)

    chosen, _ = best_candidates(noisy, layout, score)
    assert chosen.tolist() == [0]
    left, right = branch_counts(noisy[0, :5].astype(float), THRESHOLD)
    cut_late = score(np.maximum(left, 0), np.maximum(right, 0))
    assert int(cut_late.argmax()) == 1


@EACH
def test_gain_and_purity_rank_splits_of_the_same_rows_alike(measure):
    left = np.array([[8.0, 0.0], [8.0, 4.0], [0.0, 0.0]])
    right = np.array([[0.0, 8.0], [0.0, 4.0], [8.0, 8.0]])
    gains, purity = split_gain(measure, left, right), split_purity(measure, left, right)
    assert gains.argsort().tolist() == purity.argsort().tolist() == [2, 1, 0]
    assert gains[0] == pytest.approx(impurity_of(measure, np.array([8.0, 8.0])) / 16)
    assert gains[2] == pytest.approx(0)
    nobody = np.zeros((1, 2))
    assert split_gain(measure, nobody, nobody) == 0
    assert split_purity(measure, nobody, nobody) == -math.inf


def test_the_best_candidate_is_that_of_a_search():
    layout = Candidates(
        n_bins=np.array([3, 2], dtype=np.int32),
        is_categorical=np.array([0, 1], dtype=np.uint8),
        kinds=np.array([THRESHOLD, CATEGORY], dtype=np.uint8),
    )
    random = np.random.default_rng(1)
    histograms = random.integers(-3, 30, (50, layout.n_cells, 2))

    def score(left, right):
        return split_gain(Impurity.GINI, left, right)

    chosen, found = best_candidates(histograms, layout, score)
    agreed = consistent_tables(histograms, np.repeat([0, 1], np.diff(layout.cell_offsets)))
    for node in range(50):
        scores = []
        for feature, kind in enumerate(layout.kinds):
            own = agreed[node, layout.cell_offsets[feature] : layout.cell_offsets[feature + 1]]
            scores += score(*branch_counts(own, int(kind))).tolist()
        assert chosen[node] == int(np.argmax(scores))
        assert found[node] == max(scores)


@pytest.mark.parametrize("n_splits", [0, 1, 4, 9, 100])
def test_the_cut_tree_is_that_of_best_first_growth(n_splits):
    """A node's split and priority depend on its path alone, as they do on its rows."""

    def grown(frontier):
        paths, priority, order = {0: ()}, {}, []

        def propose_splits(nodes, growing):
            good = []
            for node in nodes.tolist():
                seed = hash(paths[node]) % 2**32
                draw = np.random.default_rng(seed).random(2)
                if len(paths[node]) < 4 and draw[0] < 0.9:
                    good.append(node)
                    priority[node] = draw[1]
            nodes = np.array(good, dtype=np.int32)
            ones = np.ones(len(nodes), dtype=np.int32)
            return Splits(
                node=nodes,
                feature=0 * ones,
                split_bin=0 * ones,
                n_branches=2 * ones,
                priority=np.array([priority[node] for node in good]),
            )

        count = [1]

        def route(splits):
            for node in splits.node.tolist():
                order.append(paths[node])
                for branch in range(2):
                    paths[count[0]] = (*paths[node], branch)
                    count[0] += 1

        return grow(propose_splits, route, frontier), paths, priority, order

    _, _, _, expected = grown(BestFirst(n_splits))
    whole, paths, priority, _ = grown(DepthWise())
    found = np.array([priority.get(node, 0.0) for node in range(whole.n_nodes)])
    kept, origin = keep_best(whole, found, n_splits)
    assert {paths[int(origin[node])] for node in kept.splits.node} == set(expected)
    assert len(kept.splits) == len(expected)


def test_nodes_of_few_rows_or_one_class_are_leaves():
    sums = np.array(
        [
            [[3, 2], [4, 6]],  # ten rows by the second feature
            [[3, 2], [4, 5]],
            [[30, 0], [28, -2]],  # one class
            [[30, -1], [28, 2]],
        ]
    )
    assert worth_splitting(sums, 10).tolist() == [True, False, False, True]
