"""Stored cells sorted by column against scipy."""

import numpy as np
import pytest
import scipy.sparse

from dpboost._kernels import bycolumn


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (5, 300), (400, 6), (3, 0), (0, 3)])
def test_cells_are_sorted_as_scipy_sorts_them(shape, dtype):
    X = scipy.sparse.random(*shape, density=0.3, format="csr", dtype=dtype, random_state=1)
    X.data.setflags(write=False)
    expected = X.tocsc()
    starts = np.full(shape[1] + 1, -1, np.intp)
    bycolumn.column_starts(X.indices, starts)
    np.testing.assert_array_equal(starts, expected.indptr)
    values, place = np.empty_like(X.data), starts[:-1].copy()
    bycolumn.values_by_column(X.indices, X.data, place, values)
    np.testing.assert_array_equal(values, expected.data)
    np.testing.assert_array_equal(place, starts[1:])
    rows = np.empty_like(X.indices)
    bycolumn.rows_by_column(X.indptr.astype(np.intp), X.indices, starts[:-1].copy(), rows)
    np.testing.assert_array_equal(rows, expected.indices)
