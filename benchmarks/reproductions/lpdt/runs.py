"""Running an experiment on local privacy, and its page.

The generic runner divides tables in two and repeats a few times; these experiments have public,
private and test rows, tuned sizes, many repeats and a signed-rank test: a kind of their own.
"""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Sequence
from pathlib import Path

from benchmarks.files import write_atomically
from benchmarks.local.catalogue import LocalRun
from benchmarks.local.rows import LocalRow
from benchmarks.report import machine_class
from benchmarks.versions import versions

NOTES = Path(__file__).parents[1] / "notes"

_NOISE = (
    "Divisions of the rows have fixed seeds. The noise of the reports is fresh entropy of the "
    "operating system, as in use: a second run gives other figures."
)


def run_local(
    run: LocalRun, folder: Path, *, quick: bool = False, repeats: int | None = None
) -> str:
    """Run, write the result files into ``folder`` and return the Markdown one."""
    module = importlib.import_module(f"benchmarks.local.{run.module}")
    name = f"{run.name}-quick" if quick else run.name
    options = " --quick" if quick else "" if repeats is None else f" --repeats {repeats}"
    if repeats is None:
        repeats = run.quick_repeats if quick else run.repeats
    rows = module.measure(repeats)
    lines = [f"# {name}", "", run.description, "", *module.page(rows), ""]
    if hasattr(module, "draw"):
        write_atomically(folder / f"{name}.png", module.draw(rows))
        lines += [f"![{name}]({name}.png)", ""]
    notes = NOTES / f"{run.name}.md"
    if notes.is_file():
        lines += [notes.read_text(encoding="utf-8").strip(), ""]
    used = ", ".join(f"{package} {version}" for package, version in versions().items())
    lines += [
        f"{repeats} repeats. {_NOISE}",
        "",
        f"Command: `python -m benchmarks run {run.name}{options}`",
        "",
        f"Versions: {used}. Machine: {machine_class()}.",
        "",
    ]
    page = "\n".join(lines)
    write_atomically(folder / f"{name}.csv", to_csv(rows).encode())
    write_atomically(folder / f"{name}.md", page.encode())
    return page


def to_csv(rows: Sequence[LocalRow]) -> str:
    """Return the rows as comma-separated text with a header."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, fieldnames=list(LocalRow.__annotations__), lineterminator="\n")
    writer.writeheader()
    writer.writerows(vars(row) for row in rows)
    return stream.getvalue()
