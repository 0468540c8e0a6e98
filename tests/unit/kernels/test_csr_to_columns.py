"""Stored cells sorted by column against scipy."""

import numpy as np
import pytest
import scipy.sparse

from dpboost._kernels import csr_to_columns


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (5, 300), (400, 6), (3, 0), (0, 3)])
def test_cells_are_sorted_as_scipy_sorts_them(shape, dtype):
    X = scipy.sparse.random(*shape, density=0.3, format="csr", dtype=dtype, random_state=1)
    X.data.setflags(write=False)
    expected = X.tocsc()
    starts = np.full(shape[1] + 1, -1, np.intp)
    csr_to_columns.column_starts(X.indices, starts)
    np.testing.assert_array_equal(starts, expected.indptr)
    values, position = np.empty_like(X.data), starts[:-1].copy()
    csr_to_columns.values_by_column(X.indices, X.data, 0, shape[1], position, values)
    np.testing.assert_array_equal(values, expected.data)
    np.testing.assert_array_equal(position, starts[1:])
    first, last = shape[1] // 3, shape[1] // 2
    some, begin = np.empty(starts[last] - starts[first], dtype), starts[first]
    csr_to_columns.values_by_column(X.indices, X.data, first, last, starts[:-1] - begin, some)
    np.testing.assert_array_equal(some, expected.data[begin : starts[last]])
    rows = np.empty_like(X.indices)
    csr_to_columns.rows_by_column(X.indptr.astype(np.intp), X.indices, starts[:-1].copy(), rows)
    np.testing.assert_array_equal(rows, expected.indices)


@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (5, 300), (400, 6), (3, 0), (0, 3)])
def test_cells_of_some_rows_are_sorted_as_scipy_sorts_them(shape):
    X = scipy.sparse.random(*shape, density=0.3, format="csr", random_state=2)
    bins = np.arange(X.nnz).astype(np.uint8)
    by_column = scipy.sparse.csr_matrix((bins, X.indices, X.indptr), shape).tocsc()
    starts, back = by_column.indptr.astype(np.intp), np.empty_like(bins)
    csr_to_columns.bins_by_row(X.indices, by_column.data, starts[:-1].copy(), back)
    np.testing.assert_array_equal(back, bins)
    csr_to_columns.values_by_column(X.indices, bins, 0, shape[1], starts[:-1].copy(), back)
    np.testing.assert_array_equal(back, by_column.data)
    row_start = X.indptr.astype(np.intp)
    some = np.random.default_rng(0).permutation(shape[0])[: shape[0] // 2]
    for rows in (some.astype(np.int32), np.arange(shape[0], dtype=np.int32), np.empty(0, np.int32)):
        expected = scipy.sparse.csr_matrix((bins, X.indices, X.indptr), shape)[rows].tocsc()
        csr_to_columns.count_rows(row_start, X.indices, rows, starts)
        np.testing.assert_array_equal(starts, expected.indptr)
        out = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.uint8)
        csr_to_columns.take_rows(row_start, X.indices, bins, rows, starts[:-1].copy(), *out)
        np.testing.assert_array_equal(out[0], expected.indices)
        np.testing.assert_array_equal(out[1], expected.data)


def test_arrays_of_other_lengths_are_refused():
    columns, starts = np.array([0, 1, 1], np.int32), np.array([0, 1], np.intp)
    bins, rows = np.zeros(2, np.uint8), np.zeros(2, np.int32)
    with pytest.raises(ValueError, match="not those of the cells"):
        csr_to_columns.values_by_column(columns, np.zeros(2), 0, 2, starts, np.zeros(3))
    with pytest.raises(ValueError, match="not those of the cells"):
        csr_to_columns.values_by_column(columns, np.zeros(3), 0, 3, starts, np.zeros(3))
    with pytest.raises(ValueError, match="not those of the cells"):
        csr_to_columns.rows_by_column(np.array([0, 3], np.intp), columns, starts, rows)
    with pytest.raises(ValueError, match="not those of the cells"):
        csr_to_columns.rows_by_column(
            np.array([0, 4], np.intp), columns, starts, np.zeros(3, np.int32)
        )
    with pytest.raises(ValueError, match="not those of the cells"):
        csr_to_columns.bins_by_row(columns, bins, starts, np.zeros(3, np.uint8))
