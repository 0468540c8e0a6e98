import math
from fractions import Fraction

import numpy as np
import pytest

from dpboost._kernels import gain

LIMIT = 1 << 49


def score(sums, counts, n_bins, categorical, hessian, lam, scale, limit=LIMIT, n_threads=1):
    n_bins = np.asarray(n_bins)
    cells = np.concatenate([[0], np.cumsum(n_bins + 1)]).astype(np.int32)
    candidates = np.concatenate([[0], np.cumsum(n_bins)]).astype(np.int32)
    out = np.full((len(sums), candidates[-1]), -5, dtype=np.int64)
    gain.gradient_gain(
        np.array(sums, dtype=np.int64),
        np.array(counts, dtype=np.int64),
        cells,
        candidates,
        np.array(categorical, dtype=np.uint8),
        hessian,
        lam,
        scale,
        limit,
        out,
        n_threads,
    )
    return out


def exact_child(total, n, hessian, lam, scale):
    if n == 0:
        return Fraction(0)
    return (
        Fraction(int(total)) ** 2 * Fraction(scale) / (Fraction(hessian) * int(n) + Fraction(lam))
    )


def children(sums, counts, n_bins, categorical):
    """Left and right (sum, count) of every candidate of one node, by definition."""
    first = 0
    for n, kind in zip(n_bins, categorical, strict=True):
        cells = slice(first, first + n + 1)
        for b in range(n):
            left = np.arange(n + 1) == b if kind else np.arange(n + 1) <= b
            yield (
                (sums[cells][left].sum(), counts[cells][left].sum()),
                (sums[cells][~left].sum(), counts[cells][~left].sum()),
            )
        first += n + 1


def histograms(seed, n_nodes, n_bins, n_rows):
    rng = np.random.default_rng(seed)
    counts = np.concatenate(
        [rng.multinomial(n_rows, np.full(n + 1, 1 / (n + 1)), n_nodes) for n in n_bins], axis=1
    )
    return rng.integers(-65536, 65537, counts.shape) * counts, counts


def assert_floors(got, exact, tolerance=Fraction(1, 4)):
    """The score is the floor of something closer than ``tolerance`` to the exact value."""
    options = {math.floor(exact - tolerance), math.floor(exact + tolerance)}
    assert got in options, (got, float(exact))


@pytest.mark.parametrize(("hessian", "lam"), [(1.0, 0.0), (0.25, 0.1), (1.0, 3.7), (0.25, 0.0)])
def test_scores_agree_with_rationals(hessian, lam):
    n_bins, categorical = [5, 1, 40, 7], [0, 1, 0, 1]
    sums, counts = histograms(3, 3, n_bins, 50)
    scale = 2.0**-20
    got = score(sums, counts, n_bins, categorical, hessian, lam, scale)
    for node in range(3):
        pairs = list(children(sums[node], counts[node], n_bins, categorical))
        assert len(pairs) == got.shape[1]
        for value, pair in zip(got[node], pairs, strict=True):
            exact = [exact_child(*child, hessian, lam, scale) for child in pair]
            options = {
                math.floor(exact[0] + a) + math.floor(exact[1] + b)
                for a in (Fraction(-1, 4), 0, Fraction(1, 4))
                for b in (Fraction(-1, 4), 0, Fraction(1, 4))
            }
            assert int(value) in options


def test_small_example_by_hand():
    # Feature of two value bins and a missing bin: sums 3, -1, 4 over 1, 2, 1 rows.
    numeric = score([[3, -1, 4]], [[1, 2, 1]], [2], [0], 1.0, 1.0, 12.0)
    # Left {3}: 9*12/2; right {-1, 4}: 9*12/4. Left {3, -1}: 4*12/4; right {4}: 16*12/2.
    assert numeric.tolist() == [[54 + 27, 12 + 96]]
    categorical = score([[3, -1, 4]], [[1, 2, 1]], [2], [1], 1.0, 1.0, 12.0)
    # Bin 1 alone: 1*12/3; rest: 49*12/3.
    assert categorical.tolist() == [[54 + 27, 4 + 196]]


@pytest.mark.parametrize("scale", [2.0**-16, 2.0**-15 / 3, 7.3e-6])
def test_error_stays_below_a_quarter_up_to_the_limit(scale):
    """One cell holds everything, so that each score is one quotient; many sizes up to 2^49."""
    rng = np.random.default_rng(8)
    n = rng.integers(1, 2**31, 4000)
    sums = (rng.random(4000) * n * 65536).astype(np.int64)
    # Some quotients just below the limit, where the unit in the last place is largest.
    sums[:2000] = np.sqrt(rng.uniform(0.5, 1.0, 2000) * LIMIT * (n[:2000] + 0.1) / scale)
    got = score(
        np.stack([sums, np.zeros_like(sums)], 1),
        np.stack([n, np.zeros_like(n)], 1),
        [1],
        [0],
        1.0,
        0.1,
        scale,
    )
    for value, total, rows in zip(got[:, 0], sums, n, strict=True):
        exact = exact_child(total, rows, 1.0, 0.1, scale)
        if exact < LIMIT - 1:
            assert_floors(int(value), exact)
        else:
            assert value in (LIMIT - 2, LIMIT - 1, LIMIT)


def test_scores_saturate_at_the_public_limit():
    sums, counts = [[1 << 46, 1 << 46]], [[1, 1]]
    assert score(sums, counts, [1], [0], 1.0, 0.0, 1.0).tolist() == [[2 * LIMIT]]
    assert score(sums, counts, [1], [0], 1.0, 0.0, 1.0, limit=77).tolist() == [[154]]
    assert score(sums, counts, [1], [0], 1.0, 0.0, 1e300).tolist() == [[2 * LIMIT]]


@pytest.mark.parametrize("lam", [0.0, 1.0])
def test_empty_nodes_and_empty_children_score_zero(lam):
    assert score([[0] * 4], [[0] * 4], [3], [0], 1.0, lam, 2.0).tolist() == [[0, 0, 0]]
    one_row = score([[0, 5, 0]], [[0, 1, 0]], [2], [0], 1.0, lam, 2.0)
    value = int(50 / (1 + lam))
    assert one_row.tolist() == [[value, value]]


def test_same_bits_for_any_number_of_threads():
    n_bins, categorical = [255, 3, 17] * 5, [0, 1, 0] * 5
    sums, counts = histograms(4, 9, n_bins, 1000)
    first = score(sums, counts, n_bins, categorical, 0.25, 0.1, 1e-3)
    for n_threads in (2, 3, 4):
        again = score(sums, counts, n_bins, categorical, 0.25, 0.1, 1e-3, n_threads=n_threads)
        np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize("n_bins", [1, 2, 3, 254, 255])
def test_a_feature_scores_the_same_in_any_position(n_bins):
    sums, counts = histograms(6, 1, [n_bins], 10_000)
    alone = score(sums, counts, [n_bins], [0], 0.25, 0.1, 1e-3)
    pad = [2, n_bins, 4]
    others = histograms(7, 1, [2], 10), histograms(8, 1, [4], 10)
    wide = [np.concatenate([others[0][i], (sums, counts)[i], others[1][i]], axis=1) for i in (0, 1)]
    got = score(*wide, pad, [0, 0, 0], 0.25, 0.1, 1e-3)
    np.testing.assert_array_equal(got[:, 2 : 2 + n_bins], alone)
