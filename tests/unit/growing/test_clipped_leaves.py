import math
from fractions import Fraction

import numpy as np
import pytest

from dpboost.growing.clipped_leaves import LEAF_UNIT, ClippedLeaf
from dpboost.privacy.sensitivity.bound import Neighbors

ONE = 65536


def leaf(hessian=1.0, reg_lambda=0.1, clip=1.0, unit=LEAF_UNIT):
    return ClippedLeaf(
        hessian=hessian, reg_lambda=reg_lambda, gradient_bound=1.0, clip=clip, unit=unit
    )


@pytest.mark.parametrize("hessian", [1.0, 0.25])
@pytest.mark.parametrize("clip", [4.0, 0.1, 2.0**-22, 0.0])
def test_values_are_clipped_and_rounded_to_the_grid(hessian, clip):
    random = np.random.default_rng(0)
    counts = np.concatenate([[0, 1, 1, 2], random.integers(1, 10_000, 200)])
    sums = np.array([int(random.integers(-ONE, ONE + 1)) * int(n) for n in counts])
    values = leaf(hessian, clip=clip).values(sums, counts)
    for total, count, value in zip(sums.tolist(), counts.tolist(), values.tolist(), strict=True):
        exact = Fraction(-total, ONE) / (Fraction(hessian) * count + Fraction(0.1))
        exact = max(min(exact, Fraction(clip)), -Fraction(clip))
        assert abs(Fraction(value) - exact * 2**20) <= Fraction(1, 2) + Fraction(1, 1000)


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("hessian", [1.0, 0.25])
@pytest.mark.parametrize("clip", [4.0, 0.1, 2.0**-22, 0.0])
def test_one_row_moves_a_leaf_by_what_is_charged(neighbors, hessian, clip):
    charged = leaf(hessian, clip=clip).bound(neighbors)
    assert charged.kind == "l1"
    sums, counts = zip(
        *[(total * ONE // 8, n) for n in range(8) for total in range(-8 * n, 8 * n + 1)],
        strict=True,
    )
    before = leaf(hessian, clip=clip).values(np.array(sums), np.array(counts))
    worst = 0
    for x in (-ONE, 0, ONE):
        after = leaf(hessian, clip=clip).values(np.array(sums) + x, np.array(counts) + 1)
        worst = max(worst, int(np.abs(after - before).max()))
    rows = 1 if neighbors is Neighbors.ADD_REMOVE else 2
    assert rows * worst <= charged.constant
    # Tight but for the unit that rounding may add.
    assert rows * (worst + 2) >= charged.constant


def test_the_noise_follows_the_charge(statistics, rows, open_ledger):
    """Mean absolute noise of a discrete Laplace is nearly its scale, constant / epsilon."""
    ledger = open_ledger(epsilon=2)
    bins, gradients, kept = rows(50)
    data = statistics(bins, gradients, kept)
    for _ in range(9):
        split = np.zeros(data.n_nodes, dtype=np.int32), np.zeros(data.n_nodes, dtype=np.uint8)
        data.split(*split)
    estimator = leaf()
    exact, none = estimator.release(data, epsilon=math.inf, ledger=open_ledger())
    noisy, noise_stddev = estimator.release(data, epsilon=Fraction(2), ledger=ledger)
    scale = estimator.bound(Neighbors.ADD_REMOVE).constant / 2
    assert np.abs(noisy - exact).mean() == pytest.approx(scale, rel=0.25)
    assert (none, noise_stddev) == (0.0, pytest.approx(math.sqrt(2) * scale, rel=1e-3))
    (entry,) = ledger.entries
    assert entry.label == "leaf values"
    assert entry.charge.cost == 2
    assert entry.unit == LEAF_UNIT
    assert entry.bound == estimator.bound(Neighbors.ADD_REMOVE)
