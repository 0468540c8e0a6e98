"""Sessions whose messages another framework transports as tasks and replies.

A framework that sends tasks to sites and collects replies transports the same messages as HTTPS.
Each task contains the coordinator's last reply, and the reply to the task is the party's next
message. The party runs in one process for the whole session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from dpboost.federated.outcome import Coordinator
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.hub import Hub, PartyLostError, PartyRefusedError
from dpboost.federated.protocol.messages import FAIL, NAMES, Ended, Key

# Seconds until a party, or the coordinator, says that there is nothing yet.
_HELD, _SOON = 5.0, 0.1

#: ``carry({party: bytes})`` brings each party some bytes, and returns those of who has replied.
Carry = Callable[[Mapping[int, bytes]], Mapping[int, bytes]]


class Mailbox:
    """A party's link over a framework: it receives tasks and returns messages.

    Parameters
    ----------
    timeout : float, default=3600.0
        Seconds to wait for a reply.
    """

    def __init__(self, *, timeout: float = 3600.0) -> None:
        self._timeout = timeout
        self._out: SimpleQueue[tuple[Key, bytes]] = SimpleQueue()
        self._in: SimpleQueue[bytes] = SimpleQueue()
        self._waiting: tuple[Key, bytes] | None = None

    def post(self, key: Key, body: bytes) -> bytes:
        """Hand out a message and wait for the reply."""
        self._out.put((key, body))
        try:
            return self._in.get(timeout=self._timeout)
        except Empty:
            raise PartyLostError("The coordinator does not answer.") from None

    def fail(self) -> None:
        """Say that this party does not go on."""
        self._out.put((Key(0, FAIL), b""))

    def exchange(self, task: bytes, seconds: float = _HELD) -> bytes:
        """Take in a task of the coordinator and return this party's message.

        Parameters
        ----------
        task : bytes
            A reply to the last message, or ``b""``.
        seconds : float, default=5.0
            To wait for the next message.

        Returns
        -------
        bytes
            ``b""`` where there is none yet.
        """
        if task and self._waiting is not None:
            content = m.decode(task, (dict,))
            if Key(content["step"], content["kind"]) == self._waiting[0]:
                self._waiting = None
                self._in.put(content["reply"])
        if self._waiting is None:
            try:
                self._waiting = self._out.get(timeout=seconds)
            except Empty:
                return b""
        key, body = self._waiting
        return m.encode({"step": key.step, "kind": key.kind, "body": body})


def coordinate_carried(agreement: Agreement, carry: Carry, *, timeout: float = 600.0) -> Any:
    """Coordinate a session whose messages a framework carries.

    Parameters
    ----------
    carry : callable
        Brings bytes to parties, by their numbers, and returns their replies.
    timeout : float, default=600.0
        Seconds to wait for the messages of a step.

    Returns
    -------
    estimator, Evaluation or CVResults
        As ``Coordinator.run``.

    Raises
    ------
    PartyLostError, PartyRefusedError
        Where the session ends without a result.
    """
    hub = Hub()
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(Coordinator(agreement, hub, timeout=timeout).run())
        except BaseException as error:  # noqa: BLE001 - it is raised in the caller's thread
            outcome.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    tasks = dict.fromkeys(range(agreement.n_parties), b"")
    over: set[int] = set()
    while tasks:
        replies = carry(tasks)
        for party in over:
            tasks.pop(party, None)
        posted = {party: read for party in tasks if (read := _read(replies.get(party, b"")))}
        tasks = dict.fromkeys(tasks, b"")
        for party, (key, _) in list(posted.items()):
            if key.kind == FAIL:
                hub.fail(party)
                del posted[party], tasks[party]
        for party, reply in _replies(hub, posted, complete=len(posted) == len(tasks)).items():
            key = posted[party][0]
            tasks[party] = m.encode({"step": key.step, "kind": key.kind, "reply": reply})
            if key.kind == "done" or isinstance(m.decode(reply, m.KINDS), Ended):
                over.add(party)
        if outcome and not posted:
            break  # Nobody is there who could hear of the end.
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def _replies(
    hub: Hub, posted: Mapping[int, tuple[Key, bytes]], *, complete: bool
) -> dict[int, bytes]:
    """Hand messages over, and return the replies that there are; wait a while for the first."""
    found: dict[int, bytes] = {}
    # While somebody's message is missing there is no reply: it is asked for again soon.
    for seconds in (0.0, _HELD if complete else _SOON):
        for party, (key, body) in posted.items():
            try:
                reply = hub.receive(party, key, body, 0.0 if found else seconds)
            except PartyRefusedError:
                hub.fail(party)
                continue
            if reply is not None:
                found[party] = reply
            elif seconds:
                return found
        if found:
            break
    return found


def _read(content: bytes) -> tuple[Key, bytes] | None:
    """Return key and body of what a party has handed out; nothing where it is none."""
    try:
        found = m.decode(content, (dict,))
        key = Key(found["step"], found["kind"])
        fine = type(key.step) is int and key.kind in (*NAMES, FAIL)
        return (key, found["body"]) if fine and type(found["body"]) is bytes else None
    except (m.MalformedMessageError, KeyError):
        return None
