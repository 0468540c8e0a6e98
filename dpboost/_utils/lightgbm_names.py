"""Fallback to LightGBM for names that a compatibility module does not define."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


def name_of(module: ModuleType, name: str) -> Any:
    """Return what a name of a module of LightGBM stands for here.

    It is ours where this package has the name, so that nothing trains without privacy by an import
    that was changed; else LightGBM's own.
    """
    theirs = getattr(module, name)
    if name.startswith("__"):
        return theirs
    return vars(sys.modules["dpboost"]).get(name, theirs)
