"""One collection: a partition, an epsilon and a mechanism, under one fingerprint.

Proof: docs/proofs/local-reports.md.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.labels import check_same_length
from dpboost.data.table import Table
from dpboost.local.label_levels import Labels
from dpboost.local.randomizer import ONE_RECORD, MalformedReportError, Randomizer
from dpboost.local.registry import find_randomizer
from dpboost.privacy.accounting import PureAccountant
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import Sensitive
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.sensitivity.bound import Neighbors

#: First byte of a report.
REPORT_FORMAT = 1

#: The format and eight bytes of the fingerprint.
HEADER_BYTES = 9


class PublicCells(Protocol):
    """The public map from records to cells and label levels."""

    @property
    def labels(self) -> Labels:
        """The labels that records may have."""

    @property
    def n_cells(self) -> int:
        """Number of cells."""

    def read(self, X: Any) -> Table:
        """Read records."""

    def cells(self, table: Table) -> NDArray[np.int64]:
        """Return the cell of every record."""

    def to_json(self) -> str:
        """Return all of it as text."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ReportPlan:
    """The plan of a report for devices and the server."""

    partition: PublicCells
    mechanism: str
    #: The mechanism with its budget.
    randomizer: Randomizer
    #: Begins every report. Reports of another partition, epsilon or mechanism begin otherwise.
    header: bytes

    @classmethod
    def of(cls, partition: PublicCells, epsilon: Any, mechanism: str) -> ReportPlan:
        """Return the plan for a partition."""
        randomizer = find_randomizer(
            mechanism, epsilon, partition.labels, partition.n_cells, "LPDTPartition"
        )
        described = json.dumps(
            [partition.to_json(), mechanism, str(randomizer.epsilon)], separators=(",", ":")
        )
        fingerprint = hashlib.sha256(described.encode()).digest()[: HEADER_BYTES - 1]
        return cls(
            partition=partition,
            mechanism=mechanism,
            randomizer=randomizer,
            header=bytes([REPORT_FORMAT]) + fingerprint,
        )

    @classmethod
    def of_device(
        cls, partition: PublicCells, epsilon: Any, mechanism: str, owner: str
    ) -> ReportPlan:
        """Return the plan of a device, whose reports leave it: without noise they may not."""
        plan = cls.of(partition, epsilon, mechanism)
        if not isinstance(plan.randomizer.epsilon, Fraction):
            raise InvalidParameterError(
                f"The 'epsilon' parameter of {owner} must be finite: without noise a report is the "
                "record's cell and label. To see a model without noise, simulate the devices by "
                "LPDTRegressor or LPDTClassifier."
            )
        return plan

    @property
    def report_bytes(self) -> int:
        """Length of a report."""
        return HEADER_BYTES + self.randomizer.payload_bytes

    def encode(self, X: Any, y: Any, entropy: Entropy | None = None) -> NDArray[np.uint8]:
        """Return one report for each record; shape (n_records, report_bytes).

        Bad input is refused before anything is drawn. The entropy is that of the operating system
        by default.

        Privacy
        -------
        Every row of the result is epsilon-locally private for its record.
        """
        table = self.partition.read(X)
        labels = self.partition.labels.read(y)
        check_same_length(table.n_rows, labels)
        records = self.records(table, labels)
        return self.draw(records, Entropy.secure() if entropy is None else entropy)

    def encode_one(self, x: Any, y: Any) -> bytes:
        """Return the report of one record; see `LPDTPartition.encode`."""
        row = x if hasattr(x, "iloc") or np.ndim(x) == 2 else [x]
        return self.encode(row, [y])[0].tobytes()

    # A numpy warning about an odd cell would tell that there is one.
    @np.errstate(all="ignore")
    def records(self, table: Table, labels: NDArray[Any]) -> NDArray[np.int64]:
        """Return cell and label position of every row: private, a function of that row."""
        return np.column_stack(
            [self.partition.cells(table), self.partition.labels.positions(labels)]
        ).astype(np.int64, casting="safe")

    def draw(self, records: NDArray[np.int64], entropy: Entropy) -> NDArray[np.uint8]:
        """Release a report of every record through the gate; shape (n_records, report_bytes).

        Records are of shape (n_records, 2).
        """
        ledger = Ledger(
            epsilon=self.randomizer.epsilon,
            delta=0,
            neighbors=Neighbors.REPLACE,
            accountant=PureAccountant(),
            entropy=entropy,
        )
        payload = ledger.release(
            self.randomizer, Sensitive(records, bounds=(ONE_RECORD,)), label="reports"
        )
        reports = np.empty((len(payload), self.report_bytes), dtype=np.uint8)
        reports[:, :HEADER_BYTES] = np.frombuffer(self.header, dtype=np.uint8)
        reports[:, HEADER_BYTES:] = payload
        return reports

    def payloads(self, reports: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return payloads, or raise `MalformedReportError` where this plan did not make a report.

        Reports are of shape (n_reports, report_bytes).
        """
        if reports.dtype != np.uint8 or reports.ndim != 2:
            raise MalformedReportError("Reports must be bytes, or rows of a matrix of bytes.")
        if reports.shape[1] != self.report_bytes:
            raise MalformedReportError(
                f"A report of this plan has {self.report_bytes} bytes. Got {reports.shape[1]}."
            )
        if (reports[:, 0] != REPORT_FORMAT).any():
            raise MalformedReportError(
                f"Only reports of format {REPORT_FORMAT} are understood: update the devices."
            )
        if (reports[:, :HEADER_BYTES] != np.frombuffer(self.header, dtype=np.uint8)).any():
            raise MalformedReportError(
                "A report belongs to another partition, epsilon or mechanism."
            )
        payload = np.ascontiguousarray(reports[:, HEADER_BYTES:])
        self.randomizer.check_payload(payload)
        return payload
