"""The index of the results: ``python -m benchmarks pages`` writes ``results/README.md``.

Titles and findings are those of the pages; what agrees with the papers is computed from the results
(`benchmarks.reproductions.agreement`).
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path

from benchmarks.files import write_atomically
from benchmarks.harness.groups import Group
from benchmarks.harness.page import parts_of
from benchmarks.harness.run import QUICK
from benchmarks.other_pages import OTHER_PAGES, OtherPage
from benchmarks.registry import runs
from benchmarks.reproductions import agreement, inventory
from benchmarks.summary import table

NAME = "README.md"


def entries(folder: Path) -> dict[Group, list[Path]]:
    """Return the pages and plain outputs of each group, in the order in which they are listed."""
    found: dict[Group, list[Path]] = {group: [] for group in Group}
    for run in runs().values():
        paths = (folder / f"{run.name}{form}.md" for form in ("", QUICK))
        found[run.group] += [path for path in paths if path.is_file()]
    for page in OTHER_PAGES:
        if (folder / page.file).is_file():
            found[page.group].append(folder / page.file)
    return found


def results_page(folder: Path, notes: Path) -> str:
    """Return the index of the results in a folder.

    Parameters
    ----------
    folder : Path
        Of the results: a CSV file and a Markdown page each, perhaps an image of the same name.
    notes : Path
        Folder of ``README-before.md`` and ``README-after.md``.
    """
    parts = ["# Results", "", *_note(notes / "README-before.md")]
    for group, paths in entries(folder).items():
        parts += [f"## {group.value}", "", *map(_entry, paths), ""]
        if group is Group.PAPERS:
            parts += [*_papers(folder), *agreement.lines(folder), *_note(notes / "README-after.md")]
    return "\n".join(parts).rstrip() + "\n"


def write_results_page(folder: Path, notes: Path) -> str:
    """Write the index into the folder of the results and return it."""
    page = results_page(folder, notes)
    write_atomically(folder / NAME, page.encode())
    return page


def _papers(folder: Path) -> list[str]:
    """Return every figure and table of the papers with its state and a small picture."""
    lines = []
    for item in inventory.ITEMS:
        path = item.file(folder)
        shown = ""
        if path is not None:
            shown = f"[{path.stem}]({path.stem}.md)"
            if path.with_suffix(".png").is_file():
                image = path.with_suffix(".png").name
                alt = html.escape(f"{item.paper}, {item.name}: {item.shows}")
                picture = f'<img src="{image}" alt="{alt}" width="90">'
                shown += f' <a href="{path.stem}.md">{picture}</a>'
        state = item.state(folder)
        lines.append([f"{item.paper}, {item.name}", item.shows, state, shown])
    missing = [f"* {name}: {why}." for name, why in inventory.MISSING.items()]
    return [
        "### The figures and tables of five papers",
        "",
        *table(["", "what it shows", "state", "page"], lines, n_texts=4),
        "",
        "Not available:",
        "",
        *missing,
        "",
    ]


def _note(path: Path) -> Iterator[str]:
    if path.is_file():
        yield from (path.read_text(encoding="utf-8").strip(), "")


def _entry(path: Path) -> str:
    """Return the title of a page as a link, its finding, its name and its other files."""
    text = path.read_text(encoding="utf-8")
    other = {page.file: page for page in OTHER_PAGES}.get(path.name)
    title, finding, _ = parts_of(text)
    if other is not None:
        title, finding = other.title, _found(other, text)
    more = [f"`{path.stem}`" if other is None else f"`{other.command}`"]
    for kind, label in ((".csv", "values"), (".png", "figure")):
        if path.with_suffix(kind).is_file():
            more.append(f"[{label}]({path.with_suffix(kind).name})")
    title += ", short form" if path.stem.endswith(QUICK) else ""
    return " ".join(filter(None, (f"* [{title}]({path.name}).", finding, f"({', '.join(more)})")))


def _found(page: OtherPage, text: str) -> str:
    return page.finding(parts_of(text)[2] if page.file.endswith(".md") else text)
