"""The message hub of a session: parties post, and the coordinator replies to all.

Each party sends one message for each key and waits for the reply, which is the same for all. No one
sends requests to a party. A repeated message gets the same reply, so connections may break and
processes may restart.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from threading import Condition
from typing import Any, Protocol

from dpboost.federated.party.record_log import RecordLog
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol.messages import Ended, Key


class PartyLostError(RuntimeError):
    """Too few parties are present: the session ends, and charges are kept."""


class PartyRefusedError(RuntimeError):
    """A message is invalid, or the session has ended.

    Attributes
    ----------
    code : str
        Why; ``""`` where nothing more is known.
    """

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(text)
        self.code = code


class SessionEndedError(PartyRefusedError):
    """The coordinator has ended the session."""

    def __init__(self, ended: Ended) -> None:
        super().__init__(
            f"The session has ended at step {ended.step}: {ended.code}. All charges remain; see "
            "the message of the coordinator.",
            ended.code,
        )


class Link(Protocol):
    """A party's link to the coordinator: `LocalLink`, `HttpsLink`, or a custom class."""

    def post(self, key: Key, body: bytes) -> bytes:
        """Send a message and wait for the reply; PartyLostError if none comes in time."""

    def fail(self) -> None:
        """Say that this party does not go on; no word of why."""


class Hub:
    """The messages and replies of one session.

    Parameters
    ----------
    path : path, optional
        A file that keeps replies before anyone gets them, so that another process goes on with
        the session. In this process alone without one.

    Raises
    ------
    InvalidParameterError
        If the file is damaged.

    Examples
    --------
    >>> from dpboost.federated.protocol.messages import Key
    >>> hub = Hub()
    >>> hub.receive(0, Key(1, "words"), b"...", 0.0) is None  # no reply yet
    True
    >>> hub.answer(Key(1, "words"), b"sum")
    >>> hub.receive(0, Key(1, "words"), b"...", 0.0)
    b'sum'
    """

    def __init__(self, path: Path | str | None = None) -> None:
        self._changed = Condition()
        self._bodies: dict[Key, dict[int, bytes]] = {}
        self._replies: dict[Key, bytes] = {}
        self._failed: set[int] = set()
        self._ended: bytes | None = None
        self._heard: set[int] = set()
        self._log = None if path is None else RecordLog(Path(path))
        for record in () if self._log is None else self._log.read():
            self._restore(m.decode(record, dict))

    @property
    def n_replies(self) -> int:
        """Replies so far, those of earlier processes among them."""
        return len(self._replies)

    # -- for parties ----------------------------------------------------------------------------

    def receive(self, party: int, key: Key, body: bytes, seconds: float | None) -> bytes | None:
        """Take in a message and wait for the reply, None if it takes longer.

        A party that has sent something else before is refused.
        """
        with self._changed:
            if key not in self._replies and self._ended is None:
                own = self._bodies.setdefault(key, {})
                if own.setdefault(party, body) != body:
                    raise PartyRefusedError(f"Party {party} has sent two messages for one step.")
                self._failed.discard(party)
                self._changed.notify_all()
            self._changed.wait_for(lambda: self._ended or key in self._replies, seconds)
            reply = self._replies.get(key) or self._ended
            if reply is not None and (key.kind == "done" or reply == self._ended):
                self._heard.add(party)
                self._changed.notify_all()
            return reply

    def fail(self, party: int) -> None:
        """Take note that a party does not go on."""
        with self._changed:
            self._failed.add(party)
            self._changed.notify_all()

    # -- for the coordinator --------------------------------------------------------------------

    def reply(self, key: Key) -> bytes | None:
        """Return the reply that was given for a key."""
        return self._replies.get(key)

    def bodies(self, key: Key) -> dict[int, bytes]:
        """Return the messages that the reply for a key was made of."""
        return dict(self._bodies.get(key, {}))

    def gather(
        self, key: Key, expected: Collection[int], least: int, seconds: float
    ) -> dict[int, bytes]:
        """Wait for the messages of some parties, and return those of all that have sent one.

        ``least`` will do when the time is over, or when those that are missing have failed.
        """
        with self._changed:
            found = self._bodies.setdefault(key, {})
            self._changed.wait_for(lambda: set(expected) - set(found) <= self._failed, seconds)
            if len(found) >= least:
                return dict(sorted(found.items()))
            lost = sorted(set(expected) - set(found))
            failed = sorted(self._failed & set(lost))
        names = ", ".join(map(str, lost))
        why = "have ended with an error, which is in their logs" if failed else "do not answer"
        raise PartyLostError(
            f"Parties {names} {why} ({key.kind!r} of step {key.step}): {len(found)} are left, and "
            f"{least} are needed. The session ends. What was released stays charged."
        )

    def answer(self, key: Key, reply: bytes, bodies: Mapping[int, bytes] | None = None) -> None:
        """Reply to the messages of a key, and keep those that later replies are made of."""
        with self._changed:
            if self._log is not None:
                kept = {"step": key.step, "kind": key.kind, "reply": reply, "bodies": bodies or {}}
                self._log.append(m.encode(kept))
            self._replies[key] = reply
            self._bodies = {one: own for one, own in self._bodies.items() if one.step >= key.step}
            if bodies is None:
                self._bodies.pop(key, None)
            self._changed.notify_all()

    def end(self, ended: Ended) -> None:
        """End the session for all parties."""
        with self._changed:
            if self._ended is None:
                self._ended = m.encode(ended)
            self._changed.notify_all()

    def wait_until_heard(self, parties: Collection[int], seconds: float) -> None:
        """Wait until these parties have heard of the end."""
        with self._changed:
            gone = lambda: set(parties) <= self._heard | self._failed  # noqa: E731
            self._changed.wait_for(gone, seconds)

    def _restore(self, record: Any) -> None:
        key = Key(record["step"], record["kind"])
        self._replies[key] = record["reply"]
        self._bodies[key] = dict(record["bodies"])


class LocalLink:
    """The link of a party in this process.

    Parameters
    ----------
    hub : Hub
    party : int

    Examples
    --------
    >>> from dpboost.federated.protocol.messages import Key
    >>> hub = Hub()
    >>> hub.answer(Key(1, "words"), b"sum")
    >>> LocalLink(hub, 0).post(Key(1, "words"), b"...")
    b'sum'
    """

    def __init__(self, hub: Hub, party: int) -> None:
        self._hub = hub
        self._party = party

    def post(self, key: Key, body: bytes) -> bytes:
        """Send a message and wait for the reply."""
        reply = self._hub.receive(self._party, key, body, None)
        assert reply is not None
        return reply

    def fail(self) -> None:
        """Say that this party does not go on."""
        self._hub.fail(self._party)


def read(content: bytes, expected: Any, what: str) -> Any:
    """Return a message of one of some kinds."""
    try:
        found: Any = m.decode(content, m.KINDS)
    except m.MalformedMessageError:
        found = None
    if isinstance(found, Ended):
        raise SessionEndedError(found)
    if not isinstance(found, expected):
        raise PartyRefusedError(f"{what} is not a message that belongs here.", m.MALFORMED)
    return found
