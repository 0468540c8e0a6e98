"""The digest of each step of a session: what parties must agree on before a sum opens.

Masks are keyed by it. Parties whose queries, noise, commands, earlier sums or participants differ
in anything have masks that do not cancel. Proof: docs/proofs/noise-shares.md.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.ledger_records import LedgerEntry
from dpboost.privacy.randomness import RowCoins
from dpboost.privacy.remote import RemoteSensitive
from dpboost.trees.random_partition import Partition

# Tables that follow from the rest of an object, and are large.
_DERIVED: dict[type, frozenset[str]] = {Partition: frozenset({"table", "steps"})}


class Steps:
    """The chain of a session.

    Parameters
    ----------
    start : bytes
        Digest of the agreement and of all keys.
    """

    def __init__(self, start: bytes) -> None:
        self._chain = start
        self._commands = hashlib.sha256()
        self._digest = b""

    def command(self, command: Any) -> None:
        """Take note of a command to the rows."""
        absorb(self._commands, command)

    def step(
        self, drawn: Sequence[tuple[LedgerEntry, RemoteSensitive]], *, honest: int, each: bool
    ) -> bytes:
        """Return the digest of a step: all that is public of what is released next.

        Parameters
        ----------
        drawn : sequence of (LedgerEntry, RemoteSensitive)
        honest : int
            Parties whose shares of the noise carry all of it.
        each : bool
            Whether every party releases an outcome of its own.

        Returns
        -------
        bytes
        """
        found = hashlib.sha256(self._chain + self._commands.digest())
        self._commands = hashlib.sha256()
        absorb(found, (honest, each, len(drawn)))
        for entry, value in drawn:
            mechanism = entry.mechanism
            absorb(found, (entry.label, entry.scope, entry.parallel, mechanism))
            absorb(found, tuple(mechanism.parameters(entry.bound)))
            absorb(found, (entry.bound, entry.unit, value.shape, value.query))
        self._digest = found.digest()
        return self._digest

    def released(self, outcomes: Sequence[NDArray[Any]], parties: tuple[int, ...]) -> None:
        """Take note of the outcomes of the last step, and of the parties that they are over."""
        found = hashlib.sha256(self._digest)
        absorb(found, (tuple(outcomes), parties))
        self._chain = found.digest()


def absorb(target: Any, value: Any) -> None:
    """Add a public value to a hash, with its type, so that no two values look alike.

    Row coins are left out: they are secret, and each party has its own.

    Raises
    ------
    TypeError
        For what is none of numbers, text, bytes, arrays, sequences, mappings and dataclasses.
    """
    if value is None or isinstance(value, RowCoins):
        target.update(b"N")
    elif isinstance(value, Enum):
        _tagged(target, b"E", f"{type(value).__name__}.{value.name}".encode())
    elif isinstance(value, (bool, int, np.integer, np.bool_)):
        _tagged(target, b"I", str(int(value)).encode())
    elif isinstance(value, (float, np.floating)):
        target.update(b"F" + struct.pack("<d", value))
    elif isinstance(value, Fraction):
        _tagged(target, b"Q", str(value).encode())
    elif isinstance(value, str):
        _tagged(target, b"S", value.encode())
    elif isinstance(value, bytes):
        _tagged(target, b"B", value)
    elif isinstance(value, np.ndarray):
        little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        _tagged(target, b"A", f"{little.dtype.str}{value.shape}".encode())
        target.update(little.tobytes())
    else:
        _absorb_parts(target, value)


def _absorb_parts(target: Any, value: Any) -> None:
    if isinstance(value, (tuple, list)):
        _tagged(target, b"T", str(len(value)).encode())
        for part in value:
            absorb(target, part)
    elif isinstance(value, (set, frozenset)):
        target.update(b"Z")
        absorb(target, sorted(value))
    elif isinstance(value, Mapping):
        _tagged(target, b"D", str(len(value)).encode())
        for key, part in value.items():
            absorb(target, key)
            absorb(target, part)
    elif is_dataclass(value):
        _tagged(target, b"O", type(value).__qualname__.encode())
        derived = _DERIVED.get(type(value), frozenset())
        for part in fields(value):
            if part.name not in derived:
                absorb(target, getattr(value, part.name))
    else:
        raise TypeError(f"An object of {type(value).__name__} has no digest.")


def _tagged(target: Any, tag: bytes, content: bytes) -> None:
    target.update(tag + len(content).to_bytes(8, "little") + content)
