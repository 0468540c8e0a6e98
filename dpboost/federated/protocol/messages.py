"""The messages. What a party may send is masked words, a released outcome, a key, or a code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpboost.federated.protocol.wire import known
from dpboost.federated.secagg.secret_shares import ELEMENT_BYTES

# Why a session has ended; nothing else is said of an error.
FAILED = "failed"
LOST = "lost"
DIFFERENT = "different"
MALFORMED = "malformed"
KEYS = "keys"
IMPOSSIBLE = "impossible"
STOPPED = "stopped"
CODES = (FAILED, LOST, DIFFERENT, MALFORMED, KEYS, IMPOSSIBLE, STOPPED)

_DIGEST_BYTES = 32
_LONGEST_VERSION = 100


class Key(NamedTuple):
    """Which message of a session: each party sends one of a key, and all get one reply.

    Parameters
    ----------
    step : int
        Counts releases from 1; the keys of parties come at 0.
    kind : str
        Name of the message.
    """

    step: int
    kind: str


def _check(condition: bool, name: str) -> None:
    if not condition:
        raise ValueError(name)


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**31


def _are_parties(numbers: Any) -> bool:
    """Return whether these are numbers of parties, in ascending order."""
    if not isinstance(numbers, tuple) or not all(map(_is_number, numbers)):
        return False
    return list(numbers) == sorted(set(numbers))


def _is_digest(value: Any) -> bool:
    return type(value) is bytes and len(value) == _DIGEST_BYTES


def _are_elements(content: Any) -> bool:
    return type(content) is bytes and len(content) % ELEMENT_BYTES == 0


def _are_arrays(arrays: Any, *dtypes: type) -> bool:
    return isinstance(arrays, tuple) and all(
        isinstance(array, np.ndarray) and array.dtype in dtypes for array in arrays
    )


def _are_bytes(contents: Any) -> bool:
    return isinstance(contents, tuple) and all(type(content) is bytes for content in contents)


# -- from a party to the coordinator ---------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _FromParty:
    """A message of a party.

    Parameters
    ----------
    party : int
        Its number.
    """

    party: int

    def __post_init__(self) -> None:
        _check(_is_number(self.party), "party")


@dataclass(frozen=True, kw_only=True)
class Hello(_FromParty):
    """The party's key for the session, and what it runs.

    Parameters
    ----------
    party : int
    terms : bytes
        Digest of its agreement.
    version, build : str
        Of the library.
    certificate : str
        SHA-256 of the certificate by which it connects, in hexadecimal; "" without one.
    key : bytes
        Public, of this session.
    signature : bytes
        Of all that, by the agreed identity; ``b""`` without one.
    """

    terms: bytes
    version: str
    build: str
    certificate: str
    key: bytes
    signature: bytes

    def __post_init__(self) -> None:
        super().__post_init__()
        _check(_is_digest(self.terms), "terms")
        texts = (self.version, self.build, self.certificate)
        _check(all(type(each) is str and len(each) <= _LONGEST_VERSION for each in texts), "text")
        _check(_are_bytes((self.key, self.signature)), "key")


@dataclass(frozen=True, kw_only=True)
class Deposit(_FromParty):
    """Shares of two keys of a party's masks for one step, under a lock for each holder.

    Parameters
    ----------
    party : int
    own : bytes
        Shares of the key of the party's own mask, 32 bytes for every party.
    pairs : bytes
        Shares of the key that opens ``sealed``, 32 bytes for every party.
    sealed : bytes
        The keys of the masks that the party shares with every other one.
    """

    own: bytes
    pairs: bytes
    sealed: bytes

    def __post_init__(self) -> None:
        super().__post_init__()
        _check(_are_elements(self.own) and _are_elements(self.pairs), "shares")
        _check(type(self.sealed) is bytes, "sealed")


@dataclass(frozen=True, kw_only=True)
class Words(_FromParty):
    """The party's part of one or more sums, with its share of the noise, under a mask.

    Words of 64 bits without a sign: a sum, which is int64, does not fit, masked or not.

    Parameters
    ----------
    party : int
    digest : bytes
        Of the step.
    words : tuple of ndarray of uint64
    """

    digest: bytes
    words: tuple[NDArray[np.uint64], ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        _check(_is_digest(self.digest), "digest")
        _check(_are_arrays(self.words, np.uint64), "words")


@dataclass(frozen=True, kw_only=True)
class Outcomes(_FromParty):
    """Outcomes of this party alone, each with all of its noise.

    Parameters
    ----------
    party : int
    digest : bytes
        Of the step.
    outcomes : tuple of ndarray of int64 or int32
    """

    digest: bytes
    outcomes: tuple[NDArray[Any], ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        _check(_is_digest(self.digest), "digest")
        _check(_are_arrays(self.outcomes, np.int64, np.int32), "outcomes")


@dataclass(frozen=True, kw_only=True)
class Endorsed(_FromParty):
    """A party's signature of who is present in a step; ``b""`` without identities."""

    signature: bytes

    def __post_init__(self) -> None:
        super().__post_init__()
        _check(type(self.signature) is bytes, "signature")


