"""The page over all results: ``python -m benchmarks pages`` writes ``results/README.md``.

What each page says of targets, comparisons and claims is taken from that page; what agrees with the
papers is computed from the results (`benchmarks.reproductions.agreement`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.files import write_atomically
from benchmarks.reproductions import agreement, inventory
from benchmarks.summary import table

NAME = "README.md"
_GROUPS = (
    ("The recipe `best` and its peers", ("attacks", "best", "curve", "peers", "smoke")),
    ("The DPBoost paper", ("figure", "table")),
    ("Single trees: DP-TopDown, Friedman and Schuster", ("dp-topdown", "friedman", "trees")),
    ("Local privacy: the LPDT paper", ("lpdt",)),
    ("Rows at several parties", ("federated", "https")),
    ("Rows on several machines", ("cluster", "dask", "rows")),
    ("What a model says of itself", ("glass-box", "transcript")),
    ("The engine", ("parity", "kernels", "busy", "small-models")),
)
_OTHERS = "Others"
_COMMAND = re.compile(r"Command: `([^`]+)`")
_CLAIMS = re.compile(r"^Claims: (.*)\.$")


def results_page(folder: Path, notes: Path) -> str:
    """Return the page over the results in a folder.

    Parameters
    ----------
    folder : Path
        Of the results: a CSV file and a Markdown page each, perhaps an image of the same name.
    notes : Path
        Folder of ``README-before.md`` and ``README-after.md``.
    """
    pages = sorted(path for path in folder.glob("*.md") if path.name != NAME)
    parts = ["# Results", "", *_note(notes / "README-before.md"), *_papers(folder)]
    left = list(pages)
    for title, starts in _GROUPS:
        mine = [path for path in left if path.name.startswith(starts)]
        left = [path for path in left if path not in mine]
        parts += _group(title, mine)
    parts += _group(_OTHERS, left)
    parts += _texts(folder)
    parts += [*agreement.lines(folder), *_note(notes / "README-after.md")]
    return "\n".join(parts).rstrip() + "\n"


def write_results_page(folder: Path, notes: Path) -> str:
    """Write the page into the folder of the results and return it."""
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
                shown += f' <a href="{path.stem}.md"><img src="{image}" width="90"></a>'
        state = item.state(folder)
        lines.append([f"{item.paper}, {item.name}", item.shows, state, shown])
    missing = [f"* {name}: {why}." for name, why in inventory.MISSING.items()]
    return [
        "## The figures and tables of five papers",
        "",
        *table(["", "what it shows", "state", "page"], lines, n_texts=4),
        "",
        "What could not be had here:",
        "",
        *missing,
        "",
    ]


def _note(path: Path) -> Iterator[str]:
    if path.is_file():
        yield from (path.read_text(encoding="utf-8").strip(), "")


def _group(title: str, pages: list[Path]) -> list[str]:
    if not pages:
        return []
    parts = [f"## {title}", ""]
    for path in pages:
        parts += _entry(path)
    return parts


def _entry(path: Path) -> Iterator[str]:
    """Yield name and command of a page, what it shows and what it says of its claims."""
    text = path.read_text(encoding="utf-8")
    files = [f"[page]({path.name})"]
    for kind, label in ((".csv", "values"), (".png", "figure")):
        if path.with_suffix(kind).is_file():
            files.append(f"[{label}]({path.with_suffix(kind).name})")
    command = _COMMAND.search(text)
    yield f"### {path.stem}"
    yield ""
    yield f"{_first_paragraph(text)} {', '.join(files)}."
    yield ""
    if command is not None:
        yield f"    {command[1]}"
        yield ""
    telling = list(_telling(text))
    yield from telling
    if telling:
        yield ""


def _first_paragraph(text: str) -> str:
    blocks = [block.strip() for block in text.split("\n\n")]
    words = (block for block in blocks if block and not block.startswith(("#", "!")))
    return " ".join(next(words, "").split())


def _telling(text: str) -> Iterator[str]:
    """Yield the lines that count what was met, and the counts of verdicts."""
    section = ""
    for line in text.splitlines():
        counted = _CLAIMS.match(line)
        if line.startswith("## "):
            section = line[3:]
        elif counted:
            yield f"* {section}: {counted[1]}."
        elif "targets are met" in line or "This holds in" in line:
            words = line.removeprefix("* ")
            yield f"* {section}: {words}" if section else f"* {words}"


def _texts(folder: Path) -> list[str]:
    """Return links to plain outputs of commands."""
    outputs = sorted(folder.glob("*.txt"))
    if not outputs:
        return []
    lines = [f"* [{path.name}]({path.name})" for path in outputs]
    return ["## Outputs of the audit", "", *lines, ""]
