"""At which commit and by which code a run was recorded, and whether that code is today's.

The digest is of the experiment's syntax without comments and docstrings, and of what says that the
library makes the same models: the model texts of its recipes by known rows and known noise, which
tests hold. Words may change, and code that moves, and numbers may not.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import subprocess
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

_TEXTS = ROOT / "tests" / "golden_texts"

#: Model texts of the recipes of an experiment, by its folder; all of them where it has no entry.
_RECIPES = {
    "dpboost": ("*-dpboost*", "*-para*", "*-seq*", "*-best*"),
    "dp_topdown": ("tree-dp_topdown*", "tree-best*", "*-local_rnm*", "*-noisy_counts*"),
    "federated_trees": ("*-histograms*",),
    "friedman_schuster": ("tree-diffp_*", "*-sulq_id3*"),
    "lpdt": ("tree-*",),
}
#: What says only how many fits there are, as the record itself does: more of them is no other code.
_REPEATS = "repeats.py"
#: Recipes without such a text, as each row draws its noise: their code counts.
_CODE = {"lpdt": "local"}

STALE = "recorded by other code"
CURRENT = "recorded by this code"
UNKNOWN = "recorded before records named their code"


def commit() -> str:
    """Return the commit of the checkout, with a note where files differ from it."""
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", "*.py", "*.pyx")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{head} with changes" if changed else head


def _git(*words: str) -> str:
    found = subprocess.run(
        ("git", *words), cwd=ROOT, check=True, capture_output=True, text=True, timeout=60
    )
    return found.stdout.strip()


def cpu_seconds() -> float:
    """Return the CPU time of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def code_of(planned: Callable[..., Any]) -> str:
    """Return the digest of the code of an experiment and of the models that it fits.

    Parameters
    ----------
    planned : callable
        What says what is measured. The folder of its file counts, but of the folder that has all
        experiments the file alone.
    """
    while isinstance(planned, partial):
        planned = planned.func
    file = Path(inspect.getsourcefile(inspect.unwrap(planned)) or __file__).resolve()
    own = file if file.parent == ROOT / "benchmarks" else file.parent
    return _digest(own)


@cache
def _digest(own: Path) -> str:
    code = [own] if own.is_file() else [p for p in own.rglob("*.py") if p.name != _REPEATS]
    if own.name in _CODE:
        code += (ROOT / "dpboost" / _CODE[own.name]).rglob("*.py")
    texts = {path for name in _RECIPES.get(own.name, ("*",)) for path in _TEXTS.glob(f"{name}.txt")}
    whole = hashlib.sha256()
    for path in sorted(code):
        whole.update(path.relative_to(ROOT).as_posix().encode())
        whole.update(syntax(path.read_text(encoding="utf-8")).encode())
    for path in sorted(texts):
        whole.update(path.name.encode())
        whole.update(path.read_bytes())
    return whole.hexdigest()[:16]


def syntax(source: str) -> str:
    """Return the syntax of code without comments and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_words(body[0]):
            node.body = body[1:]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_words(statement: ast.AST) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def state_of(name: str, folder: Path) -> str:
    """Return whether the record of a run is of today's code; empty without a record."""
    from benchmarks.registry import runs

    path = folder / f"{name}.csv"
    if not path.is_file():
        return ""
    recorded = facts_of(path).get("code")
    if recorded is None:
        return UNKNOWN
    return CURRENT if recorded == code_of(runs()[name].planned_by) else STALE


def facts_of(path: Path) -> dict[str, str]:
    """Return the facts of a file of results without its numbers."""
    found: dict[str, str] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("# "):
                break
            name, _, fact = line[2:].rstrip("\n").partition(": ")
            found[name] = fact
    return found
