"""What is measured: one file per library, all with one signature.

A library is a module with

``fit_predict(problem, train_X, train_y, test_X, *, epsilon, seed, n_jobs, **settings) -> Result``
    Fit on the training rows and predict the others. ``epsilon`` is ``None`` where there is no
    privacy, ``seed`` is public: it may decide the model's public randomness, never its noise.
``versions() -> dict of str to str``
    What the figures depend on besides the settings.
``prepare() -> None``
    Where it is there: make the environment of the library's own, or raise
    ``PeerUnavailableError``. Each fit then has a process of its own in that environment.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from benchmarks.errors import BenchmarkError
from benchmarks.libraries.result import Result

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from benchmarks.problems.problem import Problem

LIBRARIES = (
    "dpboost_recipes",
    "dpboost_trees",
    "lightgbm_np",
    "lightgbm_bins",
    "dp_ebm",
    "sarus_xgboost",
    "diffprivlib_forest",
    "diffprivlib_tree",
    "diffprivlib_models",
    "noisy_moments",
    "noisy_descent",
    "s_bdt",
    "privatree",
    "maddock",
    "dpmm_synthesis",
    "constant",
)


class Library(Protocol):
    """The face of a library's module."""

    def fit_predict(
        self,
        problem: Problem,
        train_X: pd.DataFrame,
        train_y: np.ndarray,
        test_X: pd.DataFrame,
        *,
        epsilon: float | None,
        seed: int,
        n_jobs: int,
        **settings: Any,
    ) -> Result:
        """Fit on the training rows and predict the others."""

    def versions(self) -> Mapping[str, str]:
        """Return what the figures depend on besides the settings."""


def load_library(name: str) -> Library:
    """Return the library of that name.

    Imported only when asked for, so that one library that is not installed does not stop the
    runs of the others.

    Raises
    ------
    BenchmarkError
        If there is no such library, or what it wraps cannot be imported.
    PeerUnavailableError
        If its own environment cannot be made.
    """
    if name not in LIBRARIES:
        raise BenchmarkError(f"There is no library {name!r}; known: {', '.join(LIBRARIES)}.")
    try:
        module = importlib.import_module(f"benchmarks.libraries.{name}")
    except ImportError as error:
        raise BenchmarkError(f"The library {name!r} cannot be imported: {error}") from error
    if hasattr(module, "prepare"):
        module.prepare()
    return cast("Library", module)
