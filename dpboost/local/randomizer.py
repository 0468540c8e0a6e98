"""The interface of local mechanisms: a distribution of reports, and unbiased sums of them.

Proof: docs/proofs/local-reports.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.exact_arithmetic import Epsilon, PrivacyCost, cost_of, number_of
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.sensitivity.bound import Norm, Sensitivity

#: A record is one number of a cell and one position of a label; a report is drawn from it alone.
ONE_RECORD = Sensitivity("l1", 1, "every report is drawn from one record alone")


class MalformedReportError(ValueError):
    """A report that no device can have sent; the aggregator is unchanged."""


@dataclass(frozen=True, kw_only=True)
class ReportNoise:
    """Variances that one report adds to the estimates of a cell, for every record.

    Labels are worth [-1, 1], or 0 and 1 for a class; a public label scale.
    """

    #: Variance in a cell's count.
    count: float
    #: Variance in a cell's sum of labels, added up over the outputs.
    sums: float
    #: Of shape (n_outputs,). Covariance of count and sum for each output.
    cross: NDArray[np.float64]
    #: Further variance in the sum, added up over the outputs, from a record inside the cell.
    inside: float = 0.0
    #: By how much the spread of the labels inside a cell counts more than once.
    own: float = 0.0

    def of_mean(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the variance in ``sum - mean * count``, added up over outputs, the last axis."""
        variance = self.sums - 2 * mean @ self.cross + (mean**2).sum(axis=-1) * self.count
        return np.maximum(variance, 0.0)

    def of_record(self, spread: Any) -> Any:
        """Return the variance in ``sum - mean * count`` that a record inside the cell adds.

        ``spread`` is the variance of the labels inside the cell, added up over the outputs.
        """
        return (1 + self.own) * (spread + self.inside)


class Randomizer(ABC):
    """A local mechanism on records (cell, index of the label).

    It is a mechanism of the ledger, so that reports are released by the privacy gate, and it
    defines the server's estimates.
    """

    name: ClassVar[str]
    needs: ClassVar[Norm] = "l1"
    mu_squared: ClassVar[None] = None
    n_cells: int

    @property
    @abstractmethod
    def epsilon(self) -> Epsilon:
        """Every report is epsilon-locally differentially private."""

    @property
    def rho(self) -> PrivacyCost:
        """Zero-concentrated cost of any epsilon-private mechanism."""
        epsilon = number_of(self.epsilon)
        return cost_of(epsilon * epsilon / 2)

    @property
    def described(self) -> str:
        """The mechanism in words, for the report."""
        return self.name

    @classmethod
    def of_rho(cls, rho: PrivacyCost) -> Randomizer:
        """Raise: local privacy is stated in epsilon alone."""
        raise InvalidParameterError(f"The {cls.name} mechanism is bought with epsilon, not rho.")

    def check(self, value: NDArray[np.int64]) -> None:
        """Raise unless the value has the shape (n_records, 2)."""
        if value.ndim != 2 or value.shape[1] != 2:
            raise InvalidParameterError(
                f"{type(self).__name__} draws reports from records of shape (n_records, 2)."
            )

    @property
    @abstractmethod
    def payload_bytes(self) -> int:
        """Length of a report without its header."""

    @abstractmethod
    def parameters(self, bound: Sensitivity) -> tuple[int, ...]:
        """Return the integers that the kernels take."""

    @abstractmethod
    def draw(
        self, value: NDArray[np.int64], bound: Sensitivity, entropy: Entropy
    ) -> NDArray[np.uint8]:
        """Draw the payload of each record, of shape (n_records, payload_bytes)."""

    @abstractmethod
    def log_probability(
        self, output: NDArray[Any], value: NDArray[np.int64], bound: Sensitivity
    ) -> float:
        """Return the log-probability of the payloads."""

    @abstractmethod
    def check_payload(self, payload: NDArray[np.uint8]) -> None:
        """Raise `MalformedReportError` unless every row is a possible payload."""

    @abstractmethod
    def new_totals(self) -> NDArray[np.int64]:
        """Return the totals of no reports."""

    @abstractmethod
    def add(self, payload: NDArray[np.uint8], totals: NDArray[np.int64]) -> None:
        """Add checked payloads to the totals."""

    @abstractmethod
    def estimate(
        self, totals: NDArray[np.int64], n_reports: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return unbiased counts, shape (n_cells,), and sums, shape (n_cells, n_outputs)."""

    @abstractmethod
    def noise(self) -> ReportNoise:
        """Return the variances of these estimates."""

    @abstractmethod
    def whole_sum(
        self, totals: NDArray[np.int64], n_reports: int
    ) -> tuple[NDArray[np.float64], float]:
        """Return the unbiased sum of all labels, shape (n_outputs,), and a report's variance."""

    @abstractmethod
    def second_moment(self, totals: NDArray[np.int64], n_reports: int) -> float:
        """Return the mean square of what labels bring into sums, added up over the outputs."""
