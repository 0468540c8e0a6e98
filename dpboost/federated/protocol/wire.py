"""Messages as bytes: strict JSON of known dataclasses, and nothing that could run."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

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
# The arrays that public values are made of.
DTYPES = ("<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1", "<f8", "<f4")

T = TypeVar("T")


class MalformedMessageError(ValueError):
    """Bytes that are no message of this version."""


_KINDS: dict[str, type] = {}
_NAMES: dict[type, str] = {}


def known(name: str, kind: type[T]) -> type[T]:
    """Let objects of a frozen dataclass be sent, under a name that never changes its meaning.

    Parameters
    ----------
    name : str
        Of the kind in messages.
    kind : type
        A dataclass whose fields are all arguments of its constructor, which checks what was
        read: None, bool, int, float, str, bytes, Fraction, arrays of numbers, tuples, dicts,
        and objects of other known kinds.

    Returns
    -------
    type
        The same.
    """
    if not is_dataclass(kind) or name in _KINDS:
        raise ValueError(f"{name!r} must be a new name of a dataclass")
    _KINDS[name] = kind
    _NAMES[kind] = name
    return kind


def encode(message: Any) -> bytes:
    """Return a known object as bytes, the same ones every time.

    Raises
    ------
    TypeError
        If it, or something in it, is of no known kind: a `Sensitive` value never is.
    """
    content = {"version": VERSION, "message": _plain(message)}
    return json.dumps(content, allow_nan=False, sort_keys=True, separators=(",", ":")).encode()


def decode(
    content: bytes, expected: type[T] | tuple[type[T], ...], most_bytes: int = MOST_BYTES
) -> T:
    """Return the object that `encode` wrote.

    Time and memory are a small multiple of the length of the content, whatever it is.

    Parameters
    ----------
    content : bytes
    expected : type or tuple of type
        Kinds of the object. Of a tuple, no other kinds are made, inside of it either.
    most_bytes : int, default=256 MiB
        A longer message is refused before it is read, and so is one of this length with more
        than a value in every 16 bytes.

    Raises
    ------
    MalformedMessageError
        If the bytes are anything but an object of the expected kind within the limits.
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
    if values.dtype == bool and (values.view(np.uint8) > 1).any():
        # A byte that is neither false nor true is both, by what is computed with it.
        raise MalformedMessageError("not booleans")
    return values.reshape(shape).astype(values.dtype.newbyteorder("="))


def _decoded(text: Any) -> bytes:
    if not isinstance(text, str):
        raise MalformedMessageError("not bytes")
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise MalformedMessageError("not bytes") from error
