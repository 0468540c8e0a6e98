"""The results of a run that is under way, those of a unit on disk as soon as it is measured."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.errors import BenchmarkError
from benchmarks.files import write_atomically
from benchmarks.harness.results import COLUMNS, Result, cells_of, parse

_OWN = ("unit", "settings", "of", "cpu")


class Store:
    """A file in which a run that is stopped is taken up again.

    Parameters
    ----------
    path : Path
        The file; created at once.
    wanted : mapping of str to str
        The units of this run with the digest of what each depends on. What the file holds of one
        of them, whole and with the same digest, is kept; everything else is dropped.

    Attributes
    ----------
    results : dict of str to list of Result
        What is measured so far, by unit.
    cpu : dict of str to float
        Seconds of CPU that each of them took.
    n_dropped : int
        Units found in the file that are none of this run's, or are not whole.

    Raises
    ------
    BenchmarkError
        If the file is there and is not one of ours.
    """

    def __init__(self, path: Path, wanted: Mapping[str, str]) -> None:
        self.path = path
        found = _read(path) if path.is_file() else {}
        self.results = {
            unit: rows
            for unit, (settings, n_rows, _, rows) in found.items()
            if wanted.get(unit) == settings and len(rows) == n_rows
        }
        self.cpu = {unit: found[unit][2] for unit in self.results}
        self.n_dropped = len(found) - len(self.results)
        kept = [
            line
            for unit, rows in self.results.items()
            for line in _lines(unit, wanted[unit], self.cpu[unit], rows)
        ]
        write_atomically(path, _text([[*_OWN, *COLUMNS], *kept]).encode())

    def add(self, unit: str, settings: str, rows: Sequence[Result], cpu: float = 0.0) -> None:
        """Keep the results of a unit, on disk before this returns."""
        with self.path.open("a", encoding="utf-8", newline="") as stream:
            stream.write(_text(_lines(unit, settings, cpu, rows)))
            stream.flush()
            os.fsync(stream.fileno())
        self.results[unit], self.cpu[unit] = list(rows), cpu

    def forget(self) -> None:
        """Remove the file: the run has ended."""
        self.path.unlink(missing_ok=True)


def _lines(unit: str, settings: str, cpu: float, rows: Sequence[Result]) -> list[list[str]]:
    return [[unit, settings, str(len(rows)), f"{cpu:.3f}", *cells_of(row)] for row in rows]


def _text(lines: Iterable[Sequence[str]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(lines)
    return stream.getvalue()


def _read(path: Path) -> dict[str, tuple[str, int, float, list[Result]]]:
    """Return settings, number of results, seconds of CPU and results by unit.

    A last line without its end, as a process leaves it that is stopped while it writes, is none.
    """
    advice = "Delete the file or run with --fresh."
    try:
        text = path.read_text(encoding="utf-8")
        reader = csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1]))
        if reader.fieldnames is not None and tuple(reader.fieldnames) != (*_OWN, *COLUMNS):
            raise ValueError("its columns are not those of this version")
        found: dict[str, tuple[str, int, float, list[Result]]] = {}
        for record in reader:
            own = (record["settings"], int(record["of"]), float(record["cpu"]), [])
            found.setdefault(record["unit"], own)[3].append(parse(record))
    except (KeyError, TypeError, ValueError) as error:
        raise BenchmarkError(
            f"The results of a run that was stopped cannot be taken up: {path}: {error}. {advice}"
        ) from error
    return found
