"""Frequency oracles: randomized reports of symbols, and unbiased counts of the symbols.

Proof: docs/proofs/local-reports.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import local_reports
from dpboost._utils.validation import InvalidParameterError
from dpboost.local.exact_probability import ONE, exp_below, share_above
from dpboost.local.randomizer import MalformedReportError
from dpboost.privacy.exact_arithmetic import Epsilon
from dpboost.privacy.randomness import Entropy


@dataclass(frozen=True, kw_only=True)
class _Oracle:
    """Parameters of an oracle."""

    epsilon: Epsilon
    #: At least 2.
    n_symbols: int

    name: ClassVar[str]

    @property
    def own(self) -> Fraction:
        """Probability that a report supports the record's own symbol."""
        raise NotImplementedError

    @property
    def other(self) -> Fraction:
        """Probability that it supports any other symbol."""
        raise NotImplementedError

    def counts(self, totals: NDArray[np.int64], n_reports: int) -> NDArray[np.float64]:
        r"""Return unbiased counts of the symbols.

        A symbol's total has mean :math:`q n + (p - q) N` for :math:`N` own records among
        :math:`n` reports, with :math:`p` and :math:`q` the two probabilities.
        """
        gap = float(self.own - self.other)
        return (totals.astype(np.float64) - n_reports * float(self.other)) / gap


