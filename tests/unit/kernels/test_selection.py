from functools import lru_cache

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from numpy.random import PCG64
from scipy import stats

from dpboost._kernels import selection
from dpboost._kernels.entropy import SystemEntropy

ALARM = 1e-6
LOWEST, HIGHEST = -(2**63), 2**63 - 1
SMALL = [
    ([0], 1, 1),
    ([0, 0], 1, 1),
    ([5, 5, 5, 5, 5], 3, 7),
    ([0, 1, 2, 3, 4, 5], 1, 1),
    ([0, -1000, -2000, -2000, -10_000], 1, 1000),
    ([3, 1, 2], 2**62 - 1, 2**63 - 25),
    ([10**15, 10**15 - 3, -(10**15)], 1, 2),
    ([LOWEST, HIGHEST, HIGHEST - 1, 0], 1, 1),
    ([LOWEST, HIGHEST, 0], 1, 2**63 - 1),
    ([0, 1, 3], 10**18, 10**18 + 1),
]
small = pytest.mark.parametrize(("scores", "numerator", "denominator"), SMALL)
KERNELS = {
    "exponential": selection.exponential,
    "permute_and_flip": selection.permute_and_flip,
}
kernels = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())


def draw(kernel, scores, numerator, denominator, n_draws, seed=1):
    rows = np.tile(np.asarray(scores, np.int64), (n_draws, 1))
    chosen = np.empty(n_draws, np.int32)
    kernel(PCG64(seed), rows, numerator, denominator, chosen)
    return chosen


def acceptances(scores, numerator, denominator):
    best = max(scores)
    return np.exp([-(best - score) * numerator / denominator for score in scores])


def softmax(scores, numerator, denominator):
    weights = acceptances(scores, numerator, denominator)
    return weights / weights.sum()


def flip_by_recursion(accepted):
    """P(i) of permute-and-flip, by the first candidate tried."""

    @lru_cache(None)
    def of(left):
        result = np.zeros(len(accepted))
        for first in left:
            result[first] += accepted[first] / len(left)
            rest = left - {first}
            if rest:
                result += (1 - accepted[first]) / len(left) * of(rest)
        return result

    return of(frozenset(range(len(accepted))))


def flip_by_integral(accepted):
    """The same: candidate i comes at a uniform time t, no head came before."""
    result = np.zeros(len(accepted))
    for i, own in enumerate(accepted):
        density = Polynomial([own])
        for j, other in enumerate(accepted):
            if j != i:
                density *= Polynomial([1, -other])
        result[i] = density.integ()(1.0)
    return result


def assert_drawn(chosen, expected):
    n_draws = len(chosen)
    observed = np.bincount(chosen, minlength=len(expected))
    assert len(observed) == len(expected)
    common = expected * n_draws >= 10
    rare = stats.binomtest(int(observed[~common].sum()), n_draws, min(1.0, expected[~common].sum()))
    assert rare.pvalue > ALARM
    if common.sum() > 1:
        given = expected[common] / expected[common].sum() * observed[common].sum()
        assert stats.chisquare(observed[common], given).pvalue > ALARM


@small
def test_exponential(scores, numerator, denominator):
    chosen = draw(selection.exponential, scores, numerator, denominator, 200_000)
    assert_drawn(chosen, softmax(scores, numerator, denominator))


@small
def test_permute_and_flip(scores, numerator, denominator):
    accepted = tuple(acceptances(scores, numerator, denominator))
    chosen = draw(selection.permute_and_flip, scores, numerator, denominator, 200_000)
    assert_drawn(chosen, flip_by_recursion(accepted))


def test_recursion_and_integral_agree():
    accepted = (1.0, 0.5, 0.1, 0.9, 0.01)
    np.testing.assert_allclose(flip_by_recursion(accepted), flip_by_integral(accepted))


def groups(*sizes_and_gaps, best=0, seed=0):
    """Scores of one best candidate and groups of equal gaps, shuffled; and the group of each."""
    gaps = [0] + [gap for size, gap in sizes_and_gaps for _ in range(size)]
    member = [0] + [g + 1 for g, (size, _) in enumerate(sizes_and_gaps) for _ in range(size)]
    order = np.random.default_rng(seed).permutation(len(gaps))
    return best - np.array(gaps)[order], np.array(member)[order]


# Gaps in thousandths of a nat; sizes such that each group has a measurable share.
FAR = [
    ((63, 3000),),
    ((30, 5000), (200, 7500)),
    ((40, 999), (40, 1000), (40, 1001), (40, 1999), (40, 2000)),
    ((400, 5300), (2600, 8123)),
    ((60, 3700), (500, 6900), (1000, 8900), (1400, 9500), (100, 60_000)),
]


@pytest.mark.parametrize("far", FAR)
def test_exponential_tail(far):
    scores, member = groups(*far)
    expected = np.bincount(member, softmax(scores.tolist(), 1, 1000))
    for seed in range(2):
        chosen = draw(selection.exponential, scores, 1, 1000, 5000, seed)
        assert_drawn(member[chosen], expected)


@pytest.mark.parametrize("far", FAR)
def test_permute_and_flip_tail(far):
    scores, member = groups(*far)
    accepted = acceptances(scores.tolist(), 1, 1000)
    # Log of the product over all others at time t, integrated by Gauss-Legendre.
    times, weights = np.polynomial.legendre.leggauss(200)
    times, weights = (times + 1) / 2, weights / 2
    tails = np.log1p(-np.outer(times, accepted))
    others = np.exp(tails.sum(axis=1, keepdims=True) - tails)
    expected = np.bincount(member, accepted * (weights @ others))
    assert abs(expected.sum() - 1) < 1e-9
    for seed in range(2):
        chosen = draw(selection.permute_and_flip, scores, 1, 1000, 5000, seed)
        assert_drawn(member[chosen], expected)


