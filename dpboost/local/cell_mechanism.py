"""A local mechanism that reports a cell and a label level as one symbol.

Proof: docs/proofs/local-reports.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from dpboost._kernels import local_reports
from dpboost.local.frequency_oracles import GeneralizedResponse, UnaryEncoding
from dpboost.local.label_levels import POSITION_BITS, Labels
from dpboost.local.randomizer import Randomizer, ReportNoise
from dpboost.privacy.exact_arithmetic import Epsilon
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.sensitivity.bound import Sensitivity

Oracle = GeneralizedResponse | UnaryEncoding


@dataclass(frozen=True, kw_only=True, eq=False)
class CellReports(Randomizer):
    r"""Report the pair of a cell and a level of the label through a frequency oracle.

    A label between two levels is first rounded to one of them without bias; the pair is then one
    of ``n_cells * n_levels`` symbols. Counts of pairs give a cell's count and, weighted by the
    values of the levels, its sum of labels: one report uses all of epsilon for both. With two
    levels the pair is the cell and a sign, the signed cell; with classes as levels the same
    report supports a classifier.

    Privacy
    -------
    The oracle is epsilon-locally private for its symbols. The symbol of a record is random, from
    coins of its own, so that the probability of a report is a mixture of the oracle's over the
    symbols: a ratio of two mixtures lies between the extreme ratios of their parts, hence within
    :math:`e^{\varepsilon}`.

    Notes
    -----
    For each record outside a cell, a count has the variance of the oracle for weights 1 on the
    cell's levels, a sum that for the worths of the levels. A record inside adds to its sum the
    spread of labels, at most a quarter of the squared distance of two levels from rounding, and
    both again times the oracle's variance for the own symbol.
    """

    #: With ``n_cells * n_levels`` symbols.
    oracle: Oracle
    labels: Labels
    n_cells: int

    name: ClassVar[str] = "frequency oracle"

    @property
    def described(self) -> str:
        """The oracle and what it reports."""
        return f"{self.oracle.name} of (cell, label level)"

    @property
    def epsilon(self) -> Epsilon:
        """Epsilon of a report."""
        return self.oracle.epsilon

    @property
    def payload_bytes(self) -> int:
        """Length of a report without its header."""
        return self.oracle.payload_bytes

    def parameters(self, bound: Sensitivity) -> tuple[int, ...]:
        """Return the integers that the kernels take."""
        return (self.labels.n_levels, *self.oracle.units)

    def draw(
        self, value: NDArray[np.int64], bound: Sensitivity, entropy: Entropy
    ) -> NDArray[np.uint8]:
        """Round the labels, then draw the payload of each record."""
        levels = np.empty(len(value), dtype=np.int64)
        positions = np.ascontiguousarray(value[:, 1])
        local_reports.round_levels(entropy.bit_generator, positions, self.labels.n_levels, levels)
        return self.oracle.draw(value[:, 0] * self.labels.n_levels + levels, entropy)

    def log_probability(
        self, output: NDArray[Any], value: NDArray[np.int64], bound: Sensitivity
    ) -> float:
        """Return the log-probability of the payloads: a mixture over the two roundings."""
        n_levels = self.labels.n_levels
        low = value[:, 1] >> POSITION_BITS
        up = (value[:, 1] & ((1 << POSITION_BITS) - 1)) / (1 << POSITION_BITS)
        weights = np.zeros((len(value), n_levels))
        rows = np.arange(len(value))
        weights[rows, low] = 1 - up
        weights[rows, np.minimum(low + 1, n_levels - 1)] += up
        weights[low < 0] = 1 / n_levels
        by_symbol = self.oracle.log_probabilities(output)
        mine = by_symbol.reshape(len(value), self.n_cells, n_levels)[rows, value[:, 0]]
        return float(logsumexp(mine, b=weights, axis=1).sum())

    def check_payload(self, payload: NDArray[np.uint8]) -> None:
        """Raise `MalformedReportError` unless every row is a possible payload."""
        self.oracle.check_payload(payload)

    def new_totals(self) -> NDArray[np.int64]:
        """Return the totals of no reports, one for each symbol."""
        return np.zeros(self.oracle.n_symbols, dtype=np.int64)

    def add(self, payload: NDArray[np.uint8], totals: NDArray[np.int64]) -> None:
        """Add checked payloads to the totals."""
        self.oracle.add(payload, totals)

    def estimate(
        self, totals: NDArray[np.int64], n_reports: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return unbiased counts, shape (n_cells,), and sums, shape (n_cells, n_outputs)."""
        counts = self.oracle.counts(totals, n_reports).reshape(self.n_cells, self.labels.n_levels)
        return counts.sum(axis=1), counts @ self.labels.values

    def noise(self) -> ReportNoise:
        """Return the variances of these estimates."""
        return self._noise

    def whole_sum(
        self, totals: NDArray[np.int64], n_reports: int
    ) -> tuple[NDArray[np.float64], float]:
        """Return the unbiased sum of all labels, shape (n_outputs,), and a report's variance."""
        weights = np.tile(self.labels.values.T, self.n_cells)
        variance = sum(self.oracle.variance(unit_value) for unit_value in weights)
        return weights @ self.oracle.counts(totals, n_reports), variance

    def second_moment(self, totals: NDArray[np.int64], n_reports: int) -> float:
        """Return the unbiased mean square of the levels, at most one."""
        squares = np.tile((self.labels.values**2).sum(axis=1), self.n_cells)
        mean = float(squares @ self.oracle.counts(totals, n_reports)) / max(1, n_reports)
        return min(1.0, max(0.0, mean))

    @cached_property
    def _noise(self) -> ReportNoise:
        variance = self.oracle.variance
        values = self.labels.values.T
        ones = np.ones(self.labels.n_levels)
        count = variance(ones)
        sums = np.array([variance(unit_value) for unit_value in values])
        both = np.array([variance(unit_value + ones) for unit_value in values])
        step = values[0, 1] - values[0, 0] if len(values) == 1 else 0.0
        return ReportNoise(
            count=count,
            sums=float(sums.sum()),
            cross=(both - count - sums) / 2,
            inside=float(step**2 / 4),
            own=self.oracle.own_variance,
        )
