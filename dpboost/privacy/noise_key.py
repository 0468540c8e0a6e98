"""A secret key from which the noise of a fit can be drawn again."""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from dpboost._kernels import entropy
from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.randomness import Entropy, _Secret

KEY_BYTES = 32
# What a key is used for: no two uses give the same bytes.
_COMMITMENT = b"dpboost noise key: commitment"
_STREAM = b"dpboost noise key: stream\0"


class NoiseKey(_Secret):
    """256 secret bits, from which everything that is secret in a fit is drawn.

    Parameters
    ----------
    bits : bytes of length 32
        From ``secrets.token_bytes(32)``.

    Raises
    ------
    InvalidParameterError
        For anything else. The message does not show it.

    Privacy
    -------
    A fit with a key is as private as one without, against everybody who does not know the key and
    cannot compute with 2^256 keys, as long as no other rows are fitted with the same key and the
    same public parameters: two such models have the same noise, and their difference none. Other
    public parameters have other noise, by HMAC-SHA256.
    """

    __slots__ = ("_bits",)

    def __init__(self, bits: Any) -> None:
        if not isinstance(bits, bytes) or len(bits) != KEY_BYTES:
            raise InvalidParameterError(
                f"The 'noise_key' argument of fit must be {KEY_BYTES} secret bytes, such as "
                f"secrets.token_bytes({KEY_BYTES}), kept where nobody who sees the model finds "
                "them. (What was given is not shown.)"
            )
        self._bits = bits

    @property
    def commitment(self) -> str:
        """Hash by which somebody who is shown the key later can tell that it is the one."""
        return self._derived(_COMMITMENT).hex()

    def entropy(self, context: str) -> Entropy:
        """Return the source of secret bits for these public parameters.

        Parameters
        ----------
        context : str
            All public parameters of the fit.
        """
        stream = _stream(self._derived(_STREAM + context.encode()))
        return Entropy(entropy.SystemEntropy(read=stream), private=True)

    def _derived(self, purpose: bytes) -> bytes:
        return hmac.new(self._bits, purpose, sha256).digest()

    def __repr__(self) -> str:
        return "NoiseKey(<hidden>)"


def _stream(key: bytes) -> Callable[[int], bytes]:
    """Return a function that reads the key stream of ChaCha20, for one process."""
    stream = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor()
    owner = os.getpid()

    def read(n_bytes: int) -> bytes:
        if os.getpid() != owner:
            # The parent goes on with the same bits: noise would be drawn twice.
            raise OSError("a noise key works in the process that opened it")
        return stream.update(bytes(n_bytes))

    return read
