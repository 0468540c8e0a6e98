"""Recording of a fit, and its replay on another table with forced outcomes.

The auditor records the releases at the ledger and the draws at the kernels, and trusts neither the
mechanism objects nor the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from dpboost.audit.public_numbers import Call, listening
from dpboost.budgeting import budget as budgets
from dpboost.budgeting.budget import Budget
from dpboost.budgeting.claim import Claim
from dpboost.budgeting.holdout import HeldRows
from dpboost.privacy import mechanisms
from dpboost.privacy.ledger import Ledger, LedgerEntry
from dpboost.privacy.randomness import Entropy, RowCoins
from dpboost.privacy.recording import Recording
from dpboost.privacy.score_runs import ScoreRuns
from dpboost.privacy.stability_histogram import NameCounts
from dpboost.training import local_fit
from dpboost.training.privacy_params import PrivacyRequest

#: Places of the entries that two stability histograms share, in the first and in the second one.
Alignment = tuple[NDArray[np.intp], NDArray[np.intp]]

#: What an unmatched category of a stability histogram gets: far below any threshold.
NOT_RELEASED = -(1 << 40)

#: Outcomes that the auditor forces instead of drawing: by label and by the number of the release
#: among those of its label. They are broadcast to the shape of the outcome.
Steering = Mapping[tuple[str, int], Any]


@dataclass(frozen=True)
class Violation:
    """Something that a private fit cannot do.

    Parameters
    ----------
    check : str
        Name of the check that failed.
    where : str
        Release, scope or output that failed it.
    message : str
        What was seen. For the auditor's eyes: it may hold private numbers.
    """

    check: str
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.check}: {self.where}: {self.message}"


class DivergenceError(Exception):
    """The fit on the other table took another path, so the outcomes cannot be forced."""

    def __init__(self, check: str, where: str, message: str) -> None:
        super().__init__(message)
        self.violation = Violation(check, where, message)


@dataclass(frozen=True, kw_only=True, eq=False)
class KernelCall:
    """One call of a kernel that draws."""

    kernel: str
    #: The private values or scores.
    given: NDArray[np.int64]
    #: The other arguments: the scale of the noise as it was handed over.
    integers: tuple[int, ...]
    outcome: NDArray[Any]
    #: In a replay, which entries of the recorded call these are; None if they are the same.
    alignment: Alignment | None = None
    #: Column and category of every entry of a stability histogram; else empty.
    keys: tuple[Any, ...] = ()


@dataclass(eq=False)
class TracedRelease:
    """One release: its entry in the ledger, what was handed over, drawn, and came out."""

    entry: LedgerEntry
    # Number of the ledger among those of the run.
    ledger: int = 0
    calls: list[KernelCall] = field(default_factory=list)
    outcome: Any = None
    value: Any = None

    @property
    def where(self) -> str:
        """Scopes and label of the release."""
        return "/".join((*self.entry.scope, self.entry.label))


@dataclass(eq=False)
class CoinRequest:
    """One key for the coins of all rows, asked for in a scope."""

    scope: tuple[str, ...]
    #: Coins by id.
    words: NDArray[np.uint64]
    #: From which workers make the coins of their rows, where the fit has them do so.
    key: bytes = b""
    #: First row and the row after the last one of each reading.
    readings: list[tuple[int, int]] = field(default_factory=list)


@dataclass(eq=False)
class RunTrace:
    """All releases of a run, the coins of its rows, and what was noticed on the way."""

    #: Who each row of the table is; neighbors share the ids of the rows they share.
    ids: NDArray[np.int64]
    lines: list[TracedRelease] = field(default_factory=list)
    coins: list[CoinRequest] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    #: The last one of ``ledgers``, which are in the order in which they were opened.
    ledger: Ledger | None = None
    ledgers: list[Ledger] = field(default_factory=list)
    #: Of further ledgers, where a run opens several.
    children: list[RunTrace] = field(default_factory=list)
    public_calls: list[Call] = field(default_factory=list)
    #: Public values that were chosen on the way, such as the name of a holdout.
    values: list[tuple[str, Any]] = field(default_factory=list)
    # What the run let out, or how it ended.
    shown: Mapping[str, Any] = field(default_factory=dict)
    error: Exception | None = None


class _AlignedCoins(RowCoins):
    """Coins by id instead of by position: the row keeps its own when another one comes or goes."""

    __slots__ = ("_aligned", "_at_their_ids", "_request")

    def __init__(self, ids: NDArray[np.int64], request: CoinRequest) -> None:
        super().__init__(request.key)
        self._aligned = request.words[ids]
        self._at_their_ids = bool(np.array_equal(ids, np.arange(len(ids))))
        self._request = request

    def key_for_workers(self) -> bytes:
        """Return the key of the other run, by which rows at the places of their ids get theirs."""
        if not self._at_their_ids:
            raise RuntimeError("Workers find the coins of rows only where these stand by id.")
        self._request.readings.append((0, len(self._aligned)))
        return super().key_for_workers()

    def words(self, first_row: int, n_rows: int) -> NDArray[np.uint64]:
        """Words of the rows at these positions."""
        self._request.readings.append((first_row, first_row + n_rows))
        words = self._aligned[first_row : first_row + n_rows]
        if len(words) < n_rows:
            raise DivergenceError("row coins", "row coins", "coins of rows that do not exist")
        return words


class _WatchedLedger(Ledger):
    """The ledger of the library, with a listener at its draws."""

    _recorder: Recorder

    def _draw(self, entry: LedgerEntry, value: NDArray[np.int64]) -> NDArray[Any]:
        return self._recorder.draw(entry, value, self._entropy, self)

    def row_coins(self) -> RowCoins:
        return self._recorder.coins(super().row_coins(), self._scope.path)


class _Spy:
    """Replaces a kernel module, and reports every call."""

    def __init__(self, kernel: Any, recorder: Recorder) -> None:
        self._kernel = kernel
        self._recorder = recorder

    def __getattr__(self, name: str) -> Callable[..., None]:
        function = getattr(self._kernel, name)

        def call(*arguments: Any) -> None:
            self._recorder.call(name, function, arguments)

        return call


class _RunSpy(_Spy):
    """The same for the kernel that takes scores in runs: it is reported with all of them."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        function = getattr(self._kernel, name)

        def call(*arguments: Any) -> None:
            scores, starts, node_start = arguments[-4:-1] if name == "argmax" else arguments[1:4]
            n_candidates = arguments[4] if name == "exponential" else int(starts.max()) + 1
            runs = ScoreRuns(
                scores=scores, starts=starts, node_start=node_start, n_candidates=n_candidates
            )
            others = (*arguments[5:7], arguments[-1]) if name == "exponential" else arguments[-1:]
            self._recorder.call(
                name, lambda *_: function(*arguments), (runs.written_out(), *others)
            )

        return call


