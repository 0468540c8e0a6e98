"""The timed runs, as data, and how one is run and its page written."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from benchmarks.files import write_atomically
from benchmarks.report import machine_class, machine_load
from benchmarks.versions import versions

NOTES = Path(__file__).parents[1] / "notes"


@dataclass(frozen=True, kw_only=True)
class TimedRun:
    """One run.

    Attributes
    ----------
    name : str
        Name on the command line, of the module here, and of the result files.
    description : str
        What it is to show.
    """

    name: str
    description: str


TIMED_RUNS: MappingProxyType[str, TimedRun] = MappingProxyType(
    {
        run.name: run
        for run in (
            TimedRun(
                name="speed",
                description="Whole fits beside LightGBM's, from the raw table to the model: wall "
                "and CPU time, peak memory, one and two threads; prediction; import.",
            ),
            TimedRun(
                name="scaling",
                description="Time of a fit against rows, features, trees and threads.",
            ),
            TimedRun(
                name="busy",
                description="Default fits of Adult while other processes keep the processors busy, "
                "beside fits with one thread and LightGBM's.",
            ),
            TimedRun(
                name="kernels",
                description="Time and instructions of the hot kernels by row, cell, candidate or "
                "value, beside what the memory of the machine allows.",
            ),
        )
    }
)


def run_timed(
    run: TimedRun, folder: Path, *, quick: bool = False, repeats: int | None = None, fresh: bool
) -> str:
    """Run or go on with a run, write its files into ``folder`` and return the page."""
    module = importlib.import_module(f"benchmarks.timing.{run.name}")
    name = f"{run.name}-quick" if quick else run.name
    partial = folder / f"{name}.partial.csv"
    if fresh:
        partial.unlink(missing_ok=True)
    result = module.measure(partial, quick=quick, repeats=repeats)
    lines = [f"# {name}", "", run.description, "", *module.page(result), ""]
    if hasattr(module, "draw"):
        write_atomically(folder / f"{name}.png", module.draw(result))
        lines += [f"![{name}]({name}.png)", ""]
    notes = NOTES / f"{run.name}.md"
    if notes.is_file():
        lines += [notes.read_text(encoding="utf-8").strip(), ""]
    options = " --quick" if quick else "" if repeats is None else f" --repeats {repeats}"
    used = ", ".join(f"{package} {version}" for package, version in versions().items())
    lines += [
        "## How",
        "",
        f"* Command: `python -m benchmarks run {run.name}{options}`",
        f"* Versions: {used}",
        f"* Machine: {machine_class()}; load: {machine_load()}",
        "",
    ]
    page = "\n".join(lines)
    write_atomically(folder / f"{name}.csv", module.to_csv(result).encode())
    write_atomically(folder / f"{name}.md", page.encode())
    partial.unlink(missing_ok=True)
    return page
