"""A party's masks for one release, of which others hold shares.

Beside the masks that it has in common with each other party, a party adds one of its own. Before
it is asked, it deposits shares of two keys: that of its own mask, and one that opens the keys of
the masks in common, for this release alone. Once it is known who has answered, every party that is
there unlocks, for each party that was asked, a share of one of the two: of the first for one that
has answered, of the second for one that is missing. ``threshold`` parties are enough for that, so
that nobody need be waited for.

Bonawitz et al., Practical Secure Aggregation for Privacy-Preserving Machine Learning, CCS 2017,
with keys of one release in the place of a key of the session, and with locks in the place of
messages: a share is hidden by a number that the two parties derive from what they have in common,
so that no share has to be delivered. Where identities are agreed, every party first signs who has
answered, and unlocks nothing before it has seen that ``threshold`` parties have signed the same
(section 6 of the paper): else a coordinator could tell some that a party is there and others that
it is missing. Proof: docs/proofs/secret-shares.md.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from numpy.typing import NDArray

from dpboost.federated.protocol.messages import Step
from dpboost.federated.protocol.wire import encode
from dpboost.federated.secagg.dropout_messages import Deposit, Present
from dpboost.federated.secagg.keys import PairwiseMasks, pair_words, part_nonce, stream
from dpboost.federated.secagg.secret_shares import (
    ELEMENT_BYTES,
    PRIME,
    split,
    to_bytes,
    uniform,
)

_LOCK = b"dpboost share 1"
_SEED = b"dpboost release 1"
_SEAL = b"dpboost seal 1"
_PRESENT = b"dpboost present 1"
OWN, PAIRS = b"own", b"pairs"


class SealError(ValueError):
    """A key does not open what was sealed."""


class ReleaseMasks:
    """The masks of a party for one message, and what it tells of them.

    Parameters
    ----------
    turn : Step
        Of the message.
    index : int
        The party.
    pairs : PairwiseMasks
        What it has in common with every other party.
    n_parties : int
    threshold : int
        So many parties open a key.

    Attributes
    ----------
    deposit : Deposit
        What it sends before it is asked.

    Privacy
    -------
    Both keys are random and for this message alone; so are, to whoever lacks the secrets of two
    parties, the numbers that are derived from them. One of the two keys of another party is
    unlocked, for one set of parties, and never the other one.
    """

    def __init__(
        self, turn: Step, index: int, pairs: PairwiseMasks, *, n_parties: int, threshold: int
    ) -> None:
        self.turn = turn
        self._index = index
        self._pairs = pairs
        self._name = hashlib.sha256(encode(turn)).digest()
        self._alone = secrets.token_bytes(ELEMENT_BYTES)
        own, opening = secrets.randbelow(PRIME), secrets.randbelow(PRIME)
        self._own = to_bytes(own)
        self._roster: tuple[int, ...] | None = None
        self._nonce = b""
        self._agreed: tuple[int, ...] | None = None
        shares = (split(secret, threshold, n_parties) for secret in (own, opening))
        locked = [self._lock(kind, each) for kind, each in zip((OWN, PAIRS), shares, strict=True)]
        seeds = (self._seed(other) for other in range(n_parties) if other != index)
        self.deposit = Deposit(
            party=index,
            turn=turn,
            own=locked[0],
            pairs=locked[1],
            sealed=seal(to_bytes(opening), b"".join(seeds)),
        )

    def bind(self, roster: tuple[int, ...], nonce: bytes) -> None:
        """Take the masks for one message to some parties, once.

        Parameters
        ----------
        roster : tuple of int
            Who is asked.
        nonce : bytes
            What was asked, and all that was told before.

        Raises
        ------
        RuntimeError
            If they were taken.
        """
        if self._roster is not None:
            raise RuntimeError("Masks hide one message and no more.")
        self._roster, self._nonce = roster, nonce

    @property
    def bound(self) -> bool:
        """Whether they were taken for a message."""
        return self._roster is not None

    def words(self, position: int, size: int) -> NDArray[np.uint64]:
        """Return the mask of an array of the message."""
        assert self._roster is not None
        total = own_words(self._own, position, size)
        for other in self._roster:
            if other != self._index:
                seed = array_seed(self._seed(other), self._nonce, position)
                total += pair_words(self._index, other, seed, size)
        return total

    def settle(self, present: Present, least: int) -> None:
        """Take note of who has answered, once for a message.

        Raises
        ------
        ValueError
            If it is another message, or the party is not among them, or they are too few, or
            some of them were not asked, or others were named before.
        """
        there = present.parties
        if self._roster is None or present.turn != self.turn or self._index not in there:
            raise ValueError("present")
        if len(there) < least or not set(there) <= set(self._roster):
            raise ValueError("present")
        if self._agreed not in (None, there):
            raise ValueError("present")
        self._agreed = there

    def statement(self, present: Present) -> bytes:
        """Return what is signed: who has answered what was asked, in this session."""
        return _PRESENT + self._nonce + encode(present)

    def unlock(self) -> bytes:
        """Return what opens this party's share of one key of every party that was asked."""
        assert self._roster is not None
        assert self._agreed is not None
        kinds = ((other, OWN if other in self._agreed else PAIRS) for other in self._roster)
        return b"".join(to_bytes(self._pad(other, self._index, kind)) for other, kind in kinds)

    def _seed(self, other: int) -> bytes:
        """Return the key of all masks in common with another party, for this message."""
        return self._pairs.seed(other, _SEED + self._name)

    def _lock(self, kind: bytes, shares: Sequence[int]) -> bytes:
        locked = (
            (share + self._pad(self._index, holder, kind)) % PRIME
            for holder, share in enumerate(shares)
        )
        return b"".join(map(to_bytes, locked))

    def _pad(self, depositor: int, holder: int, kind: bytes) -> int:
        """Return the number that hides a share from all but two parties, or from all but one."""
        content = _LOCK + self._name + kind + depositor.to_bytes(4, "big")
        other = holder if depositor == self._index else depositor
        if other == self._index:
            return uniform(hmac.digest(self._alone, content, hashlib.sha512))
        return uniform(self._pairs.pad(other, content))


def own_words(seed: bytes, position: int, size: int) -> NDArray[np.uint64]:
    """Return a party's own mask of an array of a message."""
    return stream(hmac.digest(seed, position.to_bytes(8, "big"), hashlib.sha256), size)


def array_seed(seed: bytes, nonce: bytes, position: int) -> bytes:
    """Return the key of the mask that two parties have in common for an array of a message."""
    return hmac.digest(seed, part_nonce(nonce, position), hashlib.sha256)


def seal(key: bytes, content: bytes) -> bytes:
    """Encrypt with a key that is used once."""
    return _cipher(key).encrypt(bytes(12), content, _SEAL)


def unseal(key: bytes, sealed: bytes) -> bytes:
    """Return what was sealed.

    Raises
    ------
    SealError
    """
    try:
        return _cipher(key).decrypt(bytes(12), sealed, _SEAL)
    except InvalidTag as error:
        raise SealError("A key does not open what was sealed.") from error


def _cipher(key: bytes) -> ChaCha20Poly1305:
    return ChaCha20Poly1305(hmac.digest(key, _SEAL, hashlib.sha256))
