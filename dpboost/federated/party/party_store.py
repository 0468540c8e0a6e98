"""A party on its holder's disk, so that another process goes on where one was stopped.

Two files: the state of a party as it was at some message, with its rows in bins, and a log of what
every message since then has changed. Of the rows a message changes nothing that is not a function
of what was told and asked: the log has the message, and another process carries it out again.
"""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.data.table import Table
from dpboost.federated.party.party import Party
from dpboost.federated.party.party_rows import HeldRows
from dpboost.federated.party.record_log import RecordLog, locked_file, sync_folder

_STATE = "party.state"
_LOG = "party.log"
# The log begins anew once it is longer than the state, and never before it has so many bytes: so
# all that is ever written is a small multiple of the messages, whatever the number of rows.
LEAST_LOG_BYTES = 1 << 18


class PartyStore:
    """Keeps a party between messages, in a folder that only the data holder can read.

    What is on disk is written before a reply is sent: a party that is killed has charged for all
    that it has sent, and goes on with the next message. One folder serves one session; to spend
    the budget of an agreement once more takes a new folder, which is for the data holder to
    decide.

    Parameters
    ----------
    folder : path
        Made if it does not exist.

    Privacy
    -------
    The files hold private rows and the keys of the masks. They are read by `pickle`: nobody
    else may be able to write there.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def answer(self, party: Party, message: bytes) -> bytes:
        """Let a party that was just made go on from its last state, and take in a message.

        Parameters
        ----------
        party : Party
            Fresh, with the same rows and agreement as ever.
        message : bytes

        Returns
        -------
        bytes
            The reply; state and ledger are on disk before it is returned.

        Raises
        ------
        InvalidParameterError
            If the files are damaged.
        """
        with self._locked():
            return _KeptParty(self._folder, party).receive(message)

    @contextmanager
    def attached(self, party: Party) -> Iterator[Callable[[bytes], bytes]]:
        """Hold the folder for a process that answers many messages.

        Parameters
        ----------
        party : Party
            Fresh, with the same rows and agreement as ever.

        Yields
        ------
        callable
            Takes a message and returns the reply, as `answer`.

        Raises
        ------
        InvalidParameterError
            If another process holds the folder, or its files are damaged.
        """
        with self._locked(wait=False):
            yield _KeptParty(self._folder, party).receive

    @contextmanager
    def _locked(self, *, wait: bool = True) -> Iterator[None]:
        """Let one process at a time be the party: a message may come again while it is handled."""
        with ExitStack() as held:
            try:
                held.enter_context(locked_file(self._folder / "lock", wait=wait))
            except BlockingIOError:
                must = "a folder that no other process holds"
                raise refuse("folder", "PartyStore", must, str(self._folder)) from None
            yield


class _KeptParty:
    """A party as its folder has it, whose replies leave once they are on disk.

    Parameters
    ----------
    folder : Path
        Which no other process holds.
    party : Party
        Fresh; goes on where an earlier process has stopped.
    """

    def __init__(self, folder: Path, party: Party) -> None:
        self._party = party
        self._path = folder / _STATE
        self._log = RecordLog(folder / _LOG)
        # Of the last record, and of the state; records up to that one are in the state.
        self._number = 0
        self._state_bytes = 0
        # What was written last of each part of the session, and what waits to be written.
        self._written: dict[str, bytes] = {}
        self._waiting: list[dict[str, Any]] = []
        self._load()

    def receive(self, message: bytes) -> bytes:
        """Return the reply to a message, once everything before it is on disk."""
        reply = self._party.receive(message)
        change = self._party.take_change()
        if change is not None:
            session = {name: pickle.dumps(part) for name, part in self._party.session().items()}
            new = {name: part for name, part in session.items() if self._written.get(name) != part}
            self._written = session
            self._number += 1
            self._waiting.append({"number": self._number, "change": change, "session": new})
        # What an earlier message could not write, on a full disk, is charged all the same.
        while self._waiting:
            self._log.append(pickle.dumps(self._waiting[0]))
            self._waiting.pop(0)
        if self._log.size > max(self._state_bytes, LEAST_LOG_BYTES):
            # The log says it all: where a state cannot be written now, it is another time.
            with suppress(OSError):
                self._compact()
        return reply

    def _load(self) -> None:
        if self._path.exists():
            content = self._path.read_bytes()
            self._state_bytes = len(content)
            state = _Unpickler(io.BytesIO(content), self._party.held).load()
            self._number = state["number"]
            self._party.resume(state["party"])
            self._remember()
        session = self._party.session()
        for content in self._log.read():
            record = pickle.loads(content)
            if record["number"] <= self._number:
                continue  # The process was killed before it could begin the log anew.
            if record["number"] != self._number + 1:
                raise InvalidParameterError(
                    f"The folder {str(self._path.parent)!r} lacks records: restore it as it was, "
                    "or end this session."
                )
            session |= {name: pickle.loads(part) for name, part in record["session"].items()}
            self._party.repeat(record["change"], session)
            self._number += 1
        self._remember()

    def _remember(self) -> None:
        self._written = {name: pickle.dumps(part) for name, part in self._party.session().items()}

    def _compact(self) -> None:
        """Write the state down; the log begins anew once that is on disk."""
        new = self._path.with_suffix(".new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(new, flags, 0o600), "wb") as file:
            _Pickler(file).dump({"number": self._number, "party": self._party.suspend()})
            file.flush()
            os.fsync(file.fileno())
            self._state_bytes = file.tell()
        new.replace(self._path)
        sync_folder(self._path.parent)
        self._log.clear()


class _Pickler(pickle.Pickler):
    """Leaves out the rows as they were given: the data holder has them anyway."""

    def persistent_id(self, obj: Any) -> str | None:
        if isinstance(obj, HeldRows):
            return "held rows"
        return "table" if isinstance(obj, Table) else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: Any, held: HeldRows) -> None:
        super().__init__(file)
        self._held = held

    def persistent_load(self, pid: Any) -> Any:
        return self._held.table if pid == "table" else self._held
