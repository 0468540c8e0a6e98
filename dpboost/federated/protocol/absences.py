"""What a coordinator keeps for parties that are lost, to tell them when they are back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


class Absences:
    """Who knows what of a session.

    Parameters
    ----------
    n_parties : int

    Attributes
    ----------
    introduction : bytes
        The message with the keys of all parties.
    introduced : set of int
        Parties that have taken it in.
    next : list of int
        Of each party the number of the first message that it may not have taken in.

    Examples
    --------
    >>> absent = Absences(2)
    >>> absent.told(0, 1, ("first",), [0])
    >>> absent.told(1, 1, ("second",), [0])
    >>> [orders for _, _, orders in absent.missed(1)]
    [('first',), ('second',)]
    >>> list(absent.missed(0))
    []
    """

    def __init__(self, n_parties: int) -> None:
        self.introduction = b""
        self.introduced: set[int] = set()
        self.next = [0] * n_parties
        self._told: dict[int, tuple[int, tuple[Any, ...]]] = {}
        self._repeats = 0

    def told(
        self, number: int, attempts: int, orders: tuple[Any, ...], parties: Iterable[int]
    ) -> None:
        """Take note of a message that was answered.

        Parameters
        ----------
        number : int
            Of the message.
        attempts : int
            How many of them it took.
        orders : tuple of Command
            What it told.
        parties : iterable of int
            Who has answered.
        """
        for index in parties:
            self.next[index] = number + 1
        self._told[number] = (attempts, orders)
        known = min(self.next)
        self._told = {key: value for key, value in self._told.items() if key >= known}

    def missed(self, index: int) -> Iterator[tuple[int, int, tuple[Any, ...]]]:
        """Yield number, attempt and orders of each message that a party may not have taken in.

        The attempt is a new one each time: a party takes in nothing that it may have seen.
        """
        for number in range(self.next[index], max(self._told, default=-1) + 1):
            attempts, orders = self._told[number]
            self._repeats += 1
            yield number, attempts + self._repeats, orders
