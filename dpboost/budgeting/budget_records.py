"""The lines of a budget, in memory or in a file that is written before each draw."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dpboost._utils.private_files import is_private, open_private
from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.budgeting.periods import PERIODS, Overlap, most_paid
from dpboost.data.fingerprint import KEY_BYTES, new_key

#: Divisions of the rows and the part of each, from the outside.
Part = tuple[tuple[str, str], ...]

_SECONDS_TO_WAIT = 60.0
_FORMAT = "dpboost budget 2"
_FRACTION = re.compile(r"[0-9]+(/[0-9]+)?")
#: Accounts, by the measure that their lines are counted in.
MEASURES = {"epsilon": "pure", "rho": "Gaussian", "mu squared": "Gaussian"}
#: The division of rows into tables that share none.
TABLES = "tables"


@dataclass(frozen=True, kw_only=True)
class BudgetLine:
    """One line of the records, for one fit.

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
        The rows that it covers, from the outside: each pair names a division of the rows into
        disjoint parts, and the part. All rows of the table by default.
    closes : int, optional
        Position of an earlier line that reserved more; this line replaces it with the charged
        amount.
    """

    what: str
    account: str
    privacy_measure: str
    fraction: Fraction
    part: Part = ()
    closes: int | None = None


def counted(lines: Sequence[BudgetLine]) -> list[BudgetLine]:
    """Return the lines that no later one has closed."""
    closed = {line.closes for line in lines}
    return [line for position, line in enumerate(lines) if position not in closed]


def spent(
    lines: Sequence[BudgetLine], overlap: Overlap | None = None, including: str | None = None
) -> dict[str, Fraction]:
    """Return the spent fraction of each account: the largest possible charge of an individual.

    Lines for all rows add up. Of the disjoint parts of a division, the largest counts; overlapping
    divisions add up. With periods it is the largest charge of an individual with rows in the
    maximum number of periods. It is that of one with rows in the period ``including``, where one is
    given.
    """
    found: dict[str, Fraction] = {}
    own = counted(lines)
    for account in dict.fromkeys(line.account for line in lines):
        windows: dict[frozenset[str], list[tuple[Part, Fraction]]] = {}
        for line in own:
            if line.account == account:
                periods, rest = periods_of(line.part)
                windows.setdefault(frozenset(periods), []).append((rest, line.fraction))
        sums = {periods: _total(charges) for periods, charges in windows.items()}
        found[account] = (
            sum(sums.values(), Fraction(0))
            if overlap is None
            else most_paid(sums, overlap, account, including)
        )
    return found


def periods_of(part: Part) -> tuple[tuple[str, ...], Part]:
    """Return the periods of a part, and the rest of the part."""
    periods = tuple(name for division, name in part if division == PERIODS)
    return periods, tuple(pair for pair in part if pair[0] != PERIODS)


def told(part: Part) -> str:
    """Return a part as text; empty for all rows."""
    periods, rest = periods_of(part)
    pairs = [*([(PERIODS, ", ".join(periods))] if periods else []), *rest]
    return "".join(f", {division}: {name}" for division, name in pairs)


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
    """The lines of a budget; equal to the content of the attached file, if any."""

    def __init__(self) -> None:
        self.lines: list[BudgetLine] = []
        self.path: Path | None = None
        # Rows of periods by their hashes, and the key without which these tell nothing.
        self.key = new_key()
        self.tables: dict[str, str] = {}
        # Whether the file has a place for them: where the terms name periods.
        self._holds_tables = False

    def add(
        self,
        line: BudgetLine,
        check: Callable[[list[BudgetLine], dict[str, str]], None],
        tables: Mapping[str, str] | None = None,
    ) -> int:
        """Write a line, on disk if there is a file, unless the check of all lines raises.

        ``check(lines, tables)`` looks at what is recorded so far; ``tables`` are hashes of the rows
        of its periods. Returns the permanent position of the line. InvalidParameterError if the
        file is not that of these records, or cannot be read and written; after a disk error the
        line may be in the file.
        """
        new = dict(tables or {})
        if self.path is None:
            check(self.lines, self.tables)
            self.lines.append(line)
            self.tables |= new
            return len(self.lines) - 1
        with _opened(self.path, "budget") as database:
            database.execute("BEGIN IMMEDIATE")
            lines = _lines(database)
            if lines[: len(self.lines)] != self.lines:
                raise InvalidParameterError(
                    f"The file {os.fspath(self.path)!r} has lost lines of this budget: it was "
                    "replaced by another or by an older copy. Restore the file."
                )
            self.lines = lines
            self.tables = _tables(database) if self._holds_tables else {}
            check(lines, self.tables)
            _insert(database, line)
            _insert_tables(database, {name: new[name] for name in new.keys() - self.tables.keys()})
            database.execute("COMMIT")
        self.lines, self.tables = [*lines, line], {**new, **self.tables}
        return len(lines)

    def read_again(self) -> None:
        """Read the lines that other processes have written."""
        if self.path is not None:
            with _opened(self.path, "budget") as database:
                self.lines = _lines(database)

    def _read_tables(self, database: sqlite3.Connection) -> None:
        """Read hashes and key from a file that only its owner may read."""
        assert self.path is not None
        self.tables = _tables(database)
        found = database.execute("SELECT key FROM hash_key").fetchall()
        with _as_damage():
            ((key,),) = found
            if not isinstance(key, bytes) or len(key) != KEY_BYTES:
                raise ValueError("the key of the hashes is damaged")
        self.key = key
        if not is_private(self.path):
            raise InvalidParameterError(
                f"The 'path' parameter of Budget.load is {os.fspath(self.path)!r}, which not only "
                "its owner may read. It holds hashes of the rows of periods, and their key. "
                "Remove the permission: chmod 600, or on Windows "
                'icacls FILE /inheritance:r /grant:r "%USERNAME%:F".'
            )

    def digest(self, terms: dict[str, Any], n_lines: int) -> str:
        """Return a digest of these records up to a line."""
        lines = [[str(value) for value in astuple(line)] for line in self.lines[:n_lines]]
        return hashlib.sha256(json.dumps([terms, lines]).encode()).hexdigest()

    def create(self, path: str | os.PathLike[str], terms: dict[str, Any]) -> None:
        """Write all records to a new file, and continue there."""
        target = _absolute(path, "Budget.save")
        try:
            os.close(open_private(target, new=True))
        except FileExistsError:
            raise InvalidParameterError(
                f"The 'path' parameter of Budget.save is {os.fspath(path)!r}, which exists: pass "
                "a new file, or continue an existing budget with Budget.load."
            ) from None
        except OSError as error:
            raise InvalidParameterError(
                f"The 'path' parameter of Budget.save is {os.fspath(path)!r}, which cannot be made "
                f"({error.strerror}): give a new file in a folder that exists and that you may "
                "write to."
            ) from error
        try:
            with _opened(target, "path", "Budget.save") as database:
                database.execute("BEGIN IMMEDIATE")
                database.execute("CREATE TABLE terms (format TEXT NOT NULL, json TEXT NOT NULL)")
                database.execute(
                    "CREATE TABLE lines (number INTEGER PRIMARY KEY, what TEXT NOT NULL, account"
                    " TEXT NOT NULL, privacy_measure TEXT NOT NULL, fraction TEXT NOT NULL, part"
                    " TEXT NOT NULL, closes INTEGER)"
                )
                database.execute("INSERT INTO terms VALUES (?, ?)", (_FORMAT, json.dumps(terms)))
                self._holds_tables = "periods" in terms
                if self._holds_tables:
                    database.execute("CREATE TABLE hash_key (key BLOB NOT NULL)")
                    database.execute("INSERT INTO hash_key VALUES (?)", (self.key,))
                    database.execute(
                        "CREATE TABLE tables (period TEXT PRIMARY KEY, hash TEXT NOT NULL)"
                    )
                    _insert_tables(database, self.tables)
                for line in self.lines:
                    _insert(database, line)
                database.execute("COMMIT")
        except InvalidParameterError:
            with suppress(OSError):  # the lines stay in memory, where they were
                target.unlink()
            raise
        self.path = target

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> tuple[BudgetRecords, dict[str, Any]]:
        """Open the records in a file, and return them with the terms of the budget."""
        records = cls()
        records.path = _absolute(path, "Budget.load")
        with _opened(records.path, "path", "Budget.load") as database:
            terms = _terms(database)
            records.lines = _lines(database)
            records._holds_tables = "periods" in terms
            if records._holds_tables:
                records._read_tables(database)
        return records, terms


def _absolute(path: str | os.PathLike[str], owner: str) -> Path:
    """Return an absolute path, independent of later changes of the working directory."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise refuse("path", owner, "the path of a file", path)
    try:
        target = Path(path).absolute()
        os.fsencode(target)
    except (OSError, ValueError) as error:
        raise refuse("path", owner, "the path of a file", path) from error
    if "\0" in os.fspath(target):
        raise refuse("path", owner, "the path of a file", path)
    return target


