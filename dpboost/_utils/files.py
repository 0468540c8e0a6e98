"""Atomic file writes."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file that no one ever sees by half, whatever happens while it is written.

    The bytes go to a new file in the same folder, which takes the place of the old one at the end.
    A link stays a link; what is no file (a pipe, ``/dev/stdout``) is written as it is. OSError if
    the folder does not take the file; an old file is then as it was.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    new = target.with_name(f".{secrets.token_hex(8)}.new")
    try:
        with new.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            shutil.copymode(target, new)
        new.replace(target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
