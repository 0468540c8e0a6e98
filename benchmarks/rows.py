"""Measured rows, and the file in which a run that stops is taken up again."""

from __future__ import annotations

import csv
import dataclasses
import io
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.errors import BenchmarkError
from benchmarks.files import write_atomically


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One fit of an experiment.

    Attributes
    ----------
    problem, method : str
        Names.
    epsilon : float or None
        Budget; ``None`` where there is no privacy.
    split : int
        Public seed of the division of the rows.
    """

    problem: str
    method: str
    epsilon: float | None
    split: int


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one fit has shown.

    Attributes
    ----------
    cell : Cell
        Which fit.
    metric : str
        Name of the measure.
    value : float
        The measure on the held-out rows.
    fit_seconds : float
        Wall time of the fit.
    n_trees : int
        Trees in the model.
    epsilon_spent : float or None
        What the library says that the fit has spent; ``None`` where there is no privacy.
    n_train_rows, n_test_rows : int
        Sizes of the division.
    settings : str
        Digest of everything that the figures depend on, see `benchmarks.runner`.
    accuracy : float or None
        Share of held-out rows whose class is right; ``None`` of a regression.
    peak_mb : float or None
        Memory that the fit took at most; ``None`` where it had no process of its own.
    """

    cell: Cell
    metric: str
    value: float
    fit_seconds: float
    n_trees: int
    epsilon_spent: float | None
    n_train_rows: int
    n_test_rows: int
    settings: str
    accuracy: float | None = None
    peak_mb: float | None = None


_CELL_COLUMNS = tuple(item.name for item in dataclasses.fields(Cell))
_VALUE_COLUMNS = tuple(item.name for item in dataclasses.fields(Row) if item.name != "cell")
COLUMNS = _CELL_COLUMNS + _VALUE_COLUMNS


def to_text(rows: Iterable[Row], *, header: bool = True) -> str:
    """Return rows as comma-separated text; floats survive the way there and back exactly."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    if header:
        writer.writerow(COLUMNS)
    for row in rows:
        cells = [getattr(row.cell, name) for name in _CELL_COLUMNS]
        values = [getattr(row, name) for name in _VALUE_COLUMNS]
        writer.writerow(["" if item is None else item for item in cells + values])
    return stream.getvalue()


def from_text(text: str) -> list[Row]:
    """Return the rows of a comma-separated text.

    A last line without its end, as a process leaves it that is stopped while it writes, is no row.

    Raises
    ------
    BenchmarkError
        If the text has other columns or a row does not read.
    """
    whole = text[: text.rfind("\n") + 1]
    records = list(csv.reader(io.StringIO(whole)))
    if not records:
        return []
    if tuple(records[0]) != COLUMNS:
        raise BenchmarkError("its columns are not those of this version")
    try:
        return [_parse(dict(zip(COLUMNS, record, strict=True))) for record in records[1:]]
    except ValueError as error:
        raise BenchmarkError(f"a row does not read ({error})") from error


def _parse(record: Mapping[str, str]) -> Row:
    return Row(
        cell=Cell(
            problem=record["problem"],
            method=record["method"],
            epsilon=_optional(record["epsilon"]),
            split=int(record["split"]),
        ),
        metric=record["metric"],
        value=float(record["value"]),
        fit_seconds=float(record["fit_seconds"]),
        n_trees=int(record["n_trees"]),
        epsilon_spent=_optional(record["epsilon_spent"]),
        n_train_rows=int(record["n_train_rows"]),
        n_test_rows=int(record["n_test_rows"]),
        settings=record["settings"],
        accuracy=_optional(record["accuracy"]),
        peak_mb=_optional(record["peak_mb"]),
    )


def _optional(text: str) -> float | None:
    return float(text) if text else None


class PartialRows:
    """The rows of a run that is under way, each on disk as soon as it is measured.

    Parameters
    ----------
    path : Path
        The file; created when the first row is added.
    wanted : mapping of Cell to str
        The fits of this run with their settings digest. A row found in the file is kept when it is
        one of these fits with the same digest, and dropped otherwise.

    Attributes
    ----------
    rows : dict of Cell to Row
        What is measured so far.
    n_dropped : int
        Rows found in the file that are none of this run's.

    Raises
    ------
    BenchmarkError
        If the file is there and is not one of ours.
    """

    def __init__(self, path: Path, wanted: Mapping[Cell, str]) -> None:
        self.path = path
        found = []
        if path.is_file():
            try:
                found = from_text(path.read_text(encoding="utf-8"))
            except (BenchmarkError, UnicodeDecodeError) as error:
                raise BenchmarkError(
                    f"The rows of a run that was stopped cannot be taken up: {path}: {error}. "
                    "Delete the file or run with --fresh."
                ) from error
        self.rows = {row.cell: row for row in found if wanted.get(row.cell) == row.settings}
        self.n_dropped = len(found) - len(self.rows)
        write_atomically(path, to_text(self.rows.values()).encode())

    def add(self, row: Row) -> None:
        """Keep a row, on disk before this returns."""
        with self.path.open("a", encoding="utf-8", newline="") as stream:
            stream.write(to_text([row], header=False))
            stream.flush()
            os.fsync(stream.fileno())
        self.rows[row.cell] = row
