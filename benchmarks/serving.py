"""The loop of a worker: one fit for each folder that a line of its input names.

It runs in the environment of the library, so it needs numpy and the standard library alone.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

Answer = Callable[[Mapping[str, np.ndarray], "dict[str, Any]"], "Mapping[str, Any]"]


def serve(answer: Answer) -> None:
    """Answer every line of the input, each in a process of its own where the system can fork.

    Parameters
    ----------
    answer : callable
        ``answer(arrays, settings)`` gets the folder's ``input.npz`` and ``settings.json`` and
        returns what ``output.npz`` is to hold.
    """
    for line in sys.stdin:
        folder = Path(line.rstrip("\n"))
        if hasattr(os, "fork"):
            _in_a_fork(answer, folder)
        else:
            _one(answer, folder)
        print("done", flush=True)


def _in_a_fork(answer: Answer, folder: Path) -> None:
    """Answer in a child: no fit finds memory, seeds or state of the one before it."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            # A child inherits the state of this generator: all fits would have the same noise.
            np.random.seed()  # noqa: NPY002 - it is the one that libraries draw from
            _one(answer, folder)
            status = 0
        except Exception:  # noqa: BLE001 - told on the error stream, which the run reads
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stderr.flush()
            # Nothing of the parent's end, such as its output buffer, may happen here as well.
            os._exit(status)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit(1)


def _one(answer: Answer, folder: Path) -> None:
    with np.load(folder / "input.npz") as content:
        arrays = dict(content)
    settings = json.loads((folder / "settings.json").read_text())
    found = answer(arrays, settings)
    # None would be stored as an object, which is not read again.
    plain = {name: np.nan if value is None else value for name, value in found.items()}
    np.savez(folder / "output.npz", **plain)
