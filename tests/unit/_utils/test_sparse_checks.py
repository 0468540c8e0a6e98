"""Damaged sparse matrices are refused wherever they come in, before compiled code reads them."""

import lightgbm
import numpy as np
import pytest
import scipy.sparse as sp

from dpboost import Dataset, DPBoostClassifier, InvalidParameterError, Schema
from dpboost._utils.sparse_checks import checked_sparse
from dpboost.data.binner import Binner
from dpboost.data.conform import conform
from dpboost.data.containers import unpack
from dpboost.data.feature_bins import uniform_bins
from dpboost.data.table import read_table

pytestmark = pytest.mark.filterwarnings("ignore")

CELLS = sp.random(60, 8, 0.3, format="coo", random_state=0)
DENSE = CELLS.toarray()
FAR = 10**8
FORMATS = ("csr", "csc", "bsr", "coo", "dia", "lil", "dok")


def cells(layout, kind=sp.coo_matrix):
    return kind(CELLS.copy()).asformat(layout)


def with_index(layout, name, position, value):
    """A matrix of which one index is another."""
    X = cells(layout)
    index = getattr(X, name).copy()
    index[position] = value
    setattr(X, name, index)
    return X


def with_array(layout, name, change):
    X = cells(layout)
    array = change(getattr(X, name))
    if name == "indices" and X.format == "coo":
        name = "row"
    setattr(X, name, array)
    return X


def coo(change):
    X = sp.coo_array(CELLS.copy())
    row, column = change(X.row, X.col)
    if hasattr(X, "coords"):
        X.coords = (row, column)
    else:  # SciPy before 1.13
        X.row, X.col = row, column
    return X


def lil(name):
    X = cells("lil")
    getattr(X, name)[3].append(1)
    return X


def lil_index(value):
    X = cells("lil")
    X.rows[3], X.data[3] = [value], [1.0]
    return X


def dok_key(key):
    X = cells("dok")
    # A DOK matrix of SciPy before 1.12 is a dictionary itself.
    dict.__setitem__(getattr(X, "_dict", X), key, 1.0)
    return X


def skipped_pointer():
    """No cells by the last pointer, but many by another."""
    X = sp.csr_matrix((2, 3))
    X.indptr = np.array([0, FAR, 0], dtype=np.int32)
    return X


DAMAGED = {
    "coo row": lambda: with_index("coo", "row", 3, FAR),
    "coo column": lambda: with_index("coo", "col", 3, FAR),
    "coo negative": lambda: with_index("coo", "col", 3, -1),
    "coo array": lambda: coo(lambda row, col: (np.where(row == 3, FAR, row), col)),
    "coo short": lambda: coo(lambda row, col: (row[:-1], col[:-1])),
    "coo long": lambda: coo(lambda row, col: (np.append(row, 0), np.append(col, 0))),
    "coo fractions": lambda: coo(lambda row, col: (row + 0.5, col)),
    "coo unsigned": lambda: coo(lambda row, col: (row.astype("u8") - np.uint64(2), col)),
    "csr index": lambda: with_index("csr", "indices", 3, FAR),
    "csr negative": lambda: with_index("csr", "indices", 3, -1),
    "csr falling": lambda: with_index("csr", "indptr", 3, FAR),
    "csr negative pointer": lambda: with_index("csr", "indptr", 3, -5),
    "csr first pointer": lambda: with_index("csr", "indptr", 0, 1),
    "csr last pointer": lambda: with_index("csr", "indptr", -1, FAR),
    "csr pointers": lambda: with_array("csr", "indptr", lambda pointers: pointers[:-1]),
    "csr without cells": skipped_pointer,
    "csr short data": lambda: with_array("csr", "data", lambda data: data[:-1]),
    "csr short indices": lambda: with_array("csr", "indices", lambda indices: indices[:-1]),
    "csr fractions": lambda: with_array("csr", "indices", lambda indices: indices + 0.5),
    "csc index": lambda: with_index("csc", "indices", 3, FAR),
    "csc falling": lambda: with_index("csc", "indptr", 3, FAR),
    "bsr index": lambda: with_index("bsr", "indices", 3, FAR),
    "bsr falling": lambda: with_index("bsr", "indptr", 3, FAR),
    "bsr short": lambda: with_array("bsr", "data", lambda data: data[:-1]),
    "dia short": lambda: with_array("dia", "data", lambda data: data[:-1]),
    "dia fractions": lambda: with_array("dia", "offsets", lambda offsets: offsets + 0.5),
    "lil indices": lambda: lil("rows"),
    "lil values": lambda: lil("data"),
    "lil far": lambda: lil_index(FAR),
    "lil negative": lambda: lil_index(-1),
    "lil text": lambda: lil_index("x"),
    "dok far": lambda: dok_key((FAR, 1)),
    "dok negative": lambda: dok_key((1, -1)),
}


