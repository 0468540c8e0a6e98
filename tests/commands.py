"""Commands that the README, the documents and the examples show, each with the page it stands on.

What counts: lines of shell blocks, indented lines and inline code that begin with a program of
`PROGRAMS`, and examples in the help of ``dpboost``. The changelog tells of the past and is left
out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from dpboost.cli.main import COMMANDS, help_of

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = (
    *("python", "pip", "dpboost", "bash", "make", "pre-commit", "openssl", "curl", "cd", "git"),
    *("flower-superlink", "flower-supernode", "flwr", "ulimit", "swapoff", "docker", "uv", "conda"),
)
PATTERNS = (
    *("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/**/*.md", "docs/**/*.rst"),
    *("benchmarks/README.md", "benchmarks/results/*.md", "dpboost/**/*.md"),
    *("examples/**/*.md", "examples/**/*.rst", "examples/**/*.py", "examples/**/*.ipynb"),
)
#: Written while the site is built.
MADE = ("_build", "outside", "gallery", "generated")

_FENCE = re.compile(r"^(`{3,}|~{3,})([^\n]*)\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_SHELLS = ("", "bash", "sh", "shell", "console")


def pages() -> list[Path]:
    """Return every page, in the order of `PATTERNS`."""
    found = [path for pattern in PATTERNS for path in sorted(ROOT.glob(pattern))]
    return [path for path in found if not _is_made(path)]


def _is_made(path: Path) -> bool:
    parts = path.relative_to(ROOT).parts
    return parts[0] == "docs" and any(part in MADE for part in parts)


def text_of(path: Path) -> str:
    """Return the prose of a page: of a program its docstring, of a notebook its cells of text."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        found = re.match(r'\s*"""(.*?)"""', text, re.DOTALL)
        return found[1] if found else ""
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        return "\n".join("".join(each["source"]) for each in cells if each["cell_type"] != "code")
    return text


def commands_of(text: str) -> Iterator[str]:
    """Yield the commands of a text, each on one line with single blanks."""
    for _, kind, body in _FENCE.findall(text):
        if kind.strip() in _SHELLS:
            yield from _of_lines(body)
    prose = _FENCE.sub("", text)
    yield from _of_lines("\n".join(re.findall(r"^(?: {4}|\t)(.*)$", prose, re.MULTILINE)))
    for code in _INLINE.findall(re.sub(r"^ {4}.*$", "", prose, flags=re.MULTILINE)):
        yield from _of_lines(code)


def _of_lines(text: str) -> Iterator[str]:
    for line in re.sub(r"\s*\\\n\s*", " ", text).splitlines():
        whole = re.sub(r"\s+", " ", re.sub(r"\s{2,}#.*$|^\$ ", "", line)).strip()
        for part in whole.split(" && "):
            words = part.split(" ")
            program = words[0] in PROGRAMS or words[0].startswith(".ci/")
            if program and (len(words) > 1 or words[0].startswith(".ci/")):
                yield part


def _of_help() -> Iterator[str]:
    """Yield the examples in the help of the program and of its commands."""
    for name in (None, *COMMANDS):
        for line in re.findall(r"^  (dpboost .*)$", help_of(name), re.MULTILINE):
            yield line.split("  ")[0]


def shown() -> dict[str, set[str]]:
    """Return every command with the pages that show it; help is the page ``dpboost --help``."""
    found: dict[str, set[str]] = {}
    for path in pages():
        for command in commands_of(text_of(path)):
            found.setdefault(command, set()).add(path.relative_to(ROOT).as_posix())
    for command in _of_help():
        found.setdefault(command, set()).add("dpboost --help")
    return found
