"""An append-only file of records, each of which is on disk before its writer continues."""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dpboost._utils.private_files import lock_alone, open_private
from dpboost._utils.validation import InvalidParameterError, refuse

# Length of the content and its SHA-256, then a check of these two.
_HEAD = struct.Struct("<Q32s")
_CHECK = struct.Struct("<I")
_HEAD_BYTES = _HEAD.size + _CHECK.size


class RecordLog:
    """Records of bytes in the order in which they were written.

    A process that is killed during a write leaves an incomplete record. It was never used, and is
    removed. Any other mismatch is damage that may have lost used records, and raises an error.
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
        # Whatever an earlier process has begun behind the last record is written over.
        _write(self._path, record, self._end)
        self._end += len(record)

    def _damaged(self) -> InvalidParameterError:
        return InvalidParameterError(
            f"The file {str(self._path)!r} is damaged: what it has recorded may have been sent. "
            "Restore the folder as it was, or end this session."
        )


@contextmanager
def locked_file(path: Path) -> Iterator[None]:
    """Let one process at a time be inside."""
    with path.open("a") as file:
        try:
            lock_alone(file.fileno())
        except BlockingIOError:
            must = "a folder that no other process holds"
            raise refuse("folder", "Party", must, str(path.parent)) from None
        yield


def append_lines(path: Path, lines: Sequence[str]) -> None:
    """Append lines of text that only their owner can read, unless the file ends with them."""
    block = "".join(f"{line}\n" for line in lines).encode()
    end, last = path.stat().st_size if path.exists() else 0, b""
    if end >= len(block) > 0:
        with path.open("rb") as file:
            file.seek(end - len(block))
            last = file.read()
    if last != block:
        _write(path, block, end)


def _write(path: Path, content: bytes, start: int) -> None:
    """Write the end of a file, from some byte on, and let it outlive a power cut."""
    new = not path.exists()
    with open(open_private(path), "r+b") as file:
        file.truncate(start)
        file.seek(start)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if new and hasattr(os, "O_DIRECTORY"):  # only there on Unix
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
