"""Measurements in fresh processes, each on disk as soon as it is made."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.errors import BenchmarkError
from benchmarks.harness.results import Result
from benchmarks.harness.run import Unit, digest
from benchmarks.versions import versions

ROOT = Path(__file__).parents[2]
# What a user has not set: threads of a fit are their own parameter here, and Python keeps what it
# has compiled.
_NOT_HANDED_ON = {"OMP_NUM_THREADS", "OMP_WAIT_POLICY", "PYTHONDONTWRITEBYTECODE"}


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


_MEASURES = ("seconds", "cpu_seconds", "peak_mb", "input_mb")


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


def results_of(figures: Iterable[Figure]) -> list[Result]:
    """Return figures as results, one for each number."""
    return [
        Result(
            data=figure.table,
            method=figure.method,
            x=f"{figure.trees} trees, {figure.threads} threads",
            repeat=figure.repeat,
            measure=name,
            value=getattr(figure, name),
        )
        for figure in figures
        for name in _MEASURES
    ]


def figures_of(results: Iterable[Result]) -> list[Figure]:
    """Return the figures that results are of."""
    found: dict[tuple[str, str, str, int], dict[str, float]] = {}
    for row in results:
        found.setdefault((row.data, row.method, row.x, row.repeat), {})[row.measure] = row.value
    figures = []
    for (data, method, x, repeat), numbers in found.items():
        trees, threads = (int(words.split()[0]) for words in x.split(", "))
        figures.append(
            Figure(
                table=data,
                method=method,
                threads=threads,
                repeat=repeat,
                trees=trees,
                seconds=numbers["seconds"],
                cpu_seconds=numbers["cpu_seconds"],
                peak_mb=numbers["peak_mb"],
                input_mb=numbers["input_mb"],
            )
        )
    return figures


def units(tasks: Sequence[Task]) -> list[Unit]:
    """Return every task as a unit, in their order."""
    return [
        Unit(
            name=", ".join(map(str, (*_key(item), *item.trees))),
            settings=_digest(item),
            measure=lambda item=item: results_of(_figures(item)),
        )
        for item in tasks
    ]


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
            **values,
        )
        for number, values in zip(item.trees, measured, strict=True)
    ]


def _key(item: Task) -> tuple[str, str, int, int]:
    return item.table, item.method, item.threads, item.repeat


def _digest(item: Task) -> str:
    """Digest of the task and of the code, LightGBM's own figures aside from the code."""
    from benchmarks.libraries.dpboost_recipes import versions as of_package

    used = versions() if item.method == "LightGBM" else of_package()
    return digest({"arguments": item.arguments, "versions": used})
