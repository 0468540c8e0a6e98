"""The secret random bits of a fit, for noise and random assignments.

There are two kinds of randomness in the library. *Secret* randomness, the noise and the random
assignments of rows, comes only from an `Entropy`. *Public* randomness, such as the order of
features, need not be secret and is seeded by ``random_state``, which never reaches this module.
Proofs: docs/proofs/samplers.md, and docs/proofs/composition.md for random assignments.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from numpy.typing import NDArray

from dpboost._kernels import coins, entropy
from dpboost._utils.validation import check_integer, refuse

KEY_WORDS = 4  # 32 bytes
ROWS_PER_CIPHER_BLOCK = 8  # 64 bytes of key stream, 8 bytes a row
ROWS_PER_NONCE = ROWS_PER_CIPHER_BLOCK << 32  # ChaCha20 counts blocks in 32 bits
MAX_ROW = 1 << 63
ZEROS = memoryview(bytes(1 << 16))
# Rows whose words are drawn before their blocks are found.
ROWS_AT_ONCE = 1 << 17


class _Secret:
    """An object that must not be copied, stored, compared or printed."""

    __slots__ = ()

    def _refuse(self, *_: Any) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} holds secret random bits: it cannot be pickled, copied, "
            "compared, hashed, formatted or counted. Make a new one instead."
        )

    __reduce__ = __getstate__ = _refuse
    __reduce_ex__ = __setstate__ = _refuse
    __copy__ = __deepcopy__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = __bool__ = __len__ = __iter__ = _refuse
    __format__ = _refuse


class RowCoins(_Secret):
    """Random assignments of rows: a secret function of the row number only.

    Row r owns bytes 8r to 8r + 8 of a ChaCha20 key stream (RFC 8439, section 2.4, with the upper
    half of a 64-bit block counter in the first word of the nonce). Its value is the same in any
    order, chunk, thread or retry, and pseudorandomly independent of those of all other rows.

    Privacy
    -------
    If the block of a row is an independent draw with public probabilities, adding a row adds it to
    one block and changes no other: releases from different blocks compose in parallel under the
    add/remove relation. The key and the blocks must stay secret.

    Parameters
    ----------
    key : bytes of length 32
        Used for nothing else.
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        self._key = key

    def key_for_workers(self) -> bytes:
        """Return the key, for coins drawn where the rows lie when that is another process.

        It is as secret as the rows themselves: it goes to their workers and nowhere else.
        """
        return self._key

    def words(self, first_row: int, n_rows: int) -> NDArray[np.uint64]:
        """Return the word of each of consecutive rows, uniform in 0..2**64-1.

        There may be none; the last row is below 2**63.
        """
        first_row, n_rows = _check_rows(first_row, n_rows)
        words = np.empty(n_rows, dtype="<u8")
        done = 0
        while done < n_rows:
            # A key stream is never read across the end of its 32-bit counter: what a cipher does
            # there is not the same everywhere.
            row = first_row + done
            here = min(n_rows - done, ROWS_PER_NONCE - row % ROWS_PER_NONCE)
            self._fill(row, words[done : done + here].data.cast("B"))
            done += here
        return words.astype(np.uint64, casting="safe", copy=False)

    def _fill(self, first_row: int, target: memoryview) -> None:
        block, skipped_rows = divmod(first_row, ROWS_PER_CIPHER_BLOCK)
        counter_and_nonce = block.to_bytes(8, "little") + bytes(8)
        stream = Cipher(ChaCha20(self._key, counter_and_nonce), mode=None).encryptor()
        stream.update(ZEROS[: 8 * skipped_rows])
        for start in range(0, len(target), len(ZEROS)):
            chunk = target[start : start + len(ZEROS)]
            stream.update_into(ZEROS[: len(chunk)], chunk)

    def blocks(
        self,
        probabilities: Sequence[Fraction],
        n_rows: int,
        first_row: int = 0,
        *,
        n_threads: int = 1,
    ) -> NDArray[np.int32]:
        """Draw the block of each row.

        Parameters
        ----------
        probabilities : sequence of Fraction
            Public probability of each block, rounded in sums to multiples of 2**-64. They sum to
            at most 1; what is left goes to block ``len(probabilities)``, "unused".
        n_rows : int
            Number of consecutive rows.
        first_row : int, default 0
            Number of the first one.
        n_threads : int, default 1
            Threads to use; the result does not depend on it.

        Returns
        -------
        ndarray of shape (n_rows,), int32
            Numbers in ``0..len(probabilities)``; the last only if the sum is below 1.

        Raises
        ------
        InvalidParameterError
            If a probability is negative or not rational, their sum exceeds 1, or a row is outside
            0..2**63-1.
        """
        thresholds = block_thresholds(probabilities)
        first_row, n_rows = _check_rows(first_row, n_rows)
        blocks = np.empty(n_rows, dtype=np.int32)
        for start in range(0, n_rows, ROWS_AT_ONCE):
            here = blocks[start : start + ROWS_AT_ONCE]
            words = self.words(first_row + start, len(here))
            coins.assign_blocks(words, thresholds, here, n_threads)
        return blocks

    def __repr__(self) -> str:
        return "RowCoins()"


