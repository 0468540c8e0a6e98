"""Audit of rare outcomes by chosen random bits and long runs of candidates.

No feasible sample detects a selection that drops candidates far below the best, or noise without
its tail. But the samplers depend on random bits only, and this audit chooses the bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from dpboost._kernels.entropy import SystemEntropy
from dpboost.audit.run_trace import Violation
from dpboost.privacy import mechanisms
from dpboost.privacy.exact_arithmetic import cost_of, epsilon_of
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.score_runs import ScoreRuns
from dpboost.privacy.sensitivity.bound import Norm, Sensitivity

_missed = partial(Violation, "rare outcome")

#: How many nats the only other candidates are below the best one.
GAPS = (1, 5, 14, 20, 30, 60, 1000)

N_CANDIDATES = 4096

#: First words by which all plain trials fail, so that what follows takes the second sampler.
FAILURES: dict[str, list[int]] = {
    "exponential mechanism": [0] * 300,
    "permute-and-flip": np.random.PCG64(1).random_raw(24).tolist(),
}

#: Bits that let every candidate and every step further out pass, for very long.
ONES = (1 << 64) - 1
ALL = [ONES] * 4000

#: A word of them after which noise goes no further: no coin of a step survives two zeros.
STOP = ONES ^ 0b11

#: A scale of noise from which a tail that is cut would begin, and the scale in units.
FAR = 25
SCALE = 1 << 16

#: So many candidates so many nats below one: about every other draw takes one of them.
MANY = ((1_000_000, 14), (500_000_000, 20))
N_DRAWS = 60
DRAWS_AT_ONCE = 6

#: Permitted probability of a false alarm of one of these.
ERROR = 1e-9

_ONE = epsilon_of(Fraction(1))


def rare_outcomes() -> list[Violation]:
    """Lead every sampler to outcomes that are far out, and draw among very many candidates."""
    return [*_selections(), *_noises(), *_crowds()]


def forced(words: list[int]) -> Entropy:
    """Return a source of these words of 64 bits, and of random ones when they are used up."""
    rest = np.random.PCG64(2)
    given = np.array(words, dtype="<u8")

    def read(n_bytes: int) -> bytes:
        nonlocal given
        block = rest.random_raw(n_bytes // 8).astype("<u8")
        block[: len(given)] = given[: len(block)]
        given = given[len(block) :]
        return block.tobytes()

    return Entropy(SystemEntropy(read=read), private=False)


def _bound(kind: Norm, constant: int = 1) -> Sensitivity:
    return Sensitivity(kind, constant, "one row")


def _selections() -> Iterator[Violation]:
    """Force every selection to take another candidate, at once and after failed trials."""
    for make in (mechanisms.ExponentialMechanism, mechanisms.PermuteAndFlip):
        mechanism = make(epsilon=_ONE)
        for gap in GAPS:
            scores = np.full((1, N_CANDIDATES), -gap, dtype=np.int64)
            scores[0, N_CANDIDATES // 2] = 0
            for form in (scores, runs_of(scores)):
                for words in ([], FAILURES[mechanism.name]):
                    (chosen,) = mechanism.draw(form, _bound("range"), forced(words + ALL))
                    if scores[0, chosen] != -gap:
                        yield _missed(
                            f"{mechanism.name}, {type(form).__name__}",
                            f"a candidate {gap} nats below the best one did not come from the "
                            "bits that lead there",
                        )


def _noises() -> Iterator[Violation]:
    """Force noise to be far out, by bits of which some let it go on for long, then stop."""
    ways = [[ONES] * n + [STOP] + [ONES] * 60 for n in (2, 3, 4)]
    laplace = mechanisms.DiscreteLaplace(epsilon=_ONE)
    gaussian = mechanisms.DiscreteGaussian(rho=cost_of(Fraction(1, 2)))
    for mechanism, kind in ((laplace, "l1"), (gaussian, "l2")):
        bound = _bound(kind, SCALE)  # type: ignore[arg-type]
        value = np.zeros(1, dtype=np.int64)
        drawn = [abs(int(mechanism.draw(value, bound, forced(words))[0])) for words in ways]
        if max(drawn) < FAR * SCALE:
            message = f"bits that lead beyond {FAR} scales came to {max(drawn) / SCALE:.1f}"
            yield _missed(mechanism.name, message)


def _crowds() -> Iterator[Violation]:
    """Draw one candidate among a crowd far below it; counted against the exact chance."""
    exponential = mechanisms.ExponentialMechanism(epsilon=_ONE)
    flip = mechanisms.PermuteAndFlip(epsilon=_ONE)
    for n, gap in MANY:
        runs = ScoreRuns(
            scores=np.tile(np.array([-gap, 0, -gap], dtype=np.int64), N_DRAWS),
            starts=np.tile(np.array([0, n // 3, n // 3 + 1], dtype=np.int32), N_DRAWS),
            node_start=np.arange(N_DRAWS + 1, dtype=np.intp) * 3,
            n_candidates=n + 1,
        )
        yield from _counted(exponential, runs, n // 3, 1 / (1 + n * math.exp(-gap)))
    n, gap = MANY[0]
    scores = np.full((DRAWS_AT_ONCE, n + 1), -gap, dtype=np.int64)
    scores[:, n // 3] = 0
    chance = math.exp(-gap)
    flipped = -math.expm1((n + 1) * math.log1p(-chance)) / ((n + 1) * chance)
    yield from _counted(exponential, scores, n // 3, 1 / (1 + n * chance))
    yield from _counted(flip, scores, n // 3, flipped)


def _counted(
    mechanism: Any, scores: NDArray[np.int64] | ScoreRuns, best: int, chance: float
) -> Iterator[Violation]:
    entropy = Entropy.secure()
    times = range(N_DRAWS // len(scores))
    chosen = np.concatenate([mechanism.draw(scores, _bound("range"), entropy) for _ in times])
    hits = int(np.count_nonzero(chosen == best))
    if binomtest(hits, len(chosen), chance).pvalue < ERROR:
        yield _missed(
            f"{mechanism.name}, {scores.shape[1]} candidates",
            f"the best one came {hits} of {len(chosen)} times, by its chance {chance:.2f} of them",
        )


def runs_of(scores: NDArray[np.int64]) -> ScoreRuns:
    """Write scores in runs of length one."""
    n_nodes, n_candidates = scores.shape
    return ScoreRuns(
        scores=scores.ravel(),
        starts=np.tile(np.arange(n_candidates, dtype=np.int32), n_nodes),
        node_start=np.arange(n_nodes + 1, dtype=np.intp) * n_candidates,
        n_candidates=n_candidates,
    )
