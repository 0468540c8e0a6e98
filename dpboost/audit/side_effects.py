"""What a fit does beside what it returns: files that it writes, global randomness that it uses."""

from __future__ import annotations

import contextlib
import os
import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

#: Opened for writing, by the flags of the operating system.
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND

#: Where writing hides nothing: terminals and the null device.
_HARMLESS = (os.devnull, "/dev/tty", "/dev/shm", "/proc", "/sys")

_listening: list[list[str]] = []
_installed = False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    """Note a file that is opened for writing; hooks cannot be taken away, so this one may idle."""
    if not _listening or event not in ("open", "os.remove", "os.rename", "os.mkdir"):
        return
    if event == "open" and not _is_written(*arguments):
        return
    path = arguments[0]
    if isinstance(path, (str, bytes)):
        told = os.fsdecode(path)
        if not told.startswith(_HARMLESS) and not told.endswith(".pyc"):
            _listening[-1].append(told)


def _is_written(path: Any, mode: Any, flags: Any) -> bool:
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(flags, int) and bool(flags & _WRITES)


@contextlib.contextmanager
def side_effects() -> Iterator[list[str]]:
    """Collect, in words, what the code inside does to the world around it.

    Yields
    ------
    list of str
        Filled when the block is left: files that were written, and global generators that were
        drawn from.
    """
    global _installed
    if not _installed:
        sys.addaudithook(_hook)
        _installed = True
    written: list[str] = []
    found: list[str] = []
    numpy_state, python_state = _numpy_state(), random.getstate()
    _listening.append(written)
    try:
        yield found
    finally:
        _listening.pop()
        found += [f"opens {path} for writing" for path in dict.fromkeys(written)]
        if _numpy_state() != numpy_state:
            found.append("draws from NumPy's global generator")
        if random.getstate() != python_state:
            found.append("draws from Python's global generator")


def _numpy_state() -> tuple[bytes, int]:
    state: Any = np.random.get_state()  # noqa: NPY002 - whether anybody has drawn from it
    return np.asarray(state[1]).tobytes(), int(state[2])
