"""A fit in a process of its own, so that what it takes of the memory can be seen."""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import traceback
from typing import TYPE_CHECKING, Any, NoReturn

from benchmarks.libraries import load_library
from benchmarks.libraries.result import Result

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.connection import Connection
    from multiprocessing.context import BaseContext
    from pathlib import Path

    from benchmarks.problems.problem import Problem

_PRELOADED = ("pandas", "sklearn.metrics", "benchmarks.libraries.dpboost_recipes")


def fit_alone(library: str, problem: Problem, *arguments: Any, **settings: Any) -> Result:
    """Call ``fit_predict`` of a library in a new process.

    Parameters
    ----------
    library : str
        Name of the library's module.
    problem : Problem
        What is fitted; how its files are read is not sent along.
    *arguments, **settings
        The others of its ``fit_predict``; they are pickled.

    Returns
    -------
    Result

    Raises
    ------
    Exception
        What the fit raises.
    RuntimeError
        If its process ends without an answer.
    """
    sent = (dataclasses.replace(problem, read=_is_read), *arguments)
    context = _context()
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_fit, args=(there, library, sent, settings))
    process.start()
    # The other process alone holds this end now: should it die, reading ends instead of waiting.
    there.close()
    try:
        outcome, trace = here.recv()
    except EOFError:
        process.join()
        raise RuntimeError(f"The process of the fit ended with {process.exitcode}.") from None
    process.join()
    if isinstance(outcome, Exception):
        raise outcome from RuntimeError(trace)
    result: Result = outcome
    return result


def _fit(
    there: Connection, library: str, arguments: tuple[Any, ...], settings: dict[str, Any]
) -> None:
    """Make the fit and send what came of it; without a reader the process just ends."""
    outcome: Result | Exception
    try:
        outcome, trace = load_library(library).fit_predict(*arguments, **settings), ""
    except Exception as error:  # noqa: BLE001 - raised again where the fit was asked for
        outcome, trace = error, traceback.format_exc()
    with contextlib.suppress(BrokenPipeError):
        there.send((outcome, trace))


def _is_read(paths: Mapping[str, Path]) -> NoReturn:
    raise AssertionError("The tables are sent: nothing is to be read here.")


def _context() -> BaseContext:
    """Return how processes are started: forked from a server that has imported what is needed.

    The server itself makes no fit, so nothing of one is left in the next.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*_PRELOADED])
    return context
