"""Gives every entry of the glossary an anchor, and links the first mention of a term on a page."""

from __future__ import annotations

import re

#: Words that a newcomer may not know, with the entry that they stand in.
WORDS = {
    "accountant": "Accountant",
    "assumed public": "Assumed public",
    "assumed to be public": "Assumed public",
    "delta": "Epsilon, delta",
    "epsilon": "Epsilon, delta",
    "neighboring tables": "Neighboring tables",
    "post-processing": "Post-processing",
    "random assignment": "Random assignment",
    "released numbers": "Release",
    "sensitivity": "Sensitivity",
    "stability histogram": "Stability histogram",
}
#: Folders whose pages get links.
FOLDERS = ("explanation/", "howto/", "project/", "reference/", "tutorial/")
_ENTRY = re.compile(r"^\*\*([^*]+)\.\*\* ", re.MULTILINE)
_NO_PROSE = re.compile(
    r"```.*?```|`[^`\n]*`|!?\[[^\]]*\]\([^)]*\)|^(?:#|\||    |:::)[^\n]*|\*\*[^*\n]+\*\*",
    re.MULTILINE | re.DOTALL,
)


def entries(text: str) -> list[str]:
    """Return the names of the entries of the glossary."""
    return _ENTRY.findall(text)


def anchor(entry: str) -> str:
    """Return the anchor of an entry."""
    return "term-" + re.sub(r"[^a-z0-9]+", "-", entry.lower()).strip("-")


def anchored(text: str) -> str:
    """Return the glossary with each entry as a paragraph that can be linked to."""
    return _ENTRY.sub(lambda found: f"\n({anchor(found[1])})=\n{found[0]}", text)


def terms(text: str) -> dict[str, str]:
    """Return the anchor of each word of `WORDS` whose entry the glossary has."""
    known = set(entries(text))
    return {word: anchor(entry) for word, entry in WORDS.items() if entry in known}


def linked(text: str, known: dict[str, str]) -> str:
    """Return a page whose first mention of each entry, in prose, is a link to it."""
    for target in dict.fromkeys(known.values()):
        words = [word for word, own in known.items() if own == target]
        pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})s?\b", re.IGNORECASE)
        taken = [found.span() for found in _NO_PROSE.finditer(text)]
        for found in pattern.finditer(text):
            if not any(first <= found.start() < last for first, last in taken):
                link = f"[{found[0]}](#{target})"
                text = text[: found.start()] + link + text[found.end() :]
                break
    return text


def read(app, name: str, content: list[str]) -> None:
    """Change a page when it is read."""
    if name == "glossary":
        content[0] = anchored(content[0])
    elif name.startswith(FOLDERS) and not name.startswith("reference/generated"):
        glossary = (app.srcdir / "glossary.md").read_text(encoding="utf-8")
        if app.env.doc2path(name).suffix == ".md":
            content[0] = linked(content[0], terms(glossary))


def setup(app) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
