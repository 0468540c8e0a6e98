"""Messages and their encoding: strict JSON of known dataclasses, without executable content.

A party sends masked words, a released outcome, a key, or a code.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

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
LONGEST_TEXT = 100


class Key(NamedTuple):
    """The key of a message of a session: each party sends one message, and all get one reply.

    Steps count releases from 1; the keys of parties come at 0.
    """

    step: int
    kind: str


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**31


def _are_parties(numbers: Any) -> bool:
    """Return whether these are numbers of parties, in ascending order."""
    if not isinstance(numbers, tuple) or not all(map(_is_number, numbers)):
        return False
    return list(numbers) == sorted(set(numbers))


def _are_arrays(arrays: Any, *dtypes: type) -> bool:
    return isinstance(arrays, tuple) and all(
        isinstance(array, np.ndarray) and array.dtype in dtypes for array in arrays
    )


def _are(kind: type, parts: Any) -> bool:
    return isinstance(parts, tuple) and all(type(part) is kind for part in parts)


# A field has one meaning in all messages. A sum does not fit words, masked or not: they are
# without a sign.
_CHECKS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("party", "step"), _is_number),
    **dict.fromkeys(("parties", "signers"), _are_parties),
    **dict.fromkeys(
        ("version", "build", "certificate"),
        lambda value: type(value) is str and len(value) <= LONGEST_TEXT,
    ),
    **dict.fromkeys(("key", "signature", "sealed"), lambda value: type(value) is bytes),
    **dict.fromkeys(
        ("terms", "digest", "result"),
        lambda value: type(value) is bytes and len(value) == _DIGEST_BYTES,
    ),
    **dict.fromkeys(
        ("own", "pairs", "pads"),
        lambda value: type(value) is bytes and len(value) % ELEMENT_BYTES == 0,
    ),
    "words": lambda value: _are_arrays(value, np.uint64),
    "sums": lambda value: _are_arrays(value, np.int64),
    "outcomes": lambda value: _are_arrays(value, np.int64, np.int32),
    "signatures": lambda value: _are(bytes, value),
    "hellos": lambda value: _are(Hello, value),
    "code": CODES.__contains__,
}


@dataclass(frozen=True, kw_only=True)
class Message:
    """Base of messages: every field is checked by its name on creation and decoding."""

    def __post_init__(self) -> None:
        for part in fields(self):
            if not _CHECKS[part.name](getattr(self, part.name)):
                raise ValueError(part.name)


# -- from a party to the coordinator ---------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _FromParty(Message):
    """A message of a party, with its index."""

    party: int


@dataclass(frozen=True, kw_only=True)
class Hello(_FromParty):
    """The party's key and versions for the session, signed by the agreed identity.

    ``certificate`` is the SHA-256 of its TLS certificate; it is ``""``, and the signature ``b""``,
    if there is none.
    """

    terms: bytes
    version: str
    build: str
    certificate: str
    key: bytes
    signature: bytes


@dataclass(frozen=True, kw_only=True)
class Deposit(_FromParty):
    """Key-share upload: shares of two mask keys of a party for one step, encrypted per holder.

    ``own`` is shares of the key of the party's own mask, ``pairs`` of the key that opens
    ``sealed``: the keys of the masks that it has in common with each other party.
    """

    own: bytes
    pairs: bytes
    sealed: bytes


@dataclass(frozen=True, kw_only=True)
class Words(_FromParty):
    """The party's part of one or more sums, with its share of the noise and a mask."""

    digest: bytes
    words: tuple[NDArray[np.uint64], ...]


@dataclass(frozen=True, kw_only=True)
class Outcomes(_FromParty):
    """Outcomes of this party alone, each with the full noise."""

    digest: bytes
    outcomes: tuple[NDArray[Any], ...]


@dataclass(frozen=True, kw_only=True)
class Endorsed(_FromParty):
    """A party's signature of the set of present parties of a step; ``b""`` without identities."""

    signature: bytes


@dataclass(frozen=True, kw_only=True)
class Unlocked(_FromParty):
    """What takes the locks off one share of every party that has uploaded key shares: random bytes.

    For one that is present, of the key of its own mask; for another one, of the key to the masks
    that it has in common with the others.
    """

    pads: bytes


@dataclass(frozen=True, kw_only=True)
class Absent(_FromParty):
    """The party does not take part in this step, and waits for its sum."""


@dataclass(frozen=True, kw_only=True)
class Done(_FromParty):
    """The hash of the party's result."""

    result: bytes


# -- from the coordinator: one reply for all parties -----------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Roster(Message):
    """The hellos of all parties, by index."""

    hellos: tuple[Hello, ...]


