"""The optional dependencies of the benchmarks."""

from __future__ import annotations

import importlib
from types import ModuleType

from benchmarks.errors import BenchmarkError


def import_pandas() -> ModuleType:
    """Return pandas, or say which extra brings it.

    Raises
    ------
    BenchmarkError
        If pandas is not installed.
    """
    return _import("pandas", "read their tables with pandas")


def import_matplotlib() -> ModuleType:
    """Return matplotlib, or say which extra brings it.

    Raises
    ------
    BenchmarkError
        If matplotlib is not installed.
    """
    return _import("matplotlib", "draw their figure with matplotlib")


def _import(name: str, purpose: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise BenchmarkError(
            f"The benchmarks {purpose}, which is not installed. "
            "Install the extra: pip install 'dpboost[benchmarks]'"
        ) from error
