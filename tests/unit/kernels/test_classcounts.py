import numpy as np
import pytest

from dpboost._kernels import classcounts
from dpboost.data.sparse import SparseBins
from dpboost.rows.sorted_rows import ONE_EACH

CELLS = np.array([0, 5, 8, 264], dtype=np.int32)
N_CLASSES = 3


def table(n_rows, seed=0):
    random = np.random.default_rng(seed)
    bins = np.array(
        [random.integers(0, width, n_rows) for width in np.diff(CELLS)], dtype=np.uint8
    ).reshape(3, n_rows)
    return bins, random.integers(0, N_CLASSES, n_rows).astype(np.uint8)


def nodes(n_rows, seed=1):
    """A random order and four nodes, one of them empty, that leave some rows out."""
    order = np.random.default_rng(seed).permutation(n_rows).astype(np.int32)
    cuts = np.array([0, n_rows // 5, n_rows // 2, n_rows // 2, n_rows - n_rows // 7])
    return order, cuts[:-1].astype(np.int32), cuts[1:].astype(np.int32)


def sparse(bins, fill):
    """The stored cells of columns: those that are not in the bin of all others, and a few more."""
    odd = np.random.default_rng(3).random(bins.shape) < 0.1
    stored = (bins != fill[:, np.newaxis]) | odd
    columns, rows = np.nonzero(stored)
    starts = np.searchsorted(columns, np.arange(len(bins) + 1)).astype(np.intp)
    return SparseBins(
        n_rows=bins.shape[1],
        column_start=starts,
        rows=rows.astype(np.int32),
        bins=bins[stored],
        fill=fill,
    )


@pytest.mark.parametrize("n_rows", [0, 1, 50, 40_000])
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_counts_of_every_class_in_every_cell(n_rows, n_threads, weighted):
    bins, classes = table(n_rows)
    order, begins, ends = nodes(n_rows)
    amounts = np.random.default_rng(2).integers(-9, 65536, n_rows).astype(np.int32)
    amounts = amounts if weighted else ONE_EACH
    each = amounts if weighted else np.ones(n_rows, dtype=np.int32)
    counts = np.full((4, CELLS[-1] * N_CLASSES), -1, dtype=np.int64)
    classcounts.build(
        bins, order, begins, ends, classes, amounts, CELLS, N_CLASSES, counts, n_threads
    )
    totals = np.full((4, N_CLASSES), -1, dtype=np.int64)
    classcounts.totals(order, begins, ends, classes, amounts, totals)
    node_of_row = np.full(n_rows, -1, dtype=np.int32)
    for node in range(4):
        own = order[begins[node] : ends[node]]
        node_of_row[own] = node
        sums = np.zeros(N_CLASSES, dtype=np.int64)
        np.add.at(sums, classes[own], each[own])
        assert totals[node].tolist() == sums.tolist()
        for f in range(3):
            expected = np.zeros((CELLS[f + 1] - CELLS[f], N_CLASSES), dtype=np.int64)
            np.add.at(expected, (bins[f, own], classes[own]), each[own])
            cells = slice(CELLS[f] * N_CLASSES, CELLS[f + 1] * N_CLASSES)
            assert np.array_equal(counts[node, cells], expected.ravel())
    stored = sparse(bins, np.array([4, 0, 200], dtype=np.uint8))
    again = np.full_like(counts, -1)
    classcounts.build_stored(
        stored.column_start,
        stored.rows,
        stored.bins,
        stored.fill,
        node_of_row,
        classes,
        amounts,
        totals,
        CELLS,
        again,
        n_threads,
    )
    assert np.array_equal(again, counts)


@pytest.mark.parametrize("n_rows", [0, 1, 50, 40_000])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_rows_are_sorted_by_branch_and_keep_their_order(n_rows, n_threads):
    bins, _ = table(n_rows)
    order, begins, ends = nodes(n_rows)
    listed = np.array([0, 2, 3], dtype=np.intp)
    feature = np.array([0, 1, 2], dtype=np.int32)
    branches = np.zeros((3, 256), dtype=np.uint8)
    branches[0, 2:] = 1
    branches[1, :3] = [2, 0, 1]
    branches[2] = np.arange(256)
    offsets = np.array([0, 2, 5, 261], dtype=np.int32)
    ends_out = np.empty(261, dtype=np.int32)
    after = order.copy()
    classcounts.split_rows(
        bins, after, np.empty_like(order), begins[listed], ends[listed], feature, branches,
        offsets, ends_out, n_threads,
    )  # fmt: skip
    untouched = np.ones(n_rows, dtype=bool)
    for k, node in enumerate(listed):
        inside = slice(begins[node], ends[node])
        untouched[inside] = False
        own = order[inside]
        branch = branches[k][bins[feature[k], own]]
        assert np.array_equal(after[inside], own[np.argsort(branch, kind="stable")])
        sizes = np.bincount(branch, minlength=offsets[k + 1] - offsets[k])
        expected = begins[node] + np.cumsum(sizes)
        assert np.array_equal(ends_out[offsets[k] : offsets[k + 1]], expected)
    assert np.array_equal(after[untouched], order[untouched])
