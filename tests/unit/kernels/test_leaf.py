import math
from fractions import Fraction

import numpy as np
import pytest

from dpboost._kernels import leaf

UNIT = 2.0**-16


def values(sums, counts, hessian=1.0, lam=0.1, clip=math.inf, units=2.0**20):
    out = np.full(len(sums), 99, dtype=np.int64)
    leaf.clipped_leaf(
        np.array(sums, dtype=np.int64),
        np.array(counts, dtype=np.int64),
        hessian,
        lam,
        UNIT,
        clip,
        units,
        out,
    )
    return out


@pytest.mark.parametrize("clip", [math.inf, 1.0, 0.01])
@pytest.mark.parametrize(("hessian", "lam"), [(1.0, 0.1), (0.25, 0.0), (0.25, 1.0)])
def test_values_agree_with_rationals(hessian, lam, clip):
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 2000, 500)
    sums = np.rint(rng.uniform(-1, 1, 500) * 65536).astype(np.int64) * counts
    got = values(sums, counts, hessian, lam, clip)
    for value, total, n in zip(got, sums, counts, strict=True):
        exact = -Fraction(int(total)) * Fraction(UNIT)
        exact /= Fraction(hessian) * int(n) + Fraction(lam)
        if clip < math.inf:
            exact = max(-Fraction(clip), min(Fraction(clip), exact))
        assert abs(int(value) - exact * 2**20) <= Fraction(1, 2) + Fraction(1, 1000)


def test_empty_leaves_and_saturation():
    assert values([0, 0], [0, 0], lam=0.0).tolist() == [0, 0]
    assert values([0], [0], lam=1.0).tolist() == [0]
    assert values([-65536, 65536], [1, 1], lam=0.0).tolist() == [1 << 20, -(1 << 20)]
    huge = values([-65536, 65536], [1, 1], lam=0.0, units=2.0**60)
    assert huge.tolist() == [1 << 49, -(1 << 49)]
    assert values([-65536, 65536], [1, 1], clip=0.0).tolist() == [0, 0]


@pytest.mark.parametrize("units", [2.0**20, 1.0, 3.0, 2.0**20 / 0.3, 1000.7])
@pytest.mark.parametrize("clip", [math.inf, 0.3])
@pytest.mark.parametrize(("hessian", "lam"), [(1.0, 0.0), (1.0, 0.1), (0.25, 1.0)])
def test_one_row_moves_a_leaf_by_at_most_the_charged_units(hessian, lam, clip, units):
    g = 65536
    charged = math.ceil(min(1 / (hessian + lam), 2 * clip) * units) + 1
    largest = 0
    for n in range(40):
        rng = np.random.default_rng(n)
        inner = rng.integers(-n * g, n * g + 1, 50)
        sums = np.concatenate([[-n * g, n * g, 0], inner])
        for x in (-g, -g // 2, 0, g // 3, g):
            before = values(sums, np.full(len(sums), n), hessian, lam, clip, units)
            after = values(sums + x, np.full(len(sums), n + 1), hessian, lam, clip, units)
            largest = max(largest, int(np.abs(after - before).max()))
    assert largest <= charged
    # The charge is not loose either: some witness comes close.
    assert largest >= 0.8 * min(1 / (hessian + lam), 2 * clip) * units - 1


def test_a_leaf_has_one_value_wherever_it_stands():
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 50, 37)
    sums = np.rint(rng.uniform(-1, 1, 37) * 65536).astype(np.int64) * counts
    block = values(sums, counts)
    np.testing.assert_array_equal(values(sums[1:], counts[1:]), block[1:])
    alone = [values([s], [n])[0] for s, n in zip(sums, counts, strict=True)]
    np.testing.assert_array_equal(alone, block)