@contextmanager
def _opened(path: Path, parameter: str, owner: str = "") -> Iterator[sqlite3.Connection]:
    """Open a file for as long as a line is read or written; the one place that names its faults.

    A connection for each call: one that is open must not go through a fork. The file is not made:
    one that is gone was the only witness of what is spent. Every error of SQLite becomes an
    InvalidParameterError.
    """
    try:
        with closing(
            sqlite3.connect(
                f"file:{quote(os.fsencode(path))}?mode=rw",
                uri=True,
                timeout=_SECONDS_TO_WAIT,
                isolation_level=None,
            )
        ) as database:
            # A commit returns when file and folder are on disk.
            database.execute("PRAGMA synchronous = EXTRA")
            yield database
    except sqlite3.Error as error:
        of = f" of {owner}" if owner else ""
        raise InvalidParameterError(
            f"The {parameter!r} parameter{of} is a budget in the file {os.fspath(path)!r}, which "
            f"{_fault(path, error)}"
        ) from error


def _fault(path: Path, error: sqlite3.Error) -> str:
    """Return the fault of a file and its remedy; SQLite does not name the cause."""
    text = os.fspath(path)
    folder = os.path.dirname(text)
    restore = "Restore the file itself, with all its lines; recorded charges stay spent."
    if os.path.isdir(folder) and not _allowed(folder, os.X_OK):
        return "is in a folder that you may not search. Add the permission: chmod u+x."
    if not os.path.exists(text):
        return f"does not exist: it was deleted or moved, or the path is wrong. {restore}"
    if os.path.isdir(text):
        return "is a folder. Pass the file that Budget.save wrote."
    if not _allowed(text, os.R_OK | os.W_OK):
        return "you may not both read and write. Add both permissions: chmod u+rw."
    if "lock" in str(error):
        return (
            f"another process has kept locked for {_SECONDS_TO_WAIT:g} seconds. End that process, "
            "or wait for it and call again; keep the file on a local disk."
        )
    # What SQLite says of the disk; all else that it says is of what is written in the file.
    of_disk = isinstance(error, sqlite3.OperationalError) and any(
        word in str(error) for word in ("disk", "full", "open", "readonly")
    )
    if of_disk and not _allowed(folder, os.W_OK):
        return (
            "is in a folder that you may not write to; SQLite needs a journal there. "
            "Add the permission: chmod u+w on the folder."
        )
    if of_disk:
        return (
            f"cannot be read or written ({error}). Check the disk. An unfinished line may be in "
            "the file; it then counts."
        )
    if not os.path.getsize(text):
        return f"is empty: its lines are lost. {restore}"
    return (
        f"is not a budget file, or is damaged ({error}). Pass the file that Budget.save wrote, "
        "with all its lines."
    )


