"""Memoization of reports on a device: one report for each record and collection.

Proof: docs/proofs/local-reports.md.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from dpboost._utils.private_files import open_private
from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.local.collection import ReportPlan
from dpboost.local.partition import LPDTPartition

_SECONDS_TO_WAIT = 60.0


class MemoizedReports:
    """Draw the report of a record once and return the same one afterwards.

    Threads may share one object, and processes one file.

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
    >>> keeper = MemoizedReports(partition, epsilon=1.0)
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
            raise refuse("partition", "MemoizedReports", "an LPDTPartition", partition)
        self._plan = ReportPlan.of_device(partition, epsilon, mechanism, "MemoizedReports")
        self._lock = threading.Lock()
        self._drawn: dict[str, bytes] = {}
        self._file = None if path is None else ReportFile(path)
        for report in self._file.reports() if self._file else ():
            if len(report) != self._plan.report_bytes or not report.startswith(self._plan.header):
                raise InvalidParameterError(
                    f"The 'path' parameter of MemoizedReports is {str(path)!r}, which holds a "
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
            raise refuse("record", "MemoizedReports.report", "a string that is not empty", record)
        with self._lock:
            if self._file is not None:
                return self._file.first(record, lambda: self._plan.encode_one(x, y))
            if record not in self._drawn:
                self._drawn[record] = self._plan.encode_one(x, y)
            return self._drawn[record]


class ReportFile:
    """One file of reports by record, for any number of threads and processes.

    It is an SQLite database: a report is stored completely or not at all if the process or the
    device stops, and only one of two concurrent requests may draw.

    Parameters
    ----------
    path : path
        Made if it does not exist, readable by its owner alone. Locks need a local disk.

    Raises
    ------
    InvalidParameterError
        If the file is there and holds something else.
    OSError
        If it can be neither read nor made.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path).absolute()
        os.close(open_private(self._path))
        try:
            with closing(self._open()) as database:
                database.execute(
                    "CREATE TABLE IF NOT EXISTS reports"
                    " (record BLOB PRIMARY KEY, report BLOB NOT NULL)"
                )
            self.reports()
        except sqlite3.DatabaseError as error:
            raise InvalidParameterError(
                f"The 'path' parameter of MemoizedReports is {os.fspath(path)!r}, which is no file "
                f"of reports ({error}). Give the file that the device wrote, or a new one."
            ) from error

    def reports(self) -> list[bytes]:
        """Return all reports."""
        with closing(self._open()) as database:
            return [report for (report,) in database.execute("SELECT report FROM reports")]

    def first(self, record: str, draw: Callable[[], bytes]) -> bytes:
        """Return the report of a record: what is on disk, else what is drawn and written now.

        It is on disk already when this returns, also after a loss of power. ``draw`` is called at
        most once; if it raises, nothing is written.
        """
        name = record.encode("utf-8", "surrogatepass")
        with closing(self._open()) as database:
            database.execute("BEGIN IMMEDIATE")
            found = database.execute("SELECT report FROM reports WHERE record = ?", (name,))
            row = found.fetchone()
            if row is not None:
                report: bytes = row[0]
                return report
            report = draw()
            database.execute("INSERT INTO reports VALUES (?, ?)", (name, report))
            database.execute("COMMIT")
        return report

    def _open(self) -> sqlite3.Connection:
        # A connection for each call: one that is open must not go through a fork.
        database = sqlite3.connect(self._path, timeout=_SECONDS_TO_WAIT, isolation_level=None)
        # A commit returns when file and folder are on disk.
        database.execute("PRAGMA synchronous = EXTRA")
        return database
