"""A party's masks for one step, with key shares at the other parties.

Beside the masks that it has in common with each other party, a party adds one of its own. Before
its words leave, it uploads shares of two keys: that of its own mask, and one that opens the keys
of the masks in common, for this step alone. Once it is known whose words have arrived, every party
that is present unlocks, for each party that has uploaded key shares, a share of one of the two: of
the first for one that is present, of the second for one that is missing. ``threshold`` parties are
enough.

Bonawitz et al., Practical Secure Aggregation for Privacy-Preserving Machine Learning, CCS 2017,
with keys of one step and locks instead of messages: a share is hidden by a number that two parties
derive from what they share, so that no share is delivered. With agreed identities every party
first signs who is present, and unlocks nothing before ``threshold`` parties have signed the same
(section 6): else a coordinator could name a party present to some and missing to others.
Proof: docs/proofs/secret-shares.md.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from numpy.typing import NDArray

from dpboost.federated.protocol.messages import Deposit, Unlocked
from dpboost.federated.secagg.keys import PairwiseMasks, pair_words, part_nonce, stream
from dpboost.federated.secagg.secret_shares import (
    ELEMENT_BYTES,
    PRIME,
    elements,
    to_bytes,
    uniform,
    values,
    weights,
)

_LOCK = b"dpboost share 2"
_SEED = b"dpboost step 2"
_SEAL = b"dpboost seal 2"
_PRESENT = b"dpboost present 2"
_ROSTER = b"dpboost roster 2"
OWN, PAIRS = b"own", b"pairs"


class SealError(ValueError):
    """A key does not open what was sealed."""


class ReleaseMasks:
    """The masks of a party for one step, and what it sends about them.

    Its name belongs to this session and differs for each step. The seed consists of fresh secret
    bytes, which are on disk before the key-share upload; the words are sent after the upload.

    Privacy
    -------
    Both keys follow from the seed, which is random and for this step alone; so are, to anyone who
    lacks the secrets of two parties, the numbers that are derived from them. One of the two keys
    of another party is unlocked, for one set of parties, and never the other one.
    """

    def __init__(
        self,
        name: bytes,
        index: int,
        pairs: PairwiseMasks,
        *,
        n_parties: int,
        threshold: int,
        seed: bytes,
    ) -> None:
        self._index = index
        self._pairs = pairs
        self._name = name
        self._secret = seed
        self._roster: tuple[int, ...] | None = None
        self._digest = b""
        self._present: tuple[int, ...] | None = None
        # Each key is the value at 0 of a polynomial with uniform coefficients.
        polynomials = {
            kind: [self._drawn(kind + bytes([power])) for power in range(threshold)]
            for kind in (OWN, PAIRS)
        }
        self._own = to_bytes(polynomials[OWN][0])
        locked = {
            kind: self._lock(kind, values(coefficients, n_parties))
            for kind, coefficients in polynomials.items()
        }
        seeds = (self._seed(other) for other in range(n_parties) if other != index)
        self.deposit = Deposit(
            party=index,
            own=locked[OWN],
            pairs=locked[PAIRS],
            sealed=seal(to_bytes(polynomials[PAIRS][0]), b"".join(seeds)),
        )

    def bind(self, roster: tuple[int, ...], digest: bytes) -> None:
        """Take the masks for one step among the parties that have uploaded key shares, once."""
        if self._roster is not None:
            raise RuntimeError("Masks hide one step and no more.")
        self._roster, self._digest = roster, among(digest, roster)

    def words(self, position: int, size: int) -> NDArray[np.uint64]:
        """Return the mask of an array of the step."""
        assert self._roster is not None
        total = own_words(self._own, self._digest, position, size)
        for other in self._roster:
            if other != self._index:
                seed = array_seed(self._seed(other), self._digest, position)
                total += pair_words(self._index, other, seed, size)
        return total

    def settle(self, present: tuple[int, ...], least: int) -> None:
        """Take note of who is present, once for a step.

        ValueError if the party is not among them, or they are too few, or some of them have not
        uploaded key shares, or others were named before.
        """
        if self._roster is None or self._index not in present:
            raise ValueError("present")
        if len(present) < least or not set(present) <= set(self._roster):
            raise ValueError("present")
        if self._present not in (None, present):
            raise ValueError("present")
        self._present = present

    def unlock(self) -> bytes:
        """Return what opens this party's share of one key of every party of the participants."""
        assert self._roster is not None
        assert self._present is not None
        kinds = ((other, OWN if other in self._present else PAIRS) for other in self._roster)
        return b"".join(to_bytes(self._pad(other, self._index, kind)) for other, kind in kinds)

    def _drawn(self, what: bytes) -> int:
        """Return an element of the field that only the seed tells."""
        return uniform(hmac.digest(self._secret, what, hashlib.sha512))

    def _seed(self, other: int) -> bytes:
        """Return the key of all masks in common with another party, for this step."""
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
            return self._drawn(content)
        return uniform(self._pairs.pad(other, content))


