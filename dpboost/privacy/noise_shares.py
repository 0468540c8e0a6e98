"""A party's part of a noisy sum: its result, its share of the noise, and a mask.

The gate treats it like any mechanism: the charge is recorded, then the masked number is drawn. The
message is uniformly distributed without the keys of the mask; the sum over all parties is the noisy
total, and the noise of any ``honest`` of them is sufficient for the charge.
Proof: docs/proofs/noise-shares.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import noise, shares
from dpboost._utils.validation import InvalidParameterError, check_integer, refuse
from dpboost.privacy.exact_arithmetic import SIGMA_LIMIT, Epsilon, PrivacyCost, root_up
from dpboost.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.sensitivity.bound import Norm, Sensitivity

#: Most parties among which the noise can be divided.
MOST_HONEST = 2**16

Words = NDArray[np.uint64]


class OneTimePad:
    """The words that mask one array, used once.

    Parameters
    ----------
    words : callable
        ``words(size)`` returns that many uint64 words. Anyone who calls must not be able to give
        the same words to two different arrays.
    """

    __slots__ = ("_words",)

    def __init__(self, words: Callable[[int], Words]) -> None:
        self._words: Callable[[int], Words] | None = words

    def take(self, size: int) -> Words:
        """Return the words; a second call is an error."""
        if self._words is None:
            raise RuntimeError("A mask hides one array and no more.")
        words, self._words = self._words, None
        return words(size)

    def __repr__(self) -> str:
        return "OneTimePad()"


@dataclass(frozen=True, kw_only=True)
class MaskedShare:
    """Add a share of the noise of ``base`` and a mask.

    Privacy
    -------
    Laplace: shares are differences of two negative binomial numbers of shape ``1 / honest``; the
    sum of ``honest`` of them is exactly the discrete Laplace law of ``base``. Shares beyond these
    are added noise of their own, which is post-processing. Gaussian: see `share_sigma`. The
    masked words of a party are uniform; together with those of all others they tell the sum.
    """

    #: The noise that the sum is to carry, with its budget.
    base: DiscreteLaplace | DiscreteGaussian
    #: So many shares carry all of it. 1: each party adds the whole noise.
    honest: int
    #: Hides the result.
    pad: OneTimePad = field(repr=False, compare=False)
    #: Only with a seeded source, which all parties share: whether this party's share is all of
    #: the noise, drawn as one process would draw it, or nothing.
    whole: bool | None = None

    def __post_init__(self) -> None:
        check_shared(self.base)
        check_integer("honest", "MaskedShare", self.honest, low=1, high=MOST_HONEST)

    @property
    def name(self) -> str:
        """Name for the report."""
        return f"masked share of {self.base.name}"

    @property
    def needs(self) -> Norm:
        """Kind of the sensitivity."""
        return self.base.needs

    @property
    def epsilon(self) -> Epsilon | None:
        """Pure epsilon of the sum, or None."""
        return self.base.epsilon

    @property
    def rho(self) -> PrivacyCost:
        """Zero-concentrated rho of the sum."""
        return self.base.rho

    @property
    def mu_squared(self) -> PrivacyCost | None:
        """Squared mu of the sum, or None."""
        return self.base.mu_squared

    @classmethod
    def of_rho(cls, rho: PrivacyCost) -> MaskedShare:
        """Raise: a share belongs to a sum."""
        raise InvalidParameterError("A share of noise is made from the noise of its sum.")

    def parameters(self, bound: Sensitivity) -> tuple[int, ...]:
        """Return the integers of ``base``: what the sum carries at least."""
        return self.base.parameters(bound)

    def check(self, value: NDArray[np.int64]) -> None:
        """Accept any shape."""

    def draw(self, value: NDArray[np.int64], bound: Sensitivity, entropy: Entropy) -> Words:
        """Return value, share and mask, added modulo 2^64."""
        if self.whole is None:
            noisy = share(self.base, value, bound, self.honest, entropy)
        elif entropy.private:
            raise InvalidParameterError("Secret noise is not drawn by one party for all.")
        else:
            drawn = self.base.draw(np.zeros_like(value), bound, entropy)
            noisy = value + drawn if self.whole else value.copy()
        words = noisy.view(np.uint64).reshape(-1) + self.pad.take(noisy.size)
        return words.reshape(noisy.shape)

    def log_probability(
        self, output: NDArray[Any], value: NDArray[Any], bound: Sensitivity
    ) -> float:
        """Return the log-probability of masked words, the same for every value."""
        return -64 * math.log(2) * output.size


def check_shared(base: Any) -> None:
    """Raise unless noise of this kind can be divided among parties."""
    if not isinstance(base, (DiscreteLaplace, DiscreteGaussian)):
        raise refuse(
            "mechanism",
            "a sum over parties",
            "DiscreteLaplace or DiscreteGaussian, whose noise can be added in shares",
            type(base).__name__,
        )


def share(
    base: DiscreteLaplace | DiscreteGaussian,
    value: NDArray[np.int64],
    bound: Sensitivity,
    honest: int,
    entropy: Entropy,
) -> NDArray[np.int64]:
    """Return a value with one share of the noise on every entry; not private by itself."""
    parameters = base.parameters(bound)
    if honest == 1 or not parameters:
        return base.draw(value, bound, entropy)
    out = np.empty(value.size, dtype=np.int64)
    flat = value.reshape(-1)
    if isinstance(base, DiscreteLaplace):
        shares.polya(entropy.bit_generator, flat, parameters[0], parameters[1], honest, out)
    else:
        sigma = share_sigma(parameters[0], bound.constant, honest, value.size)
        noise.discrete_gaussian(entropy.bit_generator, flat, sigma, out)
    return out.reshape(value.shape)


@lru_cache(maxsize=256)
def share_sigma(sigma: int, l2: int, honest: int, size: int) -> int:
    r"""Return the standard deviation of a share of discrete Gaussian noise, in units.

    The sum of :math:`m` discrete Gaussians of variance :math:`s^2` is not quite one of variance
    :math:`m s^2`: the log-ratio of the two laws is at most :math:`\tau = 10 \sum_{k=1}^{m-1} e^{-2
    \pi^2 s^2 k / (k + 1)}` on every coordinate, and the sum is :math:`\tfrac12 \left( \Delta^2 / (m
    s^2) + \tau d / 2 \right)`-zCDP for a vector of :math:`d` coordinates (Kairouz, Liu, Steinke,
    The Distributed Discrete Gaussian Mechanism, ICML 2021, Theorem 1).

    Where ``sigma`` is charged for, :math:`m \ge 2` shares of ``honest`` parties carry the noise of
    a vector of ``size`` coordinates. The result is the least s with :math:`\Delta^2 / (m s^2) +
    \tau d / 2 \le \Delta^2 / \sigma^2` and with :math:`10 / (8 m s^2) + 2 \tau \le 10 / (8
    \sigma^2)`. By the first the charge in zCDP is that of one discrete Gaussian; by the second so
    is the slack of Gaussian accounting, which asks how far the law of a coordinate is from a
    rounded Gaussian on either side.
    """
    s = max(1, root_up(Fraction(sigma**2, honest)))
    while not _covered(s, sigma, l2, honest, size):
        s += 1
    if s > SIGMA_LIMIT:
        raise InvalidParameterError("The noise of a share is too large to be drawn exactly.")
    return s


def _covered(s: int, sigma: int, l2: int, honest: int, size: int) -> bool:
    tau = excess(s, honest)
    concentrated = Fraction(l2**2, honest * s**2) + tau * size / 2 <= Fraction(l2**2, sigma**2)
    lattice = Fraction(10, 8 * honest * s**2) + 2 * tau <= Fraction(10, 8 * sigma**2)
    return concentrated and lattice


def excess(s: int, honest: int) -> Fraction:
    r"""Return an upper bound of :math:`\tau` of `share_sigma`, as a fraction."""
    if honest == 1:
        return Fraction(0)
    # The terms fall off: the first, at k/(k+1) = 1/2, is the largest of the m - 1.
    exponent = (math.pi * s) ** 2
    if exponent > 690:
        return Fraction(10 * (honest - 1), 2**995)  # e^-690 < 2^-995
    terms = sum(math.exp(-2 * exponent * k / (k + 1)) for k in range(1, honest))
    return Fraction(10 * terms * (1 + 1e-9))


# What becomes of the numbered statements of the papers; docs/deviations.md is made of this.
# Numbered: Gubler | Algorithm 1 | corrected | shares of the noise that suffice without those of
#   parties that collude | unit/privacy/test_noise_shares.py
