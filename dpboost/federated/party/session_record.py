"""What a party keeps of a session: on disk before it leaves, and sent again as it was.

Two files in a folder for each agreement. ``session.log`` has the secrets of the session, and of
each message what was sent and replied. ``charges.txt`` has a plain line for each charge, which
needs neither rows nor this library to be read. Noise is drawn once: words that are on disk are the
only ones that are ever sent for their step, and others are drawn anew from the system's secret
source. So a folder that was restored as it was earlier gives independent noise.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.federated.party.record_log import RecordLog, append_line, locked_file
from dpboost.federated.protocol import wire
from dpboost.federated.protocol.messages import Key

_LOG, _CHARGES, _LOCK = "session.log", "charges.txt", "lock"
_SECRETS = ("session", "coins")


class Sent(NamedTuple):
    """A message that was sent.

    Parameters
    ----------
    digest : bytes
        Of the step.
    body : bytes
    """

    digest: bytes
    body: bytes


class SessionRecord:
    """The record of a session of one party.

    Proof: docs/proofs/noise-shares.md.

    Parameters
    ----------
    folder : path, optional
        Made if it does not exist. In this process alone without one.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._log: RecordLog | None = None
        self._first: dict[str, Any] = {}
        self._sent: dict[Key, Sent] = {}
        self._seeds: dict[int, bytes] = {}
        self._replies: dict[Key, bytes] = {}
        if folder is not None:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._log = RecordLog(folder / _LOG)
            for content in self._log.read():
                self._restore(wire.decode(content, dict))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let one process at a time be the party.

        Raises
        ------
        InvalidParameterError
            If another process holds the folder.
        """
        with ExitStack() as stack:
            if self._folder is not None:
                try:
                    stack.enter_context(locked_file(self._folder / _LOCK, wait=False))
                except BlockingIOError:
                    must = "a folder that no other process holds"
                    raise refuse("folder", "Party", must, str(self._folder)) from None
            yield

    def begin(self, facts: dict[str, str]) -> dict[str, bytes]:
        """Return the secrets of the session, drawn when it begins.

        Parameters
        ----------
        facts : dict of str to str
            What must be the same when the party is started again: terms, rows and build.

        Raises
        ------
        InvalidParameterError
            If something is another one than it was.
        """
        if not self._first:
            drawn = {name: secrets.token_bytes(32) for name in _SECRETS}
            self._write({"facts": facts, "secrets": drawn})
        known = self._first["facts"]
        for name, value in facts.items():
            if known[name] != value:
                raise InvalidParameterError(
                    f"The {name} of this party are not those with which the session in "
                    f"{str(self._folder)!r} began, and it does not go on: {len(self._sent)} "
                    f"messages were sent, and {_CHARGES} says what was charged for them. Start it "
                    "with the same ones, or agree on another session."
                )
        found: dict[str, bytes] = self._first["secrets"]
        return found

    def seed(self, step: int) -> bytes:
        """Return the secret of the masks of a step, drawn once."""
        if step not in self._seeds:
            self._write({"step": step, "seed": secrets.token_bytes(32)})
        return self._seeds[step]

    def sent(self, key: Key) -> Sent | None:
        """Return what was sent for a key; nothing else ever is."""
        return self._sent.get(key)

    def send(self, key: Key, digest: bytes, body: bytes, charges: Sequence[str] = ()) -> None:
        """Put a message on disk, and the charges for it, before it is sent."""
        if self._folder is not None:
            for line in charges:
                append_line(self._folder / _CHARGES, line)
        content = {"step": key.step, "kind": key.kind, "digest": digest, "body": body}
        self._write(content)

    def reply(self, key: Key) -> bytes | None:
        """Return what was replied to a message."""
        return self._replies.get(key)

    def replied(self, key: Key, reply: bytes) -> None:
        """Keep a reply."""
        self._write({"step": key.step, "kind": key.kind, "reply": reply})

    def _write(self, content: dict[str, Any]) -> None:
        if self._log is not None:
            self._log.append(wire.encode(content))
        self._restore(content)

    def _restore(self, content: dict[str, Any]) -> None:
        if "facts" in content:
            self._first = content
        elif "seed" in content:
            self._seeds[content["step"]] = content["seed"]
        elif "reply" in content:
            self._replies[Key(content["step"], content["kind"])] = content["reply"]
        else:
            key = Key(content["step"], content["kind"])
            self._sent[key] = Sent(content["digest"], content["body"])


def folder_of(folder: str | os.PathLike[str], digest: bytes) -> Path:
    """Return the folder of the session of an agreement inside that of all sessions."""
    return Path(folder) / digest.hex()[:32]
