"""A file of records that only grows, each of them on disk before its writer goes on."""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpboost._utils.validation import InvalidParameterError

# Length of the content and its SHA-256, then a check of these two.
_HEAD = struct.Struct("<Q32s")
_CHECK = struct.Struct("<I")
_HEAD_BYTES = _HEAD.size + _CHECK.size


class RecordLog:
    """Records of bytes in the order in which they were written.

    A process that is killed while it writes leaves the beginning of a record. That one was not
    used by anybody, and is taken off. Anything else that does not fit is damage, which may have
    cost records that were used: it is an error.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._end = 0

    def read(self) -> Iterator[bytes]:
        """Go through the content of all records; the next one is written behind the last."""
        self._end = 0
        if not self._path.exists():
            return
        whole = memoryview(self._path.read_bytes())
        while len(whole) - self._end >= _HEAD_BYTES:
            head = whole[self._end : self._end + _HEAD_BYTES]
            length, digest = _HEAD.unpack(head[: _HEAD.size])
            start = self._end + _HEAD_BYTES
            if _CHECK.unpack(head[_HEAD.size :])[0] != zlib.crc32(head[: _HEAD.size]):
                if any(whole[self._end :]):
                    raise self._damaged()
                return  # Room that was never filled.
            if length > len(whole) - start:
                return
            content = bytes(whole[start : start + length])
            if hashlib.sha256(content).digest() != digest:
                raise self._damaged()
            self._end = start + length
            yield content

    def append(self, content: bytes) -> None:
        """Write a record behind the others; it is on disk when this returns.

        Where the disk does not take it, the next record is written in its place.
        """
        head = _HEAD.pack(len(content), hashlib.sha256(content).digest())
        record = head + _CHECK.pack(zlib.crc32(head)) + content
        new = not self._path.exists()
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(self._path, flags, 0o600), "r+b") as file:
            # Whatever an earlier process has begun goes first.
            file.truncate(self._end)
            file.seek(self._end)
            file.write(record)
            file.flush()
            os.fsync(file.fileno())
        if new:
            sync_folder(self._path.parent)
        self._end += len(record)

    def _damaged(self) -> InvalidParameterError:
        return InvalidParameterError(
            f"The file {str(self._path)!r} is damaged: what it has recorded may have been sent. "
            "Restore the folder as it was, or end this session."
        )


@contextmanager
def locked_file(path: Path) -> Iterator[None]:
    """Let one process at a time be inside; BlockingIOError if there is another one."""
    with path.open("w") as file:
        try:
            import fcntl
        except ImportError:  # only there on Unix
            yield
            return
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def sync_folder(folder: Path) -> None:
    """Let new names in a folder outlive a power cut."""
    if hasattr(os, "O_DIRECTORY"):  # only there on Unix
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def append_line(path: Path, line: str) -> None:
    """Append a line of text that only its owner can read; it is on disk when this returns."""
    new = not path.exists()
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    with os.fdopen(os.open(path, flags, 0o600), "a", encoding="utf-8") as file:
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())
    if new:
        sync_folder(path.parent)
