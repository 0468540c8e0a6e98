"""Sparse matrices with damaged indices: a clear error, or what the dense table gives."""

import warnings
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dpboost import InvalidParameterError
from dpboost.data.binner import Binner
from dpboost.data.conform import conform
from dpboost.data.feature_bins import uniform_bins
from dpboost.data.sparse import dense_matrix
from dpboost.data.table import read_table

ODD = st.sampled_from([-(2**63), -(2**31), -2, -1, 0, 1, 7, 10**8, 2**31 - 1, 2**31, 2**62])


@st.composite
def matrices(draw):
    """A matrix of some format, and its dense copy where it is sound."""
    n_rows, n_columns = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    n_cells = draw(st.integers(0, 20))
    rows = draw(st.lists(st.integers(0, n_rows - 1), min_size=n_cells, max_size=n_cells))
    columns = draw(st.lists(st.integers(0, n_columns - 1), min_size=n_cells, max_size=n_cells))
    values = draw(st.lists(st.integers(-8, 8), min_size=n_cells, max_size=n_cells))
    kind = draw(st.sampled_from([sp.coo_matrix, sp.coo_array]))
    dtype = draw(st.sampled_from(["f8", "f4", "i4", "?"]))
    X = kind((np.array(values, dtype=dtype), (rows, columns)), shape=(n_rows, n_columns))
    return X.asformat(draw(st.sampled_from(["coo", "csr", "csc", "bsr"])))


def arrays_of(X):
    return ("row", "col", "data") if X.format == "coo" else ("indices", "indptr", "data")


@st.composite
def damages(draw, X):
    """Change one array that a matrix is made of, as a program in error would."""
    name = draw(st.sampled_from(arrays_of(X)))
    array = np.array(getattr(X, name))
    what = draw(st.sampled_from(["value", "swap", "cut", "longer", "type", "wide"]))
    if what == "value" and array.size and name != "data":
        array = array.astype(np.int64)
        array[draw(st.integers(0, array.size - 1))] = draw(ODD)
    elif what == "swap" and array.size and name != "data":
        positions = [draw(st.integers(0, array.size - 1)) for _ in range(2)]
        array[positions] = array[positions[::-1]]
    elif what == "cut":
        array = array[: draw(st.integers(0, len(array)))]
    elif what == "longer":
        array = np.concatenate([array, array[:1], array[:1]])
    elif what == "type" and name != "data":
        array = array.astype(draw(st.sampled_from(["f8", "u8", "i1", "?", "O"])))
    elif what == "wide" and name != "data":
        array = array.astype(np.int64)
    # SciPy before 1.13 has no ``coords``, and sets rows and columns of its arrays too.
    if name in ("row", "col") and isinstance(X, sp.sparray) and hasattr(X, "coords"):
        X.coords = (array, X.coords[1]) if name == "row" else (X.coords[0], array)
    else:
        setattr(X, name, array)


def cells(X):
    """All cells by plain arithmetic."""
    n_rows, n_columns = X.shape
    dense = np.zeros(X.shape)
    if X.format == "bsr":
        height, width = X.data.shape[1:]
        for line, (first, last) in enumerate(pairwise(X.indptr.tolist())):
            for k in range(first, last):
                row, column = height * line, width * int(X.indices[k])
                dense[row : row + height, column : column + width] += X.data[k]
        return dense
    if X.format == "coo":
        triples = zip(X.row.tolist(), X.col.tolist(), X.data.tolist(), strict=True)
    else:
        starts = X.indptr.tolist()
        lines = [line for line in range(len(starts) - 1) for _ in range(*starts[line : line + 2])]
        pairs = (lines, X.indices.tolist()[: len(lines)])
        pairs = pairs[::-1] if X.format == "csc" else pairs
        triples = zip(*pairs, X.data.tolist()[: len(lines)], strict=True)
    for row, column, value in triples:
        assert 0 <= row < n_rows
        assert 0 <= column < n_columns
        dense[row, column] += value
    return dense


@given(st.data())
def test_damaged_indices_are_refused_or_read_as_they_are(data):
    X = data.draw(matrices())
    # What a matrix remembers of itself is not to be believed after.
    if data.draw(st.booleans()) and X.format != "bsr":
        X.has_canonical_format  # noqa: B018
    for _ in range(data.draw(st.integers(0, 2))):
        data.draw(damages(X))
    binner = Binner(
        features=[uniform_bins(-8, 8, 16)] * X.shape[1],
        feature_names=[f"Column_{position}" for position in range(X.shape[1])],
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table = read_table(X)
            again = conform(X, binner)
    except InvalidParameterError:
        return
    expected = cells(X)
    np.testing.assert_array_equal(again.toarray(), expected)
    found = dense_matrix(table.bins(binner))
    np.testing.assert_array_equal(found, read_table(expected).bins(binner))


@given(matrices())
def test_sound_matrices_are_read(X):
    expected = X.toarray().astype(float) if X.dtype == bool else X.toarray()
    table = read_table(X)
    for position in range(X.shape[1]):
        if X.dtype != bool:  # SciPy adds booleans up as such
            np.testing.assert_array_equal(table.column(position), expected[:, position])
