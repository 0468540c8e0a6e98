"""A fit in a process of its own, so that what it takes of the memory can be seen."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

from benchmarks.libraries import load_library
from benchmarks.libraries.result import Result

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

_PRELOADED = ("pandas", "sklearn.metrics", "benchmarks.libraries.dpboost_recipes")


def fit_alone(library: str, *arguments: Any, **settings: Any) -> Result:
    """Call ``fit_predict`` of a library in a new process.

    Parameters
    ----------
    library : str
        Name of the library's module.
    *arguments, **settings
        Of its ``fit_predict``; they are pickled.

    Returns
    -------
    Result

    Raises
    ------
    Exception
        What the fit raises.
    """
    with ProcessPoolExecutor(max_workers=1, mp_context=_context()) as pool:
        return pool.submit(_fit, library, arguments, settings).result()


def _fit(library: str, arguments: tuple[Any, ...], settings: dict[str, Any]) -> Result:
    return load_library(library).fit_predict(*arguments, **settings)


def _context() -> BaseContext:
    """Return how processes are started: forked from a server that has imported what is needed.

    The server itself makes no fit, so nothing of one is left in the next.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*_PRELOADED])
    return context
