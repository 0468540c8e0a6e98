"""The mechanisms: noise distributions and their exact probabilities.

A mechanism is an immutable value. It converts its budget and a sensitivity into the integer
parameters of a kernel, rounded towards privacy, and knows the exact distribution of its output.
Proofs: docs/proofs/mechanisms.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from dpboost._kernels import noise, runselection, selection
from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.exact_arithmetic import (
    SIGMA_LIMIT,
    Epsilon,
    PrivacyCost,
    as_budget,
    cost_of,
    epsilon_of,
    number_of,
    ratio_down,
    root_down,
    root_up,
)
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.score_runs import ScoreRuns
from dpboost.privacy.sensitivity.bound import Norm, Sensitivity

# Scores that are written out at a time where a mechanism has to visit each of them: 128 MB.
_SCORES_AT_ONCE = 1 << 24

#: Slightly more than pi.
PI_ROUNDED_UP = Fraction(355, 113)


class Mechanism(Protocol):
    """The interface of mechanisms."""

    #: Name for the report.
    name: ClassVar[str]
    #: Kind of the sensitivity it works with.
    needs: ClassVar[Norm]

    @property
    def epsilon(self) -> Epsilon | None:
        """It is epsilon-differentially private; None if it is for no epsilon."""

    @property
    def rho(self) -> PrivacyCost:
        """It is rho-zero-concentrated differentially private (zCDP)."""

    @property
    def mu_squared(self) -> PrivacyCost | None:
        """It is mu-Gaussian differentially private up to the lattice; None if it is not."""

    @classmethod
    def of_rho(cls, rho: PrivacyCost) -> Mechanism:
        """Return the mechanism that costs at most ``rho`` in zCDP."""

    def parameters(self, bound: Sensitivity) -> tuple[int, ...]:
        """Return the integers that the kernel takes; empty if no noise is drawn."""

    def check(self, value: NDArray[np.int64]) -> None:
        """Raise when the shape, which is public, does not fit."""

    def draw(self, value: NDArray[np.int64], bound: Sensitivity, entropy: Entropy) -> NDArray[Any]:
        """Draw the outcome; the ledger calls this once it has recorded the charge."""


class Noise(Mechanism, Protocol):
    """A mechanism that adds independent noise to every entry."""

    def tail(self, bound: Sensitivity, probability: Fraction) -> int:
        """Return the least ``t >= 1`` found with ``P(noise >= t) <= probability``."""

    def noise_stddev(self, bound: Sensitivity) -> float:
        """Return the standard deviation of the noise on an entry, in units; a public number."""


def _half_square(epsilon: Epsilon) -> PrivacyCost:
    number = number_of(epsilon)
    return cost_of(number * number / 2)


def _root(square: PrivacyCost) -> Epsilon:
    return epsilon_of(root_down(number_of(square)))


# A tree that saves budget has as many different ones as nodes and features.
@lru_cache(maxsize=16_384)
def _rate(numerator: int, denominator: int, constant: int) -> tuple[int, int]:
    """Return the exponent for a unit; by integers, which are looked up faster than fractions."""
    return ratio_down(Fraction(numerator, denominator * constant))


@dataclass(frozen=True, kw_only=True)
class _PureMechanism:
    """The parts that mechanisms with a pure epsilon share."""

    #: Pure budget; ``inf`` adds no noise, and takes the best candidate, ties to the lowest index.
    epsilon: Epsilon

    @property
    def mu_squared(self) -> PrivacyCost | None:
        """None: no mu is known that would not be larger than need be."""
        return None

    def __post_init__(self) -> None:
        epsilon = as_budget("epsilon", type(self).__name__, self.epsilon)
        if epsilon is not self.epsilon:
            object.__setattr__(self, "epsilon", epsilon)

    def parameters(self, bound: Sensitivity) -> tuple[int, ...]:
        """Return numerator and denominator of the exponent per unit, rounded down."""
        if isinstance(self.epsilon, float):
            return ()
        return _rate(self.epsilon.numerator, self.epsilon.denominator, bound.constant)

    @property
    def rho(self) -> PrivacyCost:
        """Zero-concentrated cost of any epsilon-DP mechanism.

        Bun and Steinke, Concentrated Differential Privacy, TCC 2016, Proposition 1.4.
        """
        return _half_square(self.epsilon)


@dataclass(frozen=True, kw_only=True)
class _Selection(_PureMechanism):
    """Choice of one candidate per node."""

    needs: ClassVar[Norm] = "range"

    def check(self, value: NDArray[np.int64] | ScoreRuns) -> None:
        """Raise unless the scores have shape ``(n_nodes, n_candidates)``."""
        if len(value.shape) != 2 or value.shape[1] < 1:
            raise InvalidParameterError(
                f"{type(self).__name__} selects from scores of shape (n_nodes, n_candidates) "
                "with at least one candidate."
            )

    def _best(self, value: NDArray[np.int64] | ScoreRuns) -> NDArray[np.int32]:
        chosen = np.empty(len(value), dtype=np.int32)
        if isinstance(value, ScoreRuns):
            runselection.argmax(value.scores, value.starts, value.node_start, chosen)
        else:
            selection.argmax(value, chosen)
        return chosen

    def _log_weights(
        self, value: NDArray[np.int64] | ScoreRuns, bound: Sensitivity
    ) -> NDArray[np.float64]:
        value = _written_out(value)
        numerator, denominator = self.parameters(bound)
        gaps = (value - value.max(axis=1, keepdims=True)).astype(np.float64)
        scaled: NDArray[np.float64] = gaps * (numerator / denominator)
        return scaled

    def _exact_log_probability(
        self, output: NDArray[Any], value: NDArray[np.int64] | ScoreRuns
    ) -> float:
        return 0.0 if np.array_equal(output, _written_out(value).argmax(axis=1)) else -math.inf


def _written_out(value: NDArray[np.int64] | ScoreRuns) -> NDArray[np.int64]:
    return value.written_out() if isinstance(value, ScoreRuns) else value


@dataclass(frozen=True, kw_only=True)
class ExponentialMechanism(_Selection):
    r"""Choose candidate :math:`i` with probability proportional to exp(epsilon score_i / range).

    The normalized weight of a candidate moves by at most the factor exp(epsilon) between
    neighbors: numerator and denominator by the largest and smallest change of any score.
    McSherry and Talwar, FOCS 2007, in the bounded-range form of Dong, Durfee, Rogers, ICML 2020.
    """

    name: ClassVar[str] = "exponential mechanism"

    @property
    def rho(self) -> PrivacyCost:
        """Zero-concentrated cost: an epsilon-bounded range costs epsilon^2 / 8.

        Cesar and Rogers, Bounding, Concentrating, and Truncating, ALT 2021.
        """
        return _half_square(self.epsilon) / 4

    @property
    def mu_squared(self) -> PrivacyCost:
        r"""Squared mu: an epsilon-bounded range is :math:`\sqrt{\pi / 8}\,\varepsilon`-Gaussian."""
        return _half_square(self.epsilon) * PI_ROUNDED_UP / 4

    @classmethod
    def of_rho(cls, rho: PrivacyCost) -> ExponentialMechanism:
        """Return the mechanism that costs at most ``rho`` in zCDP."""
        return cls(epsilon=_root(8 * rho))

    @classmethod
    def of_mu_squared(cls, mu_squared: PrivacyCost) -> ExponentialMechanism:
        """Return the mechanism that costs at most ``mu_squared`` in Gaussian privacy."""
        return cls(epsilon=_root(8 * mu_squared / PI_ROUNDED_UP))

    def draw(
        self, value: NDArray[np.int64] | ScoreRuns, bound: Sensitivity, entropy: Entropy
    ) -> NDArray[np.int32]:
        """Draw one candidate per node."""
        if isinstance(self.epsilon, float):
            return self._best(value)
        chosen = np.empty(len(value), dtype=np.int32)
        numerator, denominator = self.parameters(bound)
        if isinstance(value, ScoreRuns):
            runselection.exponential(
                entropy.bit_generator,
                value.scores,
                value.starts,
                value.node_start,
                value.n_candidates,
                numerator,
                denominator,
                chosen,
            )
        else:
            selection.exponential(entropy.bit_generator, value, numerator, denominator, chosen)
        return chosen

    def log_probability(
        self, output: NDArray[Any], value: NDArray[np.int64] | ScoreRuns, bound: Sensitivity
    ) -> float:
        """Return the log-probability that the nodes choose ``output``."""
        if isinstance(self.epsilon, float):
            return self._exact_log_probability(output, value)
        weights = self._log_weights(value, bound)
        chosen = weights[np.arange(len(value)), output]
        return float(np.sum(chosen - logsumexp(weights, axis=1)))


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(_Selection):
    r"""Visit candidates in random order; accept each with exp(epsilon (score - best) / range).

    McKenna and Sheldon, Permute-and-Flip, NeurIPS 2020. Shifting all scores of a table by one
    number changes nothing, so changes in an interval of length ``range`` may be taken for changes
    of at most half of it, which is the sensitivity in the paper's factor two.
    """

    name: ClassVar[str] = "permute-and-flip"

    @classmethod
    def of_rho(cls, rho: PrivacyCost) -> PermuteAndFlip:
        """Return the mechanism that costs at most ``rho`` in zCDP."""
        return cls(epsilon=_root(2 * rho))

    def draw(
        self, value: NDArray[np.int64] | ScoreRuns, bound: Sensitivity, entropy: Entropy
    ) -> NDArray[np.int32]:
        """Draw one candidate per node."""
        if isinstance(self.epsilon, float):
            return self._best(value)
        chosen = np.empty(len(value), dtype=np.int32)
        numerator, denominator = self.parameters(bound)
        if not isinstance(value, ScoreRuns):
            selection.permute_and_flip(entropy.bit_generator, value, numerator, denominator, chosen)
            return chosen
        # Every candidate tosses a coin of its own, so that runs save nothing but memory.
        size = max(1, _SCORES_AT_ONCE // value.n_candidates)
        for first in range(0, len(value), size):
            stop = min(first + size, len(value))
            scores = value.written_out(first, stop)
            selection.permute_and_flip(
                entropy.bit_generator, scores, numerator, denominator, chosen[first:stop]
            )
        return chosen

    def log_probability(
        self, output: NDArray[Any], value: NDArray[np.int64] | ScoreRuns, bound: Sensitivity
    ) -> float:
        r"""Return the log-probability that the nodes choose ``output``.

        Give every candidate a uniform time of visit: :math:`i` is chosen with probability
        :math:`a_i \int_0^1 \prod_{j \ne i} (1 - t a_j)\, dt`, a polynomial that Gauss-Legendre
        quadrature integrates exactly.
        """
        if isinstance(self.epsilon, float):
            return self._exact_log_probability(output, value)
        weights = self._log_weights(value, bound)
        times, shares = _quadrature(weights.shape[1] // 2 + 1)
        total = 0.0
        for row, index in zip(weights, output, strict=True):
            others = np.delete(np.exp(row), index)
            survival = np.log1p(-np.outer(times, others)).sum(axis=1)
            total += float(row[index] + logsumexp(survival, b=shares))
        return total


@lru_cache(maxsize=8)
def _quadrature(n_nodes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return nodes and weights on [0, 1], exact for polynomials of degree 2 n_nodes - 1."""
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    return (nodes + 1) / 2, weights / 2


