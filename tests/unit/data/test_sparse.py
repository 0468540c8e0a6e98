import copy
import pickle

import numpy as np
import pytest
import scipy.sparse

from dpboost.data.binner import Binner
from dpboost.data.feature_bins import CategoryBins, EdgeBins, uniform_bins
from dpboost.data.sparse import SparseBins, StoredColumns, dense_columns, dense_matrix
from dpboost.data.table import read_table

NAN = np.nan


def matrix(n_rows=200, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_rows, 6)) * (rng.random((n_rows, 6)) < [0, 0.01, 0.1, 0.3, 0.6, 1])
    values[rng.random(values.shape) < 0.05] = NAN
    values[:, 0] = 0.0
    return values


def binner():
    features = [uniform_bins(-2.0, 2.0, 16)] * 4
    features += [EdgeBins(edges=(-1.0, 0.5)), CategoryBins(codes=(1, 0))]
    return Binner(features=features, feature_names=[f"f{i}" for i in range(6)])


@pytest.fixture
def both():
    """The same bins, dense and sparse."""
    values = matrix()
    dense = read_table(values).bins(binner())
    return dense, read_table(scipy.sparse.csr_matrix(values)).bins(binner())


def test_columns_with_values_of_their_own_elsewhere():
    stored = StoredColumns.of_columns(
        4,
        [
            (np.array([1, 3]), np.array([2.0, NAN]), NAN),
            (np.array([0]), np.array([5.0], dtype=np.float32), -3.0),
            (None, np.array([1.0, 2.0, 3.0, 4.0]), 0.0),
        ],
    )
    expected = [[NAN, 2, NAN, NAN], [5, -3, -3, -3], [1, 2, 3, 4]]
    for feature, column in enumerate(expected):
        np.testing.assert_array_equal(stored.column(feature), column)
    np.testing.assert_array_equal(stored.largest([0, 1]), [5, 3, 3, 3])
    np.testing.assert_array_equal(stored.largest([0]), [NAN, 2, NAN, NAN])
    np.testing.assert_array_equal(stored.largest([0, 2]), [1, 2, 3, 4])


@pytest.mark.parametrize("features", [[0], [1], [2, 3], [0, 1, 2, 3, 4, 5]])
def test_largest_of_a_row_is_that_of_the_dense_table(features):
    values = matrix()
    table = read_table(scipy.sparse.csc_matrix(values))
    np.testing.assert_array_equal(table.largest(features), read_table(values).largest(features))
    with np.errstate(invalid="ignore"):
        expected = np.fmax.reduce(np.abs(values[:, features]), axis=1)
    np.testing.assert_array_equal(table.largest(features), expected)


def test_only_stored_cells_are_held(both):
    dense, sparse = both
    assert isinstance(sparse, SparseBins)
    assert sparse.shape == dense.shape
    assert len(sparse) == len(dense)
    assert len(sparse.bins) == len(sparse.rows) == np.count_nonzero(matrix())


def test_columns_and_rows_are_those_of_the_dense_matrix(both):
    dense, sparse = both
    for features in ([0], [5, 1], [2, 2, 0], range(6)):
        lines, positions = dense_columns(sparse, np.array(features))
        np.testing.assert_array_equal(lines[positions], dense[list(features)])
        assert len(lines) == len(set(features))
    same, positions = dense_columns(dense, np.array([4, 1]))
    assert same is dense
    assert positions.tolist() == [4, 1]
    for rows in ([], [7], [199, 0, 3], np.random.default_rng(1).permutation(200)):
        rows = np.asarray(rows, dtype=np.int32)
        taken = sparse.take(rows)
        np.testing.assert_array_equal(dense_columns(taken, np.arange(6))[0], dense[:, rows])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_table_by_row_gives_the_bins_of_one_by_column(dtype):
    X = scipy.sparse.csr_matrix(matrix().astype(dtype))
    by_row, by_column = (read_table(table).bins(binner()) for table in (X, X.tocsc()))
    for name in ("column_start", "rows", "bins", "fill"):
        np.testing.assert_array_equal(getattr(by_row, name), getattr(by_column, name))


def test_bins_of_a_table_by_row_are_the_same_before_and_after_columns_are_sorted(both):
    dense, sparse = both
    rows = np.random.default_rng(2).permutation(200).astype(np.int32)
    for _ in range(2):
        for some in (rows[:50], rows):
            taken = sparse.take(some)
            np.testing.assert_array_equal(dense_matrix(taken), dense[:, some])
        np.testing.assert_array_equal(dense_matrix(sparse), dense)


def test_the_values_of_a_table_by_row_are_sorted_in_parts():
    X = scipy.sparse.csr_matrix(matrix())
    stored = read_table(X).stored
    assert np.shares_memory(stored.values, X.data)
    pieces = list(stored.pieces())
    firsts, lasts, _ = zip(*pieces, strict=True)
    assert len(pieces) == 4
    assert (*firsts, 6) == (0, *lasts)
    assert max(len(values) for _, _, values in pieces) < X.nnz
    values = np.concatenate([values for _, _, values in pieces])
    np.testing.assert_array_equal(values, X.tocsc().data)


def test_private_rows_are_not_shown_or_copied(both):
    _, sparse = both
    assert repr(sparse) == "<SparseBins with 6 features>"
    kinds = scipy.sparse.csc_matrix, scipy.sparse.csr_matrix
    stored, by_row = (read_table(kind(matrix())).stored for kind in kinds)
    assert "200" not in repr(stored) + repr(by_row)
    for use in (pickle.dumps, copy.copy, copy.deepcopy):
        for private in (sparse, stored, by_row):
            with pytest.raises(TypeError, match="private"):
                use(private)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_indices_of_any_width(index):
    values = matrix()
    X = scipy.sparse.csc_matrix(values)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    X.data.setflags(write=False)
    table = read_table(X)
    for feature in range(6):
        np.testing.assert_array_equal(table.column(feature), values[:, feature])
    assert table.stored.rows.dtype == np.int32
    assert np.shares_memory(table.stored.values, X.data)


def test_a_dense_matrix_of_sparse_bins_holds_all_of_them():
    X = matrix()
    bins = read_table(scipy.sparse.csr_matrix(X)).bins(binner())
    expected = read_table(X).bins(binner())
    assert isinstance(bins, SparseBins)
    np.testing.assert_array_equal(dense_matrix(bins), expected)
    assert dense_matrix(expected) is expected
