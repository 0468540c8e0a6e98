"""A row's bins, score and integer gradient are its own, whoever stands beside it.

If one row's presence could change the bits of another, the sensitivity of every sum would be
wrong by what they change.
"""

from __future__ import annotations

import numpy as np
import pytest

from dpboost.data.binner import Binner
from dpboost.data.table import read_table
from dpboost.losses import LogisticLoss, SquaredLoss
from dpboost.schema import Schema
from dpboost.trees.forest import Forest
from dpboost.trees.tree import Tree, threshold_sets
from tests.tables import dense_bins

N_ROWS = 2200
THREADS = [1, 2, 3, 5, 8, 16, 64]
SCHEMA = Schema(
    bounds={0: (-3.0, 3.0), 1: (0.1, 0.7)},
    edges={2: (-1.0, 0.0, 1e-35, 2.5)},
    categories={3: tuple(range(7))},
)


def table():
    """Rows of ordinary numbers, borders, neighbors of borders, and everything odd."""
    random = np.random.default_rng(0)
    X = random.normal(size=(N_ROWS, 5)) * [2, 0.5, 2, 0, 10]
    X[:, 3] = random.integers(-2, 9, size=N_ROWS)
    odd = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1e300, 5e-324, 0.1, 0.7, 2.5, 1e-35]
    odd += [np.nextafter(value, side) for value in (0.1, 0.7, 2.5, 3.0) for side in (-9, 9)]
    positions = random.integers(0, N_ROWS, size=(400, 2))
    for row, column in positions:
        X[row, column % 5] = odd[(row + column) % len(odd)]
    return X


X = table()
BINNER = Binner.from_schema(SCHEMA.resolve([f"c{i}" for i in range(5)]), n_bins=64)
PIECES = [slice(0, 1), slice(1, 2), slice(0, 7), slice(1, 8), slice(3, 1000), slice(17, 2200)]


def bins(rows, n_threads=1):
    return dense_bins(BINNER, read_table(rows), n_threads)


WHOLE = bins(X)


@pytest.mark.parametrize("n_threads", THREADS)
def test_bins_do_not_depend_on_threads(n_threads):
    np.testing.assert_array_equal(bins(np.vstack([X] * 40), n_threads), np.hstack([WHOLE] * 40))


def test_bins_of_each_row_alone():
    alone = np.hstack([bins(X[[row]]) for row in range(0, N_ROWS, 5)])
    np.testing.assert_array_equal(alone, WHOLE[:, ::5])


RANDOM = np.random.default_rng(1)
SCORES = RANDOM.integers(-(2**24), 2**24, size=N_ROWS)
SQUARED = SquaredLoss.from_label_bounds(-7.3, 11.1)
LABELS = RANDOM.normal(size=N_ROWS) * 9
LOSSES = {
    "squared": (SQUARED, SQUARED.encode_labels(LABELS)),
    "logistic": (LogisticLoss(), (LABELS > 0).astype(np.int64)),
}
losses = pytest.mark.parametrize(("loss", "labels"), LOSSES.values(), ids=LOSSES.keys())
limits = pytest.mark.parametrize("limit", [None, 0.3, 1.0])


def words(loss, labels, rows, limit, n_threads=1):
    chosen = np.asarray(rows, dtype=np.int32)
    return loss.packed_gradients(SCORES, labels, chosen, filter_limit=limit, n_threads=n_threads)


@losses
@limits
def test_gradients_do_not_depend_on_threads_blocks_or_positions(loss, labels, limit):
    whole = words(loss, labels, np.arange(N_ROWS), limit)
    assert len(np.unique(whole)) > 50
    for n_threads in THREADS:
        again = words(loss, labels, np.tile(np.arange(N_ROWS), 20), limit, n_threads)
        np.testing.assert_array_equal(again, np.tile(whole, 20))
    for piece in PIECES:
        np.testing.assert_array_equal(
            words(loss, labels, np.arange(N_ROWS)[piece], limit), whole[piece]
        )
    alone = [words(loss, labels, [row], limit)[0] for row in range(0, N_ROWS, 7)]
    np.testing.assert_array_equal(alone, whole[::7])
    backwards = words(loss, labels, np.arange(N_ROWS)[::-1].copy(), limit)
    np.testing.assert_array_equal(backwards[::-1], whole)


def test_labels_are_encoded_one_by_one():
    whole = SQUARED.encode_labels(LABELS)
    for piece in PIECES:
        np.testing.assert_array_equal(SQUARED.encode_labels(LABELS[piece]), whole[piece])
    alone = [SQUARED.encode_labels(LABELS[[row]])[0] for row in range(N_ROWS)]
    np.testing.assert_array_equal(alone, whole)


def forest():
    grown = Forest()
    random = np.random.default_rng(2)
    features = np.array([0, 3, 2], dtype=np.int32)
    for _ in range(9):
        split_bins = random.integers(0, 5, size=3).astype(np.uint8)
        grown.append(
            Tree(
                feature=features,
                left_bins=threshold_sets(split_bins, BINNER.is_categorical[features] == 1),
                left=np.array([1, ~0, ~2], dtype=np.int32),
                right=np.array([2, ~1, ~3], dtype=np.int32),
                leaf_value=random.integers(-(2**30), 2**30, size=4),
            )
        )
    return grown


def scores_of(columns, n_threads=1):
    n_rows = columns.shape[1]
    scores = np.zeros(n_rows, dtype=np.int64)
    rows = np.arange(n_rows, dtype=np.int32)
    columns = np.ascontiguousarray(columns)
    forest().add_to(scores, columns, rows, np.zeros(n_rows, dtype=np.int32), n_threads)
    return scores


def test_scores_do_not_depend_on_threads_or_blocks():
    whole = scores_of(WHOLE)
    assert len(np.unique(whole)) > 20
    for n_threads in THREADS:
        tiled = scores_of(np.hstack([WHOLE] * 20), n_threads)
        np.testing.assert_array_equal(tiled, np.tile(whole, 20))
    for piece in PIECES:
        np.testing.assert_array_equal(scores_of(WHOLE[:, piece]), whole[piece])
