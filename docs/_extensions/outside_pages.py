"""Brings pages that lie outside of ``docs/`` into the site, and turns links so that they meet.

A page is copied to ``docs/outside/`` when the build starts. A link in any page that leads to a
file outside of ``docs/`` leads to its copy, where there is one, and else to the file itself, which
Sphinx then offers as a download.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
COPIES = DOCS / "outside"

PAGES = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "benchmarks/README.md",
    "benchmarks/results/*.md",
    "dpboost/audit/README.md",
)
#: Pages that list the others of their folder, which the navigation then finds below them.
INDEXES = ("proofs/README", "outside/benchmarks/results/README")
_BELOW = """

```{toctree}
:hidden:
:glob:

*
```
"""
_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
# A small picture that leads to its page: Markdown has no width, so such pages write HTML.
_PICTURE = re.compile(r'<a href="([^"]+)"><img src="([^"]+)" alt="([^"]*)" width="(\d+)"></a>')
_OUTSIDE = re.compile(r"^(?:[a-z]+:|//|#)")
_CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)


def copies() -> dict[Path, Path]:
    """Return where each page outside of ``docs/`` is copied to."""
    found = [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))]
    return {path: COPIES / path.relative_to(ROOT) for path in found}


def turned(text: str, origin: Path, position: Path, known: dict[Path, Path]) -> str:
    """Return a page with its links turned.

    Parameters
    ----------
    text : str
    origin : Path
        File that the links of the text are relative to.
    position : Path
        File of the site that holds the text.
    known : dict of Path to Path
        The copies.
    """

    def turn(link: re.Match[str]) -> str:
        head, target, tail = link.groups()
        if _OUTSIDE.match(target):
            return link.group(0)
        file = Path(os.path.normpath(origin.parent / target))
        if file.is_dir():
            file = file / "README.md"
        if file == ROOT / "README.md":
            file = DOCS / "index.md"
        return head + os.path.relpath(known.get(file, file), position.parent) + tail

    kept: list[str] = []

    def hide(code: re.Match[str]) -> str:
        kept.append(code.group(0))
        return f"\0{len(kept) - 1}\0"

    text = _PICTURE.sub(r"[![\3](\2){width=\4px}](\1)", _CODE.sub(hide, text))
    hidden = _LINK.sub(turn, text)
    return re.sub(r"\0(\d+)\0", lambda found: kept[int(found[1])], hidden)


def copy(app, config) -> None:
    """Copy the pages, and remove copies of pages that are no more.

    A page that has not changed keeps its time, so that it is not read again.
    """
    wanted = copies()
    for old in set(COPIES.rglob("*.md")) - set(wanted.values()):
        old.unlink()
    for source, target in wanted.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != source.read_bytes():
            shutil.copyfile(source, target)


def read(app, name: str, content: list[str]) -> None:
    """Turn the links of a page when it is read."""
    known = copies()
    position = Path(app.env.doc2path(name))
    if position.suffix != ".md":
        return
    origins = {copied: source for source, copied in known.items()}
    content[0] = turned(content[0], origins.get(position, position), position, known)
    if name in INDEXES:
        content[0] += _BELOW


def setup(app) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("config-inited", copy)
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
