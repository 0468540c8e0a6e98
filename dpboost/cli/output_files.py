"""Files that a command will write, looked at before it spends anything."""

from __future__ import annotations

import os

from dpboost._utils.validation import InvalidParameterError


def check_outputs(*paths: str | None) -> None:
    """Refuse files that cannot be written, while nothing has been drawn.

    Parameters
    ----------
    paths : str or None
        ``None`` is no file.

    Raises
    ------
    InvalidParameterError
        For a folder that is not there or may not be written to, and for a folder in the place of
        a file.
    """
    for path in paths:
        if path is None:
            continue
        folder = os.path.dirname(os.path.abspath(path))
        if os.path.isdir(path):
            fault = "it is a folder"
        elif not os.path.isdir(folder):
            fault = f"there is no folder {folder!r}"
        elif not os.access(path if os.path.exists(path) else folder, os.W_OK):
            fault = "this user may not write there"
        else:
            continue
        raise InvalidParameterError(f"The file {path!r} cannot be written: {fault}.")
