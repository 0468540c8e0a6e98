"""Compact columns of rounds against plain indexing."""

import numpy as np
import pytest
import scipy.sparse

from dpboost.data.binner import Binner
from dpboost.data.feature_bins import uniform_bins
from dpboost.data.sparse import dense_matrix
from dpboost.data.table import read_table
from dpboost.rows.round_columns import RoundColumns

SIZES = (150, 10, 0, 30, 20, 85, 5)  # one of more than an eighth of the rows, one of none


def table():
    n_rows = sum(SIZES)
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n_rows, 4)) * (rng.random((n_rows, 4)) < 0.4)
    binner = Binner(features=[uniform_bins(-2.0, 2.0, 16)] * 4, feature_names=list("abcd"))
    order = rng.permutation(n_rows).astype(np.int32)
    return values, binner, order, np.concatenate(([0], np.cumsum(SIZES))).astype(np.intp)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
@pytest.mark.parametrize(
    "asked", [range(len(SIZES)), [3, 3, 4], [6, 0, 5, 2, 1]], ids=["in turn", "again", "back"]
)
def test_every_round_gets_the_bins_of_its_rows(kind, asked):
    values, binner, order, starts = table()
    expected = read_table(values).bins(binner)
    columns = RoundColumns(read_table(kind(values)).bins(binner), order, starts, 2)
    for index in asked:
        found = columns.take(index)
        rows = order[starts[index] : starts[index + 1]]
        assert found.shape == (4, SIZES[index])
        np.testing.assert_array_equal(dense_matrix(found), expected[:, rows])


def test_rounds_are_copied_together_and_no_more_than_an_eighth_of_the_rows_at_a_time(monkeypatch):
    values, binner, order, starts = table()
    parts = []

    def note(bins, order, part, out, n_threads):
        parts.append(np.diff(part).tolist())

    monkeypatch.setattr("dpboost.rows.round_columns.row_assignment.gather_rounds", note)
    columns = RoundColumns(read_table(values).bins(binner), order, starts, 1)
    for index in range(len(SIZES)):
        assert columns.take(index).flags.c_contiguous
    assert parts == [[150], [10, 0], [30], [20], [85], [5]]
