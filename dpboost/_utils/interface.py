"""The interface in use: messages name Python parameters or command-line options."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_IS_COMMAND_LINE = ContextVar("is_command_line", default=False)


@contextmanager
def command_line(here: bool = True) -> Iterator[None]:
    """Have messages say options and lines of a data dictionary, in the place of Python."""
    token = _IS_COMMAND_LINE.set(here)
    try:
        yield
    finally:
        _IS_COMMAND_LINE.reset(token)


def is_command_line() -> bool:
    """Return whether messages are for users of the command line."""
    return _IS_COMMAND_LINE.get()


def worded(python: str, command: str) -> str:
    """Return the words of the interface in use.

    Parameters
    ----------
    python : str
        For users of the functions.
    command : str
        For users of the command line.
    """
    return command if _IS_COMMAND_LINE.get() else python
