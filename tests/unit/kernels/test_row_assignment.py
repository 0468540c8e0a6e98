"""Rows by round against numpy's stable sort and plain indexing."""

import numpy as np
import pytest

from dpboost._kernels import row_assignment


def ordered(rounds, n_rounds, n_threads):
    order = np.full(len(rounds), -1, np.int32)
    starts = np.full(n_rounds + 1, -1, np.intp)
    row_assignment.order_rows(np.asarray(rounds, np.int32), order, starts, n_threads)
    return order, starts


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize(
    ("n_rows", "n_rounds"), [(0, 1), (1, 1), (10, 50), (32768, 3), (32769, 3), (100_000, 1000)]
)
def test_rows_are_in_the_stable_order_of_their_rounds(n_rows, n_rounds, n_threads):
    rounds = np.random.default_rng(n_rows).integers(0, n_rounds, n_rows)
    order, starts = ordered(rounds, n_rounds, n_threads)
    np.testing.assert_array_equal(order, np.argsort(rounds, kind="stable"))
    sizes = np.bincount(rounds, minlength=n_rounds)
    np.testing.assert_array_equal(starts, np.concatenate(([0], np.cumsum(sizes))))


def test_rounds_without_rows_have_an_empty_position():
    order, starts = ordered([3, 1, 3, 1], 5, 1)
    assert order.tolist() == [1, 3, 0, 2]
    assert starts.tolist() == [0, 0, 2, 2, 4, 4]


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("n_rows", [40, 30_000])
def test_every_round_gets_a_matrix_of_its_own(n_rows, n_threads):
    rng = np.random.default_rng(3)
    bins = rng.integers(0, 256, (5, n_rows), dtype=np.uint8)
    order, starts = ordered(rng.choice([0, 1, 3, 4], n_rows), 5, n_threads)
    for first, last in ((0, 5), (1, 2), (2, 3), (2, 5)):
        part = starts[first : last + 1]
        out = np.zeros(5 * (part[-1] - part[0]), np.uint8)
        row_assignment.gather_rounds(bins, order, part, out, n_threads)
        rows = [order[starts[k] : starts[k + 1]] for k in range(first, last)]
        np.testing.assert_array_equal(out, np.concatenate([bins[:, some].ravel() for some in rows]))


def test_a_table_without_rows_has_empty_rounds():
    starts = np.zeros(3, np.intp)
    row_assignment.gather_rounds(
        np.empty((4, 0), np.uint8), np.empty(0, np.int32), starts, np.empty(0, np.uint8), 2
    )
    assert starts.tolist() == [0, 0, 0]