@dataclass(frozen=True, kw_only=True)
class Present(Message):
    """The parties that have uploaded key shares for a step, then those whose words have arrived."""

    parties: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Unlock(Message):
    """Signatures of the set of present parties: with identities, as many as the threshold."""

    signers: tuple[int, ...]
    signatures: tuple[bytes, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.signers) != len(self.signatures):
            raise ValueError("signatures")


@dataclass(frozen=True, kw_only=True)
class Sum(Message):
    """The sum of the parts of the present parties."""

    sums: tuple[NDArray[np.int64], ...]
    parties: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class AllOutcomes(Message):
    """The outcomes of all parties, those of one release stacked."""

    outcomes: tuple[NDArray[Any], ...]
    parties: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Agreed(Message):
    """All parties and the coordinator have the same result."""

    result: bytes


@dataclass(frozen=True, kw_only=True)
class Ended(Message):
    """The session ended at a step without a result, for one of ``CODES``."""

    code: str
    step: int


#: Of what a party says that does not go on.
FAIL = "fail"
#: Of the messages of a party: the kinds of keys.
NAMES = ("hello", "deposit", "words", "endorsed", "unlocked", "outcomes", "done")
KINDS: tuple[type, ...] = (Hello, Deposit, Words, Outcomes, Endorsed, Unlocked, Absent, Done)
KINDS += (Roster, Present, Unlock, Sum, AllOutcomes, Agreed, Ended)


# -- as bytes --------------------------------------------------------------------------------------

#: Of the format; a message of another version is refused.
VERSION = 2
#: Bytes of the longest message.
MOST_BYTES = 256 * 2**20
#: A message of this many bytes has at most one value in each of so many of them: what is read
#: takes a few times the memory of what was sent, and no more.
BYTES_PER_VALUE = 16
# Digits of an integer: as many as Python writes.
_MOST_DIGITS = 4300
# Characters of a float; the longest one that Python writes has 24.
_MOST_CHARACTERS = 32
_MOST_DEPTH = 32
_MOST_AXES = 4
# Keys of a dict that are numbers are smaller than this: large ones can be made to collide.
_LARGEST_KEY = 2**31
_MOST_LENGTH = 2**31
# Of words, sums and outcomes.
DTYPES = ("<u8", "<i8", "<i4")

T = TypeVar("T")


class MalformedMessageError(ValueError):
    """Bytes that are not a message of this version."""


_KINDS: dict[str, type] = {}
_NAMES: dict[type, str] = {}


def known(name: str, kind: type[T]) -> type[T]:
    """Let objects of a frozen dataclass be sent, under a name that never changes its meaning.

    All its fields are arguments of its constructor, which checks what was read.
    """
    if not is_dataclass(kind) or name in _KINDS:
        raise ValueError(f"{name!r} must be a new name of a dataclass")
    _KINDS[name] = kind
    _NAMES[kind] = name
    return kind


def encode(message: Any) -> bytes:
    """Return a known object as bytes, the same ones every time.

    Nothing else can be sent, and a `Sensitive` value never: TypeError.
    """
    content = {"version": VERSION, "message": _plain(message)}
    return json.dumps(content, allow_nan=False, sort_keys=True, separators=(",", ":")).encode()


def decode(
    content: bytes, expected: type[T] | tuple[type[T], ...], most_bytes: int = MOST_BYTES
) -> T:
    """Return the object that `encode` wrote, of an expected kind, or raise MalformedMessageError.

    Time and memory are a small multiple of the length of the content, whatever it is: one longer
    than ``most_bytes`` is refused before it is read, and so is one of this length with more than a
    value in every 16 bytes. Of a tuple of kinds no others are made, inside of the object either.
    """
    try:
        plain = _read(content, most_bytes)
        if not isinstance(plain, dict) or set(plain) != {"version", "message"}:
            raise MalformedMessageError("not a message")
        if plain["version"] != VERSION:
            raise MalformedMessageError("another version")
        kinds = _KINDS
        if isinstance(expected, tuple):
            kinds = {name: kind for name, kind in _KINDS.items() if kind in expected}
        value = _value(plain["message"], kinds)
    except MalformedMessageError:
        raise
    except Exception as error:
        # Constructors of known kinds check what was read, and may stumble over it in any way.
        raise MalformedMessageError("not a message") from error
    if not isinstance(value, expected):
        raise MalformedMessageError("another kind of message")
    return value


def _read(content: bytes, most_bytes: int) -> Any:
    """Return strict JSON within the limits of length, number of values and digits."""
    if len(content) > most_bytes:
        raise MalformedMessageError("too long")
    # Every value but the first follows one of these; in text they count as well.
    n_values = sum(content.count(mark) for mark in (b",", b"[", b"{"))
    if n_values > most_bytes // BYTES_PER_VALUE:
        raise MalformedMessageError("too many values")
    return json.loads(
        content.decode(), parse_int=_integer, parse_float=_float, parse_constant=_constant
    )


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise MalformedMessageError("too many digits")
    return int(text)


