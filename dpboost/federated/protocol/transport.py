"""How messages travel: one exchange with all parties at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class PartyLostError(RuntimeError):
    """A party did not answer: the release is aborted and stays charged where it was booked."""


class RefusedError(RuntimeError):
    """A party refused a message, or answered with something that is no valid answer.

    Attributes
    ----------
    code : str
        Why it refused; ``""`` for an answer that is none.
    """

    code = ""


class Channel(Protocol):
    """Carries the same message to every party and brings back one reply of each."""

    @property
    def n_parties(self) -> int:
        """How many parties it reaches."""

    def exchange(self, message: bytes, to: Sequence[int]) -> dict[int, bytes]:
        """Send a message to some parties and wait for their replies.

        Parameters
        ----------
        message : bytes
        to : sequence of int
            Numbers of the parties.

        Returns
        -------
        dict of int to bytes
            The reply of each party that gave one in time.
        """


class Receiver(Protocol):
    """What a channel needs of a party."""

    def receive(self, message: bytes) -> bytes:
        """Take in a message and return the reply."""


class LocalChannel:
    """All parties in this process, for simulations and tests.

    Parameters
    ----------
    parties : sequence of Party
        In the order of their numbers.

    Examples
    --------
    >>> from dpboost.federated import Agreement
    >>> schema = {"bounds": {"age": [0, 100]}, "classes": [0, 1]}
    >>> terms = Agreement(n_parties=2, features=("age",), schema=schema, recipe="noisy_histograms")
    >>> tables = [([[30], [60]], [0, 1]), ([[20], [80], [50]], [0, 1, 1])]

    >>> from dpboost.federated import Coordinator, Party
    >>> parties = [Party(i, *rows, agreement=terms) for i, rows in enumerate(tables)]
    >>> coordinator = Coordinator(terms, LocalChannel(parties))
    """

    def __init__(self, parties: Sequence[Receiver]) -> None:
        self._parties = tuple(parties)

    @property
    def n_parties(self) -> int:
        """How many parties there are."""
        return len(self._parties)

    def exchange(self, message: bytes, to: Sequence[int]) -> dict[int, bytes]:
        """Hand the message to the parties one after the other."""
        return {index: self._parties[index].receive(message) for index in to}
