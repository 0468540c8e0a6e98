"""Command line: ``python -m benchmarks.cluster memory``, ``speed`` and ``pages``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.cluster.pages import memory_page, rows_page, speed_page
from benchmarks.cluster.plan import LARGE, SPEED, Row, from_text, measure_apart, to_text
from benchmarks.files import write_atomically

RESULTS = Path(__file__).parent.parent / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, or write the pages of what was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("command", choices=["memory", "speed", "pages"])
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the pages")
    given = parser.parse_args(arguments)
    if given.command == "memory":
        _write(given.results / "dask-memory.csv", [measure_apart(LARGE)])
    elif given.command == "speed":
        path = given.results / "dask-speed.csv"
        before = _read(path)
        rows: list[Row] = []
        for run in SPEED:
            # What was measured before a stop is not measured again.
            known = [row for row in before if row.run == run and len(before) < len(SPEED)]
            rows.append(known[0] if known else measure_apart(run))
            _write(path, [*rows, *(row for row in before if row.run not in SPEED[: len(rows)])])
    write_pages(given.results)
    return 0


def write_pages(folder: Path) -> None:
    """Write the pages of the runs whose rows are there."""
    large, rows = (_read(folder / f"dask-{name}.csv") for name in ("memory", "speed"))
    pages = {}
    if large:
        pages["dask-memory"] = memory_page(large)
    if len(rows) == len(SPEED):
        pages["dask-speed"] = speed_page(rows)
        if large:
            pages["dask-rows"] = rows_page(rows, large[0])
    for name, page in pages.items():
        write_atomically(folder / f"{name}.md", page.encode())


def _read(path: Path) -> list[Row]:
    return from_text(path.read_text(encoding="utf-8")) if path.is_file() else []


def _write(path: Path, rows: Sequence[Row]) -> None:
    write_atomically(path, to_text(rows).encode())


if __name__ == "__main__":
    raise SystemExit(main())
