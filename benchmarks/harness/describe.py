"""What a run is, before it starts, and what it found, when it ends, in a few lines."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from benchmarks.errors import BenchmarkError
from benchmarks.files import without_downloads
from benchmarks.harness.results import Results, read
from benchmarks.harness.run import QUICK, Request, Run

_WIDTH = 96
# Rows of the tables of verdicts that a terminal shows.
_MOST_VERDICTS = 12


def described(run: Run, folder: Path, *, headline_of: str = "") -> str:
    """Return what a run shows, on which data, how long it takes, and what it leaves.

    Parameters
    ----------
    run : Run
    folder : Path
        Of the results, whose facts say how long the full form took.
    headline_of : str
        The paper whose main result it is, where it is one.
    """
    path = folder / f"{run.name}.csv"
    stored = read(path) if path.is_file() else None
    lines = [
        f"{run.name}: {run.title}",
        run.description,
        f"Data: {_data(stored)}",
        f"Time: {_time(stored)}",
        *_sizes(run),
        f"Output: {', '.join(_files(run))} in {folder}; --output FOLDER puts them elsewhere. "
        f"The short form writes {run.name}{QUICK} in their place. A run that is stopped goes on "
        "where it was.",
        *([f"Notes: {run.noise}"] if run.noise else []),
    ]
    if headline_of:
        lines.insert(
            4,
            f"Main result of {headline_of}: --quick takes under a minute on an idle core and ends "
            "with a picture and a verdict.",
        )
    lines.append(f"python -m benchmarks run {run.name} [--quick] [--repeats N] [--n-jobs N]")
    return "\n".join(
        textwrap.fill(line, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        for line in lines
    )


def _data(stored: Results | None) -> str:
    if stored is None:
        return "as described; no results of the full form are stored yet"
    names = list(dict.fromkeys(row.data for row in stored.measured() if row.data))
    return ", ".join(names) or "as described"


def _time(stored: Results | None) -> str:
    """Return how long the full form took, as its results say."""
    if stored is None:
        return "not known: no results of the full form are stored"
    on = f"in full, on {stored.facts.get('machine', 'a machine that was not recorded')}"
    seconds = re.match(r"(\d+)(.*)", stored.facts.get("seconds", ""))
    # Of a run that was stopped only what came after its last start is known.
    if seconds is not None and "since" not in seconds[2]:
        return f"{_spent(float(seconds[1]))}{seconds[2]} {on}"
    fits = [row.value for row in stored.measured() if row.measure == "seconds"]
    if fits:
        return f"{_spent(sum(fits))} of fits alone {on}"
    return "not known: the full form was run in several parts, or was not timed"


def _spent(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 100 else f"{seconds / 60:.0f} minutes"


def _sizes(run: Run) -> Iterator[str]:
    """Yield how many units each form has, where its data are at hand."""
    found = []
    for quick in (False, True):
        try:
            with without_downloads():
                found.append(len(run.plan(Request(quick=quick)).units))
        except (BenchmarkError, OSError) as error:
            yield f"Missing: {error}"
            return
    yield f"Units: {found[0]} in full, {found[1]} with --quick"


def _files(run: Run) -> list[str]:
    endings = ["csv", "md", *(["png"] if run.draw is not None else [])]
    return [f"{run.name}.{ending}" for ending in endings]


def found(run: Run, folder: Path, page: str, *, quick: bool) -> str:
    """Return the verdicts of a page and where its files are; the page where it evaluates no claim.

    Parameters
    ----------
    run : Run
    folder : Path
        Of the results.
    page : str
    quick : bool
        Whether it is the short form.
    """
    verdicts = list(_verdicts(page))
    if not verdicts:
        return page
    name = run.name + (QUICK if quick else "")
    results = read(folder / f"{name}.csv")
    lines = [f"{name}: {results.facts.get('seconds', '?')} seconds", *verdicts]
    if run.draw is not None:
        lines.append(f"picture: {folder / name}.png")
    return "\n".join([*lines, f"page: {folder / name}.md", f"values: {folder / name}.csv"])


def _verdicts(page: str) -> Iterator[str]:
    """Yield the counts of the claims of a page, and the first lines of the tables below."""
    title, shown = "", 0
    for line in page.splitlines():
        if line.startswith("## "):
            title, shown = line.removeprefix("## "), 0
        elif line.startswith("Claims: "):
            yield f"{title}: {line.removeprefix('Claims: ')}"
        elif title.startswith("What ") and line.startswith("| ") and shown < _MOST_VERDICTS:
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            if len(cells) == 7 and cells[0] not in ("claim", ":--") and cells[3]:
                shown += 1
                where = f" ({cells[1]})" if cells[1] else ""
                yield f"  {cells[6]}: {cells[0]}{where}: {cells[3]}, {cells[4]}"