@pytest.mark.parametrize(("n_low", "nats", "n_draws"), [(160_000, 12, 200), (1_000_000, 14, 100)])
@kernels
def test_many_candidates_so_many_nats_below(kernel, n_low, nats, n_draws):
    q = np.exp(-float(nats))
    scores = np.full(n_low + 1, -nats)
    scores[77] = 0
    best = {
        "exponential": 1 / (1 + n_low * q),
        "permute_and_flip": -np.expm1((n_low + 1) * np.log1p(-q)) / ((n_low + 1) * q),
    }[kernel.__name__]
    source, rows = PCG64(nats), np.tile(scores, (5, 1))
    chosen = np.empty((n_draws // 5, 5), np.int32)
    for out in chosen:
        kernel(source, rows, 1, 1, out)
    assert stats.binomtest(int((chosen == 77).sum()), n_draws, best).pvalue > ALARM
    # Those that were chosen instead lie anywhere.
    positions = np.sort(chosen[chosen != 77]) / n_low
    assert stats.kstest(positions, "uniform").pvalue > ALARM


@pytest.mark.parametrize("far", FAR)
@kernels
def test_members_of_a_group_are_alike(kernel, far):
    scores, member = groups(*far)
    chosen = draw(kernel, scores, 1, 1000, 20_000, seed=3)
    for group in range(1, len(far) + 1):
        rank = np.cumsum(member == group) - 1
        hits = rank[chosen[member[chosen] == group]]
        if len(hits) >= 100:
            tenth = hits * 10 // (member == group).sum()
            weights = np.bincount(
                np.arange((member == group).sum()) * 10 // (member == group).sum()
            )
            expected = weights / weights.sum() * len(hits)
            assert stats.chisquare(np.bincount(tenth, minlength=10), expected).pvalue > ALARM


@kernels
def test_hopeless_candidates_are_not_chosen(kernel):
    for scores, numerator, denominator in (
        ([-60] * 300 + [0] + [-60] * 300, 1, 1),
        ([LOWEST] * 200 + [HIGHEST], 2**63 - 1, 1),
        ([LOWEST] * 200 + [HIGHEST], 1, 2**40),
        ([-1] * 200 + [0], 2**63 - 1, 1),
    ):
        best = scores.index(max(scores))
        assert set(draw(kernel, scores, numerator, denominator, 2000)) == {best}


@kernels
def test_exponents_below_any_resolution_are_uniform(kernel):
    scores = [LOWEST // 2**20 * (i % 2) for i in range(100)]
    chosen = draw(kernel, scores, 1, 2**63 - 1, 100_000)
    assert stats.chisquare(np.bincount(chosen, minlength=100)).pvalue > ALARM


@kernels
def test_rows_are_drawn_in_order_from_their_own_scores(kernel):
    scores = np.full((50, 20), -(10**6))
    best = np.random.default_rng(1).integers(0, 20, 50)
    scores[np.arange(50), best] = 0
    chosen = np.empty(50, np.int32)
    kernel(PCG64(1), scores, 1, 1, chosen)
    np.testing.assert_array_equal(chosen, best)


@kernels
def test_the_seed_decides(kernel):
    scores = list(range(100))
    first = draw(kernel, scores, 1, 30, 500, seed=4)
    np.testing.assert_array_equal(first, draw(kernel, scores, 1, 30, 500, seed=4))
    assert (first != draw(kernel, scores, 1, 30, 500, seed=5)).any()


@kernels
def test_two_system_sources_differ(kernel):
    rows = np.zeros((100, 100), np.int64)
    chosen = np.empty((2, 100), np.int32)
    for out in chosen:
        kernel(SystemEntropy(), rows, 1, 1, out)
    assert (chosen[0] != chosen[1]).any()


@kernels
def test_limits(kernel):
    rows, chosen = np.zeros((2, 3), np.int64), np.zeros(2, np.int32)
    for numerator, denominator in ((0, 1), (1, 0), (-1, 1), (2**63, 1), (1, 2**63)):
        with pytest.raises(ValueError, match="numerator and denominator"):
            kernel(PCG64(0), rows, numerator, denominator, chosen)
    with pytest.raises(ValueError, match="columns"):
        kernel(PCG64(0), rows[:, :0].copy(), 1, 1, chosen)
    with pytest.raises(ValueError, match="one entry"):
        kernel(PCG64(0), rows, 1, 1, chosen[:1])
    kernel(PCG64(0), rows[:0], 1, 1, chosen[:0])


def test_argmax_breaks_ties_to_the_lowest_index():
    scores = np.array([[1, 3, 3], [5, 5, 5], [LOWEST, HIGHEST, 0], [LOWEST] * 3, [0, 1, 2]])
    chosen = np.empty(5, np.int32)
    selection.argmax(scores, chosen)
    assert chosen.tolist() == [1, 0, 1, 0, 2]
    with pytest.raises(ValueError, match="columns"):
        selection.argmax(scores[:, :0].copy(), chosen)
    with pytest.raises(ValueError, match="one entry"):
        selection.argmax(scores, chosen[:1])
