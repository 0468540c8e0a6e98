"""The optional dependency of the benchmarks."""

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
    try:
        return importlib.import_module("pandas")
    except ModuleNotFoundError as error:
        raise BenchmarkError(
            "The benchmarks read their tables with pandas, which is not installed. "
            "Install the extra: pip install 'dpboost[benchmarks]'"
        ) from error
