"""Test that the samplers have the distributions that replays assume.

A replay forces outcomes and uses only the integer arguments of a kernel. This test checks what the
kernel does with them, in draws of the mechanisms and of real fits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, norm

from dpboost.audit.noise_independence import Look, looks_of
from dpboost.audit.output_distributions import permute_and_flip, softmax
from dpboost.audit.rare_outcomes import runs_of
from dpboost.audit.run_trace import Violation
from dpboost.privacy.exact_arithmetic import cost_of, epsilon_of
from dpboost.privacy.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    PermuteAndFlip,
)
from dpboost.privacy.noise_shares import MaskedShare, OneTimePad
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.sensitivity.bound import Sensitivity

N_DRAWS = 60_000

_violation = partial(Violation, "sampler law")

#: Permitted probability of a false alarm of one of these.
ERROR = 1e-9

#: Cells with fewer draws expected are put together.
LEAST_EXPECTED = 50

#: Scores of which some are equal, and what stands for values: zeros, small and large ones.
SCORES = np.array([[4, 9, 7, 9, 0, 8]], dtype=np.int64)
VALUES = np.array([0, 1, -1, 1000, 1 << 40], dtype=np.int64)

#: Scale of noise in units, and one on a fine lattice.
SCALE, FINE = 40, 1 << 16


def sampler_laws() -> list[Violation]:
    """Compare every mechanism, and the noise of real fits, with its exact law."""
    return [*_noises(), *_shares(), *_selections(), *_coins(), *_fits()]


def _noises() -> Iterator[Violation]:
    """Draw noise on values of every size; each of them gets noise of the same law."""
    support = np.arange(-12 * SCALE, 12 * SCALE + 1)
    laws = {
        "l1": np.exp(-np.abs(support) / SCALE),
        "l2": np.exp(-(support.astype(np.float64) ** 2) / (2 * SCALE**2)),
    }
    for mechanism in (
        DiscreteLaplace(epsilon=epsilon_of(Fraction(1))),
        DiscreteGaussian(rho=cost_of(Fraction(1, 2))),
    ):
        bound = Sensitivity(mechanism.needs, SCALE, "a scale")
        law = laws[mechanism.needs] / laws[mechanism.needs].sum()
        for value in VALUES.tolist():
            values = np.full(N_DRAWS, value, dtype=np.int64)
            # Other entries of the release are what they are.
            values[::2] = VALUES[-1]
            added = (mechanism.draw(values, bound, Entropy.secure()) - values)[1::2]
            if _differs(added - support[0], law):
                yield _violation(mechanism.name, f"noise on entries of {value} has another law")


def _shares() -> Iterator[Violation]:
    """Add up as many shares of noise as are to carry all of it; masks are left out."""
    support = np.arange(-12 * SCALE, 12 * SCALE + 1)
    zeros = np.zeros(N_DRAWS, dtype=np.int64)
    for honest in (2, 5):
        laplace = DiscreteLaplace(epsilon=epsilon_of(Fraction(1)))
        bound = Sensitivity("l1", SCALE, "a scale")
        law = np.exp(-np.abs(support) / SCALE)
        if _differs(_summed(laplace, bound, honest, zeros) - support[0], law / law.sum()):
            yield _violation(f"{laplace.name}, {honest} shares", "their sum has another law")
        gaussian = DiscreteGaussian(rho=cost_of(Fraction(1, 2)))
        bound = Sensitivity("l2", FINE, "a scale")
        total = _summed(gaussian, bound, honest, zeros) / FINE
        # A share may be a little too wide: the sum of lattices is not quite Gaussian.
        least = 1 - DEVIATIONS * math.sqrt(2 / N_DRAWS)
        if float(np.mean(total**2)) < least or _differs(
            np.clip(np.floor(norm.cdf(total) * 16), 0, 15).astype(np.int64), np.full(16, 1 / 16)
        ):
            yield _violation(f"{gaussian.name}, {honest} shares", "their sum has another law")


def _summed(
    base: DiscreteLaplace | DiscreteGaussian,
    bound: Sensitivity,
    honest: int,
    zeros: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the sum of the shares of all parties that are honest."""
    total = np.zeros(zeros.shape, dtype=np.uint64)
    for _ in range(honest):
        pad = OneTimePad(lambda size: np.zeros(size, dtype=np.uint64))
        total += MaskedShare(base=base, honest=honest, pad=pad).draw(zeros, bound, Entropy.secure())
    return total.view(np.int64)