def _allowed(path: str, mode: int) -> bool:
    """Return whether this process may use a path; by the effective user where the system knows."""
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _insert(database: sqlite3.Connection, line: BudgetLine) -> None:
    values = (line.what, line.account, line.privacy_measure, str(line.fraction))
    database.execute(
        "INSERT INTO lines (what, account, privacy_measure, fraction, part, closes)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (*values, json.dumps(line.part), line.closes),
    )


def _terms(database: sqlite3.Connection) -> dict[str, Any]:
    found = database.execute("SELECT format, json FROM terms").fetchall()
    with _as_damage():
        ((kind, terms),) = found
        if kind != _FORMAT:
            raise ValueError("another format")
        return dict(json.loads(terms))


def _lines(database: sqlite3.Connection) -> list[BudgetLine]:
    found = database.execute(
        "SELECT what, account, privacy_measure, fraction, part, closes FROM lines ORDER BY number"
    ).fetchall()
    with _as_damage():
        lines = [_line(*values) for values in found]
        for position, line in enumerate(lines):
            check_closing(lines[:position], line)
        if len({line.privacy_measure for line in lines} - {"epsilon"}) > 1:
            raise ValueError("lines of one account count in two measures")
    return lines


def _insert_tables(database: sqlite3.Connection, tables: Mapping[str, str]) -> None:
    if tables:
        values = sorted(tables.items())
        database.executemany("INSERT INTO tables (period, hash) VALUES (?, ?)", values)


