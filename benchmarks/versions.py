"""Versions of what the figures depend on."""

from __future__ import annotations

import importlib
import importlib.metadata
import platform

_PACKAGES = ("dpboost", "lightgbm", "numpy", "pandas", "scikit-learn")


def version_of(package: str) -> str:
    """Return the version of a package, or in words that there is none.

    For dpboost it is what the imported package states: a checkout whose kernels are built in
    place is not installed, and may hide an installed one.
    """
    try:
        if package == "dpboost":
            return str(getattr(importlib.import_module(package), "__version__", "not built"))
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
    except ImportError:
        return "not built"


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages, by name."""
    python = {"python": platform.python_version()}
    return python | {package: version_of(package) for package in _PACKAGES}
