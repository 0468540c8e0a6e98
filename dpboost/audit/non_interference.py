"""Test that the visible output of a call depends on public arguments and outcomes only.

A call is recorded and replayed without its rows. Then the same call runs on tables that share only
public metadata with the recorded one, with forced outcomes instead of fresh draws: the recorded
ones, random ones, and extreme ones. The replay is the reference. All visible output must be equal,
and so must each recorded release and each query and command that is sent to the rows.

This detects a decision on an exact value for which a noisy one was charged: neighboring tables
mostly decide alike, far tables do not.

It does not cover computation inside the `evaluate` of a query, wrong sensitivities or noise, rows
under other user ids, time and memory. The replay of neighbors and the tests of sensitivities cover
these. Refused labels and cells are outside the guarantee; the audit of refusals covers them. Code
of the user, such as callbacks, is run again and must be a function of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpboost.audit.call_trace import RELEASE, TracedStep, watched_call
from dpboost.audit.far_rows import far_rows
from dpboost.audit.pair_replay import FAULTS
from dpboost.audit.public_numbers import first_difference
from dpboost.audit.run_trace import Violation
from dpboost.model_selection.replaying import BlankRows, RowsInstead, prepared
from dpboost.privacy.ledger_records import LedgerEntry
from dpboost.privacy.recording import OutcomeSource, Recording, Replaying, recording
from dpboost.privacy.stability_histogram import StabilityHistogram
from dpboost.transcripts.transcript import Transcript

#: Names of the checks.
REPLAY, FAR_TABLE = "replay without rows", "far table"

#: Outcomes that far tables are compared under.
RECORDED, RANDOM, EXTREME = "recorded", "random", "extreme"
OUTCOMES = (RECORDED, RANDOM, EXTREME)

#: Random outcomes have up to so many bits, extreme ones are as large as this.
MOST_BITS = 40
FAR = 1 << MOST_BITS


@dataclass(frozen=True, kw_only=True)
class NonInterference:
    """The outcome of the audit of one call.

    Parameters
    ----------
    n_runs : int
        How often the call ran, the recorded one and the replays included.
    n_steps : int
        Releases, queries and commands of the recorded call.
    n_errors : int
        Runs that ended by an error, as their reference did: outcomes may be refused.
    violations : tuple of Violation
        Empty where nothing but public arguments and outcomes made a difference.
    """

    n_runs: int
    n_steps: int
    n_errors: int
    violations: tuple[Violation, ...]


def non_interference(
    call: Callable[[], Any],
    n_rows: int,
    *,
    given: dict[str, Any] | None = None,
    outcomes: Sequence[str] = OUTCOMES,
    every_size: bool = True,
) -> NonInterference:
    """Record a call, replay it without rows, and run it on far tables.

    Parameters
    ----------
    call : callable
        Fits, evaluates or cross-validates once, and returns the result with its transcript.
    given : dict, optional
        Arguments that a transcript does not hold, as ``replay`` takes them.
    outcomes : sequence of str
        Among ``OUTCOMES``.
    every_size : bool, default=True
        Whether each kind of far table comes in each size.

    Raises
    ------
    RuntimeError
        If the call raises, or returns something without a transcript.
    """
    seen, steps, error, result = watched_call(call)
    if error is not None:
        raise error
    transcript = transcript_of(result)
    found = [Violation(check, "fit", message) for check, message in seen.get(FAULTS, ())]
    rows = far_rows(transcript.call, n_rows, every_size=every_size)
    n_runs, n_errors = 1, 0
    for kind in outcomes:
        run = _Runs(transcript, given or {}, kind)
        reference = run.on(BlankRows(transcript.call))
        if kind == RECORDED:
            found += compare(REPLAY, "no rows", *_of_one_kind((seen, steps, None), reference))
        for table in rows:
            where = f"{kind} outcomes, {table.name}"
            other = run.on(table)
            n_errors += other[2] is not None
            found += compare(FAR_TABLE, where, reference, other)
        n_runs += 1 + len(rows)
    return NonInterference(
        n_runs=n_runs, n_steps=len(steps), n_errors=n_errors, violations=tuple(found)
    )


def transcript_of(result: Any) -> Transcript:
    """Return the transcript of what a call returned, or raise where it has none."""
    found = getattr(result, "transcript_", getattr(result, "transcript", None))
    if not isinstance(found, Transcript):
        raise RuntimeError("The call has no transcript, so there is nothing to replay.")
    return found


Seen = tuple[dict[str, Any], list[TracedStep], Exception | None]


def compare(check: str, where: str, reference: Seen, other: Seen) -> list[Violation]:
    """Compare two runs of a call, step by step and by all that they show.

    There is one violation for the first step that differs, and one for each visible part.
    """
    (seen, steps, error), (other_seen, other_steps, other_error) = reference, other
    found = []
    number = first_difference(steps, other_steps)
    if number is not None:
        one, two = (
            f"{own[number].kind} {own[number].name}" if number < len(own) else "the end"
            for own in (steps, other_steps)
        )
        message = f"step {number} is {two}, and {one} in the reference"
        if one == two:
            message = f"step {number}, {one}, has other numbers than in the reference"
        found.append(Violation(check, where, message))
    told, other_told = (
        f"{type(each).__name__}: {each}" if each else "" for each in (error, other_error)
    )
    if told != other_told:
        message = f"ends by {other_told or 'a result'}, the reference by {told or 'a result'}"
        return [*found, Violation(check, where, message)]
    names = sorted({*seen, *other_seen} - {FAULTS})
    if check == REPLAY:
        # It has copies of public arguments, which a pickle writes out where it referred to one.
        # Attributes are compared, and pickles among replays.
        names = [name for name in names if name != "pickle"]
    found += [
        Violation(check, where, f"{name} differs from the reference")
        for name in names
        if seen.get(name) != other_seen.get(name)
    ]
    return found


def _of_one_kind(recorded: Seen, reference: Seen) -> tuple[Seen, Seen]:
    """Leave queries and commands out where rows of workers were asked, in their own way."""
    if any(step.kind != RELEASE for step in recorded[1]):
        return recorded, reference
    seen, steps, error = reference
    releases = [step for step in steps if step.kind == RELEASE]
    return recorded, (seen, releases, error)


class _Runs:
    """Runs of one call on other tables with the same outcomes."""

    def __init__(self, transcript: Transcript, given: dict[str, Any], kind: str) -> None:
        self._transcript = transcript
        self._given = given
        self._kind = kind
        self._values = list(transcript.values)

    def on(self, rows: RowsInstead) -> Seen:
        """Run the call with these rows."""
        # With the outcomes of an earlier run, whatever rows it had, that chose its values first.
        own: Recording = Replaying(source=self._transcript.recording())
        if self._kind != RECORDED:
            own = _Directed(self._values, self._kind, self._transcript)

        def call() -> Any:
            function, arguments = prepared(self._transcript.call, self._given, rows)
            with recording(own):
                result = function(**arguments)
            if isinstance(own, Replaying):
                own.check_end()
            return result

        seen, steps, error, _ = watched_call(call)
        if self._kind != RECORDED:
            self._values = own.values
        return seen, steps, error


@dataclass(eq=False)
class _Directed(Recording):
    """A call with synthetic outcomes: equal for equal releases."""

    given: list[tuple[str, Any]] = field(default_factory=list)
    kind: str = RANDOM
    transcript: Transcript | None = None

    def __init__(self, given: list[tuple[str, Any]], kind: str, transcript: Transcript) -> None:
        super().__init__()
        self.given, self.kind, self.transcript = given, kind, transcript

    def value(self, name: str, choose: Callable[[], Any]) -> Any:
        """Return the value of the run before; one that it did not choose is chosen."""
        number = len(self.values)
        known = number < len(self.given) and self.given[number][0] == name
        chosen = self.given[number][1] if known else choose()
        self.values.append((name, chosen))
        return chosen

    def outcomes(self, reasons: Sequence[str]) -> OutcomeSource:
        """Return the outcomes of one more ledger."""
        assert self.transcript is not None
        self.ledgers.append([])
        return _MadeUp(self.kind, len(self.ledgers), _names(self.transcript))


class _MadeUp:
    """Outcomes that are independent of the rows."""

    def __init__(self, kind: str, ledger: int, names: dict[str, Any]) -> None:
        self._kind = kind
        self._ledger = ledger
        self._names = names
        self._number = 0

    def settle(self, entry: LedgerEntry, shape: tuple[int, ...], draw: Callable[[], Any]) -> Any:
        """Return an outcome of the right form; nothing is drawn."""
        self._number += 1
        random = np.random.default_rng([self._ledger, self._number])
        if isinstance(entry.mechanism, StabilityHistogram):
            known = self._names.get(entry.label, ((),) * shape[0])
            most = self._kind == EXTREME and self._number % 2
            return tuple(tuple(name for name in own if most or random.integers(2)) for own in known)
        if entry.mechanism.needs == "range":
            least = {RANDOM: 0, EXTREME: shape[1] - 1}[self._kind] if shape[1] else 0
            return random.integers(least, max(shape[1], 1), shape[:1]).astype(np.int32)
        if self._kind == EXTREME:
            signs = ([1], [-1], [1, -1], [0])[self._number % 4]
            return np.resize(np.array(signs) * FAR, shape).astype(np.int64)
        size = 1 << int(random.integers(1, MOST_BITS))
        return random.integers(-size, size, shape)


def _names(transcript: Transcript) -> dict[str, Any]:
    """Return the names that passed, by the label of their release."""
    return {
        step.line["label"]: step.outcome
        for step in transcript.releases
        if isinstance(step.outcome, tuple)
    }
