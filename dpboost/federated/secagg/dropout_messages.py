"""Messages about masks: what is deposited before a release, and what is opened after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpboost.federated.protocol.messages import Step
from dpboost.federated.protocol.wire import known
from dpboost.federated.secagg.secret_shares import ELEMENT_BYTES


def are_parties(numbers: Any) -> bool:
    """Return whether these are numbers of parties, in ascending order."""
    if not isinstance(numbers, tuple) or not all(type(one) is int and one >= 0 for one in numbers):
        return False
    return list(numbers) == sorted(set(numbers))


def _check_elements(content: Any) -> None:
    if type(content) is not bytes or len(content) % ELEMENT_BYTES:
        raise ValueError("shares")


@dataclass(frozen=True, kw_only=True)
class Prepare:
    """Asks for a deposit before a message, of parties that have not made it with an earlier one."""

    turn: Step

    def __post_init__(self) -> None:
        if not isinstance(self.turn, Step):
            raise ValueError("turn")


@dataclass(frozen=True, kw_only=True)
class Deposit:
    """Shares of two keys of a party's masks for one message, under a lock for each holder.

    Parameters
    ----------
    party : int
    turn : Step
        Of the message.
    own : bytes
        Shares of the key of the party's own mask, 32 bytes for every party.
    pairs : bytes
        Shares of the key that opens ``sealed``, 32 bytes for every party.
    sealed : bytes
        The keys of the masks that the party shares with every other one.
    """

    party: int
    turn: Step
    own: bytes
    pairs: bytes
    sealed: bytes

    def __post_init__(self) -> None:
        if type(self.party) is not int or not isinstance(self.turn, Step):
            raise ValueError("deposit")
        _check_elements(self.own)
        _check_elements(self.pairs)
        if type(self.sealed) is not bytes:
            raise ValueError("sealed")


@dataclass(frozen=True, kw_only=True)
class Present:
    """Who has answered a message, for all of them to sign.

    Parameters
    ----------
    turn : Step
        Of the message.
    parties : tuple of int
        In ascending order.
    """

    turn: Step
    parties: tuple[int, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.turn, Step):
            raise ValueError("present")
        if not are_parties(self.parties):
            raise ValueError("parties")


@dataclass(frozen=True, kw_only=True)
class Endorsed:
    """A party's signature of who is there."""

    party: int
    signature: bytes

    def __post_init__(self) -> None:
        if type(self.party) is not int or type(self.signature) is not bytes:
            raise ValueError("endorsed")


@dataclass(frozen=True, kw_only=True)
class Unmask:
    """Asks the parties that are there to unlock one share of every party.

    Parameters
    ----------
    present : Present
    signers : tuple of int
        In ascending order; as many as the threshold, or ``()`` without identities.
    signatures : tuple of bytes
        Of the signers, in their order.
    """

    present: Present
    signers: tuple[int, ...]
    signatures: tuple[bytes, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.present, Present) or not are_parties(self.signers):
            raise ValueError("present")
        signatures = self.signatures
        if not isinstance(signatures, tuple) or not all(type(one) is bytes for one in signatures):
            raise ValueError("signatures")
        if len(signatures) != len(self.signers):
            raise ValueError("signatures")


@dataclass(frozen=True, kw_only=True)
class Unlocked:
    """What takes the locks off one share of every party of a message.

    Random bytes that say nothing about rows.

    Parameters
    ----------
    party : int
    pads : bytes
        32 bytes for every party that was asked: for one that has answered, of the share of the
        key of its own mask; for one that is missing, of the share of the key to the masks that it
        has in common with the others.
    following : Deposit
        For the next message, so that nobody has to ask for it.
    """

    party: int
    pads: bytes
    following: Deposit

    def __post_init__(self) -> None:
        if type(self.party) is not int or not isinstance(self.following, Deposit):
            raise ValueError("unlocked")
        _check_elements(self.pads)


for _kind in (Prepare, Deposit, Present, Endorsed, Unmask, Unlocked):
    known(_kind.__name__.lower(), _kind)
