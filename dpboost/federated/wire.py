"""Messages as bytes: strict JSON of known dataclasses, and nothing that could run."""

from __future__ import annotations

import base64
import binascii
import json
import math
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from dpboost.privacy.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    PermuteAndFlip,
)
from dpboost.privacy.relation import Neighbours

#: Of the format; a message of another version is refused.
VERSION = 1
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


known("discrete Laplace", DiscreteLaplace)
known("discrete Gaussian", DiscreteGaussian)
known("exponential mechanism", ExponentialMechanism)
known("permute-and-flip", PermuteAndFlip)


def encode(message: Any) -> bytes:
    """Return a known object as bytes, the same ones every time.

    Raises
    ------
    TypeError
        If it, or something in it, is of no known kind: a `Sensitive` value never is.
    """
    content = {"version": VERSION, "message": _plain(message)}
    return json.dumps(content, allow_nan=False, sort_keys=True, separators=(",", ":")).encode()


def decode(content: bytes, expected: type[T]) -> T:
    """Return the object that `encode` wrote.

    Raises
    ------
    MalformedMessageError
        If the bytes are anything but an object of the expected kind.
    """
    try:
        plain = json.loads(content)
        if not isinstance(plain, dict) or set(plain) != {"version", "message"}:
            raise MalformedMessageError("not a message")
        if plain["version"] != VERSION:
            raise MalformedMessageError("another version")
        value = _value(plain["message"])
    except MalformedMessageError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError, ArithmeticError) as error:
        raise MalformedMessageError("not a message") from error
    if not isinstance(value, expected):
        raise MalformedMessageError("another kind of message")
    return value


def _plain(value: Any) -> Any:
    """Return a value as JSON; every value that JSON lacks is an object with one key."""
    if value is None or isinstance(value, (bool, str)):
        return value if not isinstance(value, Neighbours) else {"neighbours": value.value}
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


def _value(plain: Any) -> Any:
    """Return what :func:`_plain` was given."""
    if plain is None or isinstance(plain, (bool, int, float, str)):
        return plain
    if isinstance(plain, list):
        return tuple(_value(part) for part in plain)
    (head, *_) = plain
    if head == "kind" or "kind" in plain:
        return _known_object(plain)
    if "array" in plain:
        return _array(plain)
    if len(plain) != 1:
        raise MalformedMessageError("not a value")
    content = plain[head]
    if head == "float":
        return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[content]
    if head == "fraction":
        return Fraction(*content)
    if head == "neighbours":
        return Neighbours(content)
    if head == "bytes":
        return _decoded(content)
    if head == "dict":
        return {_value(key): _value(part) for key, part in content}
    raise MalformedMessageError("not a value")


def _known_object(plain: dict[str, Any]) -> Any:
    if set(plain) != {"kind", "fields"} or plain["kind"] not in _KINDS:
        raise MalformedMessageError("not a known kind")
    kind = _KINDS[plain["kind"]]
    parts = plain["fields"]
    own = fields(kind)
    if set(parts) != {part.name for part in own}:
        raise MalformedMessageError("other fields")
    return kind(**{part.name: _value(parts[part.name]) for part in own})


def _array(plain: dict[str, Any]) -> np.ndarray[Any, Any]:
    if set(plain) != {"array", "shape", "base64"} or plain["array"] not in DTYPES:
        raise MalformedMessageError("not an array")
    shape = tuple(plain["shape"])
    if not all(type(length) is int and length >= 0 for length in shape):
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
