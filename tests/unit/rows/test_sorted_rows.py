"""Rows of single trees: weights, sparse tables, and questions in other units."""

import numpy as np
import pytest

from dpboost import InvalidParameterError
from dpboost._utils.threads import Threads
from dpboost.data.sparse import SparseBins
from dpboost.rows.class_node_rows import ClassRows
from dpboost.rows.class_queries import ClassCounts, ClassHistograms, NodeSizes
from dpboost.rows.label_node_rows import LabelRows
from dpboost.rows.label_statistics import LabelHistograms
from dpboost.trees.growing_tree import Splits
from dpboost.trees.split_candidates import MULTIWAY, Candidates

N_ROWS, N_CLASSES = 500, 3
ROOT = np.zeros(1, dtype=np.int32)


def table(kinds=(0, 1, MULTIWAY)):
    random = np.random.default_rng(0)
    n_bins = np.array([7, 3, 100], dtype=np.int32)
    bins = np.array([random.integers(0, n + 1, N_ROWS) for n in n_bins], dtype=np.uint8)
    candidates = Candidates(
        n_bins=n_bins,
        is_categorical=np.array([0, 1, 1], dtype=np.uint8),
        kinds=np.array(kinds, dtype=np.uint8),
    )
    classes = random.integers(0, N_CLASSES, N_ROWS).astype(np.uint8)
    weights = random.integers(0, 2**16 + 1, N_ROWS).astype(np.int32)
    return bins, candidates, classes, weights, random.random(N_ROWS) < 0.9


def sparse(bins):
    """The same bins, of which the first of each column is the one of cells that are not stored."""
    fill = bins[:, 0].copy()
    columns, rows = np.nonzero(bins != fill[:, np.newaxis])
    return SparseBins(
        n_rows=bins.shape[1],
        column_start=np.searchsorted(columns, np.arange(len(bins) + 1)).astype(np.intp),
        rows=rows.astype(np.int32),
        bins=bins[columns, rows],
        fill=fill,
    )


def some_splits(candidates):
    """Split the root by its nominal feature, and its first 70 children by others."""
    yield Splits(
        node=ROOT,
        feature=np.array([2], dtype=np.int32),
        split_bin=ROOT,
        n_branches=candidates.n_branches(np.array([2])).astype(np.int32),
    )
    node = np.arange(1, 71, dtype=np.int32)
    feature = (node % 2).astype(np.int32)
    yield Splits(
        node=node,
        feature=feature,
        split_bin=np.where(feature == 0, 3, 1).astype(np.int32),
        n_branches=candidates.n_branches(feature).astype(np.int32),
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_counts_of_sparse_and_dense_rows_are_those_of_numpy(weighted, n_threads):
    bins, candidates, classes, weights, present = table()
    options = {
        "n_classes": N_CLASSES,
        "candidates": candidates,
        "threads": Threads(n_threads),
        "weights": weights if weighted else None,
    }
    both = [ClassRows(own, classes, present, **options) for own in (bins, sparse(bins))]
    node_of = np.where(present, 0, -1)
    each = weights if weighted else np.ones(N_ROWS, dtype=np.int64)
    units = 2**16 if weighted else 1
    n_nodes = 1
    cells = candidates.cell_offsets
    for splits in some_splits(candidates):
        before, after = node_of.copy(), n_nodes
        branches = candidates.branches(splits.feature, splits.split_bin)
        for position, node in enumerate(splits.node):
            here = before == node
            node_of[here] = after + branches[position, bins[splits.feature[position], here]]
            after += splits.n_branches[position]
        for rows in both:
            rows.split(splits)
        nodes = np.arange(n_nodes, after, dtype=np.int32)
        n_nodes = after
        expected = np.zeros((len(nodes), cells[-1], N_CLASSES), dtype=np.int64)
        for row in np.flatnonzero(node_of >= nodes[0]):
            for feature in range(3):
                cell = cells[feature] + bins[feature, row]
                expected[node_of[row] - nodes[0], cell, classes[row]] += each[row]
        for rows in both:
            query = ClassHistograms(
                nodes=nodes, cell_offsets=cells, n_classes=N_CLASSES, row_units=units
            )
            assert np.array_equal(query.evaluate(rows), expected)
            totals = ClassCounts(nodes=nodes, n_classes=N_CLASSES, row_units=units)
            assert np.array_equal(totals.evaluate(rows), expected[:, : cells[1]].sum(axis=1))
            sizes = NodeSizes(nodes=nodes, row_units=units).evaluate(rows)
            assert sizes.tolist() == expected[:, : cells[1]].sum(axis=(1, 2)).tolist()


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_labels_never_exceed_sums_of_weights(weighted):
    bins, candidates, _, weights, _ = table()
    labels = np.random.default_rng(1).uniform(-1.2, 1.2, N_ROWS)
    options = {"candidates": candidates, "threads": Threads(1)}
    own = weights if weighted else None
    dense, stored = (
        LabelRows(each, labels, weights=own, **options) for each in (bins, sparse(bins))
    )
    query = LabelHistograms(nodes=ROOT, cell_offsets=candidates.cell_offsets)
    sums, counts = query.evaluate(dense)
    assert np.array_equal(query.evaluate(stored), [sums, counts])
    each = weights if weighted else np.full(N_ROWS, 2**16)
    inside = np.clip(labels, -1, 1)
    for feature in range(3):
        first = candidates.cell_offsets[feature]
        for cell in range(candidates.n_bins[feature] + 1):
            here = bins[feature] == cell
            assert counts[0, first + cell] == each[here].sum()
            units = (np.sign(inside[here]) * np.floor(np.abs(inside[here]) * each[here])).sum()
            assert sums[0, first + cell] == units
    assert (np.abs(sums) <= counts).all()


def test_a_question_in_other_units_than_rows_count_is_refused():
    bins, candidates, classes, weights, present = table()
    rows = ClassRows(
        bins,
        classes,
        present,
        n_classes=N_CLASSES,
        candidates=candidates,
        threads=Threads(1),
        weights=weights,
    )
    for query in (NodeSizes(nodes=ROOT), ClassCounts(nodes=ROOT, n_classes=N_CLASSES)):
        with pytest.raises(InvalidParameterError, match="another number of units"):
            query.evaluate(rows)