class Entropy(_Secret):
    """The source of all secret random bits of a fit.

    Use `Entropy.secure`; `Entropy.seeded` is for tests and benchmarks.

    Privacy
    -------
    Anyone who can predict the bits can subtract the noise. A secure source has no seed and no state
    to copy, and belongs to a fit, never to a fitted model. A release with a seeded source is **not
    private**, and ``private`` is false.

    Parameters
    ----------
    bit_generator : numpy.random.BitGenerator
        Source of the bits, for the kernels of noise and selection.
    private : bool
        Whether the bits are unpredictable.
    coin_key : bytes of length 32, optional
        Secret. The keys of row coins follow from it one after the other, so that a process that
        is started again assigns rows as before. Noise never follows from a key.
    """

    __slots__ = ("_coin_key", "_n_coins", "_private", "bit_generator")

    def __init__(
        self,
        bit_generator: np.random.BitGenerator,
        *,
        private: bool,
        coin_key: bytes | None = None,
    ) -> None:
        self.bit_generator = bit_generator
        self._private = private
        self._coin_key = coin_key
        self._n_coins = 0

    @property
    def private(self) -> bool:
        """Whether the bits are secret."""
        return self._private

    @classmethod
    def secure(cls, coin_key: bytes | None = None) -> Entropy:
        """Return a source that reads the random bits of the operating system.

        Raises OSError if it gives none.
        """
        return cls(entropy.SystemEntropy(), private=True, coin_key=coin_key)

    @classmethod
    def seeded(cls, noise_seed: int) -> Entropy:
        """Return a reproducible source, which is not private.

        All that is drawn is a function of the seed, at least 0, and of the order of the draws.
        """
        seed = check_integer("noise_seed", "Entropy", noise_seed, low=0)
        return cls(np.random.PCG64(np.random.SeedSequence(seed)), private=False)

    def row_coins(self) -> RowCoins:
        """Return row coins under a new key, independent of all earlier ones."""
        if self._coin_key is not None:
            self._n_coins += 1
            counter = self._n_coins.to_bytes(8, "big")
            return RowCoins(hmac.digest(self._coin_key, counter, hashlib.sha256))
        words = np.asarray(self.bit_generator.random_raw(KEY_WORDS), dtype=np.uint64)
        return RowCoins(words.astype("<u8", casting="safe").tobytes())

    def __repr__(self) -> str:
        return f"Entropy(private={self.private})"


def _check_rows(first_row: int, n_rows: int) -> tuple[int, int]:
    """Return the numbers of consecutive rows, all of which must be in 0..2**63-1."""
    first_row = check_integer("first_row", "RowCoins", first_row, low=0, high=MAX_ROW)
    n_rows = check_integer("n_rows", "RowCoins", n_rows, low=0, high=MAX_ROW - first_row)
    return first_row, n_rows


def block_thresholds(probabilities: Sequence[Fraction]) -> NDArray[np.uint64]:
    """Return ascending cumulative probabilities in units of 2**-64, rounded down.

    A sum of 1 is 2**64 units, which no word reaches and 64 bits do not hold: it is left out, so
    that all words beyond the last threshold fall into the block that completes the sum.
    Probabilities are not negative, with a sum of at most 1.
    """
    must = "fractions that are not negative and sum to at most 1"
    thresholds = []
    total = Fraction(0)
    for probability in probabilities:
        if not isinstance(probability, (Fraction, int)) or probability < 0:
            raise refuse("probabilities", "RowCoins", must, list(probabilities))
        total += probability
        if total < 1:
            thresholds.append(int(total * (1 << 64)))
    if total > 1:
        raise refuse("probabilities", "RowCoins", must, list(probabilities))
    return np.array(thresholds, dtype=np.uint64)