def among(digest: bytes, roster: Sequence[int]) -> bytes:
    """Return the key of masks: a step, and the parties that have uploaded key shares for it."""
    numbers = b"".join(index.to_bytes(4, "big") for index in roster)
    return hashlib.sha256(_ROSTER + digest + numbers).digest()


def statement(digest: bytes, present: Sequence[int]) -> bytes:
    """Return what is signed: who is present in a step of this session."""
    return _PRESENT + digest + b"".join(index.to_bytes(4, "big") for index in present)


def own_words(key: bytes, digest: bytes, position: int, size: int) -> NDArray[np.uint64]:
    """Return a party's own mask of an array of a step."""
    return stream(hmac.digest(key, part_nonce(digest, position), hashlib.sha256), size)


def array_seed(seed: bytes, digest: bytes, position: int) -> bytes:
    """Return the key of the mask that two parties have in common for an array of a step."""
    return hmac.digest(seed, part_nonce(digest, position), hashlib.sha256)


def seal(key: bytes, content: bytes) -> bytes:
    """Encrypt with a key that is used once."""
    return _cipher(key).encrypt(bytes(12), content, _SEAL)


def unseal(key: bytes, sealed: bytes) -> bytes:
    """Return what was sealed."""
    try:
        return _cipher(key).decrypt(bytes(12), sealed, _SEAL)
    except InvalidTag as error:
        raise SealError("A key does not open what was sealed.") from error


def _cipher(key: bytes) -> ChaCha20Poly1305:
    return ChaCha20Poly1305(hmac.digest(key, _SEAL, hashlib.sha256))


# -- the coordinator's side: it holds the locked shares, and opens one key of every party ----------


@dataclass(frozen=True, kw_only=True)
class OpenedMasks:
    """Keys of masks of one step: all of them that the sum over those present still has.

    ``own`` is of each party that is present, ``pairs`` of what one that is present has in common
    with one that is missing, in this order.
    """

    own: dict[int, bytes]
    pairs: dict[tuple[int, int], bytes]
    digest: bytes

    def left(self, position: int, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        """Return what is left of the masks in the sum over those that are present."""
        size = int(np.prod(shape, dtype=np.int64))
        total = np.zeros(size, dtype=np.uint64)
        for key in self.own.values():
            total += own_words(key, self.digest, position, size)
        for (index, other), key in self.pairs.items():
            total += pair_words(index, other, array_seed(key, self.digest, position), size)
        return total.reshape(shape)


def open_masks(
    deposits: Mapping[int, Deposit],
    unlocked: Mapping[int, Unlocked],
    present: tuple[int, ...],
    *,
    threshold: int,
    digest: bytes,
) -> OpenedMasks:
    """Put the keys together that are needed for the sum over those that are present.

    SealError where shares do not fit together: a party has not kept to the protocol.
    """
    holders = sorted(unlocked)[:threshold]
    factors = weights(holders)
    pads = [elements(unlocked[holder].pads) for holder in holders]
    own: dict[int, bytes] = {}
    pairs: dict[tuple[int, int], bytes] = {}
    for place, index in enumerate(sorted(deposits)):
        deposit = deposits[index]
        locked = elements(deposit.own if index in present else deposit.pairs)
        shares = (locked[holder] - pad[place] for holder, pad in zip(holders, pads, strict=True))
        key = to_bytes(sum(w * s for w, s in zip(factors, shares, strict=True)) % PRIME)
        if index in present:
            own[index] = key
            continue
        seeds = seeds_of(index, unseal(key, deposit.sealed))
        if not set(present) <= set(seeds):
            raise SealError("A key is missing from what was sealed.")
        pairs |= {(other, index): seeds[other] for other in present}
    return OpenedMasks(own=own, pairs=pairs, digest=digest)


def seeds_of(index: int, opened: bytes) -> dict[int, bytes]:
    """Return what a party has sealed: a key for every other one."""
    size = ELEMENT_BYTES
    seeds = [opened[start : start + size] for start in range(0, len(opened), size)]
    others = (other for other in range(len(seeds) + 1) if other != index)
    return dict(zip(others, seeds, strict=True))
