"""Measurements in fresh processes, each on disk as soon as it is made."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.errors import BenchmarkError
from benchmarks.files import write_atomically
from benchmarks.versions import versions

ROOT = Path(__file__).parents[2]
# What a user has not set: threads of a fit are its own parameter here.
_NOT_HANDED_ON = {"OMP_NUM_THREADS", "OMP_WAIT_POLICY"}


@dataclass(frozen=True, kw_only=True)
class Task:
    """One process: what it measures.

    Attributes
    ----------
    table : str
        Name of the table, or of what is measured.
    method : str
    threads : int
    repeat : int
    trees : tuple of int
        One figure for each.
    arguments : str
        JSON object for `benchmarks.timing.child`.
    """

    table: str
    method: str
    threads: int
    repeat: int
    trees: tuple[int, ...]
    arguments: str


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What was measured at one number of trees.

    Attributes
    ----------
    table, method, threads, repeat, trees
        As in `Task`.
    seconds, cpu_seconds : float
        Wall time, and time of all threads together.
    peak_mb : float
        Largest resident size above what the process had before, megabytes.
    input_mb : float
        Size of the table in memory.
    settings : str
        Digest of what the figure depends on.
    """

    table: str
    method: str
    threads: int
    repeat: int
    trees: int
    seconds: float
    cpu_seconds: float
    peak_mb: float
    input_mb: float
    settings: str


_COLUMNS = tuple(field.name for field in dataclasses.fields(Figure))
_NUMBERS = {"threads": int, "repeat": int, "trees": int}
_TEXT = {"table", "method", "settings"}


def task(
    name: str,
    shown: str,
    method: str,
    threads: int,
    repeat: int,
    trees: Iterable[int],
    more: Mapping[str, Any],
) -> Task:
    """Return a task of `benchmarks.timing.child`.

    Parameters
    ----------
    name : str
        Name there.
    shown : str
        Name of the table.
    method, threads, repeat, trees
        As in `Task`.
    more : dict
        What the task takes there.
    """
    return Task(
        table=shown,
        method=method,
        threads=threads,
        repeat=repeat,
        trees=tuple(trees),
        arguments=json.dumps({"task": name, **more}, sort_keys=True),
    )


def fit_task(
    shown: str,
    maker: str,
    arguments: Sequence[Any],
    method: str,
    trees: Sequence[int],
    threads: int,
    repeat: int,
) -> Task:
    """Return the task of one fit."""
    return task(
        "fit",
        shown,
        method,
        threads,
        repeat,
        trees,
        {
            "table": maker,
            "arguments": list(arguments),
            "method": method,
            "trees": list(trees),
            "threads": threads,
        },
    )


def to_csv(figures: Iterable[Figure], *, header: bool = True) -> str:
    """Return figures as comma-separated text."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    if header:
        writer.writerow(_COLUMNS)
    for figure in figures:
        writer.writerow([getattr(figure, name) for name in _COLUMNS])
    return stream.getvalue()


def from_csv(text: str) -> list[Figure]:
    """Return the figures of a text; a last line without its end is none."""
    whole = text[: text.rfind("\n") + 1]
    found = []
    for record in csv.DictReader(io.StringIO(whole)):
        values = {
            name: value if name in _TEXT else _NUMBERS.get(name, float)(value)
            for name, value in record.items()
        }
        found.append(Figure(**values))
    return found


def run_all(tasks: Sequence[Task], partial: Path, *, progress: bool = True) -> list[Figure]:
    """Run every task that ``partial`` does not hold yet, in their order; return all figures.

    Raises
    ------
    BenchmarkError
        If a process fails or ``partial`` does not read.
    """
    wanted = {(_key(item), number): _digest(item) for item in tasks for number in item.trees}
    figures = {}
    if partial.is_file():
        try:
            found = from_csv(partial.read_text(encoding="utf-8"))
        except (TypeError, ValueError) as error:
            raise BenchmarkError(
                f"The rows of a run that was stopped cannot be taken up: {partial}. Delete the "
                "file or run with --fresh."
            ) from error
        figures = {
            _key_of(item): item for item in found if wanted.get(_key_of(item)) == item.settings
        }
    write_atomically(partial, to_csv(figures.values()).encode())
    with tqdm(total=len(tasks), disable=not progress) as bar:
        for item in tasks:
            bar.set_description(f"{item.table} {item.method} {item.threads}")
            keys = [(_key(item), number) for number in item.trees]
            if not all(key in figures for key in keys):
                new = _figures(item)
                figures |= dict(zip(keys, new, strict=True))
                with partial.open("a", encoding="utf-8", newline="") as stream:
                    stream.write(to_csv(new, header=False))
                    stream.flush()
                    os.fsync(stream.fileno())
            bar.update()
    return [figures[_key(item), number] for item in tasks for number in item.trees]


def median(figures: Iterable[Figure], name: str = "seconds", **wanted: object) -> float:
    """Return the median of the figures with these attributes, NaN where there is none."""
    values = [
        getattr(figure, name)
        for figure in figures
        if all(getattr(figure, key) == wanted[key] for key in wanted)
    ]
    return statistics.median(values) if values else float("nan")


def _figures(item: Task) -> list[Figure]:
    """Run one task in a process of its own."""
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_HANDED_ON}
    path = os.pathsep.join([str(ROOT), *filter(None, [environment.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.timing.child", item.arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment | {"PYTHONPATH": path},
        check=False,
    )
    if done.returncode:
        tail = " | ".join(done.stderr.strip().splitlines()[-3:])
        raise BenchmarkError(f"{item.table}, {item.method}: {tail}")
    measured = json.loads(done.stdout.strip().splitlines()[-1])
    return [
        Figure(
            table=item.table,
            method=item.method,
            threads=item.threads,
            repeat=item.repeat,
            trees=number,
            settings=_digest(item),
            **values,
        )
        for number, values in zip(item.trees, measured, strict=True)
    ]


def _key(item: Task) -> tuple[str, str, int, int]:
    return item.table, item.method, item.threads, item.repeat


def _key_of(figure: Figure) -> tuple[tuple[str, str, int, int], int]:
    key = figure.table, figure.method, figure.threads, figure.repeat
    return key, figure.trees


def _digest(item: Task) -> str:
    """Digest of the task and of the code, LightGBM's own figures aside from the code."""
    from benchmarks.libraries.dpboost_recipes import versions as of_package

    used = versions() if item.method == "LightGBM" else of_package()
    text = json.dumps([item.arguments, used], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