def _exact_noise(output: NDArray[Any], value: NDArray[np.int64]) -> float:
    return 0.0 if np.array_equal(output, value) else -math.inf


def _differences(output: NDArray[Any], value: NDArray[np.int64]) -> NDArray[np.float64]:
    return (np.asarray(output, dtype=np.int64) - value).astype(np.float64).ravel()


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace(_PureMechanism):
    r"""Add integers with P(k) proportional to exp(-epsilon |k| / l1).

    Ghosh, Roughgarden, Sundararajan, Universally Utility-Maximizing Privacy Mechanisms, 2009.
    """

    name: ClassVar[str] = "discrete Laplace"
    needs: ClassVar[Norm] = "l1"

    @classmethod
    def of_rho(cls, rho: PrivacyCost) -> DiscreteLaplace:
        """Return the mechanism that costs at most ``rho`` in zCDP."""
        return cls(epsilon=_root(2 * rho))

    def check(self, value: NDArray[np.int64]) -> None:
        """Accept any shape."""

    def draw(
        self, value: NDArray[np.int64], bound: Sensitivity, entropy: Entropy
    ) -> NDArray[np.int64]:
        """Return the value with fresh noise on every entry."""
        if isinstance(self.epsilon, float):
            return np.array(value)
        out = np.empty(value.size, dtype=np.int64)
        rate = self.parameters(bound)
        noise.discrete_laplace(entropy.bit_generator, value.reshape(-1), rate[0], rate[1], out)
        return out.reshape(value.shape)

    def noise_stddev(self, bound: Sensitivity) -> float:
        """Return the standard deviation of the noise on an entry, in units."""
        if isinstance(self.epsilon, float):
            return 0.0
        numerator, denominator = self.parameters(bound)
        rate = numerator / denominator
        return math.sqrt(2 * math.exp(-rate)) / -math.expm1(-rate)

    def log_probability(
        self, output: NDArray[Any], value: NDArray[np.int64], bound: Sensitivity
    ) -> float:
        """Return the log-probability of the noisy array."""
        if isinstance(self.epsilon, float):
            return _exact_noise(output, value)
        numerator, denominator = self.parameters(bound)
        rate = numerator / denominator
        gaps = np.abs(_differences(output, value))
        return float(gaps.size * math.log(math.tanh(rate / 2)) - rate * gaps.sum())

    def tail(self, bound: Sensitivity, probability: Fraction) -> int:
        r"""Return the least ``t >= 1`` with ``P(noise >= t) <= probability``.

        With :math:`p` the ratio of neighboring probabilities,
        :math:`P(X \ge t) = p^t / (1 + p)`: up to twice the :math:`p^t / 2` of the continuous law.
        """
        if isinstance(self.epsilon, float):
            return 1
        numerator, denominator = self.parameters(bound)
        rate = numerator / denominator
        # The slack outweighs the rounding of the three functions.
        target = math.log(probability) + math.log1p(math.exp(-rate))
        return max(1, math.ceil(-target * (1 + 1e-12) / rate + 1e-12))


