"""Identity keys of parties, and pairwise secrets that the coordinator does not know."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence

import numpy as np
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

_CONTEXT = b"dpboost secure sum 1"
_AT_ONCE = 1 << 20


class UntrustedKeyError(ValueError):
    """A message lacks a valid signature of its stated sender."""


class Identity:
    """A party's long-lived signing key (Ed25519).

    The data holder creates it once, keeps the secret and sends ``public`` to the others before the
    agreement is written.

    Parameters
    ----------
    secret : bytes of length 32, optional
        A new one without it.

    Examples
    --------
    >>> mine = Identity()
    >>> len(mine.public)  # hexadecimal, for the agreement
    64
    >>> Identity(mine.secret).public == mine.public
    True
    """

    __slots__ = ("_key",)

    def __init__(self, secret: bytes | None = None) -> None:
        self._key = (
            Ed25519PrivateKey.generate()
            if secret is None
            else Ed25519PrivateKey.from_private_bytes(secret)
        )

    @property
    def public(self) -> str:
        """The public key in hexadecimal, for ``Agreement(identities=...)``."""
        return self._key.public_key().public_bytes_raw().hex()

    @property
    def secret(self) -> bytes:
        """The secret key, for the holder's own safe."""
        return self._key.private_bytes_raw()

    def sign(self, content: bytes) -> bytes:
        """Return the signature of some bytes."""
        return self._key.sign(content)

    def __repr__(self) -> str:
        return f"Identity({self.public})"


class SessionKey:
    """A party's key for one session (X25519)."""

    __slots__ = ("_index", "_key", "_terms", "public")

    def __init__(self, index: int, terms: bytes, secret: bytes) -> None:
        self._index = index
        self._terms = terms
        self._key = X25519PrivateKey.from_private_bytes(secret)
        self.public = self._key.public_key().public_bytes_raw()

    def pair(self, publics: Sequence[bytes]) -> PairwiseMasks:
        """Return what this party shares with every other one."""
        secrets = {}
        for other, public in enumerate(publics):
            if other == self._index:
                continue
            low, high = sorted((self._index, other))
            try:
                shared = self._key.exchange(X25519PublicKey.from_public_bytes(public))
            except ValueError as error:
                raise UntrustedKeyError(f"The key of party {other} is none.") from error
            between = publics[low] + publics[high] + bytes(f"{low} {high}", "ascii")
            derivation = HKDF(
                algorithm=hashes.SHA256(), length=32, salt=self._terms, info=_CONTEXT + between
            )
            secrets[other] = derivation.derive(shared)
        return PairwiseMasks(self._index, secrets)


def check_signature(identity: str, content: bytes, signature: bytes) -> None:
    """Raise unless some bytes are signed by an identity."""
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(identity))
        key.verify(signature, content)
    except (InvalidSignature, ValueError, TypeError) as error:
        raise UntrustedKeyError("Something is not signed by the party it comes from.") from error


class PairwiseMasks:
    """Secrets that one party shares with each of the others.

    Privacy
    -------
    Masks of all parties for the same nonce add up to zero modulo 2^64. As long as one other party
    keeps its secrets, a mask is as good as uniform for anyone else (ChaCha20 under a key that is
    used for one array).
    """

    __slots__ = ("_index", "_secrets")

    def __init__(self, index: int, secrets: Mapping[int, bytes]) -> None:
        self._index = index
        self._secrets = dict(secrets)

    def mask(self, nonce: bytes, size: int) -> NDArray[np.uint64]:
        """Return this party's mask.

        Algorithm 1 of Gubler et al. with the modulus 2^64 of the integers that are summed: party
        i adds the stream it shares with j where i < j, and subtracts it where i > j. A nonce names
        one array of one message of one session; it is never used for two arrays.
        """
        total = np.zeros(size, dtype=np.uint64)
        for other in self._secrets:
            total += pair_words(self._index, other, self.seed(other, nonce), size)
        return total

    def seed(self, other: int, nonce: bytes) -> bytes:
        """Return the key of what this party shares with another one for a nonce, and no other."""
        return hmac.digest(self._secrets[other], nonce, hashlib.sha256)

    def pad(self, other: int, content: bytes) -> bytes:
        """Return 64 bytes that only this party and another one can derive for some content."""
        return hmac.digest(self._secrets[other], content, hashlib.sha512)


def pair_words(index: int, other: int, seed: bytes, size: int) -> NDArray[np.uint64]:
    """Return what a party adds for the sake of another one; the two add up to zero."""
    words = stream(seed, size)
    return words if index < other else np.uint64(0) - words


def part_nonce(nonce: bytes, position: int) -> bytes:
    """Return what the masks of one array of a message are bound to."""
    return nonce + position.to_bytes(8, "big")


def stream(key: bytes, size: int) -> NDArray[np.uint64]:
    """Return the first words of a ChaCha20 stream."""
    words = np.zeros(size, dtype="<u8")
    target = words.data.cast("B") if size else memoryview(b"")
    cipher = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor()
    for start in range(0, len(target), _AT_ONCE):
        chunk = target[start : start + _AT_ONCE]
        cipher.update_into(bytes(len(chunk)), chunk)
    return words.astype(np.uint64, copy=False, casting="safe")