def _selections() -> Iterator[Violation]:
    for mechanism, law in (
        (ExponentialMechanism(epsilon=epsilon_of(Fraction(2))), softmax),
        (PermuteAndFlip(epsilon=epsilon_of(Fraction(2))), permute_and_flip),
    ):
        bound = Sensitivity("range", 3, "a scale")
        expected = np.exp(law(SCORES, 2 / 3)[0])
        scores = np.repeat(SCORES, N_DRAWS, axis=0)
        for form in (scores, runs_of(scores)):
            chosen = mechanism.draw(form, bound, Entropy.secure()).astype(np.int64)
            if _differs(chosen, expected):
                where = f"{mechanism.name}, {type(form).__name__}"
                yield _violation(where, "candidates are chosen by another law")


def _coins() -> Iterator[Violation]:
    """Toss coins twice: two keys agree nowhere, and words are uniform."""
    first, second = (Entropy.secure().row_coins().words(0, N_DRAWS) for _ in range(2))
    if np.array_equal(first, second):
        yield _violation("row coins", "two fits toss the same coins")
    for words in (first, second):
        if _differs((words >> np.uint64(58)).astype(np.int64), np.full(64, 1 / 64)):
            yield _violation("row coins", "words are not uniform")


def _fits() -> Iterator[Violation]:
    """Compare the noise of real fits with its deviation, on zeros and on other values."""
    for look in looks_of():
        for kind, chosen in (("zeros", look.value == 0), ("other values", look.value != 0)):
            yield from _deviation(look, kind, look.noise[chosen])


def _deviation(look: Look, kind: str, noise: NDArray[np.float64]) -> Iterator[Violation]:
    """Hold the variance of standardized noise to one, and its mean to zero.

    The fourth moment of Laplace noise is six, of Gaussian noise three: the variance of a square is
    no more than five. Coarse noise is a little narrower than its deviation says.
    """
    n = len(noise)
    if n < LEAST_NOISE or not math.isfinite(look.step):
        return
    reach = DEVIATIONS * math.sqrt(5 / n) + COARSE * look.step
    variance, mean = float(np.mean(noise**2)), float(np.mean(noise))
    if abs(variance - 1) > reach or abs(mean) > DEVIATIONS / math.sqrt(n):
        message = f"noise on {kind} has variance {variance:.3f} and mean {mean:.3f} in its own unit"
        yield _violation(f"{look.label}, {look.size} entries", message)


#: A sample mean so many deviations off comes with a probability below 1e-9, tails of squares
#: of Laplace noise included.
DEVIATIONS = 9.0
LEAST_NOISE = 500
COARSE = 0.5


def _differs(drawn: NDArray[np.int64], law: Sequence[float] | NDArray[Any]) -> bool:
    """Chi-square of draws 0, 1, ... against a law; what is outside counts as one cell more."""
    expected = np.asarray(law, dtype=np.float64) * len(drawn)
    inside = (drawn >= 0) & (drawn < len(expected))
    observed = np.bincount(drawn[inside], minlength=len(expected)).astype(np.float64)
    cells = np.floor(np.cumsum(expected) / LEAST_EXPECTED).astype(np.int64)
    cells = np.minimum(cells, max(int(cells[-1]) - 1, 0))
    wanted, counted = np.bincount(cells, expected), np.bincount(cells, observed)
    kept = wanted > 0
    statistic = float(((counted - wanted)[kept] ** 2 / wanted[kept]).sum())
    outside = int((~inside).sum())
    # Outside of twelve scales there is next to nothing.
    alarm = chi2.sf(statistic, max(int(kept.sum()) - 1, 1)) < ERROR
    return bool(alarm or outside > 10 + 1e-4 * len(drawn))