def _float(text: str) -> float:
    if len(text) > _MOST_CHARACTERS:
        raise MalformedMessageError("too many digits")
    number = float(text)
    if not math.isfinite(number):
        raise MalformedMessageError("too large")
    return number


def _constant(text: str) -> None:
    raise MalformedMessageError(f"{text} is no JSON")


def _plain(value: Any) -> Any:
    """Return a value as JSON; every value that JSON lacks is an object with one key."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if math.isfinite(number) else {"float": repr(number)}
    if isinstance(value, Fraction):
        return {"fraction": [value.numerator, value.denominator]}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {"dict": [[_plain(key), _plain(part)] for key, part in value.items()]}
    if isinstance(value, np.ndarray):
        return _plain_array(value)
    if type(value) in _NAMES:
        parts = {part.name: _plain(getattr(value, part.name)) for part in fields(value)}
        return {"kind": _NAMES[type(value)], "fields": parts}
    raise TypeError(f"An object of {type(value).__name__} cannot be part of a message.")


def _plain_array(value: np.ndarray[Any, Any]) -> dict[str, Any]:
    little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
    if little.dtype.str not in DTYPES:
        raise TypeError(f"An array of {value.dtype} cannot be part of a message.")
    content = base64.b64encode(little.tobytes()).decode()
    return {"array": little.dtype.str, "shape": list(value.shape), "base64": content}


def _value(plain: Any, kinds: Mapping[str, type], depth: int = _MOST_DEPTH) -> Any:
    """Return what :func:`_plain` was given; at most ``depth`` values lie inside one another."""
    if plain is None or isinstance(plain, (bool, int, float, str)):
        return plain
    if depth == 0:
        raise MalformedMessageError("too deep")
    if isinstance(plain, list):
        return tuple([_value(part, kinds, depth - 1) for part in plain])
    (head, *_) = plain
    if "kind" in plain:
        return _known_object(plain, kinds, depth)
    if "array" in plain:
        return _array(plain)
    if len(plain) != 1:
        raise MalformedMessageError("not a value")
    content = plain[head]
    if head == "float":
        return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[content]
    if head == "fraction":
        return _fraction(content)
    if head == "bytes":
        return _decoded(content)
    if head == "dict":
        return _dict(content, kinds, depth)
    raise MalformedMessageError("not a value")


def _fraction(content: Any) -> Fraction:
    """Return a quotient of two integers in lowest terms: text may be short and yet have no end."""
    numerator, denominator = content
    if type(numerator) is not int or type(denominator) is not int:
        raise MalformedMessageError("not a fraction")
    value = Fraction(numerator, denominator)
    if value.denominator != denominator:
        raise MalformedMessageError("not in lowest terms")
    return value


def _dict(content: Any, kinds: Mapping[str, type], depth: int) -> dict[Any, Any]:
    if not isinstance(content, list):
        raise MalformedMessageError("not a dict")
    found = {}
    for key, part in content:
        small = type(key) is int and abs(key) < _LARGEST_KEY
        if not small and not isinstance(key, str):
            raise MalformedMessageError("not a key")
        found[key] = _value(part, kinds, depth - 1)
    if len(found) != len(content):
        raise MalformedMessageError("a key came twice")
    return found


def _known_object(plain: dict[str, Any], kinds: Mapping[str, type], depth: int) -> Any:
    if set(plain) != {"kind", "fields"} or plain["kind"] not in kinds:
        raise MalformedMessageError("not a known kind")
    kind = kinds[plain["kind"]]
    parts = plain["fields"]
    own = fields(kind)
    if set(parts) != {part.name for part in own}:
        raise MalformedMessageError("other fields")
    return kind(**{part.name: _value(parts[part.name], kinds, depth - 1) for part in own})


def _array(plain: dict[str, Any]) -> np.ndarray[Any, Any]:
    if set(plain) != {"array", "shape", "base64"} or plain["array"] not in DTYPES:
        raise MalformedMessageError("not an array")
    shape = plain["shape"]
    if not isinstance(shape, list) or len(shape) > _MOST_AXES:
        raise MalformedMessageError("not a shape")
    if not all(type(length) is int and 0 <= length < _MOST_LENGTH for length in shape):
        raise MalformedMessageError("not a shape")
    values = np.frombuffer(_decoded(plain["base64"]), dtype=plain["array"])
    return values.reshape(shape).astype(values.dtype.newbyteorder("="))


def _decoded(text: Any) -> bytes:
    if not isinstance(text, str):
        raise MalformedMessageError("not bytes")
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise MalformedMessageError("not bytes") from error


for _kind in KINDS:
    known(_kind.__name__.lower(), _kind)
