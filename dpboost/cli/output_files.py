"""Output files of commands, checked before any charge."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from dpboost._utils.validation import InvalidParameterError


def check_outputs(*paths: str | None, keep: str | None = None) -> None:
    """Raise if an output file cannot be written, before any draw.

    A path of None is no file. ``keep`` is another output file, which must not exist yet.
    """
    if keep is not None and os.path.isfile(keep):
        raise InvalidParameterError(
            f"The file {keep!r} already exists: name another file, or replace it with --force."
        )
    for path in (*paths, keep):
        if path is None:
            continue
        folder = os.path.dirname(os.path.abspath(path))
        if os.path.isdir(path):
            fault = "it is a folder"
        elif not os.path.isdir(folder):
            fault = f"the folder does not exist: {folder!r}"
        elif not os.access(path if os.path.exists(path) else folder, os.W_OK):
            fault = "permission denied"
        else:
            continue
        raise InvalidParameterError(f"The file {path!r} cannot be written: {fault}.")


def save_picture(path: str, draw: Callable[[Any], object]) -> None:
    """Draw on axes and save the picture.

    The extension of the file sets the format.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("--plot needs matplotlib: pip install 'dpboost[plot]'.") from error
    figure = Figure(figsize=(6, 4), layout="constrained")
    draw(figure.subplots())
    try:
        figure.savefig(path)
    except ValueError as error:
        raise InvalidParameterError(f"--plot {path}: {error}.") from None
