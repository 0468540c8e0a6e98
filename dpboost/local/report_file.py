"""Reports on the device's disk, each written before anybody may see it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from dpboost._utils.validation import InvalidParameterError

_SECONDS_TO_WAIT = 60.0


class ReportFile:
    """One file of reports by record, for any number of threads and processes.

    It is an SQLite database: a report is there whole or not at all, whenever the process or the
    device stops, and only one of two that ask at once may draw.

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
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        try:
            with closing(self._open()) as database:
                database.execute(
                    "CREATE TABLE IF NOT EXISTS reports"
                    " (record BLOB PRIMARY KEY, report BLOB NOT NULL)"
                )
            self.reports()
        except sqlite3.DatabaseError as error:
            raise InvalidParameterError(
                f"The 'path' parameter of MemoisedReports is {os.fspath(path)!r}, which is no file "
                f"of reports ({error}). Give the file that the device wrote, or a new one."
            ) from error

    def reports(self) -> list[bytes]:
        """Return all reports."""
        with closing(self._open()) as database:
            return [report for (report,) in database.execute("SELECT report FROM reports")]

    def first(self, record: str, draw: Callable[[], bytes]) -> bytes:
        """Return the report of a record: what is on disk, else what is drawn and written now.

        Parameters
        ----------
        record : str
        draw : callable
            Called at most once. If it raises, nothing is written.

        Returns
        -------
        bytes
            On disk already, also after a loss of power.
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
