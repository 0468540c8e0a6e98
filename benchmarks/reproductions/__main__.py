"""Command line: ``python -m benchmarks.reproductions NAME [--quick]``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks._compat import import_pandas
from benchmarks.errors import BenchmarkError
from benchmarks.files import write_atomically

NAMES = (
    "friedman-schuster",
    "dp-topdown",
    "federated-topdown",
    "federated-topdown-large",
    "federated-histograms-250",
    "federated-histograms-1000",
    "federated-histograms-100",
)

RESULTS = Path(__file__).parent.parent / "results"


def papers() -> dict[str, Any]:
    """Return the papers by name: modules, or objects that have what the modules have."""
    from benchmarks.reproductions import (
        dp_topdown,
        federated_histograms,
        federated_topdown,
        friedman_schuster,
    )

    single = (friedman_schuster, dp_topdown)
    pages = (*federated_topdown.PAGES, *federated_histograms.PAGES)
    return {paper.NAME: paper for paper in (*single, *pages)}


def reproduce(paper: Any, folder: Path, *, quick: bool) -> str:
    """Measure the figures of a paper, write the result files and return the page."""
    from benchmarks.reproductions.measure import to_text
    from benchmarks.reproductions.page import draw, markdown

    start = time.perf_counter()
    rows = list(tqdm(paper.measure(quick=quick), unit="fit", disable=not sys.stderr.isatty()))
    name = f"{paper.NAME}-quick" if quick else paper.NAME
    write_atomically(folder / f"{name}.csv", to_text(rows).encode())
    page = markdown(
        rows,
        paper.claims(),
        paper.AXES,
        name=name,
        title=paper.TITLE,
        command=f"python -m benchmarks.reproductions {paper.NAME}{' --quick' if quick else ''}",
        seconds=time.perf_counter() - start,
    )
    write_atomically(folder / f"{name}.png", draw(rows, paper.AXES))
    write_atomically(folder / f"{name}.md", page.encode())
    return page


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    top = argparse.ArgumentParser(
        prog="python -m benchmarks.reproductions",
        description="Measure the figures of the papers of the single trees again.",
    )
    top.add_argument("paper", choices=NAMES)
    top.add_argument("--quick", action="store_true", help="fewer repeats and points")
    top.add_argument("--output", type=Path, default=RESULTS, help="folder of the result files")
    options = top.parse_args(arguments)
    try:
        import_pandas()
        print(reproduce(papers()[options.paper], options.output, quick=options.quick))
    except BenchmarkError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
