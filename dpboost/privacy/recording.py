"""Recordings of calls: releases with their outcomes, and public numbers.

A fit is a function of its public arguments and its released outcomes. A recording contains only
these: no key, no random assignment of a row, no unreleased count.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.ledger_records import LedgerEntry
from dpboost.privacy.stability_histogram import StabilityHistogram

T = TypeVar("T")

#: What stands for a line of the ledger in a file, and what two of them are compared by.
Line = dict[str, Any]


class ReplayError(InvalidParameterError):
    """A transcript is of another call, or is damaged."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """One release: the ledger line and the outcome."""

    #: As `line_of` returns it.
    line: Line
    #: Public shape of the released value.
    shape: tuple[int, ...]
    #: An array of integers; of a stability histogram the names that passed in each column.
    outcome: Any


class _DrawnStep(Step):
    """A release of this process, whose line is formatted on first access."""

    def __init__(self, entry: LedgerEntry, shape: tuple[int, ...], outcome: Any) -> None:
        object.__setattr__(self, "entry", entry)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "outcome", outcome)

    @cached_property
    def line(self) -> Line:
        """The line of the ledger."""
        return line_of(self.entry)  # type: ignore[attr-defined]


def line_of(entry: LedgerEntry) -> Line:
    """Return all that a line of the ledger says, as plain values; exact fractions are text."""
    mechanism: Any = entry.mechanism
    threshold = mechanism.threshold if isinstance(mechanism, StabilityHistogram) else None
    return {
        "label": entry.label,
        "scope": list(entry.scope),
        "parallel": list(entry.parallel),
        "mechanism": type(mechanism).__name__,
        "noise": mechanism.name,
        "parameters": list(mechanism.parameters(entry.bound)),
        "threshold": threshold,
        "bound": entry.bound.kind,
        "constant": entry.bound.constant,
        "coordinates": entry.bound.coordinates,
        "unit": float(entry.unit).hex(),
        "charge": [str(amount) for amount in entry.charge],
    }


class OutcomeSource(Protocol):
    """The source and the sink of the outcomes of one ledger."""

    def settle(self, entry: LedgerEntry, shape: tuple[int, ...], draw: Callable[[], Any]) -> Any:
        """Return the outcome of a recorded release."""


class Drawn:
    """Outcomes that are drawn, and recorded if requested."""

    __slots__ = ("_steps",)

    def __init__(self, steps: list[Step] | None = None) -> None:
        self._steps = steps

    def settle(self, entry: LedgerEntry, shape: tuple[int, ...], draw: Callable[[], Any]) -> Any:
        """Draw the outcome, and keep a copy."""
        outcome = draw()
        if self._steps is not None:
            kept = outcome.copy() if isinstance(outcome, np.ndarray) else outcome
            self._steps.append(_DrawnStep(entry, shape, kept))
        return outcome


class Recorded:
    """Outcomes of an earlier call, each checked against the current ledger line."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._next = 0

    @property
    def rest(self) -> int:
        """How many releases were not asked for."""
        return len(self._steps) - self._next

    def settle(self, entry: LedgerEntry, shape: tuple[int, ...], draw: Callable[[], Any]) -> Any:
        """Return the recorded outcome; nothing is drawn."""
        if self._next >= len(self._steps):
            raise ReplayError(
                f"The transcript ends before the release of {entry.label!r}: it belongs to "
                "another call or build."
            )
        step = self._steps[self._next]
        self._next += 1
        own = line_of(entry)
        for name, value in own.items():
            if step.line.get(name) != value:
                raise ReplayError(
                    f"Release {self._next} of the transcript is not the one that this build "
                    f"makes: its {name!r} is {step.line.get(name)!r}, and here {value!r}. Replay "
                    "with the build that recorded it."
                )
        if tuple(step.shape) != tuple(shape) or not _suits(entry, tuple(shape), step.outcome):
            raise ReplayError(
                f"The outcome of {entry.label!r} in the transcript has another form than this "
                "release: the transcript is damaged."
            )
        return copy.copy(step.outcome)


