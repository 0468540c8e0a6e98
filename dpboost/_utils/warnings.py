"""Warnings that point at the user's own line, however deep in the library they are raised."""

from __future__ import annotations

import sys
import warnings

_PACKAGE = __name__.partition(".")[0]


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line that called the library.

    Parameters
    ----------
    message : str
        Made of public values.
    category : type of Warning
    """
    frame = sys._getframe(1)
    depth, outermost = 1, 1
    while frame is not None:
        depth += 1
        if frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
            outermost = depth
        frame = frame.f_back  # type: ignore[assignment]
    warnings.warn(message, category, stacklevel=outermost + 1)