@dataclass(frozen=True, kw_only=True)
class Unlocked(_FromParty):
    """What takes the locks off one share of every party of a step: random bytes.

    Parameters
    ----------
    party : int
    pads : bytes
        32 bytes for every party that has deposited: for one that is present, of the share of the
        key of its own mask; for another one, of the share of the key to the masks that it has in
        common with the others.
    """

    pads: bytes

    def __post_init__(self) -> None:
        super().__post_init__()
        _check(_are_elements(self.pads), "pads")


@dataclass(frozen=True, kw_only=True)
class Absent(_FromParty):
    """The party is not part of this step, and waits for its sum."""


@dataclass(frozen=True, kw_only=True)
class Done(_FromParty):
    """The hash of what the party has in the end."""

    result: bytes

    def __post_init__(self) -> None:
        super().__post_init__()
        _check(_is_digest(self.result), "result")


# -- from the coordinator: one reply for all parties -----------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Roster:
    """The hellos of all parties, in the order of their numbers."""

    hellos: tuple[Hello, ...]

    def __post_init__(self) -> None:
        listed = isinstance(self.hellos, tuple)
        _check(listed and all(isinstance(each, Hello) for each in self.hellos), "hellos")


@dataclass(frozen=True, kw_only=True)
class Deposits:
    """The parties that have deposited keys for a step."""

    parties: tuple[int, ...]

    def __post_init__(self) -> None:
        _check(_are_parties(self.parties), "parties")


@dataclass(frozen=True, kw_only=True)
class Present:
    """The parties whose words have arrived."""

    parties: tuple[int, ...]

    def __post_init__(self) -> None:
        _check(_are_parties(self.parties), "parties")


@dataclass(frozen=True, kw_only=True)
class Unlock:
    """Signatures of who is present.

    Parameters
    ----------
    signers : tuple of int
        Ascending; as many as the threshold with identities, any without.
    signatures : tuple of bytes
    """

    signers: tuple[int, ...]
    signatures: tuple[bytes, ...]

    def __post_init__(self) -> None:
        _check(_are_parties(self.signers) and _are_bytes(self.signatures), "signers")
        _check(len(self.signers) == len(self.signatures), "signatures")


@dataclass(frozen=True, kw_only=True)
class Sum:
    """What the parts of the parties that are present add up to.

    Parameters
    ----------
    sums : tuple of ndarray of int64
    parties : tuple of int
    """

    sums: tuple[NDArray[np.int64], ...]
    parties: tuple[int, ...]

    def __post_init__(self) -> None:
        _check(_are_arrays(self.sums, np.int64), "sums")
        _check(_are_parties(self.parties), "parties")


@dataclass(frozen=True, kw_only=True)
class AllOutcomes:
    """The outcomes of all parties, those of one release stacked.

    Parameters
    ----------
    outcomes : tuple of ndarray of shape (n_parties, ...)
    parties : tuple of int
    """

    outcomes: tuple[NDArray[Any], ...]
    parties: tuple[int, ...]

    def __post_init__(self) -> None:
        _check(_are_arrays(self.outcomes, np.int64, np.int32), "outcomes")
        _check(_are_parties(self.parties), "parties")


@dataclass(frozen=True, kw_only=True)
class Agreed:
    """All parties and the coordinator have the same result."""

    result: bytes

    def __post_init__(self) -> None:
        _check(_is_digest(self.result), "result")


@dataclass(frozen=True, kw_only=True)
class Ended:
    """The session is over without a result.

    Parameters
    ----------
    code : str
        One of ``CODES``.
    step : int
        At which it ended.
    """

    code: str
    step: int

    def __post_init__(self) -> None:
        _check(self.code in CODES and _is_number(self.step), "code")


#: Of the messages of a party: the kinds of keys.
NAMES = ("hello", "deposit", "words", "endorsed", "unlocked", "outcomes", "done")
KINDS: tuple[type, ...] = (Hello, Deposit, Words, Outcomes, Endorsed, Unlocked, Absent, Done)
KINDS += (Roster, Deposits, Present, Unlock, Sum, AllOutcomes, Agreed, Ended)
for _kind in KINDS:
    known(_kind.__name__.lower(), _kind)
