"""Look-up trees: leaves, sums and scores of rows against loops in plain Python."""

import numpy as np
import pytest

from dpboost._kernels import lookup_trees

ONE = 65536
N_ROWS = 70_001  # more than two blocks of packed sums, and no multiple of a chunk


def rows_of(kind, n_rows, random):
    if kind == "all":
        return np.empty(0, dtype=np.int32), np.arange(n_rows)
    chosen = np.sort(random.choice(n_rows, n_rows // 3, replace=False)).astype(np.int32)
    return chosen, chosen


def steps_of(strides):
    steps = np.zeros((3, 256), dtype=np.int32)
    steps[: len(strides)] = np.array(strides)[:, np.newaxis] * np.arange(256)
    return steps


def leaves_of(bins, rows, features, strides, table, n_selected, n_threads=1):
    leaves = np.full(n_selected, 9999, dtype=np.uint16)
    lookup_trees.find_leaves(bins, rows, features, steps_of(strides), table, leaves, n_threads)
    return leaves


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("kind", ["all", "some"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_leaf_is_the_entry_of_a_rows_bins(k, kind, n_threads):
    random = np.random.default_rng(k)
    sizes = np.array([7, 1, 256, 5])
    bins = np.array([random.integers(0, size, N_ROWS) for size in sizes], dtype=np.uint8)
    features = np.array([2, 0, 3][:k], dtype=np.int32)
    shape = sizes[features]
    table = random.integers(0, 4096, shape).astype(np.uint16)
    strides = (np.array(table.strides) // table.itemsize).astype(np.int32)
    rows, listed = rows_of(kind, N_ROWS, random)
    found = leaves_of(bins, rows, features, strides, table.ravel(), len(listed), n_threads)
    expected = table[tuple(bins[feature, listed] for feature in features)]
    np.testing.assert_array_equal(found, expected)


def test_no_rows_are_no_work():
    none = np.empty(0, dtype=np.int32)
    one = np.zeros(1, dtype=np.int32)
    found = leaves_of(np.zeros((1, 3), np.uint8), none, one, one, np.zeros(1, np.uint16), 0)
    assert len(found) == 0
    sums = np.full(2, 7, dtype=np.int64), np.full(2, 7, dtype=np.int64)
    lookup_trees.leaf_sums(np.empty(0, np.int64), np.empty(0, np.uint16), *sums, 1)
    assert np.array(sums).tolist() == [[0, 0], [0, 0]]
    scores = np.array([1, 2, 3])
    lookup_trees.add_leaves(none, np.empty(0, np.uint16), np.array([5]), scores, 1)
    assert scores.tolist() == [1, 2, 3]


def sums_of(gradients, hessians, leaves, n_leaves, n_threads=1):
    words = (gradients.astype(np.int64) << 32) + hessians
    out = np.full((2, n_leaves), 31, dtype=np.int64)
    lookup_trees.leaf_sums(words, leaves, out[0], out[1], n_threads)
    return out


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("n_leaves", [1, 3, 4096])
def test_sums_agree_with_wide_integers(n_leaves, n_threads):
    random = np.random.default_rng(n_leaves)
    gradients = random.integers(-ONE, ONE + 1, N_ROWS)
    hessians = random.integers(0, ONE + 1, N_ROWS)
    leaves = random.integers(0, n_leaves, N_ROWS).astype(np.uint16)
    expected = np.zeros((2, n_leaves), dtype=np.int64)
    np.add.at(expected[0], leaves, gradients)
    np.add.at(expected[1], leaves, hessians)
    found = sums_of(gradients, hessians, leaves, n_leaves, n_threads)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("gradient", [-ONE, -1, 0, ONE])
@pytest.mark.parametrize("hessian", [0, 1, ONE])
@pytest.mark.parametrize("n_rows", [32_767, 32_768, 2 * 32_767 + 1, 200_000])
def test_the_largest_words_do_not_overflow_a_leaf(gradient, hessian, n_rows):
    ones = np.ones(n_rows, dtype=np.int64)
    found = sums_of(gradient * ones, hessian * ones, np.full(n_rows, 1, np.uint16), 2)
    assert found.tolist() == [[0, gradient * n_rows], [0, hessian * n_rows]]


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("kind", ["all", "some"])
def test_each_row_gets_the_value_of_its_leaf_and_no_other_row_moves(kind, n_threads):
    random = np.random.default_rng(3)
    rows, listed = rows_of(kind, N_ROWS, random)
    leaves = random.integers(0, 50, len(listed)).astype(np.uint16)
    values = random.integers(-(2**48), 2**48, 50)
    before = random.integers(-(2**48), 2**48, N_ROWS)
    after = before.copy()
    lookup_trees.add_leaves(rows, leaves, values, after, n_threads)
    expected = before.copy()
    expected[listed] += values[leaves]
    np.testing.assert_array_equal(after, expected)
