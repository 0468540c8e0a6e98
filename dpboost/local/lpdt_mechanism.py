"""The mechanism of the LPDT paper: a noisy bit for each cell, and one noisy label.

Proof: docs/proofs/local-reports.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import local_reports
from dpboost._utils.integer_units import to_integer_units
from dpboost.local.exact_probability import ONE, exp_below, share_above
from dpboost.local.frequency_oracles import check_padding, unpack
from dpboost.local.label_levels import POSITION_BITS, NumericLabels
from dpboost.local.randomizer import MalformedReportError, Randomizer, ReportNoise
from dpboost.privacy.exact_arithmetic import Epsilon, number_of
from dpboost.privacy.mechanisms import DiscreteLaplace
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.sensitivity.bound import Sensitivity

#: Half the range of the labels, in units of the noisy label.
LABEL_UNITS = 1 << 16

#: Noise beyond so many of its scales is cut off: it is drawn with probability e^-80.
_LARGEST_SCALES = 80

_LABEL_BYTES = 8
_LABEL_BOUND = Sensitivity(
    "l1", 2 * LABEL_UNITS, "a label moves by at most the range of the labels"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class PaperReports(Randomizer):
    r"""Randomized response on every bit of the one-hot cell, Laplace noise on the label.

    Decision Tree for Locally Private Estimation with Public Data, equations 3 and 4. A quarter
    of epsilon for each of the two bits in which records can differ, half of it for the label.

    Deviation: the label is rounded to ``2**-16`` of half its range and the noise is discrete
    Laplace. The released code draws new label noise for every cell, which would cost as many
    times more; here a report has one noisy label.

    Privacy
    -------
    A bit is flipped with probability :math:`f = u 2^{-64}`, :math:`u = \lceil 2^{64} / (E + 1)
    \rceil` for a rational :math:`E \le e^{\varepsilon/4}`. Records of different cells differ in
    two bits' laws, each by a ratio of at most :math:`(1 - f) / f \le E`: together
    :math:`e^{\varepsilon / 2}`. Labels are clipped and differ by at most :math:`2^{17}` units; an
    integer with :math:`P(k) \propto e^{-|k| \varepsilon / 2^{18}}` is added, with the exponent
    rounded down: :math:`e^{\varepsilon / 2}`. The parts are drawn independently, so the ratios
    multiply to :math:`e^{\varepsilon}`. Cutting a noisy label off is post-processing.

    Notes
    -----
    A cell's count is :math:`\sum_i (b_i - f) / (1 - 2 f)` and its sum :math:`\sum_i \tilde y_i
    (b_i - f) / (1 - 2 f)`, equation 5. A record outside the cell adds the variances
    :math:`v = f (1 - f) / (1 - 2 f)^2` and :math:`(y^2 + s^2) v`, where :math:`s^2` is the
    variance of the label noise; labels are scaled to [-1, 1] and :math:`y^2` is taken for 1.
    """

    #: Epsilon of a report.
    budget: Epsilon
    labels: NumericLabels
    n_cells: int

    name: ClassVar[str] = "randomized response of the cell and discrete Laplace of the label"

    @property
    def epsilon(self) -> Epsilon:
        """Epsilon of a report."""
        return self.budget

    @cached_property
    def flip_units(self) -> int:
        """Units of 2^-64 for a flipped bit."""
        return 0 if isinstance(self.epsilon, float) else share_above(exp_below(self.epsilon / 4))

    @property
    def flip(self) -> Fraction:
        """Probability that a bit is flipped."""
        return Fraction(self.flip_units, ONE)

    @property
    def _label_noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(epsilon=self.epsilon / 2)

    @cached_property
    def largest_label(self) -> int:
        """Largest noisy label that is sent, in units."""
        scale = (
            0.0 if isinstance(self.epsilon, float) else 4 * LABEL_UNITS / number_of(self.epsilon)
        )
        return LABEL_UNITS + math.ceil(_LARGEST_SCALES * scale)

    @property
    def _bit_bytes(self) -> int:
        return -(-self.n_cells // 8)

    @property
    def payload_bytes(self) -> int:
        """Length of a report without its header: the bits, then the label."""
        return self._bit_bytes + _LABEL_BYTES

    def parameters(self, bound: Sensitivity) -> tuple[int, ...]:
        """Return the integers that the kernels take."""
        return (self.flip_units, *self._label_noise.parameters(_LABEL_BOUND))

    def label_units(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return positions as integers in -2^16..2^16."""
        last = (self.labels.n_levels - 1) << POSITION_BITS
        units = to_integer_units(positions / last * (2 * LABEL_UNITS), 0, 2 * LABEL_UNITS)
        return units - LABEL_UNITS

    def draw(
        self, value: NDArray[np.int64], bound: Sensitivity, entropy: Entropy
    ) -> NDArray[np.uint8]:
        """Draw the payload of each record."""
        payload = np.empty((len(value), self.payload_bytes), dtype=np.uint8)
        bits = np.empty((len(value), self._bit_bytes), dtype=np.uint8)
        cells = np.ascontiguousarray(value[:, 0])
        local_reports.toss_bits(
            entropy.bit_generator,
            cells,
            self.n_cells,
            self.flip_units,
            ONE - self.flip_units,
            bits,
        )
        units = self.label_units(value[:, 1])
        noisy = self._label_noise.draw(units, _LABEL_BOUND, entropy)
        cut = np.clip(noisy, -self.largest_label, self.largest_label)
        payload[:, : self._bit_bytes] = bits
        payload[:, self._bit_bytes :] = (
            cut.astype("<i8", casting="safe").view(np.uint8).reshape(-1, _LABEL_BYTES)
        )
        return payload

    def log_probability(
        self, output: NDArray[Any], value: NDArray[np.int64], bound: Sensitivity
    ) -> float:
        """Return the log-probability of the payloads, for labels that are not cut off."""
        bits, labels = self._parts(output)
        mine = unpack(bits, self.n_cells)
        right = mine == (value[:, :1] == np.arange(self.n_cells))
        total = self._label_noise.log_probability(
            labels, self.label_units(value[:, 1]), _LABEL_BOUND
        )
        if not self.flip_units:
            return total if right.all() else -math.inf
        return total + float(np.where(right, math.log(1 - self.flip), math.log(self.flip)).sum())

    def _parts(self, payload: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        bits = np.ascontiguousarray(payload[:, : self._bit_bytes])
        labels = np.ascontiguousarray(payload[:, self._bit_bytes :])
        return bits, labels.view("<i8").reshape(-1).astype(np.int64, casting="safe")

    def check_payload(self, payload: NDArray[np.uint8]) -> None:
        """Raise `MalformedReportError` unless every row is a possible payload."""
        bits, labels = self._parts(payload)
        check_padding(bits, self.n_cells)
        if (labels > self.largest_label).any() or (labels < -self.largest_label).any():
            raise MalformedReportError("A report holds a label that no device can have drawn.")

    def new_totals(self) -> NDArray[np.int64]:
        """Return the totals of no reports: ones and labeled ones of each cell, and all labels."""
        return np.zeros(2 * self.n_cells + 1, dtype=np.int64)

    def add(self, payload: NDArray[np.uint8], totals: NDArray[np.int64]) -> None:
        """Add checked payloads to the totals."""
        bits, labels = self._parts(payload)
        ones, sums = totals[: self.n_cells], totals[self.n_cells : 2 * self.n_cells]
        local_reports.add_labeled_bits(bits, labels, ones, sums)
        totals[-1] += labels.sum()

    def estimate(
        self, totals: NDArray[np.int64], n_reports: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return unbiased counts, shape (n_cells,), and sums, shape (n_cells, 1)."""
        flip = float(self.flip)
        gap = float(1 - 2 * self.flip)
        ones, sums = totals[: self.n_cells], totals[self.n_cells : 2 * self.n_cells]
        counts = (ones.astype(np.float64) - flip * n_reports) / gap
        labeled = (sums.astype(np.float64) - flip * totals[-1]) / (gap * LABEL_UNITS)
        return counts, labeled[:, np.newaxis]

    def whole_sum(
        self, totals: NDArray[np.int64], n_reports: int
    ) -> tuple[NDArray[np.float64], float]:
        """Return the unbiased sum of all labels, shape (1,), and a report's variance."""
        return totals[-1:] / LABEL_UNITS, 0.0

    def second_moment(self, totals: NDArray[np.int64], n_reports: int) -> float:
        """Return the largest mean square of a noisy label."""
        return 1 + self.label_variance

    @property
    def label_variance(self) -> float:
        """Variance of the label noise, labels scaled to [-1, 1]."""
        return (self._label_noise.noise_stddev(_LABEL_BOUND) / LABEL_UNITS) ** 2

    def noise(self) -> ReportNoise:
        """Return the variances of these estimates."""
        count = float(self.flip * (1 - self.flip) / (1 - 2 * self.flip) ** 2)
        return ReportNoise(
            count=count,
            sums=(1 + self.label_variance) * count,
            cross=np.zeros(1),
            inside=self.label_variance,
        )


# What becomes of the numbered statements of the papers; docs/deviations.md is made of this.
# Numbered: LPDT | Theorem 3.1 | as printed | by the likelihood of every report; the label is
#   rounded and its noise discrete | unit/privacy/test_local_likelihood.py
