"""Scores in runs are another way to write the same scores: the same draws come from both."""

import numpy as np
import pytest

from dpboost._kernels import runselection, selection
from dpboost.privacy.score_runs import ScoreRuns


def runs_of(random, n_nodes, n_candidates, spread):
    """Scores in runs, a different number of them in each node."""
    scores, starts, node_start = [], [], [0]
    for _ in range(n_nodes):
        n = int(random.integers(1, min(n_candidates, 40) + 1))
        inner = random.choice(np.arange(1, n_candidates), n - 1, replace=False)
        starts.append(np.concatenate(([0], np.sort(inner))))
        scores.append(random.integers(-spread, spread + 1, n))
        node_start.append(node_start[-1] + n)
    return ScoreRuns(
        scores=np.concatenate(scores),
        starts=np.concatenate(starts).astype(np.int32),
        node_start=np.array(node_start, dtype=np.intp),
        n_candidates=n_candidates,
    )


def arguments(runs):
    return runs.scores, runs.starts, runs.node_start


@pytest.mark.parametrize("spread", [0, 3, 40, 4_000, 2**60])
@pytest.mark.parametrize("n_candidates", [1, 2, 40, 700, 40_000])
def test_the_same_bits_choose_the_same_candidates(n_candidates, spread):
    random = np.random.default_rng(n_candidates + spread)
    runs = runs_of(random, 25, n_candidates, spread)
    found, expected = np.empty((2, 25), dtype=np.int32)
    for numerator, denominator in ((1, 1), (1, 1_000), (7, 2)):
        runselection.exponential(
            np.random.PCG64(5), *arguments(runs), n_candidates, numerator, denominator, found
        )
        selection.exponential(
            np.random.PCG64(5), runs.written_out(), numerator, denominator, expected
        )
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("n_candidates", [1, 9, 300])
def test_argmax_takes_the_first_of_the_best(n_candidates):
    runs = runs_of(np.random.default_rng(1), 50, n_candidates, 2)
    found = np.empty(50, dtype=np.int32)
    runselection.argmax(*arguments(runs), found)
    np.testing.assert_array_equal(found, runs.written_out().argmax(axis=1))


@pytest.mark.parametrize(
    ("n_candidates", "numerator", "denominator"),
    [(0, 1, 1), (2**31, 1, 1), (5, 0, 1), (5, 1, 0), (5, 2**63, 1), (5, 1, 2**63)],
)
def test_numbers_out_of_range_are_refused(n_candidates, numerator, denominator):
    runs = runs_of(np.random.default_rng(1), 2, 5, 2)
    with pytest.raises(ValueError, match="must be"):
        runselection.exponential(
            np.random.PCG64(5),
            *arguments(runs),
            n_candidates,
            numerator,
            denominator,
            np.empty(2, dtype=np.int32),
        )


def test_a_source_that_fails_leaves_nothing_chosen():
    from dpboost._kernels.entropy import SystemEntropy

    left = [b"\x55" * 65536]
    source = SystemEntropy(read=lambda n_bytes: left.pop() if left else b"")
    runs = runs_of(np.random.default_rng(1), 40_000, 300, 50)
    chosen = np.full(40_000, 7, dtype=np.int32)
    with pytest.raises(OSError, match="no random bytes"):
        runselection.exponential(source, *arguments(runs), 300, 1, 1, chosen)
    assert not chosen.any()