@lru_cache(maxsize=64)
def _least_sigma(l2: int, numerator: int, denominator: int) -> int:
    """Return the least positive integer with ``l2**2 / (2 sigma**2) <= rho``; as `_rate`."""
    return max(1, root_up(Fraction(l2**2 * denominator, 2 * numerator)))


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian:
    r"""Add integers with P(k) proportional to exp(-k^2 / (2 sigma^2)).

    ``sigma`` is the least integer with ``l2**2 / (2 sigma**2) <= rho``. Canonne, Kamath, Steinke,
    The Discrete Gaussian for Differential Privacy, NeurIPS 2020, Theorem 4.
    """

    #: Zero-concentrated budget; ``inf`` adds nothing.
    rho: PrivacyCost

    name: ClassVar[str] = "discrete Gaussian"
    needs: ClassVar[Norm] = "l2"
    epsilon: ClassVar[None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", as_budget("rho", "DiscreteGaussian", self.rho))

    @classmethod
    def of_rho(cls, rho: PrivacyCost) -> DiscreteGaussian:
        """Return the mechanism that costs at most ``rho`` in zCDP."""
        return cls(rho=rho)

    @property
    def mu_squared(self) -> PrivacyCost:
        """Squared parameter of Gaussian differential privacy, up to the lattice."""
        return 2 * self.rho

    def parameters(self, bound: Sensitivity) -> tuple[int, ...]:
        """Return sigma, rounded up."""
        if isinstance(self.rho, float):
            return ()
        sigma = _least_sigma(bound.constant, self.rho.numerator, self.rho.denominator)
        if sigma > SIGMA_LIMIT:
            raise InvalidParameterError(
                "The noise of a release would be too large to be drawn exactly: take a larger "
                "epsilon, or spend it on less (a smaller n_estimators or max_depth, more declared "
                "in the schema)."
            )
        return (sigma,)

    def check(self, value: NDArray[np.int64]) -> None:
        """Accept any shape."""

    def draw(
        self, value: NDArray[np.int64], bound: Sensitivity, entropy: Entropy
    ) -> NDArray[np.int64]:
        """Return the value with fresh noise on every entry."""
        if isinstance(self.rho, float):
            return np.array(value)
        out = np.empty(value.size, dtype=np.int64)
        (sigma,) = self.parameters(bound)
        noise.discrete_gaussian(entropy.bit_generator, value.reshape(-1), sigma, out)
        return out.reshape(value.shape)

    def noise_stddev(self, bound: Sensitivity) -> float:
        """Return the standard deviation of the noise on an entry, in units, a little too high.

        That of the discrete law is below ``sigma`` (Canonne, Kamath, Steinke, NeurIPS 2020).
        """
        parameters = self.parameters(bound)
        return float(parameters[0]) if parameters else 0.0

    def log_probability(
        self, output: NDArray[Any], value: NDArray[np.int64], bound: Sensitivity
    ) -> float:
        r"""Return the log-probability of the noisy array.

        The sum of the weights is :math:`\sigma \sqrt{2 \pi} (1 + 2 \sum_m e^{-2 \pi^2 \sigma^2
        m^2})` by Poisson's formula; for :math:`\sigma \ge 1` one term is exact in doubles.
        """
        if isinstance(self.rho, float):
            return _exact_noise(output, value)
        (sigma,) = self.parameters(bound)
        gaps = _differences(output, value) / sigma
        wave = math.exp(-2 * (math.pi * sigma) ** 2)
        logarithm = math.log(sigma * math.sqrt(2 * math.pi)) + math.log1p(2 * wave)
        return float(-0.5 * np.dot(gaps, gaps) - gaps.size * logarithm)

    def tail(self, bound: Sensitivity, probability: Fraction) -> int:
        r"""Return a ``t >= 1`` with ``P(noise >= t) <= probability``.

        The discrete Gaussian is sub-Gaussian, :math:`P(X \ge t) \le e^{-t^2 / (2 \sigma^2)}`
        since its moment generating function is at most the Gaussian one.
        """
        if isinstance(self.rho, float):
            return 1
        (sigma,) = self.parameters(bound)
        return max(1, math.ceil(sigma * math.sqrt(-2 * math.log(probability)) * (1 + 1e-12)))


# What becomes of the numbered statements of the papers; docs/deviations.md is made of this.
# Numbered: DPBoost | Theorem 1 | as printed | on integers, with exact samplers |
#   unit/privacy/test_mechanisms.py
# Numbered: DPBoost | Theorem 2 | as printed | with exact probabilities |
#   unit/privacy/test_mechanisms.py
# Numbered: Gubler | Theorem 4 | as printed | on integers, with exact samplers |
#   unit/privacy/test_mechanisms.py
# Numbered: Gubler | Theorem 5 | as printed | with exact probabilities |
#   unit/privacy/test_mechanisms.py
# Numbered: Friedman and Schuster | Theorem 1 | as printed | on integers, with exact samplers |
#   unit/privacy/test_mechanisms.py
