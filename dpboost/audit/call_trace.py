"""Traces of calls: their steps and their visible output, as comparable values.

A step is a recorded release, or a query or command sent to rows. A trace contains no row data.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import json
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np

from dpboost._utils.threads import Threads
from dpboost.audit.released_surface import overhear, pickled
from dpboost.privacy import ledger as ledger_module
from dpboost.privacy.ledger_records import LedgerEntry
from dpboost.privacy.queries import LocalRows
from dpboost.privacy.randomness import Entropy, RowCoins
from dpboost.privacy.recording import OutcomeSource, line_of, new_outcomes

#: A release, and how queries and commands are handed to rows of this process: methods of their
#: store, and the name of each way.
RELEASE = "release"
WAYS = {"sensitive": "query", "exact": "sum", "tally": "counts", "apply": "command"}

#: What no digest speaks of: secret coins, and how many threads there are.
_SILENT = (RowCoins, Entropy, Threads)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TracedStep:
    """One step of a call."""

    #: ``"release"``, or how a query or command was handed over.
    kind: str
    #: Path of the release, the name of the command, or the class of the query.
    name: str
    #: The line of the ledger and the shape, or a digest of what was handed over.
    content: str


class _Watched:
    """Outcomes of one ledger, each recorded as a step."""

    def __init__(self, inner: OutcomeSource, steps: list[TracedStep]) -> None:
        self._inner = inner
        self._steps = steps

    def settle(self, entry: LedgerEntry, shape: tuple[int, ...], draw: Callable[[], Any]) -> Any:
        """Take note of a release."""
        content = json.dumps([line_of(entry), list(shape)])
        name = "/".join((*entry.scope, entry.label))
        self._steps.append(TracedStep(kind=RELEASE, name=name, content=content))
        return self._inner.settle(entry, shape, draw)


@contextmanager
def tracing() -> Iterator[list[TracedStep]]:
    """Collect the steps of the calls inside."""
    steps: list[TracedStep] = []

    def watched(reasons: Any) -> OutcomeSource:
        return _Watched(new_outcomes(reasons), steps)

    def listening(name: str) -> Callable[..., Any]:
        original = getattr(LocalRows, name)

        @functools.wraps(original)
        def method(rows: Any, handed: Any, *others: Any, **given: Any) -> Any:
            # A command is its name and what is given with it, a query an object.
            called = handed if isinstance(handed, str) else type(handed).__name__
            content = digest((handed, given))
            steps.append(TracedStep(kind=WAYS[name], name=called, content=content))
            return original(rows, handed, *others, **given)

        return method

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(ledger_module, "new_outcomes", watched))
        for name in WAYS:
            stack.enter_context(mock.patch.object(LocalRows, name, listening(name)))
        yield steps


# -- digests -----------------------------------------------------------------------------------


def digest(value: Any) -> str:
    """Return a hash of everything that a value holds: fields, arrays, objects inside."""
    found = hashlib.blake2b(digest_size=12)
    _feed(value, found.update, [])
    return found.hexdigest()


def _feed(value: Any, update: Callable[[bytes], None], inside: list[int]) -> None:
    """Hand over a value piece by piece; `inside` are the objects around it."""
    if value is None or isinstance(value, (bool, int, float, str, Fraction, bytes, complex)):
        update(f"{type(value).__name__} {value!r};".encode(errors="backslashreplace"))
        return
    if isinstance(value, enum.Enum):
        update(f"{value};".encode())
        return
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        update(f"{value.dtype.str}{value.shape}".encode() + value.tobytes())
        return
    if isinstance(value, (np.generic, np.dtype)):
        update(f"{value!r};".encode())
        return
    if isinstance(value, _SILENT):
        update(f"{type(value).__name__};".encode())
        return
    if callable(value) and hasattr(value, "__qualname__"):
        # Functions, methods and classes, by name.
        update(f"{value.__module__}.{value.__qualname__};".encode())
        return
    if id(value) in inside:
        update(b"itself;")
        return
    inside.append(id(value))
    update(f"{type(value).__qualname__}(".encode())
    for part in _parts(value):
        _feed(part, update, inside)
    update(b");")
    inside.pop()


def _parts(value: Any) -> Iterator[Any]:
    """Yield what an object is made of, with the names of its parts."""
    if isinstance(value, (dict, types.MappingProxyType, Mapping)):
        for key, own in value.items():
            yield key
            yield own
    elif isinstance(value, (set, frozenset)):
        yield from sorted(value, key=repr)
    elif isinstance(value, (list, tuple)):
        yield from value
    elif isinstance(value, np.ndarray):
        yield value.shape
        yield value.tolist()
    elif hasattr(value, "model_to_string"):
        yield value.model_to_string()
    else:
        # Fields alone: what an object has remembered since is a function of them.
        names = (
            [each.name for each in dataclasses.fields(value)]
            if dataclasses.is_dataclass(value)
            else _attributes(value)
        )
        for name in names:
            yield name
            yield getattr(value, name, None)


def _attributes(value: Any) -> list[str]:
    """Return the names of an object's attributes, those in slots included."""
    slots = []
    for kind in type(value).__mro__:
        own = vars(kind).get("__slots__", ())
        slots += [own] if isinstance(own, str) else list(own)
    return sorted({*slots, *getattr(value, "__dict__", ())})


# -- what a call shows -------------------------------------------------------------------------


def watched_call(
    call: Callable[[], Any],
) -> tuple[dict[str, Any], list[TracedStep], Exception | None, Any]:
    """Run a call, and return what it shows, its steps, its error and its result."""
    heard: dict[str, Any] = {}
    result, error = None, None
    with tracing() as steps:
        try:
            with overhear(heard):
                result = call()
        except Exception as raised:  # noqa: BLE001 - compared with that of the other run
            error = raised
    shown = {} if error is not None else visible(result)
    return {**heard, **shown}, steps, error, result


def visible(result: Any) -> dict[str, Any]:
    """Return all that a user sees of what a call returned, by name.

    The result is a fitted estimator, a booster, an evaluation, or what ``cv`` returns.
    """
    found: dict[str, Any] = {}
    if isinstance(result, dict):
        found = {f"results, {name}": digest(own) for name, own in result.items()}
        boosters = getattr(result.get("cvbooster"), "boosters", ())
        found["model texts"] = [booster.model_to_string() for booster in boosters]
        report = getattr(result, "privacy_report", None)
    else:
        booster = getattr(result, "booster_", result)
        if hasattr(booster, "model_to_string"):
            found["model text"] = booster.model_to_string()
        report = getattr(result, "privacy_report_", getattr(result, "report", None))
        for name in _attributes(result):
            value = getattr(result, name, None)
            # A client is a connection; the text of a booster was taken above.
            if name.startswith(("transcript", "client")) or hasattr(value, "model_to_string"):
                continue
            found[f"attribute {name}"] = digest(value)
        if hasattr(result, "fit"):
            found["pickle"] = pickled(result)
        if type(result).__str__ is not object.__str__:
            found["text"] = str(result)
    if report is not None:
        found["report"] = report.details()
        found["report fields"] = json.dumps(report.to_dict(), default=str)
    return found
