"""Measured numbers in one long form, and the file that holds them.

A file of results is comma-separated text with one number a line. Before its header it has lines
``# name: text``: facts of the run, such as the command and the versions. The page beside it is made
of nothing but this file, so that it can be made again from it, byte for byte.
"""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from pathlib import Path

from benchmarks.errors import BenchmarkError

PUBLISHED = "published"


@dataclass(frozen=True, kw_only=True)
class Result:
    """One measured number.

    Attributes
    ----------
    part : str
        Figure, table or section that it belongs to, where a run has several.
    data : str
        Data set, or panel of a figure.
    method : str
    epsilon : float or None
        Budget; ``None`` where there is no privacy, or where ``x`` is the budget.
    x : str
        What else is varied: a number on the horizontal axis, or words.
    repeat : int
        The same number means the same rows, for all methods.
    draw : int
        Number of the fit among those on the same rows, each with fresh noise.
    measure : str
        What the number is: "accuracy", "RMSE", "seconds".
    value : float
    """

    part: str = ""
    data: str = ""
    method: str = ""
    epsilon: float | None = None
    x: str = ""
    repeat: int = 0
    draw: int = 0
    measure: str
    value: float

    @cached_property
    def position(self) -> float | None:
        """Where it stands on the horizontal axis, ``None`` where it has no place of its own."""
        return float(self.x) if self.x else self.epsilon


COLUMNS = tuple(item.name for item in fields(Result))


@dataclass(frozen=True, kw_only=True)
class Results:
    """All numbers of a run and its facts.

    Attributes
    ----------
    facts : mapping of str to str
        One line of text each.
    rows : sequence of Result
    """

    facts: Mapping[str, str] = field(default_factory=dict)
    rows: Sequence[Result]

    @property
    def is_quick(self) -> bool:
        """Whether it is the short form of a run."""
        return self.facts.get("form") == "quick"

    def measured(self) -> list[Result]:
        """Return the numbers that were measured here; the others are those of a paper."""
        return [row for row in self.rows if not row.measure.startswith(PUBLISHED)]


def cells_of(row: Result) -> list[str]:
    """Return the cells of a line; floats survive the way there and back exactly."""
    values = [getattr(row, name) for name in COLUMNS]
    return ["" if value is None else str(value) for value in values]


def parse(record: Mapping[str, str]) -> Result:
    """Return the result of a line.

    Raises
    ------
    KeyError, ValueError
        If a column is missing or a number does not read.
    """
    return Result(
        part=record["part"],
        data=record["data"],
        method=record["method"],
        epsilon=float(record["epsilon"]) if record["epsilon"] else None,
        x=record["x"],
        repeat=int(record["repeat"]),
        draw=int(record["draw"]),
        measure=record["measure"],
        value=float(record["value"]),
    )


def to_text(results: Results) -> str:
    """Return facts and results as text."""
    stream = io.StringIO()
    for name, text in results.facts.items():
        if not text:
            continue
        if "\n" in f"{name}{text}":
            raise ValueError(f"The fact {name!r} has more than one line.")
        stream.write(f"# {name}: {text}\n")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(map(cells_of, results.rows))
    return stream.getvalue()


def from_text(text: str) -> Results:
    """Return the results of a text.

    Raises
    ------
    BenchmarkError
        If it is no file of results.
    """
    facts: dict[str, str] = {}
    lines = text.splitlines(keepends=True)
    n_facts = 0
    for line in lines:
        if not line.startswith("# "):
            break
        name, _, fact = line[2:].rstrip("\n").partition(": ")
        facts[name] = fact
        n_facts += 1
    reader = csv.DictReader(lines[n_facts:])
    if tuple(reader.fieldnames or ()) != COLUMNS:
        raise BenchmarkError("its columns are not those of this version")
    try:
        return Results(facts=facts, rows=[parse(record) for record in reader])
    except (KeyError, TypeError, ValueError) as error:
        raise BenchmarkError(f"a line does not read ({error})") from error


def read(path: Path) -> Results:
    """Return the results of a file.

    Raises
    ------
    BenchmarkError
        If it is no file of results.
    """
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=2)  # one file after another is asked for each of its figures
def _read(path: Path, _changed: int) -> Results:
    try:
        return from_text(path.read_text(encoding="utf-8"))
    except BenchmarkError as error:
        raise BenchmarkError(f"{path}: {error}.") from error


def pick(rows: Iterable[Result], **wanted: object) -> list[Result]:
    """Return the results with these attributes."""
    for key, wish in wanted.items():
        rows = [row for row in rows if getattr(row, key) == wish]
    return list(rows)


def values(rows: Iterable[Result], **wanted: object) -> list[float]:
    """Return one number a repeat, the mean over its draws, in the order of the repeats."""
    by_repeat: dict[int, list[float]] = {}
    for row in pick(rows, **wanted):
        by_repeat.setdefault(row.repeat, []).append(row.value)
    return [statistics.fmean(by_repeat[repeat]) for repeat in sorted(by_repeat)]


def distinct(rows: Iterable[Result], name: str) -> list[str]:
    """Return the different texts of a column in the order in which they come."""
    return list(dict.fromkeys(getattr(row, name) for row in rows))


def positions(rows: Iterable[Result]) -> list[float]:
    """Return the different positions on the horizontal axis, ascending."""
    return sorted({position for row in rows if (position := row.position) is not None})


def curves(rows: Iterable[Result]) -> Iterator[tuple[str, dict[float | None, list[float]]]]:
    """Yield each method with its values, one a repeat, by position."""
    by_method: dict[str, dict[float | None, list[Result]]] = {}
    for row in rows:
        by_method.setdefault(row.method, {}).setdefault(row.position, []).append(row)
    for method, own in by_method.items():
        ordered = sorted(own, key=lambda position: (position is not None, position or 0.0))
        yield method, {position: values(own[position]) for position in ordered}
