"""The page over all results: ``python -m benchmarks page`` writes ``results/README.md``.

It holds no figure of its own: what each page says of targets, comparisons and claims is taken
from that page, word by word. What the results mean is in ``notes/README-*.md``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.files import write_atomically

NAME = "README.md"
_GROUPS = (
    ("The recipe `best` and its peers", ("best", "curve", "peers", "smoke")),
    ("The DPBoost paper", ("figure", "table")),
    ("Single trees: DP-TopDown, Friedman and Schuster", ("dp-topdown", "friedman", "trees")),
    ("Local privacy: the LPDT paper", ("lpdt",)),
    ("Rows at several parties", ("federated",)),
    ("Rows on several machines", ("cluster", "dask", "rows")),
    ("The engine", ("parity", "kernels", "busy")),
)
_OTHERS = "Others"
_COMMAND = re.compile(r"(?:Command:|Written by) `([^`]+)`")
_VERDICTS = ("confirmed", "refuted", "undecided", "not measured")
# Sections whose lines need no name of theirs before them.
_PLAIN = ("", "What the paper claims")
_COUNTED = re.compile(f": ({'|'.join(_VERDICTS)}) on")


def results_page(folder: Path, notes: Path) -> str:
    """Return the page over the results in a folder.

    Parameters
    ----------
    folder : Path
        Of the results: a Markdown page each, perhaps a CSV file and an image of the same name.
    notes : Path
        Folder of ``README-before.md`` and ``README-after.md``.
    """
    pages = sorted(path for path in folder.glob("*.md") if path.name != NAME)
    parts = ["# Results", ""]
    parts += [*_note(notes / "README-before.md")]
    left = list(pages)
    for title, starts in _GROUPS:
        mine = [path for path in left if path.name.startswith(starts)]
        left = [path for path in left if path not in mine]
        parts += _group(title, mine)
    parts += _group(_OTHERS, left)
    parts += _texts(folder)
    parts += [*_note(notes / "README-after.md")]
    return "\n".join(parts).rstrip() + "\n"


def write_results_page(folder: Path, notes: Path) -> str:
    """Write the page into the folder of the results and return it."""
    page = results_page(folder, notes)
    write_atomically(folder / NAME, page.encode())
    return page


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
    """Yield the lines that count what was met, and counts of the verdicts of single claims."""
    section = ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif _COUNTED.search(line) or "targets are met" in line or "This holds in" in line:
            words = line.removeprefix("* ")
            yield f"* {section}: {words}" if section not in _PLAIN else f"* {words}"
    if _COUNTED.search(text):
        return
    last_cells = [
        line.strip("| ").split("|")[-1].strip() for line in text.splitlines() if "|" in line
    ]
    counts = Counter(last_cells)
    found = [f"{word} {counts[word]}" for word in _VERDICTS if counts[word]]
    if found:
        yield f"* Claims of the paper, single ones on the page: {', '.join(found)}."


def _texts(folder: Path) -> list[str]:
    """Return links to plain outputs of commands."""
    outputs = sorted(folder.glob("*.txt"))
    if not outputs:
        return []
    lines = [f"* [{path.name}]({path.name})" for path in outputs]
    return ["## Outputs of the audit", "", *lines, ""]
