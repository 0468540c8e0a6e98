"""Measured values, and the file in which a run that stops is taken up again.

A fit gives several values: the error after some numbers of trees, and its time. They are written
together, and count only together.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import os
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.errors import BenchmarkError
from benchmarks.files import write_atomically


@dataclass(frozen=True, kw_only=True)
class Job:
    """One fit.

    Attributes
    ----------
    data : str
        Name of the set.
    method : str
    epsilon : float or None
        None where there is no privacy.
    n_trees : int
        Trees asked for.
    fold : int
        Which of five; the same fold has the same rows for all methods.
    draw : int
        Number of the fit among those on the same rows, each with fresh noise.
    """

    data: str
    method: str
    epsilon: float | None
    n_trees: int
    fold: int
    draw: int = 0


@dataclass(frozen=True, kw_only=True)
class Value:
    """One number that a fit has shown.

    Attributes
    ----------
    job : Job
    stage : int
        Trees of the model that it is about.
    measure : str
        "test error", "RMSE", "seconds" or what the run says.
    value : float
    n_values : int
        Values of the fit: without all of them it is measured again.
    settings : str
        Digest of everything that the value depends on.
    """

    job: Job
    stage: int
    measure: str
    value: float
    n_values: int
    settings: str


_JOB_COLUMNS = tuple(item.name for item in dataclasses.fields(Job))
_OWN_COLUMNS = ("stage", "measure", "value", "n_values", "settings")
COLUMNS = _JOB_COLUMNS + _OWN_COLUMNS


def to_text(values: Iterable[Value], *, header: bool = True) -> str:
    """Return values as comma-separated text; floats survive the way there and back exactly."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    if header:
        writer.writerow(COLUMNS)
    for value in values:
        cells = [getattr(value.job, name) for name in _JOB_COLUMNS]
        cells += [getattr(value, name) for name in _OWN_COLUMNS]
        writer.writerow(["" if cell is None else cell for cell in cells])
    return stream.getvalue()


def from_text(text: str) -> list[Value]:
    """Return the values of a comma-separated text.

    A last line without its end, as a process leaves it that is stopped while it writes, is none.

    Raises
    ------
    BenchmarkError
        If the text has other columns or a line does not read.
    """
    records = list(csv.reader(io.StringIO(text[: text.rfind("\n") + 1])))
    if not records:
        return []
    if tuple(records[0]) != COLUMNS:
        raise BenchmarkError("its columns are not those of this version")
    try:
        return [_parse(dict(zip(COLUMNS, record, strict=True))) for record in records[1:]]
    except ValueError as error:
        raise BenchmarkError(f"a line does not read ({error})") from error


def _parse(record: Mapping[str, str]) -> Value:
    job = Job(
        data=record["data"],
        method=record["method"],
        epsilon=float(record["epsilon"]) if record["epsilon"] else None,
        n_trees=int(record["n_trees"]),
        fold=int(record["fold"]),
        draw=int(record["draw"]),
    )
    return Value(
        job=job,
        stage=int(record["stage"]),
        measure=record["measure"],
        value=float(record["value"]),
        n_values=int(record["n_values"]),
        settings=record["settings"],
    )


class Measured:
    """The values of a run that is under way, those of a fit on disk as soon as it is measured.

    Parameters
    ----------
    path : Path
        The file; created at once.
    wanted : mapping of Job to str
        The fits of this run with their settings digest. What the file holds of one of them, whole
        and with the same digest, is kept; everything else is dropped.

    Attributes
    ----------
    values : dict of Job to list of Value
    n_dropped : int
        Fits found in the file that are none of this run's, or are not whole.

    Raises
    ------
    BenchmarkError
        If the file is there and is not one of ours.
    """

    def __init__(self, path: Path, wanted: Mapping[Job, str]) -> None:
        self.path = path
        found: dict[Job, list[Value]] = {}
        if path.is_file():
            try:
                for value in from_text(path.read_text(encoding="utf-8")):
                    found.setdefault(value.job, []).append(value)
            except (BenchmarkError, UnicodeDecodeError) as error:
                raise BenchmarkError(
                    f"The values of a run that was stopped cannot be taken up: {path}: {error}. "
                    "Delete the file or run with --fresh."
                ) from error
        self.values = {
            job: values
            for job, values in found.items()
            if len(values) == values[0].n_values
            and {value.settings for value in values} == {wanted.get(job)}
        }
        self.n_dropped = len(found) - len(self.values)
        kept = [value for values in self.values.values() for value in values]
        write_atomically(path, to_text(kept).encode())

    def add(self, job: Job, found: Mapping[tuple[int, str], float], settings: str) -> None:
        """Keep the values of a fit, on disk before this returns."""
        values = [
            Value(
                job=job,
                stage=stage,
                measure=measure,
                value=float(value),
                n_values=len(found),
                settings=settings,
            )
            for (stage, measure), value in found.items()
        ]
        with self.path.open("a", encoding="utf-8", newline="") as stream:
            stream.write(to_text(values, header=False))
            stream.flush()
            os.fsync(stream.fileno())
        self.values[job] = values


def pick(values: Iterable[Value], **wanted: object) -> list[Value]:
    """Return the values with these attributes, of the value or of its fit."""

    def fits(value: Value) -> bool:
        return all(
            getattr(value if name in _OWN_COLUMNS else value.job, name) == wish
            for name, wish in wanted.items()
        )

    return [value for value in values if fits(value)]


def numbers(values: Sequence[Value]) -> list[float]:
    """Return one number a fold, the mean over draws, in the order of the folds."""
    by_fold: dict[int, list[float]] = {}
    for value in values:
        by_fold.setdefault(value.job.fold, []).append(value.value)
    return [statistics.fmean(by_fold[fold]) for fold in sorted(by_fold)]
