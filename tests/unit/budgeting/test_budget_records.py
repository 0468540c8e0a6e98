"""Files of a budget that cannot be read or written: one clear error, and nothing drawn."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpboost import Budget, DPBoostRegressor, InvalidParameterError
from dpboost.budgeting import budget_records
from dpboost.privacy.ledger import Ledger

FIFTH = Fraction(1, 5)
SCHEMA = {"bounds": {0: (0, 1)}, "label_bounds": (0, 1)}
_NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    # The folder of `tmp_path` is for the user of the tests alone.
    made = Path(tempfile.mkdtemp())
    made.chmod(0o755)
    yield made
    made.chmod(0o755)
    shutil.rmtree(made)


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch) -> None:
    monkeypatch.setattr(budget_records, "_SECONDS_TO_WAIT", 0.05)


@contextmanager
def as_user(*paths: Path) -> Iterator[None]:
    """Leave the rights of root, for whom permissions mean nothing; the paths are one's own then."""
    if os.geteuid() != 0:
        yield
        return
    for path in paths:
        os.chown(path, _NOBODY, _NOBODY)
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def opened(folder: Path) -> tuple[Budget, Path]:
    budget = Budget(epsilon=1, delta=1e-5, table="hospital")
    budget.save(folder / "the.budget")
    budget.reserve("fit", "mu squared", FIFTH)
    return budget, folder / "the.budget"


def refused(budget: Budget, path: Path, message: str, monkeypatch) -> None:
    """Whatever charges or reads the budget names file, parameter and fault; nothing is drawn."""
    X = np.linspace(0, 1, 50).reshape(-1, 1)
    model = DPBoostRegressor(schema=SCHEMA, n_estimators=1, verbosity=-1)
    drawn: list[int] = []
    monkeypatch.setattr(Ledger, "_draw", lambda *arguments: drawn.append(1))
    pattern = f"(?s)'budget' parameter .*{path.name}.*{message}"
    with pytest.raises(InvalidParameterError, match=pattern):
        model.fit(X, X[:, 0], budget=budget, fraction=FIFTH)
    with pytest.raises(InvalidParameterError, match=pattern):
        budget.reserve("fit", "mu squared", FIFTH)
    with pytest.raises(InvalidParameterError, match=pattern):
        budget.close(0, FIFTH / 2)
    assert drawn == []


def unreadable(path: Path, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"(?s)'path' .*Budget.load.*{message}"):
        Budget.load(path)


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "deleted": (Path.unlink, "does not exist: it was deleted or moved"),
    "empty": (lambda path: path.write_bytes(b""), "is empty: its lines are lost"),
    "no database": (lambda path: path.write_bytes(b"words " * 1000), "is not a budget file"),
    "cut": (lambda path: os.truncate(path, 5000), "is not a budget file, or is damaged"),
    "another database": (lambda path: change(path, "DROP TABLE lines"), "is not a budget file"),
    "a folder": (lambda path: (path.unlink(), path.mkdir()), "is a folder"),
    "a hanging link": (
        lambda path: (path.unlink(), path.symlink_to(path.parent / "gone")),
        "does not exist",
    ),
    "two measures": (
        lambda path: change(
            path,
            "INSERT INTO lines (what, account, privacy_measure, fraction, part) VALUES "
            "('fit', 'Gaussian', 'rho', '1/5', '[]')",
        ),
        "two measures",
    ),
}
DAMAGED = {
    "a fraction of words": "UPDATE lines SET fraction = 'half'",
    "a fraction of nothing": "UPDATE lines SET fraction = '0'",
    "a fraction below nothing": "UPDATE lines SET fraction = '-1/2'",
    "a division by nothing": "UPDATE lines SET fraction = '1/0'",
    # A power of ten that nobody can write down is not computed.
    "a fraction without end": "UPDATE lines SET fraction = '1e999999999'",
    "bytes for a name": "UPDATE lines SET what = CAST(X'ff' AS TEXT)",
    "another measure": "UPDATE lines SET privacy_measure = 'bits'",
    "a deep part": f"UPDATE lines SET part = '{'[' * 100_000}'",
    "a part of numbers": "UPDATE lines SET part = '[[1, 2]]'",
}
BROKEN |= {
    name: (lambda path, statement=statement: change(path, statement), "damaged")
    for name, statement in DAMAGED.items()
}