def _tables(database: sqlite3.Connection) -> dict[str, str]:
    found = database.execute("SELECT period, hash FROM tables").fetchall()
    with _as_damage():
        if not all(isinstance(value, str) for pair in found for value in pair):
            raise ValueError("a hash of rows is damaged")
    return dict(found)


def _line(what: Any, account: Any, measure: Any, fraction: Any, part: Any, closes: Any) -> Any:
    """Return a line from its stored form, or raise `ValueError`."""
    pairs = json.loads(part)
    if not (
        isinstance(what, str)
        and MEASURES.get(measure, "") == account
        and isinstance(closes, int | None)
        and isinstance(pairs, list)
        and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
        and all(isinstance(each, str) for pair in pairs for each in pair)
    ):
        raise ValueError("a value of a line has the wrong type")
    line = BudgetLine(
        what=what,
        account=account,
        privacy_measure=measure,
        fraction=written_fraction(fraction),
        part=tuple((division, name) for division, name in pairs),
        closes=closes,
    )
    if line.fraction <= 0 and line.closes is None:
        raise ValueError("a fraction is not positive")
    return line


def written_fraction(text: Any) -> Fraction:
    """Return the fraction whose ``str`` is given, or raise `ValueError`: no exponent is read."""
    if not isinstance(text, str) or not _FRACTION.fullmatch(text):
        raise ValueError("a fraction has the wrong format")
    return Fraction(text)


@contextmanager
def _as_damage() -> Iterator[None]:
    """Convert parse errors to the error of a damaged file."""
    try:
        yield
    except (ArithmeticError, RecursionError, TypeError, ValueError) as error:
        raise sqlite3.DatabaseError(str(error)) from error


def check_closing(lines: Sequence[BudgetLine], line: BudgetLine) -> None:
    """Raise if a line closes what it cannot, so that something charged would be free again.

    ValueError if there is no such line before it, or another one has closed it, or it was for other
    rows, or had reserved less.
    """
    if line.closes is None:
        return
    closed = {each.closes for each in lines}
    known = 0 <= line.closes < len(lines) and line.closes not in closed
    before = lines[line.closes] if known else line
    terms = [(each.account, each.privacy_measure, each.part) for each in (before, line)]
    fits = known and before.closes is None and terms[0] == terms[1]
    if not fits or not 0 <= line.fraction <= before.fraction:
        raise ValueError("a line closes another one that does not match it")


def percent(fraction: Fraction) -> str:
    """Return a fraction of an account as messages show it."""
    return f"{float(100 * fraction):.6g} %"
