"""Second moments and gradient sums of bounded vectors: their constants, lengths and sums."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpboost._utils.threads import Threads
from dpboost.losses import SquaredLoss
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.privacy.sensitivity.constants import gradient_moments, second_moments
from dpboost.rows import linear_sums
from dpboost.rows.boosting_state import BoostingState
from dpboost.rows.linear_sums import (
    GRADIENT_STEP,
    HESSIAN_STEP,
    MOST,
    ONE,
    GradientMoments,
    LinearColumns,
    SecondMoments,
)

ADD, REPLACE = Neighbors
LOSS = SquaredLoss.from_label_bounds(-1.0, 1.0)


def vectors(squares, most, size):
    """All vectors of integers within the length and the bound of entries."""
    grid = np.array(list(itertools.product(range(-most, most + 1), repeat=size)))
    return grid[(grid**2).sum(axis=1) <= squares]


@pytest.mark.parametrize(("squares", "most", "size"), [(8, 2, 2), (12, 2, 3), (5, 2, 3), (4, 2, 2)])
def test_no_row_moves_moments_by_more_than_the_constant_and_some_nearly_do(squares, most, size):
    found = vectors(squares, most, size)
    upper = np.triu_indices(size)
    triangles = 3 * np.array([np.outer(x, x)[upper] for x in found])
    added = np.sqrt((triangles**2).sum(axis=1).max())
    constant = second_moments(squares, most, 3, ADD).constant
    assert 0.8 * constant <= added <= constant
    apart = triangles[:, np.newaxis] - triangles
    replaced = np.sqrt((apart**2).sum(axis=2).max())
    constant = second_moments(squares, most, 3, REPLACE).constant
    assert 0.7 * constant <= replaced <= constant


@pytest.mark.parametrize(("squares", "size"), [(9, 2), (12, 3)])
def test_no_row_moves_gradient_moments_by_more_than_the_constant_and_some_do(squares, size):
    found = vectors(squares, 4, size)
    sums = np.concatenate([gradient * found for gradient in (-5, 0, 5)])
    assert gradient_moments(squares, 5, size, ADD).constant == np.ceil(
        np.sqrt((sums**2).sum(axis=1).max())
    )
    apart = ((sums[:, np.newaxis] - sums) ** 2).sum(axis=2).max()
    assert gradient_moments(squares, 5, size, REPLACE).constant == np.ceil(np.sqrt(apart))


def state(bins, labels, weights=None):
    bins = np.asarray(bins, dtype=np.uint8)
    present = np.ones(bins.shape[1], dtype=bool)
    present[:2] = False
    codes = LOSS.encode_labels(np.asarray(labels, dtype=np.float64))
    return BoostingState(bins, codes, present, LOSS, None, Threads(1), weights=weights)


def design(n_columns, random):
    values = random.integers(-MOST, MOST + 1, (n_columns, 256))
    return LinearColumns.of_length_one(np.arange(n_columns, dtype=np.int32), values)


@given(st.integers(1, 40), st.integers(0, 10**6))
def test_no_vector_is_longer_than_its_bound(n_columns, seed):
    random = np.random.default_rng(seed)
    columns = design(n_columns, random)
    # All lengths near the bound, above and below.
    columns.values[:] //= random.integers(1, 4)
    rows = state(random.integers(0, 256, (n_columns, 50)), np.zeros(50))
    found = columns.vectors(rows, slice(0, 50))
    plain = np.vstack([np.full(50, ONE), columns.values[np.arange(n_columns)[:, None], rows.bins]])
    lengths = (plain**2).sum(axis=0)
    short = lengths <= columns.squares
    assert (found[:, short] == plain[:, short]).all()
    assert ((found**2).sum(axis=0) <= columns.squares).all()
    assert (np.abs(found) <= np.abs(plain)).all()
    # No more than one unit of an entry is lost.
    exact = plain * np.sqrt(columns.squares / lengths)
    assert (np.abs(found - exact) < 1.0 + 1e-9)[:, ~short].all()


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_those_of_plain_arithmetic(monkeypatch, weighted):
    monkeypatch.setattr(linear_sums, "_ROWS_AT_ONCE", 64)  # several parts
    random = np.random.default_rng(1)
    columns = design(3, random)
    bins, labels = random.integers(0, 256, (3, 200)), random.uniform(-1, 1, 200)
    weights = random.integers(0, 65537, 200).astype(np.int32) if weighted else None
    rows = state(bins, labels, weights)
    x = columns.vectors(rows, slice(0, 200)).astype(np.int64)
    moments = SecondMoments(design=columns, loss=LOSS)
    sums = GradientMoments(design=columns, loss=LOSS, gradient_limit=0.25)
    packed = rows.packed(np.arange(200, dtype=np.int32), 0.25)[0]
    gradients = (packed + 2**31) >> 32
    hessians = (packed - (gradients << 32)) // HESSIAN_STEP
    assert not packed[:2].any()  # rows that take no part
    triangle = moments.evaluate(rows)
    assert (triangle == np.einsum("n,in,jn->ij", hessians, x, x)[np.triu_indices(4)]).all()
    cut = np.trunc(gradients / GRADIENT_STEP).astype(np.int64)
    assert (sums.evaluate(rows) == x @ cut).all()
    assert np.abs(cut).max() <= LOSS.gradient_reach(0.25).l1 // GRADIENT_STEP
    # In the unit of each they are near what they would be without grids.
    matrix = moments.matrix(triangle * moments.unit)
    assert (matrix == matrix.T).all()
    weight = 1.0 if weights is None else weights[2:] / 65536
    assert matrix[0, 0] == pytest.approx((x[0, 2:] ** 2 * weight).sum() / ONE**2, rel=0.07)
