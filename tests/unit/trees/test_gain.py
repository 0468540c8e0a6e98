import math
from fractions import Fraction

import numpy as np
import pytest

from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.trees.gain import SCORE_LIMIT, UNITS_PER_GAIN, GradientGain

LIMIT = 65536


def criterion(hessian=1.0, reg_lambda=0.1):
    return GradientGain(hessian=hessian, reg_lambda=reg_lambda, gradient_limit=LIMIT)


def histograms(layout, n_nodes, seed):
    """Histograms of rows, so that every feature has the same totals."""
    random = np.random.default_rng(seed)
    sums = np.zeros((n_nodes, layout.n_cells), dtype=np.int64)
    counts = np.zeros_like(sums)
    for node in range(n_nodes):
        for _ in range(random.integers(0, 40)):
            gradient = random.integers(-LIMIT, LIMIT + 1)
            for first, last in zip(layout.cell_offsets, layout.cell_offsets[1:], strict=False):
                cell = random.integers(first, last)
                sums[node, cell] += gradient
                counts[node, cell] += 1
    return sums, counts


def exact(total, count, hessian, reg_lambda):
    if count == 0:
        return 0
    gain = Fraction(int(total), LIMIT) ** 2 / (
        Fraction(hessian) * int(count) + Fraction(reg_lambda)
    )
    return math.floor(gain * Fraction(hessian) * UNITS_PER_GAIN)


@pytest.mark.parametrize(("hessian", "reg_lambda"), [(1.0, 0.1), (0.25, 3.0)])
def test_scores_are_the_gains_of_both_children(layout, hessian, reg_lambda):
    sums, counts = histograms(layout, 6, seed=1)
    scores = criterion(hessian, reg_lambda).scores(sums, counts, layout)
    candidate = 0
    for feature in range(3):
        cells = slice(layout.cell_offsets[feature], layout.cell_offsets[feature + 1])
        for split_bin in range(cells.stop - cells.start - 1):
            for node in range(6):
                mine, rows = sums[node, cells], counts[node, cells]
                position = np.arange(len(mine))
                goes_left = position == split_bin
                if not layout.is_categorical[feature]:
                    goes_left = position <= split_bin
                expected = sum(
                    exact(mine[side].sum(), rows[side].sum(), hessian, reg_lambda)
                    for side in (goes_left, ~goes_left)
                )
                assert abs(scores[node, candidate] - expected) <= 2
            candidate += 1


@pytest.mark.parametrize("hessian", [1.0, 0.25])
def test_one_row_moves_the_candidates_within_the_range_that_is_charged(layout, hessian):
    """The worst cases of the gain: a node full of equal gradients meets the opposite one."""
    worst = 0
    for n_rows in (0, 1, 2, 10, 10_000, 10**7):
        for sign in (1, -1):
            sums = np.zeros((1, layout.n_cells), dtype=np.int64)
            counts = np.zeros_like(sums)
            # All rows in the first bin of the first feature and in the missing bins of the rest.
            for cell in (0, 8, 11):
                sums[0, cell], counts[0, cell] = n_rows * LIMIT, n_rows
            before = criterion(hessian, 1e-6).scores(sums, counts, layout)
            # The new row joins them in one feature only.
            for cell in (0, 5, 9):
                sums[0, cell] += sign * LIMIT
                counts[0, cell] += 1
            change = criterion(hessian, 1e-6).scores(sums, counts, layout) - before
            worst = max(worst, int(change.max() - change.min()))
    charged = criterion(hessian).bound(Neighbors.ADD_REMOVE).constant
    assert 0.95 * charged <= worst <= charged


def test_the_bound_is_of_kind_range_and_doubles_for_replacements():
    add, replace = (criterion().bound(relation) for relation in Neighbors)
    assert add.kind == replace.kind == "range"
    assert add.constant == 4 * UNITS_PER_GAIN + 2
    assert replace.constant == 2 * add.constant


def test_scores_saturate_at_a_public_limit(layout):
    sums = np.zeros((1, layout.n_cells), dtype=np.int64)
    counts = np.zeros_like(sums)
    sums[0, :], counts[0, :] = 2**52, 2**36
    scores = criterion().scores(sums, counts, layout)
    assert (scores == 2 * SCORE_LIMIT).all()