class Recorder:
    """Listens to one fit: writes it down, or replays what another one wrote.

    ``ids`` says who each row of the table is. Coins are tossed for the ids below ``n_ids``, so that
    the neighbors find theirs, or all of them lie at ``coin``, in [0, 1). ``source`` is the run
    whose outcomes are forced and whose coins are used; ``steering`` are outcomes to force in a run
    that is recorded. With ``several`` the run may open more than one ledger, under a budget; with
    ``nested`` also ledgers of parts of the run, which toss no coins.
    """

    def __init__(
        self,
        ids: Sequence[int] | NDArray[np.int64],
        *,
        n_ids: int | None = None,
        source: RunTrace | None = None,
        steering: Steering | None = None,
        coin: float | None = None,
        entropy: Entropy | None = None,
        several: bool = False,
        nested: bool = False,
    ) -> None:
        self._nested = nested
        self._children: list[Recorder] = []
        self.transcript = RunTrace(np.asarray(ids, dtype=np.int64))
        self._all_ids = self.transcript.ids
        self._several = several
        # Who the rows are that were set aside, until they are asked for.
        self._held: list[tuple[HeldRows, NDArray[np.int64]]] = []
        self._next_ids: NDArray[np.int64] | None = None
        own = int(self.transcript.ids.max(initial=-1)) + 1
        self._n_ids = own if n_ids is None else n_ids
        self._source = source
        self._steering = dict(steering or {})
        self._coin = coin
        self._entropy = entropy
        self._line: TracedRelease | None = None
        self._seen: dict[str, int] = {}

    @contextmanager
    def watching(self) -> Iterator[RunTrace]:
        """Listen to the fits inside; exactly one ledger may be opened."""
        original = PrivacyRequest.ledger

        def ledger(request: PrivacyRequest, *arguments: Any, **options: Any) -> Ledger:
            return self.attach(original(request, *arguments, **options))

        set_aside, held_out = Claim.set_aside, Budget.held_out
        that_stop = local_fit.rows_that_stop

        def narrowed(claim: Claim, *arguments: Any) -> NDArray[np.intp]:
            trained = set_aside(claim, *arguments)
            return self.narrow(claim, trained)

        def stopping(*arguments: Any) -> Any:
            # Coins that are asked for here are those of rows held out.
            trained, (_, own) = self.transcript.ids, self._held[-1]
            self.transcript.ids = own
            try:
                return that_stop(*arguments)
            finally:
                self.transcript.ids = trained

        def found(budget: Budget, model: Any) -> Any:
            rows, part = held_out(budget, model)
            self._next_ids = next(ids for held, ids in self._held if held is rows)
            return rows, part

        with ExitStack() as stack:
            stack.enter_context(mock.patch.object(PrivacyRequest, "ledger", ledger))
            stack.enter_context(mock.patch.object(Claim, "set_aside", narrowed))
            stack.enter_context(mock.patch.object(Budget, "held_out", found))
            stack.enter_context(mock.patch.object(local_fit, "rows_that_stop", stopping))
            stack.enter_context(mock.patch.object(Recording, "value", self._public_values()))
            # Names of budgets are drawn outside of calls; both runs open as many, in one order.
            names = (f"{number:032x}" for number in count())
            stack.enter_context(mock.patch.object(budgets, "random_identity", side_effect=names))
            for name, kind in (("noise", _Spy), ("selection", _Spy), ("runselection", _RunSpy)):
                spy = kind(getattr(mechanisms, name), self)
                stack.enter_context(mock.patch.object(mechanisms, name, spy))
            self.transcript.public_calls = stack.enter_context(listening())
            yield self.transcript

    def _public_values(self) -> Callable[..., Any]:
        """Return what chooses the public values of a call: a replay gets those of the first run."""
        given = None if self._source is None else iter(self._source.values)

        def value(recording: Recording, name: str, choose: Callable[[], Any]) -> Any:
            chosen = (name, choose()) if given is None else next(given, (None, None))
            if chosen[0] != name:
                raise DivergenceError("public path", "run", "a public value the other run lacks")
            self.transcript.values.append(chosen)
            recording.values.append(chosen)
            return chosen[1]

        return value

    def attach(self, ledger: Ledger) -> Ledger:
        """Listen to this ledger from now on."""
        if self.transcript.ledger is not None and self._nested:
            return self._child().attach(ledger)
        if self.transcript.ledger is not None and not self._several:
            raise RuntimeError("A recorder listens to one ledger: this fit opened a second one.")
        self.transcript.ids = self._all_ids if self._next_ids is None else self._next_ids
        self._next_ids = None
        self.transcript.ledgers.append(ledger)
        ledger.__class__ = _WatchedLedger
        assert isinstance(ledger, _WatchedLedger)
        ledger._recorder = self
        if self._entropy is not None:
            ledger._entropy = self._entropy
        self.transcript.ledger = ledger
        return ledger

    def narrow(self, claim: Claim, trained: NDArray[np.intp]) -> NDArray[np.intp]:
        """Take note of who is trained on, and who is held out: later coins are by position."""
        ids = self.transcript.ids
        assert claim.holdout is not None
        assert claim.holdout.rows is not None
        kept = np.zeros(len(ids), dtype=bool)
        kept[trained] = True
        self._held.append((claim.holdout.rows, ids[~kept]))
        self.transcript.ids = ids[trained]
        return trained

    def _child(self) -> Recorder:
        """Return a recorder for one more ledger."""
        source, number = self._source, len(self._children)
        if source is not None and number >= len(source.children):
            raise DivergenceError("public path", "run", "a ledger the other run lacks")
        child = Recorder(
            self.transcript.ids,
            source=None if source is None else source.children[number],
            steering=self._steering,
            entropy=self._entropy,
        )
        self._children.append(child)
        self.transcript.children.append(child.transcript)
        return child

    # -- what the watched ledger calls ---------------------------------------------------------

    def coins(self, fresh: RowCoins, scope: tuple[str, ...] = ()) -> RowCoins:
        """Return coins by id, and remember them."""
        ids, number = self.transcript.ids, len(self.transcript.coins)
        key = fresh.key_for_workers()
        if self._source is not None:
            if number >= len(self._source.coins):
                raise DivergenceError("row coins", "row coins", "more coins than were recorded")
            words, key = self._source.coins[number].words, self._source.coins[number].key
        elif self._coin is not None:
            words = np.full(self._n_ids, int(self._coin * 2.0**64), dtype=np.uint64)
        else:
            words = fresh.words(0, self._n_ids)
        request = CoinRequest(scope, words, key)
        self.transcript.coins.append(request)
        return _AlignedCoins(ids, request)

    def draw(
        self, entry: LedgerEntry, value: NDArray[np.int64], entropy: Entropy, ledger: Ledger
    ) -> NDArray[Any]:
        """Draw or force the outcome of an entry, and write the line."""
        own = next(n for n, each in enumerate(self.transcript.ledgers) if each is ledger)
        line = TracedRelease(entry, ledger=own, value=value)
        number = len(self.transcript.lines)
        self.transcript.lines.append(line)
        recorded = self._recorded_line(line, number)
        self._line = line
        try:
            outcome = entry.mechanism.draw(value, entry.bound, entropy)
        finally:
            self._line = None
        self._seen[entry.label] = self._seen.get(entry.label, 0) + 1
        line.outcome = outcome if isinstance(value, NameCounts) else np.array(outcome)
        self._check_outcome(line, recorded, outcome)
        return outcome

    def _recorded_line(self, line: TracedRelease, number: int) -> TracedRelease | None:
        """Return the line to be replayed, which must be the same entry."""
        if self._source is None:
            return None
        if number >= len(self._source.lines):
            raise DivergenceError("public path", line.where, "a release the other run lacks")
        recorded = self._source.lines[number]
        ours, theirs = line.entry, recorded.entry
        if (ours.label, ours.scope) != (theirs.label, theirs.scope):
            raise DivergenceError("public path", line.where, f"was {recorded.where} before")
        if (ours.charge, ours.bound.constant) != (theirs.charge, theirs.bound.constant):
            raise DivergenceError("public path", line.where, "another charge or sensitivity")
        return recorded

    def _check_outcome(
        self, line: TracedRelease, recorded: TracedRelease | None, outcome: NDArray[Any]
    ) -> None:
        """Refuse outcomes that did not come out of the kernels, unless both runs share them."""
        if recorded is not None and len(line.calls) < len(recorded.calls):
            raise DivergenceError("kernel inputs", line.where, "a kernel was not called")
        if not line.calls and recorded is not None and recorded.outcome is not None:
            same = np.array_equal(recorded.outcome, outcome)
            if not same:
                raise DivergenceError(
                    "noise outside the kernels", line.where, "an outcome that cannot be forced"
                )
        elif isinstance(line.value, NameCounts):
            mechanism: Any = line.entry.mechanism
            noisy = line.calls[-1].outcome
            if line.value.passing(noisy, mechanism.threshold) != outcome:
                self._note("noise outside the kernels", line.where, "not what the kernel drew")
        elif line.calls:
            drawn = line.calls[-1].outcome.ravel()
            if not np.array_equal(drawn, np.ravel(outcome)):
                self._note("noise outside the kernels", line.where, "not what the kernel drew")

    def call(self, name: str, function: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        """Call a kernel, or force its outcome."""
        for child in self._children:
            if child._line is not None:
                child.call(name, function, arguments)
                return
        out = arguments[-1]
        arrays = [part for part in arguments[:-1] if isinstance(part, np.ndarray)]
        given = arrays[0].copy() if arrays else np.zeros(out.shape, dtype=np.int64)
        integers = tuple(int(part) for part in arguments if isinstance(part, (int, np.integer)))
        line = self._line
        if line is None:
            self._note("noise outside the ledger", name, "drawn without an entry in the ledger")
            function(*arguments)
            return
        alignment = None
        if self._source is not None:
            alignment = self._force(line, name, given, integers, out)
        else:
            wish = self._steering.get((line.entry.label, self._seen.get(line.entry.label, 0)))
            if wish is None:
                function(*arguments)
            else:
                out[...] = np.broadcast_to(np.asarray(wish, dtype=out.dtype), out.shape)
        line.calls.append(
            KernelCall(
                kernel=name,
                given=given,
                integers=integers,
                outcome=out.copy(),
                alignment=alignment,
                keys=_keys(line.value),
            )
        )

    def _force(
        self,
        line: TracedRelease,
        name: str,
        given: NDArray[np.int64],
        integers: tuple[int, ...],
        out: NDArray[Any],
    ) -> Alignment | None:
        """Fill in the recorded outcome of the same call."""
        assert self._source is not None
        recorded = self._source.lines[len(self.transcript.lines) - 1]
        number = len(line.calls)
        if number >= len(recorded.calls):
            raise DivergenceError("kernel inputs", line.where, "a call the other run lacks")
        call = recorded.calls[number]
        if (name, integers) != (call.kernel, call.integers):
            raise DivergenceError(
                "kernel inputs",
                line.where,
                f"{name}{integers} here, {call.kernel}{call.integers} there",
            )
        if isinstance(line.value, NameCounts):
            # Only categories that occur are in the array.
            alignment = align(call.keys, _keys(line.value))
            out[...] = NOT_RELEASED
            there, here = alignment
            out[here] = call.outcome[there]
            return alignment
        if out.shape != call.outcome.shape or given.shape != call.given.shape:
            raise DivergenceError(
                "support", line.where, "the shape of the outcome depends on a private row"
            )
        out[...] = call.outcome
        return None

    def _note(self, check: str, where: str, message: str) -> None:
        self.transcript.violations.append(Violation(check, where, message))


def _keys(value: Any) -> tuple[Any, ...]:
    """Return column and category of every count of a stability histogram; else nothing."""
    if not isinstance(value, NameCounts):
        return ()
    return tuple((column, *name) for column, own in enumerate(value.names) for name in own)


def align(there: Sequence[Hashable], here: Sequence[Hashable]) -> Alignment:
    """Match the entries of two histograms by their keys, of which each occurs once.

    A key that only one table has is that of the row that differs: no outcome of the other table
    can be compared with its own.
    """
    positions = {key: position for position, key in enumerate(there)}
    pairs = [(positions[key], position) for position, key in enumerate(here) if key in positions]
    matched = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return matched[:, 0], matched[:, 1]