@pytest.mark.parametrize("damaged", DAMAGED.values(), ids=DAMAGED)
def test_damaged_matrices_are_refused(damaged):
    with pytest.raises(InvalidParameterError, match="The sparse matrix X is invalid") as caught:
        read_table(damaged())
    assert not any(digit in str(caught.value) for digit in "0123456789")


@pytest.mark.parametrize("kind", [sp.coo_matrix, sp.coo_array])
@pytest.mark.parametrize("layout", FORMATS)
def test_sound_matrices_are_read(layout, kind):
    X = cells(layout, kind)
    np.testing.assert_array_equal(checked_sparse(X).toarray(), DENSE)
    table = read_table(X)
    np.testing.assert_array_equal(
        np.stack([table.column(position) for position in range(8)], axis=1), DENSE
    )


def test_long_indices_and_repeated_cells_are_read():
    row, column = CELLS.row.astype(np.int64), CELLS.col.astype(np.int64)
    twice = sp.coo_matrix(
        (np.tile(CELLS.data / 2, 2), (np.tile(row, 2), np.tile(column, 2))), CELLS.shape
    )
    twice.row, twice.col = twice.row.astype(np.int64), twice.col.astype(np.int64)
    for X in (twice, twice.tocsr(), twice.tocsc()):
        table = read_table(X)
        np.testing.assert_allclose(
            np.stack([table.column(position) for position in range(8)], axis=1), DENSE
        )


def test_what_a_matrix_remembers_of_its_indices_is_not_believed():
    X = cells("csr")
    assert X.has_canonical_format
    X.indices[:] = X.indices[::-1].copy()
    expected = np.zeros(X.shape)
    for row in range(X.shape[0]):
        own = slice(X.indptr[row], X.indptr[row + 1])
        np.add.at(expected[row], X.indices[own], X.data[own])
    table = read_table(X)
    np.testing.assert_array_equal(
        np.stack([table.column(position) for position in range(8)], axis=1), expected
    )


def test_diagonals_outside_the_shape_hold_no_cells():
    X = sp.dia_matrix((np.ones((3, 4)), [0, 10**6, -9]), shape=(4, 4))
    np.testing.assert_array_equal(checked_sparse(X).toarray(), np.eye(4))


def test_other_dimensions_are_refused():
    if not hasattr(sp.coo_array((3, 1)), "coords"):
        pytest.skip("this SciPy has sparse arrays of two dimensions alone")
    with pytest.raises(InvalidParameterError, match="Expected 2D array, got 1D sparse array"):
        checked_sparse(sp.coo_array((3,)))


def test_the_matrix_of_the_caller_is_left_alone():
    X = cells("csr")
    X.data = np.append(X.data, 1.0)
    X.indices = np.append(X.indices, 0)
    before = X.indices.copy()
    checked_sparse(X)
    np.testing.assert_array_equal(X.indices, before)


def damaged_coo():
    return with_index("coo", "row", 3, FAR)


def subset_of_lightgbm():
    return lightgbm.Dataset(damaged_coo(), free_raw_data=False).subset([1, 2])


POSITIONS = {
    "fit": lambda: DPBoostClassifier(verbosity=-1).fit(damaged_coo(), np.arange(60) % 2),
    "conform": lambda: conform(
        damaged_coo(),
        Binner(features=[uniform_bins(0, 1, 4)] * 8, feature_names=[*"abcdefgh"]),
    ),
    "rows of a Dataset": lambda: Dataset(damaged_coo(), np.zeros(60)).subset([1, 2]),
    "subset of lightgbm": lambda: unpack(subset_of_lightgbm()),
    "public sample": lambda: Schema.from_public_sample(damaged_coo()),
}


@pytest.mark.parametrize("use", POSITIONS.values(), ids=POSITIONS)
def test_every_position_that_takes_a_matrix_checks_it(use):
    with pytest.raises(InvalidParameterError, match="X is invalid"):
        use()


def test_models_that_are_continued_check_what_they_predict():
    known = {"bounds": dict.fromkeys(range(8), (0, 1)), "classes": [0, 1]}
    model = DPBoostClassifier(schema=known, n_estimators=2, verbosity=-1)
    labels = np.arange(60) % 2
    first = model.fit(DENSE, labels).booster_
    given = {"init_model": first, "eval_set": [(damaged_coo(), labels.copy())]}
    with pytest.raises(InvalidParameterError, match="X is invalid"):
        DPBoostClassifier(schema=known, n_estimators=2, verbosity=-1).fit(DENSE, labels, **given)
    with pytest.raises(InvalidParameterError, match="X is invalid"):
        model.predict(damaged_coo())
