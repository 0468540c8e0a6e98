"""A party on its holder's disk, so that another process goes on where one was stopped."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpboost._utils.validation import refuse
from dpboost.data.table import Table
from dpboost.federated.party.party import Party
from dpboost.federated.party.party_rows import HeldRows

_STATE = "party.state"


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
        """
        with self._locked():
            state = self._load(party)
            if state is not None:
                party.resume(state)
            reply = party.receive(message)
            self._save(party)
        return reply

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
            If another process holds the folder.
        """
        with self._locked(wait=False):
            state = self._load(party)
            if state is not None:
                party.resume(state)

            def receive(message: bytes) -> bytes:
                reply = party.receive(message)
                self._save(party)
                return reply

            yield receive

    def _load(self, party: Party) -> dict[str, Any] | None:
        path = self._folder / _STATE
        if not path.exists():
            return None
        with path.open("rb") as file:
            state: dict[str, Any] = _Unpickler(file, party.held).load()
        return state

    def _save(self, party: Party) -> None:
        new = self._folder / (_STATE + ".new")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            _Pickler(file).dump(party.suspend())
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._folder / _STATE)
        if hasattr(os, "O_DIRECTORY"):  # only there on Unix
            # The new name too has to outlive a power cut, or what was sent would not be charged.
            folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    @contextmanager
    def _locked(self, *, wait: bool = True) -> Iterator[None]:
        """Let one process at a time be the party: a message may come again while it is handled."""
        with (self._folder / "lock").open("w") as file:
            try:
                import fcntl
            except ImportError:  # only there on Unix
                yield
                return
            try:
                fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                must = "a folder that no other process holds"
                raise refuse("folder", "PartyStore", must, str(self._folder)) from None
            yield


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
