"""Copies of LightGBM's tests: as they are, and with the import changed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from benchmarks.errors import BenchmarkError

#: Where the tests lie in LightGBM's repository; they look for its ``examples`` two folders above.
POSITION = Path("tests", "python_package_test")

_IMPORTS = (
    (re.compile(r"^(\s*)import lightgbm as (\w+)", re.MULTILINE), r"\1import dpboost as \2"),
    (
        re.compile(r"^(\s*)import lightgbm\.(\w+) as (\w+)", re.MULTILINE),
        r"\1import dpboost.\2 as \3",
    ),
    (
        re.compile(r"^(\s*)import lightgbm(\s*(?:#.*)?)$", re.MULTILINE),
        r"\1import dpboost as lightgbm\2",
    ),
    (
        re.compile(r"^(\s*)import lightgbm\.(\w+)(\s*(?:#.*)?)$", re.MULTILINE),
        r"\1import dpboost.\2; import dpboost as lightgbm\3",
    ),
    (re.compile(r"^(\s*)from lightgbm\b", re.MULTILINE), r"\1from dpboost"),
    (re.compile(r"importorskip\((['\"])lightgbm\b"), r"importorskip(\1dpboost"),
)


def changed(source: str) -> str:
    """Return the source of a test file that imports dpboost where it imported LightGBM."""
    for pattern, instead in _IMPORTS:
        source = pattern.sub(instead, source)
    return source


def copy_suite(folder: Path, root: Path, *, change: bool) -> Path:
    """Copy a folder of LightGBM's tests, with what they read.

    Parameters
    ----------
    folder : Path
        LightGBM's ``tests/python_package_test``, or a folder like it.
    root : Path
        Where the copy goes: a folder that does not exist.
    change : bool
        Whether the copy imports dpboost.

    Returns
    -------
    Path
        The folder of the tests in the copy.

    Raises
    ------
    BenchmarkError
        If there are no tests in the folder.
    """
    if not any(folder.glob("test_*.py")):
        raise BenchmarkError(f"There are no files test_*.py in {folder}.")
    target = root / POSITION
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    for beside in ("examples", "tests/data"):
        original = folder.resolve().parents[1] / beside
        if original.is_dir() and not (root / beside).exists():
            (root / beside).symlink_to(original, target_is_directory=True)
    if change:
        for path in target.rglob("*.py"):
            path.write_text(changed(path.read_text(encoding="utf-8")), encoding="utf-8")
    return target