def _suits(entry: LedgerEntry, shape: tuple[int, ...], outcome: Any) -> bool:
    """Return whether an outcome is one that the mechanism could give, by its form."""
    if isinstance(entry.mechanism, StabilityHistogram):
        return isinstance(outcome, tuple) and len(outcome) == shape[0]
    if not isinstance(outcome, np.ndarray):
        return False
    if entry.mechanism.needs != "range":
        return bool(outcome.dtype == np.int64 and outcome.shape == shape)
    chosen = outcome.dtype == np.int32 and outcome.shape == shape[:1]
    return chosen and bool(np.all((outcome >= 0) & (outcome < shape[1])))


@dataclass(eq=False)
class Recording:
    """The recording of one call."""

    #: Public values that were chosen on the way, by name and in order: seeds, identifiers.
    values: list[tuple[str, Any]] = field(default_factory=list)
    #: Releases of each ledger, in the order in which the ledgers were opened.
    ledgers: list[list[Step]] = field(default_factory=list)
    #: Why the guarantee does not hold; empty if it does.
    reasons: list[str] = field(default_factory=list)
    #: Public facts that the call notes, by name: what a replay needs to know of its rows.
    facts: dict[str, Any] = field(default_factory=dict)

    def value(self, name: str, choose: Callable[[], T]) -> T:
        """Choose a public value and keep it."""
        chosen = choose()
        self.values.append((name, chosen))
        return chosen

    def outcomes(self, reasons: Sequence[str]) -> OutcomeSource:
        """Return where a new ledger has its outcomes from."""
        self.reasons += [reason for reason in reasons if reason not in self.reasons]
        self.ledgers.append([])
        return Drawn(self.ledgers[-1])


@dataclass(eq=False)
class Replaying(Recording):
    """An earlier recording, whose values and outcomes are returned again."""

    source: Recording = field(default_factory=Recording)
    _opened: list[Recorded] = field(default_factory=list)
    _n_values: int = 0

    def value(self, name: str, choose: Callable[[], T]) -> T:
        """Return the recorded value."""
        if self._n_values >= len(self.source.values):
            raise ReplayError(f"The transcript has no value for {name!r}: it is of another call.")
        recorded, value = self.source.values[self._n_values]
        if recorded != name:
            raise ReplayError(f"The transcript has {recorded!r} where this call chooses {name!r}.")
        self._n_values += 1
        result: T = value
        return result

    def outcomes(self, reasons: Sequence[str]) -> OutcomeSource:
        """Return the outcomes of the ledger that was opened at this place."""
        if len(self._opened) >= len(self.source.ledgers):
            raise ReplayError("This call opens a ledger that the transcript does not have.")
        self.reasons += [reason for reason in reasons if reason not in self.reasons]
        self._opened.append(Recorded(self.source.ledgers[len(self._opened)]))
        return self._opened[-1]

    def check_end(self) -> None:
        """Raise unless everything in the transcript was used."""
        whole = len(self._opened) == len(self.source.ledgers)
        if not whole or any(ledger.rest for ledger in self._opened):
            raise ReplayError("The transcript has releases that this call does not make.")
        if self.reasons != self.source.reasons:
            raise ReplayError(
                "The transcript and this call differ in why the guarantee does not hold."
            )


_current: ContextVar[Recording | None] = ContextVar("recording", default=None)


def current() -> Recording | None:
    """Return the recording of the call that is running, if there is one."""
    return _current.get()


def is_replay() -> bool:
    """Return whether the call that is running is one that is made again, without its rows."""
    return isinstance(_current.get(), Replaying)


@contextmanager
def recording(own: Recording | None) -> Iterator[None]:
    """Record the call inside; None records nothing."""
    token = _current.set(own)
    try:
        yield
    finally:
        _current.reset(token)


def public_value(name: str, choose: Callable[[], T]) -> T:
    """Choose a public value once, without a look at rows: a replay gets the recorded one."""
    own = _current.get()
    return choose() if own is None else own.value(name, choose)


def note(name: str, fact: Any) -> None:
    """Keep a public fact of the call that is running; the first one of a name counts."""
    own = _current.get()
    if own is not None:
        own.facts.setdefault(name, fact)


def new_outcomes(reasons: Sequence[str]) -> OutcomeSource:
    """Return where a ledger that is opened now has its outcomes from.

    Reasons say why its guarantee does not hold; there are none if it does.
    """
    own = _current.get()
    return Drawn() if own is None else own.outcomes(reasons)
