"""What a coordinator has sent and received, on disk, so that it goes on where it was killed.

A coordinator decides everything by the agreement, the name of its session and the replies. With
these written down, the same program started again sends the same messages; those that were
answered are not sent at all, and the one that was under way gets the same bytes again.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpboost._utils.validation import InvalidParameterError
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.transport import Channel


class JournalChannel:
    """A channel that writes every exchange down, and repeats those of an earlier process.

    Parameters
    ----------
    channel : Channel
        Reaches the parties.
    agreement : Agreement
        Whose session it is.
    path : path
        The journal; made if it does not exist. One journal is for one session: to spend the
        budget of an agreement once more takes a new one, and parties with new folders.

    Raises
    ------
    InvalidParameterError
        For a journal of another agreement.

    Privacy
    -------
    The journal has what the coordinator has received: masked numbers, released ones and public
    keys. It is for the coordinator's own disk.
    """

    def __init__(
        self, channel: Channel, agreement: Agreement, path: str | os.PathLike[str]
    ) -> None:
        self._channel = channel
        self._path = Path(path)
        lines = self._read()
        terms = agreement.digest.hex()
        if lines and lines[0].get("terms") != terms:
            raise InvalidParameterError(
                f"The journal {str(self._path)!r} is of another agreement. Give a new file."
            )
        if lines:
            self.session = bytes.fromhex(lines[0]["session"])
        else:
            self.session = secrets.token_bytes(16)
            self._write({"terms": terms, "session": self.session.hex()})
        self._past = lines[1:]
        self._next = 0
        # Bytes before the line of the last exchange.
        self._before_last = 0

    @property
    def n_parties(self) -> int:
        """How many parties it reaches."""
        return self._channel.n_parties

    @property
    def repeated(self) -> int:
        """How many exchanges of an earlier process are in the journal."""
        return len(self._past)

    def exchange(self, message: bytes, to: Sequence[int]) -> dict[int, bytes]:
        """Return the replies of the journal, or send the message and write the replies down."""
        own = {"message": hashlib.sha256(message).hexdigest(), "to": list(to)}
        if self._next < len(self._past):
            line = self._past[self._next]
            self._before_last = self._start_of(1 + self._next)
            self._next += 1
            if {key: line.get(key) for key in own} != own:
                raise InvalidParameterError(
                    f"The journal {str(self._path)!r} was written by another version of this "
                    "program, or for other parameters: the session cannot be continued."
                )
            replies = line["replies"].items()
            return {int(index): base64.b64decode(reply) for index, reply in replies}
        found = self._channel.exchange(message, to)
        replies = {str(index): base64.b64encode(reply).decode() for index, reply in found.items()}
        self._before_last = self._path.stat().st_size
        self._write({**own, "replies": replies})
        return found

    def forget_last(self) -> None:
        """Take the last exchange out, and all after it, so that it is sent again.

        For replies that are none: the next process would stop at them as well. A party that has
        answered gives the same bytes again and charges nothing more.
        """
        if self._before_last:
            with self._path.open("r+b") as file:
                file.truncate(self._before_last)
                os.fsync(file.fileno())
            self._before_last = 0

    def _start_of(self, line: int) -> int:
        """Return the bytes before a line."""
        return sum(map(len, self._path.read_bytes().splitlines(keepends=True)[:line]))

    def _read(self) -> list[dict[str, Any]]:
        if not self._path.exists():
            return []
        content = self._path.read_bytes()
        whole, _, torn = content.rpartition(b"\n")
        if torn:
            # A process was killed while it wrote: the message was not used and is sent again.
            with self._path.open("r+b") as file:
                file.truncate(len(content) - len(torn))
        try:
            return [json.loads(line) for line in whole.splitlines()]
        except ValueError:
            raise InvalidParameterError(
                f"The file {str(self._path)!r} is no journal of a coordinator."
            ) from None

    def _write(self, line: dict[str, Any]) -> None:
        """Append a line, on disk before anything depends on it."""
        new = not self._path.exists()
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "ab") as file:
            file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        if new and hasattr(os, "O_DIRECTORY"):  # only there on Unix
            folder = os.open(self._path.absolute().parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