@dataclass(frozen=True, kw_only=True)
class GeneralizedResponse(_Oracle):
    r"""Generalized randomized response: the true symbol, or a random other one.

    Warner 1965; Kairouz, Bonawitz, Ramage, Discrete Distribution Estimation under Local Privacy,
    ICML 2016, equation 6.

    Privacy
    -------
    Each of the :math:`K - 1` other symbols has probability :math:`q = u 2^{-64}` with
    :math:`u = \lceil 2^{64} / (E + K - 1) \rceil` and a rational :math:`E \le e^\varepsilon`; the
    own one has the rest, :math:`p = 1 - (K - 1) q`. Any report has probability :math:`p` or
    :math:`q`, whatever the record, and

    .. math:: p / q = 1 / q - (K - 1) \le (E + K - 1) - (K - 1) = E \le e^\varepsilon .

    The other ratio is at most one, where :math:`K u \le 2^{64}`. For a tiny epsilon and millions
    of symbols :math:`u` is rounded up by too much for that: such an oracle is refused.

    Notes
    -----
    An unbiased count has variance :math:`q (1 - q) / (p - q)^2` for each record of another symbol.
    """

    name: ClassVar[str] = "generalized randomized response"

    def __post_init__(self) -> None:
        if self.n_symbols * self.other_units > ONE:
            raise InvalidParameterError(
                f"The epsilon {float(self.epsilon):g} is too small for a response among "
                f"{self.n_symbols} pairs of cell and label level: take mechanism='unary', fewer "
                "cells or levels, or a larger epsilon."
            )

    @cached_property
    def other_units(self) -> int:
        """Units of 2^-64 for each other symbol."""
        if isinstance(self.epsilon, float):
            return 0
        return share_above(exp_below(self.epsilon) + self.n_symbols - 2)

    @property
    def units(self) -> tuple[int, ...]:
        """What the kernel takes."""
        return (self.n_symbols, self.other_units)

    @property
    def other(self) -> Fraction:
        """Probability of any other symbol."""
        return Fraction(self.other_units, ONE)

    @property
    def own(self) -> Fraction:
        """Probability of the own symbol."""
        return 1 - (self.n_symbols - 1) * self.other

    @property
    def payload_bytes(self) -> int:
        """Bytes of a symbol."""
        return max(1, -(-(self.n_symbols - 1).bit_length() // 8))

    def draw(self, symbols: NDArray[np.int64], entropy: Entropy) -> NDArray[np.uint8]:
        """Return the answers, the lowest byte first; shape (n_records, payload_bytes)."""
        answers = symbols
        if self.other_units:
            answers = np.empty_like(symbols)
            local_reports.respond(
                entropy.bit_generator, symbols, self.n_symbols, self.other_units, answers
            )
        width = self.payload_bytes
        return answers.astype("<i8", casting="safe").view(np.uint8).reshape(-1, 8)[:, :width].copy()

    def check_payload(self, payload: NDArray[np.uint8]) -> None:
        """Raise unless every row is a symbol."""
        if (self.answers(payload) >= self.n_symbols).any():
            raise MalformedReportError("A report names a symbol that does not exist.")

    def answers(self, payload: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the symbols that the payloads spell."""
        wide = np.zeros((len(payload), 8), dtype=np.uint8)
        wide[:, : payload.shape[1]] = payload
        return wide.view("<i8").reshape(-1).astype(np.int64, casting="safe")

    def add(self, payload: NDArray[np.uint8], totals: NDArray[np.int64]) -> None:
        """Count the symbols."""
        totals += np.bincount(self.answers(payload), minlength=self.n_symbols)

    def log_probabilities(self, payload: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return log-probabilities of each payload for each own symbol, (n_records, n_symbols)."""
        mine = self.answers(payload)[:, np.newaxis] == np.arange(self.n_symbols)
        return np.where(mine, _log(self.own), _log(self.other))

    def variance(self, weights: NDArray[np.float64]) -> float:
        r"""Return the variance that a report adds to ``weights @ counts``.

        For a record whose own symbol has weight zero. The answer is one symbol, so the variance
        is :math:`(q \sum w^2 - q^2 (\sum w)^2) / (p - q)^2`.
        """
        other, gap = float(self.other), float(self.own - self.other)
        return float((other * (weights**2).sum() - (other * weights.sum()) ** 2) / gap**2)

    @property
    def own_variance(self) -> float:
        r"""Variance that the own symbol adds for weight 1: :math:`1 / (p - q) - 1`.

        Beyond :meth:`variance`, and for weights that sum to zero.
        """
        return float(1 / (self.own - self.other) - 1)


@dataclass(frozen=True, kw_only=True)
class UnaryEncoding(_Oracle):
    r"""Optimized unary encoding: an independently randomized bit for each symbol.

    Wang, Blocki, Li, Jha, Locally Differentially Private Protocols for Frequency Estimation,
    USENIX Security 2017, section 4.3.

    Privacy
    -------
    The own bit is one with probability 1/2, any other with :math:`q = u 2^{-64}`,
    :math:`u = \lceil 2^{64} / (E + 1) \rceil` for a rational :math:`E \le e^\varepsilon`. For
    records with symbols :math:`v` and :math:`v'` the laws of all other bits agree. Whatever these
    two bits are, the own one has probability 1/2, so the ratio of the probabilities of a report
    is that of bit :math:`v'` to bit :math:`v` under the law of other bits, at most

    .. math:: (1 - q) / q = 1 / q - 1 \le E \le e^\varepsilon .

    Notes
    -----
    An unbiased count has variance :math:`q (1 - q) / (1/2 - q)^2` for each record of another
    symbol, independently for each symbol.
    """

    name: ClassVar[str] = "optimized unary encoding"

    @cached_property
    def other_units(self) -> int:
        """Units of 2^-64 for a one at any other symbol."""
        return 0 if isinstance(self.epsilon, float) else share_above(exp_below(self.epsilon))

    @property
    def own_units(self) -> int:
        """Units of 2^-64 for a one at the own symbol."""
        return ONE if isinstance(self.epsilon, float) else ONE // 2

    @property
    def units(self) -> tuple[int, ...]:
        """What the kernel takes."""
        return (self.n_symbols, self.other_units, self.own_units)

    @property
    def other(self) -> Fraction:
        """Probability of a one at any other symbol."""
        return Fraction(self.other_units, ONE)

    @property
    def own(self) -> Fraction:
        """Probability of a one at the own symbol."""
        return Fraction(self.own_units, ONE)

    @property
    def payload_bytes(self) -> int:
        """Bytes of the bits."""
        return -(-self.n_symbols // 8)

    def draw(self, symbols: NDArray[np.int64], entropy: Entropy) -> NDArray[np.uint8]:
        """Return the bits, the lowest first; shape (n_records, payload_bytes)."""
        out = np.empty((len(symbols), self.payload_bytes), dtype=np.uint8)
        local_reports.toss_bits(
            entropy.bit_generator, symbols, self.n_symbols, self.other_units, self.own_units, out
        )
        return out

    def check_payload(self, payload: NDArray[np.uint8]) -> None:
        """Raise if a bit beyond the last symbol is set."""
        check_padding(payload, self.n_symbols)

    def add(self, payload: NDArray[np.uint8], totals: NDArray[np.int64]) -> None:
        """Count the ones of each symbol."""
        local_reports.add_bits(np.ascontiguousarray(payload), totals)

    def log_probabilities(self, payload: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return log-probabilities of each payload for each own symbol, (n_records, n_symbols)."""
        ones = unpack(payload, self.n_symbols)
        if not self.other_units:
            return np.where(ones & (ones.sum(axis=1, keepdims=True) == 1), 0.0, -math.inf)
        background = np.where(ones, _log(self.other), _log(1 - self.other))
        mine = np.where(ones, _log(self.own), _log(1 - self.own))
        return background.sum(axis=1, keepdims=True) - background + mine

    def variance(self, weights: NDArray[np.float64]) -> float:
        r"""Return the variance that a report adds to ``weights @ counts``.

        For a record whose own symbol has weight zero: :math:`q (1 - q) \sum w^2 / (p - q)^2`.
        """
        other, gap = float(self.other), float(self.own - self.other)
        return float(other * (1 - other) * (weights**2).sum() / gap**2)

    @property
    def own_variance(self) -> float:
        r"""Variance that the own symbol adds for weight 1, beyond :meth:`variance`.

        :math:`(p (1 - p) - q (1 - q)) / (p - q)^2`.
        """
        own, other = self.own, self.other
        return float((own * (1 - own) - other * (1 - other)) / (own - other) ** 2)


def unpack(payload: NDArray[np.uint8], n_symbols: int) -> NDArray[np.bool_]:
    """Return the bits of payloads, shape (n_records, n_symbols)."""
    return np.unpackbits(payload, axis=1, count=n_symbols, bitorder="little").astype(bool)


def check_padding(payload: NDArray[np.uint8], n_symbols: int) -> None:
    """Raise if a bit beyond the last symbol is set."""
    if n_symbols % 8 and (payload[:, -1] >> (n_symbols % 8)).any():
        raise MalformedReportError("A report sets a bit of a symbol that does not exist.")


def _log(probability: Fraction) -> float:
    return math.log(probability) if probability else -math.inf
