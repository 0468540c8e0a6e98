"""Sums in which some parties are missing: double masking.

Beside the masks that it shares with each other party, a party adds one of its own. Once the
coordinator knows who has answered, each of these reveals, for this release alone, the key of its
own mask and the keys of the masks that it shares with the missing. What a missing party may have
sent keeps the mask that nobody but that party knows; what the others have sent keeps the masks that
they share with one another, which add up to zero.

Bonawitz et al., Practical Secure Aggregation for Privacy-Preserving Machine Learning, CCS 2017,
section 4.3, without the secret sharing: who is lost while masks are taken off aborts the attempt.
Where identities are agreed, every party first signs who is there, and reveals nothing before it
has seen that all others have signed the same (section 6 of the paper): else a coordinator could
tell one half that a party is there and the other half that it is missing.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.federated.protocol.messages import Step
from dpboost.federated.protocol.wire import encode, known
from dpboost.federated.secagg.keys import PairwiseMasks, pair_words, stream

SEED_BYTES = 32
_CONTEXT = b"dpboost present 1"


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
        numbers = self.parties
        if not isinstance(self.turn, Step) or not isinstance(numbers, tuple):
            raise ValueError("present")
        if not all(type(one) is int and one >= 0 for one in numbers):
            raise ValueError("parties")
        if list(numbers) != sorted(set(numbers)):
            raise ValueError("parties")

    @property
    def content(self) -> bytes:
        """What is signed."""
        return _CONTEXT + encode(self)


@dataclass(frozen=True, kw_only=True)
class Unmask:
    """Asks the parties that are there for the keys of masks.

    Parameters
    ----------
    present : Present
    signatures : tuple of bytes
        Of those that are there, in their order; ``()`` without identities.
    """

    present: Present
    signatures: tuple[bytes, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.present, Present):
            raise ValueError("present")
        signatures = self.signatures
        if not isinstance(signatures, tuple) or not all(type(one) is bytes for one in signatures):
            raise ValueError("signatures")


@dataclass(frozen=True, kw_only=True)
class Endorsed:
    """A party's signature of who is there."""

    party: int
    signature: bytes

    def __post_init__(self) -> None:
        if type(self.party) is not int or type(self.signature) is not bytes:
            raise ValueError("endorsed")


@dataclass(frozen=True, kw_only=True)
class Seeds:
    """Keys of masks of one message: random bytes that say nothing about rows.

    Parameters
    ----------
    party : int
    own : bytes
        Of the party's own mask.
    shared : tuple of tuple of bytes
        For each missing party, in the order of their numbers, the key for each array of the
        message.
    """

    party: int
    own: bytes
    shared: tuple[tuple[bytes, ...], ...]

    def __post_init__(self) -> None:
        if type(self.party) is not int or not isinstance(self.shared, tuple):
            raise ValueError("seeds")
        keys = [self.own, *(key for keys in self.shared for key in keys)]
        if not all(isinstance(key, bytes) and len(key) == SEED_BYTES for key in keys):
            raise ValueError("keys")


for _kind in (Present, Unmask, Endorsed, Seeds):
    known(_kind.__name__.lower(), _kind)


@dataclass(eq=False)
class SelfMask:
    """A party's side: its own mask for one message, and what it has said about it.

    Parameters
    ----------
    turn : Step
        Of the message.
    nonce : bytes
        What the masks of the message are bound to.
    n_parts : int
        Arrays of the message.
    """

    turn: Step
    nonce: bytes
    n_parts: int

    def __post_init__(self) -> None:
        self._own = secrets.token_bytes(SEED_BYTES)
        self._agreed: tuple[int, ...] | None = None

    def words(self, position: int, size: int) -> NDArray[np.uint64]:
        """Return the party's own mask of an array of the message."""
        return own_words(self._own, position, size)

    def settle(self, present: Present, index: int, least: int) -> None:
        """Take note of who is there, once for a message.

        Raises
        ------
        ValueError
            If it is another message, or the party is not among them, or they are too few, or
            others were named before.
        """
        if present.turn != self.turn or index not in present.parties:
            raise ValueError("present")
        if len(present.parties) < least or self._agreed not in (None, present.parties):
            raise ValueError("present")
        self._agreed = present.parties

    def reveal(self, present: Present, index: int, pairs: PairwiseMasks, n_parties: int) -> Seeds:
        """Return the keys of the masks to be taken off."""
        missing = [other for other in range(n_parties) if other not in present.parties]
        shared = tuple(
            tuple(
                pairs.seed(other, part_nonce(self.nonce, position))
                for position in range(self.n_parts)
            )
            for other in missing
        )
        return Seeds(party=index, own=self._own, shared=shared)


def part_nonce(nonce: bytes, position: int) -> bytes:
    """Return what the masks of one array of a message are bound to."""
    return nonce + position.to_bytes(8, "big")


def own_words(seed: bytes, position: int, size: int) -> NDArray[np.uint64]:
    """Return a party's own mask of an array of a message."""
    return stream(hmac.digest(seed, position.to_bytes(8, "big"), hashlib.sha256), size)


def remaining_masks(
    seeds: Mapping[int, Seeds], missing: Sequence[int], position: int, shape: tuple[int, ...]
) -> NDArray[np.uint64]:
    """Return what is left of the masks in the sum over the parties that are there.

    Parameters
    ----------
    seeds : mapping of int to Seeds
        What each of them has revealed.
    missing : sequence of int
        The others, in ascending order.
    position : int
        Array of the message.
    shape : tuple of int
        Its shape.
    """
    size = int(np.prod(shape, dtype=np.int64))
    total = np.zeros(size, dtype=np.uint64)
    for index, own in seeds.items():
        total += own_words(own.own, position, size)
        for other, keys in zip(missing, own.shared, strict=True):
            total += pair_words(index, other, keys[position], size)
    return total.reshape(shape)


def check_seeds(seeds: Any, n_missing: int, n_parts: int) -> bool:
    """Return whether as many keys were revealed as there are masks."""
    shared = seeds.shared
    return len(shared) == n_missing and all(len(keys) == n_parts for keys in shared)
