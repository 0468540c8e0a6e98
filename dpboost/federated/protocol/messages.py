"""The messages. What a party may send is a masked array, a released outcome, a key, or a code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.federated.protocol.wire import known

# Why a party refuses; a refusal says nothing else.
MALFORMED = "malformed"
OTHER_TERMS = "other terms"
OTHER_SESSION = "other session"
LATE = "late"
EARLY = "early"
CHANGED = "changed"
KEYS = "keys"
BUDGET = "budget"
QUESTION = "question"
# A channel says it of a reply that it has not read to the end.
TOO_LONG = "too long"
CODES = (
    *(MALFORMED, OTHER_TERMS, OTHER_SESSION, LATE, EARLY, CHANGED, KEYS, BUDGET, QUESTION),
    TOO_LONG,
)

# Characters of the name of a release, which a party keeps in its ledger.
_MOST_LABEL = 1000


def _check_party(party: Any) -> None:
    """Raise unless this is the number of a party."""
    if type(party) is not int or party < 0:
        raise ValueError("party")


def _check_session(session: Any) -> None:
    """Raise unless this names a session."""
    if not isinstance(session, bytes) or len(session) != 16:
        raise ValueError("session")


def _is_tuple_of(kind: type, parts: Any) -> bool:
    """Return whether this is a tuple of objects of one kind."""
    return isinstance(parts, tuple) and all(isinstance(part, kind) for part in parts)


@dataclass(frozen=True, kw_only=True)
class Step:
    """The position of a message in a session: nobody answers one position with two contents.

    Parameters
    ----------
    session : bytes
        Random, of length 16.
    number : int
        Counts the messages after the introduction from 0.
    attempt : int
        Counts the attempts at one message from 0; each is charged.
    """

    session: bytes
    number: int
    attempt: int = 0

    def __post_init__(self) -> None:
        _check_session(self.session)
        numbers = (self.number, self.attempt)
        if not all(type(number) is int and 0 <= number < 2**63 for number in numbers):
            raise ValueError("number")


# -- from the coordinator to every party: the same bytes for all of them --------------------------


@dataclass(frozen=True, kw_only=True)
class Hello:
    """Asks which party somebody is."""


@dataclass(frozen=True, kw_only=True)
class Invite:
    """Opens a session under an agreement that the party has as well."""

    session: bytes
    terms: bytes

    def __post_init__(self) -> None:
        _check_session(self.session)
        if not isinstance(self.terms, bytes):
            raise ValueError("terms")


@dataclass(frozen=True, kw_only=True)
class Introduce:
    """Relays the keys of all parties, in the order of their numbers."""

    session: bytes
    keys: tuple[bytes, ...]
    signatures: tuple[bytes, ...]

    def __post_init__(self) -> None:
        _check_session(self.session)
        if not _is_tuple_of(bytes, self.keys) or not _is_tuple_of(bytes, self.signatures):
            raise ValueError("keys")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One question and the noise its answer gets.

    Parameters
    ----------
    mechanism : Mechanism
        With its budget.
    query : Query
    label : str
        Kind of release, for the party's report.
    each : bool
        Whether every party releases an outcome of its own, instead of a sum over all.
    """

    mechanism: Any
    query: Any
    label: str
    each: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.label, str) or len(self.label) > _MOST_LABEL:
            raise ValueError("label")
        if type(self.each) is not bool:
            raise ValueError("each")


@dataclass(frozen=True, kw_only=True)
class Ask:
    """Tells rows what was released since the last message, then asks for releases, all at once.

    Parameters
    ----------
    turn : Step
    orders : tuple of Command
        Carried out once, whatever the number of attempts.
    asked : tuple of Asked
        There may be none.
    roster : tuple of int
        Parties that are asked, in ascending order, where some may be lost; ``()`` elsewhere.
    """

    turn: Step
    orders: tuple[Any, ...]
    asked: tuple[Asked, ...]
    roster: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        roster = self.roster
        if not isinstance(roster, tuple) or not all(type(one) is int for one in roster):
            raise ValueError("roster")
        if not isinstance(self.turn, Step) or not isinstance(self.orders, tuple):
            raise ValueError("turn")
        if not all(hasattr(order, "execute") for order in self.orders):
            raise ValueError("orders")
        if not _is_tuple_of(Asked, self.asked):
            raise ValueError("asked")


# -- from a party to the coordinator ---------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Joined:
    """The party's key for the session."""

    party: int
    key: bytes
    signature: bytes

    def __post_init__(self) -> None:
        _check_party(self.party)
        if not _is_tuple_of(bytes, (self.key, self.signature)):
            raise ValueError("key")


@dataclass(frozen=True, kw_only=True)
class Done:
    """A message was taken in; says nothing about rows."""

    party: int

    def __post_init__(self) -> None:
        _check_party(self.party)


@dataclass(frozen=True, kw_only=True)
class Masked:
    """An answer with noise under a mask.

    Words of 64 bits without a sign: an answer, which is int64, does not fit, masked or not.
    """

    words: NDArray[np.uint64]

    def __post_init__(self) -> None:
        if not isinstance(self.words, np.ndarray) or self.words.dtype != np.uint64:
            raise TypeError("Only masked words leave a party.")


@dataclass(frozen=True, kw_only=True)
class Released:
    """The outcome of a release of the party's own gate."""

    outcome: NDArray[Any]

    def __post_init__(self) -> None:
        if not isinstance(self.outcome, np.ndarray) or self.outcome.dtype.kind != "i":
            raise TypeError("Only outcomes of the gate leave a party.")


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What a party sends for an `Ask`."""

    party: int
    turn: Step
    parts: tuple[Masked | Released, ...]

    def __post_init__(self) -> None:
        _check_party(self.party)
        if not isinstance(self.turn, Step):
            raise ValueError("turn")
        own = isinstance(self.parts, tuple)
        if not own or not all(isinstance(part, (Masked, Released)) for part in self.parts):
            raise TypeError("Only masked words and released outcomes leave a party.")


@dataclass(frozen=True, kw_only=True)
class Refused:
    """The message was not taken in. A code and nothing else."""

    party: int
    code: str

    def __post_init__(self) -> None:
        _check_party(self.party)
        if not isinstance(self.code, str) or self.code not in CODES:
            raise ValueError("code")


_KINDS: tuple[type, ...] = (Step, Hello, Invite, Introduce, Asked, Ask)
_KINDS += (Joined, Done, Masked, Released, Answers, Refused)
for _kind in _KINDS:
    known(_kind.__name__.lower(), _kind)
