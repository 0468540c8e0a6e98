"""The lines of a budget, in memory or in a file that is written before anything is drawn."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dpboost._utils.validation import InvalidParameterError

#: Divisions of the rows and the part of each, from the outside.
Part = tuple[tuple[str, str], ...]

_SECONDS_TO_WAIT = 60.0
_FORMAT = "dpboost budget 2"


@dataclass(frozen=True, kw_only=True)
class BudgetLine:
    """One fit in the records.

    Parameters
    ----------
    what : str
        Name of the estimator.
    account : {"pure", "Gaussian"}
    privacy_measure : str
        What the accountant counts in.
    fraction : Fraction
        Part of the account; never refunded.
    part : tuple of (str, str), default=()
        Which rows it is for, from the outside: in each pair a division of the rows into disjoint
        parts, and the part. All rows of the table by default.
    closes : int, optional
        Position of an earlier line that had reserved more: this one takes its place, with what
        was charged of it.
    """

    what: str
    account: str
    privacy_measure: str
    fraction: Fraction
    part: Part = ()
    closes: int | None = None


def counted(lines: Sequence[BudgetLine]) -> list[BudgetLine]:
    """Return the lines that count: those that no later one has closed."""
    closed = {line.closes for line in lines}
    return [line for position, line in enumerate(lines) if position not in closed]


def spent(lines: Sequence[BudgetLine]) -> dict[str, Fraction]:
    """Return what is spent of each account: the most that any row can have paid for.

    What is for all rows adds up. Of the parts of a division, which are disjoint, the one that paid
    most counts; divisions that cut across each other add up again.
    """
    accounts = dict.fromkeys(line.account for line in lines)
    own = counted(lines)
    return {
        name: _total([(line.part, line.fraction) for line in own if line.account == name])
        for name in accounts
    }


def _total(charges: Sequence[tuple[Part, Fraction]]) -> Fraction:
    total = sum((fraction for part, fraction in charges if not part), Fraction(0))
    divisions: dict[str, dict[str, list[tuple[Part, Fraction]]]] = {}
    for part, fraction in charges:
        if part:
            (division, name), *rest = part
            inside = divisions.setdefault(division, {}).setdefault(name, [])
            inside.append((tuple(rest), fraction))
    return total + sum(
        (max(_total(inside) for inside in parts.values()) for parts in divisions.values()),
        Fraction(0),
    )


class BudgetRecords:
    """The lines of a budget. Memory is what is on disk, where a file is attached."""

    def __init__(self) -> None:
        self.lines: list[BudgetLine] = []
        self.path: Path | None = None

    def add(self, line: BudgetLine, check: Callable[[list[BudgetLine]], None]) -> int:
        """Write a line, on disk where there is a file, unless the check of all lines raises.

        Returns
        -------
        int
            Its position, which stays.

        Raises
        ------
        InvalidParameterError
            If the file is not the one that these records are in.
        sqlite3.Error
            If the file cannot be written. The line may then be on disk, or not.
        """
        if self.path is None:
            check(self.lines)
            self.lines.append(line)
            return len(self.lines) - 1
        with closing(_open(self.path)) as database:
            database.execute("BEGIN IMMEDIATE")
            lines = _lines(database)
            if lines[: len(self.lines)] != self.lines:
                raise InvalidParameterError(
                    f"The file {os.fspath(self.path)!r} has lost lines of this budget: it was "
                    "replaced by another or by an older copy. Bring the file back."
                )
            self.lines = lines
            check(lines)
            _insert(database, line)
            database.execute("COMMIT")
        self.lines = [*lines, line]
        return len(lines)

    def read_again(self) -> None:
        """Take over the lines that other processes have written."""
        if self.path is not None:
            with closing(_open(self.path)) as database:
                self.lines = _lines(database)

    def create(self, path: str | os.PathLike[str], terms: dict[str, Any]) -> None:
        """Write everything to a new file, and go on there."""
        target = Path(path).absolute()
        try:
            os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            raise InvalidParameterError(
                f"The 'path' parameter of Budget.save is {os.fspath(path)!r}, which exists: give "
                "a new file, or go on with an old budget by Budget.load."
            ) from None
        with closing(_open(target)) as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute("CREATE TABLE terms (format TEXT NOT NULL, json TEXT NOT NULL)")
            database.execute(
                "CREATE TABLE lines (number INTEGER PRIMARY KEY, what TEXT NOT NULL, account TEXT"
                " NOT NULL, privacy_measure TEXT NOT NULL, fraction TEXT NOT NULL, part TEXT NOT"
                " NULL, closes INTEGER)"
            )
            database.execute("INSERT INTO terms VALUES (?, ?)", (_FORMAT, json.dumps(terms)))
            for line in self.lines:
                _insert(database, line)
            database.execute("COMMIT")
        self.path = target

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> tuple[BudgetRecords, dict[str, Any]]:
        """Open the records in a file, and return them with the terms of the budget.

        Raises
        ------
        InvalidParameterError
            If the file is not there or holds something else.
        """
        records = cls()
        records.path = Path(path).absolute()
        try:
            with closing(_open(records.path)) as database:
                ((kind, terms),) = database.execute("SELECT format, json FROM terms").fetchall()
                records.lines = _lines(database)
            if kind != _FORMAT:
                raise ValueError(kind)
            return records, dict(json.loads(terms))
        except (sqlite3.DatabaseError, TypeError, ValueError, ZeroDivisionError) as error:
            raise InvalidParameterError(
                f"The 'path' parameter of Budget.load is {os.fspath(path)!r}, which is no file of "
                f"a budget ({error}). Give the file that Budget.save made."
            ) from error


def _open(path: Path) -> sqlite3.Connection:
    # A connection for each call: one that is open must not go through a fork. The file is not
    # made: one that is gone was the only witness of what is spent.
    database = sqlite3.connect(
        f"file:{quote(os.fspath(path))}?mode=rw",
        uri=True,
        timeout=_SECONDS_TO_WAIT,
        isolation_level=None,
    )
    # A commit returns when file and folder are on disk.
    database.execute("PRAGMA synchronous = EXTRA")
    return database


def _insert(database: sqlite3.Connection, line: BudgetLine) -> None:
    values = (line.what, line.account, line.privacy_measure, str(line.fraction))
    database.execute(
        "INSERT INTO lines (what, account, privacy_measure, fraction, part, closes)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (*values, json.dumps(line.part), line.closes),
    )


def _lines(database: sqlite3.Connection) -> list[BudgetLine]:
    found = database.execute(
        "SELECT what, account, privacy_measure, fraction, part, closes FROM lines ORDER BY number"
    )
    lines = [
        BudgetLine(
            what=what,
            account=account,
            privacy_measure=measure,
            fraction=Fraction(fraction),
            part=tuple((str(division), str(name)) for division, name in json.loads(part)),
            closes=closes,
        )
        for what, account, measure, fraction, part, closes in found
    ]
    if any(line.fraction <= 0 and line.closes is None for line in lines):
        raise ValueError("a fraction is not positive")
    for position, line in enumerate(lines):
        check_closing(lines[:position], line)
    return lines


def check_closing(lines: Sequence[BudgetLine], line: BudgetLine) -> None:
    """Raise where a line closes what it cannot, so that something charged would be free again.

    Raises
    ------
    ValueError
        If there is no such line before it, or another one has closed it, or it was for other rows,
        or had reserved less.
    """
    if line.closes is None:
        return
    closed = {each.closes for each in lines}
    known = 0 <= line.closes < len(lines) and line.closes not in closed
    before = lines[line.closes] if known else line
    terms = [(each.account, each.privacy_measure, each.part) for each in (before, line)]
    fits = known and before.closes is None and terms[0] == terms[1]
    if not fits or not 0 <= line.fraction <= before.fraction:
        raise ValueError("a line closes another one that it does not fit")


def percent(fraction: Fraction) -> str:
    """Return a fraction of an account as messages show it."""
    return f"{float(100 * fraction):.6g} %"