def change(path: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(path) as database:
        database.execute(statement, values)
    database.close()


@pytest.mark.parametrize(("break_file", "message"), BROKEN.values(), ids=list(BROKEN))
def test_a_file_that_breaks_while_it_is_open_stops_its_fits(
    folder, monkeypatch, break_file, message
) -> None:
    budget, path = opened(folder)
    break_file(path)
    refused(budget, path, message, monkeypatch)
    unreadable(path, message)
    for read in (lambda: budget.lines, lambda: budget.remaining, lambda: str(budget)):
        with pytest.raises(InvalidParameterError, match=message):
            read()


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="users of Unix")
def test_a_file_that_may_only_be_read_is_read(folder, monkeypatch) -> None:
    budget, path = opened(folder)
    path.chmod(0o444)
    with as_user(folder, path):
        refused(budget, path, "may not both read and write.*chmod u.rw", monkeypatch)
        assert Budget.load(path).remaining == {"Gaussian": 1 - FIFTH}


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="users of Unix")
def test_a_folder_that_may_only_be_read_is_named(folder, monkeypatch) -> None:
    budget, path = opened(folder)
    folder.chmod(0o555)
    with as_user(folder, path):
        refused(budget, path, "is in a folder that you may not write to", monkeypatch)
        with pytest.raises(InvalidParameterError, match="Budget.save.*cannot be made"):
            Budget(epsilon=1, delta=0).save(folder / "new")
    folder.chmod(0o000)
    with as_user(folder, path):
        refused(budget, path, "is in a folder that you may not search", monkeypatch)


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="users of Unix")
def test_a_file_that_may_not_be_read_is_named(folder, monkeypatch) -> None:
    budget, path = opened(folder)
    path.chmod(0o000)
    with as_user(folder, path):
        refused(budget, path, "may not both read and write", monkeypatch)
        unreadable(path, "may not both read and write")


def test_a_file_that_another_process_holds_is_named(folder, monkeypatch) -> None:
    budget, path = opened(folder)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    refused(budget, path, "another process has kept locked for 0.05 seconds", monkeypatch)
    unreadable(path, "another process has kept locked")
    other.execute("ROLLBACK")
    other.close()
    budget.reserve("fit", "mu squared", FIFTH)
    assert Budget.load(path).remaining == budget.remaining == {"Gaussian": 1 - 2 * FIFTH}


def test_a_full_disk_is_named_and_a_new_file_is_taken_away(folder, monkeypatch) -> None:
    budget, path = opened(folder)
    connect = sqlite3.connect

    class Full(sqlite3.Connection):
        def execute(self, statement, *arguments):
            if statement.startswith("INSERT"):
                raise sqlite3.OperationalError("database or disk is full")
            return super().execute(statement, *arguments)

    def full(*arguments, **options):
        return connect(*arguments, factory=Full, **options)

    monkeypatch.setattr(sqlite3, "connect", full)
    with pytest.raises(InvalidParameterError, match="'budget' .*disk is full.*Check the disk"):
        budget.reserve("fit", "mu squared", FIFTH)
    assert budget.remaining == {"Gaussian": 1 - FIFTH}
    other = Budget(epsilon=1, delta=1e-5)
    with pytest.raises(InvalidParameterError, match="'path' .*Budget.save.*disk is full"):
        other.save(folder / "other")
    assert not (folder / "other").exists()
    monkeypatch.setattr(sqlite3, "connect", connect)
    other.save(folder / "other")


@pytest.mark.parametrize("path", [7, None, b"bytes", "a\0b", "\ud800"])
def test_only_paths_are_paths(path) -> None:
    with pytest.raises(InvalidParameterError, match="'path' parameter of Budget.load"):
        Budget.load(path)
    with pytest.raises(InvalidParameterError, match="'path' parameter of Budget.save"):
        Budget(epsilon=1, delta=0).save(path)


NAMES = ["a b&c#d%41", "ü"]
if os.name == "posix":  # Windows has names of Unicode alone, and none with these
    NAMES += ["a?b", "file:x?mode=ro", os.fsdecode(b"\xff")]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_files_are_taken_as_they_are(folder, name) -> None:
    budget = Budget(epsilon=1, delta=1e-5)
    budget.save(folder / name)
    budget.reserve("fit", "mu squared", FIFTH)
    assert [each.name for each in folder.iterdir()] == [name]
    assert Budget.load(folder / name).remaining == {"Gaussian": 1 - FIFTH}


def test_a_folder_that_is_not_there_is_named(folder) -> None:
    with pytest.raises(InvalidParameterError, match="a folder that exists"):
        Budget(epsilon=1, delta=0).save(folder / "gone" / "budget")
