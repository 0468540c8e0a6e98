"""The device's memory: one report for each record and collection, drawn once.

Proof: docs/proofs/local-reports.md.
"""

from __future__ import annotations

import os
import threading
from typing import Any

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.local.collection import ReportPlan
from dpboost.local.partition import LPDTPartition
from dpboost.local.report_file import ReportFile


class MemoisedReports:
    """Draws the report of a record once and returns the same one ever after.

    Threads may share one keeper, and processes one file.

    Parameters
    ----------
    partition : LPDTPartition
    epsilon : float
        Budget of a report, 1e-6 to 40.
    mechanism : {"signed_cell", "unary", "response", "paper"}
    path : str or path, optional
        File of this collection's reports, on a local disk; made if it does not exist. None keeps
        them in memory, as long as this object lives: who draws again afterwards spends epsilon
        again.

    Raises
    ------
    InvalidParameterError
        For a bad parameter, an infinite epsilon, and a file that holds something else or reports
        of another collection.
    OSError
        If the file can be neither read nor made.

    Privacy
    -------
    However often a record is reported to this collection, epsilon is spent once: a report is
    written and synced before it is returned, so that a process or device that stops at any moment
    returns what it returned before. Another partition is another collection, whose epsilon comes
    on top. The file holds the names of the records.

    Examples
    --------
    >>> import numpy as np
    >>> public = np.linspace(0, 1, 100).reshape(-1, 1)
    >>> partition = LPDTPartition.from_public(
    ...     public, public[:, 0], max_depth=2, min_samples_leaf=5, n_levels=2
    ... )
    >>> keeper = MemoisedReports(partition, epsilon=1.0)
    >>> keeper.report("2026-05-01", [0.3], 0.4) == keeper.report("2026-05-01", [0.3], 0.4)
    True
    """

    def __init__(
        self,
        partition: LPDTPartition,
        epsilon: Any,
        *,
        mechanism: str = "signed_cell",
        path: str | os.PathLike[str] | None = None,
    ) -> None:
        if not isinstance(partition, LPDTPartition):
            raise refuse("partition", "MemoisedReports", "an LPDTPartition", partition)
        self._plan = ReportPlan.of_device(partition, epsilon, mechanism, "MemoisedReports")
        self._lock = threading.Lock()
        self._drawn: dict[str, bytes] = {}
        self._file = None if path is None else ReportFile(path)
        for report in self._file.reports() if self._file else ():
            if len(report) != self._plan.report_bytes or not report.startswith(self._plan.header):
                raise InvalidParameterError(
                    f"The 'path' parameter of MemoisedReports is {str(path)!r}, which holds a "
                    "report of another collection. Give each collection a file of its own."
                )

    def report(self, record: str, x: Any, y: Any) -> bytes:
        """Return the report of a record: the first one that was drawn for it.

        Parameters
        ----------
        record : str
            The device's name for the record; it is not sent.
        x : array-like of shape (n_features,), or table of shape (1, n_features)
        y : float, int or str

        Returns
        -------
        bytes
            On disk already, where there is a file.

        Raises
        ------
        InvalidParameterError
            For bad input, before anything is drawn.
        sqlite3.Error
            If the file cannot be written; the report is then lost, unseen.
        """
        if not isinstance(record, str) or not record:
            raise refuse("record", "MemoisedReports.report", "a string that is not empty", record)
        with self._lock:
            if self._file is not None:
                return self._file.first(record, lambda: self._plan.encode_one(x, y))
            if record not in self._drawn:
                self._drawn[record] = self._plan.encode_one(x, y)
            return self._drawn[record]
