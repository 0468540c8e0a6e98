"""The replay auditor: the exact privacy loss of every release of a real fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpboost.audit.disjoint_scopes import CHECK as DISJOINT
from dpboost.audit.disjoint_scopes import disjoint_scopes
from dpboost.audit.hockey_stick import delta_of
from dpboost.audit.neighboring_pairs import Pair
from dpboost.audit.output_distributions import CallLoss, call_loss
from dpboost.audit.public_numbers import CHECK as PUBLIC_NUMBERS
from dpboost.audit.public_numbers import first_difference
from dpboost.audit.run_trace import DivergenceError, Recorder, RunTrace, TracedRelease, Violation
from dpboost.privacy.ledger import Ledger, Scope
from dpboost.privacy.randomness import Entropy

#: Losses are sums of doubles: nothing below this is a violation.
TOLERANCE = 1e-9

#: The same for curves of delta, as a part of it.
ROUNDING = 1e-6

#: Checks that look at each run by itself, and leave the two comparable.
OF_ONE_RUN = (DISJOINT, "side effect", "claim")

#: Name of what a fit may do on no table: pairs of a check and words.
FAULTS = "faults"

#: Trains on a table with a ledger that comes from ``PrivacyRequest.ledger``, and returns all
#: that leaves the process, by name; or nothing.
Fit = Callable[[Any, Any], "Mapping[str, Any] | None"]


@dataclass(frozen=True, kw_only=True)
class EntryLoss:
    """Privacy loss of one release.

    Parameters
    ----------
    charge : float
        Recorded, in the unit of the accountant.
    cost : float
        Measured, in the same unit, over all outcomes.
    loss : float
        log P(outcome | first table) - log P(outcome | second table) of this outcome.
    """

    label: str
    scope: tuple[str, ...]
    charge: float
    cost: float
    loss: float

    @property
    def reached(self) -> float:
        """Measured part of the charge."""
        return self.cost / self.charge if self.charge else math.inf * self.cost


@dataclass(frozen=True, kw_only=True)
class PairAudit:
    """The outcome of one replay.

    Parameters
    ----------
    entries : tuple of EntryLoss
        In the order of their release.
    loss : float
        Sum of the losses of the entries: log-likelihood ratio of the whole run.
    cost : float
        Sum of the costs of the entries.
    privacy_measure : str
        Of the accountant: epsilon, rho or mu squared.
    capacity : float
        What the budget allows them to sum up to; of several ledgers as in cross-validation, where
        a row is in all folds' fits but one.
    error : str
        What both fits raised; empty if they came to their end. The entries before it count.
    violations : tuple of Violation
        Empty where the guarantee held.
    """

    entries: tuple[EntryLoss, ...]
    loss: float
    cost: float
    privacy_measure: str
    capacity: float
    epsilon: float
    error: str
    violations: tuple[Violation, ...]


def replay_pair(
    fit: Fit,
    pair: Pair,
    *,
    seed: int | None = None,
    compare_visible: bool = True,
    group: int = 1,
    several: bool = False,
) -> PairAudit:
    """Train on the first table, replay on the second, and weigh every release.

    Parameters
    ----------
    fit : callable
        Trains on ``(X, y)`` and returns what leaves the process.
    seed : int, optional
        Draw the first run from a seed, for reproducible audits.
    compare_visible : bool
        Whether what leaves the process must be the same in both runs.
    group : int, default=1
        Rows by which the tables differ at most, where charges are those of one row: a release
        may then cost as much as that many rows, and the fit as much as it claims for them.
    several : bool, default=False
        Whether the fit opens several ledgers, which together may use what it claims.

    Returns
    -------
    PairAudit
        Exact up to the rounding of doubles; a violation is a proof, not a suspicion.
    """
    first, second, violations = run_both(fit, pair, seed=seed, nested=several)
    ledger = first.ledger
    assert ledger is not None
    runs, others = [first, *first.children], [second, *second.children]
    violations += [found for run in (*runs[1:], *others[1:]) for found in run.violations]
    violations += [found for run in runs for found in disjoint_scopes(run)]
    violations += [
        Violation(check, "fit", message)
        for run in (first, second)
        for check, message in run.shown.get(FAULTS, ())
    ]
    parts: list[list[EntryLoss]] = [[] for _ in runs]
    if len(runs) != len(others):
        violations.append(Violation("public path", "run", "another number of ledgers"))
    elif not any(found.check not in OF_ONE_RUN for found in violations):
        parts = [
            weigh(run, other, ledger, violations) for run, other in zip(runs, others, strict=True)
        ]
        violations += compare_runs(first, second) if compare_visible else []
        violations += compare_public_calls(first, second)
    for run, part in zip(runs, parts, strict=True):
        assert run.ledger is not None
        violations += _check_scopes(part, run.ledger, group)
    entries = [entry for part in parts for entry in part]
    violations += _check_total(entries, ledger)
    return PairAudit(
        entries=tuple(entries),
        loss=sum(entry.loss for entry in entries),
        cost=sum(entry.cost for entry in entries),
        privacy_measure=ledger.accountant.privacy_measure,
        capacity=_capacity(runs),
        epsilon=float(ledger.epsilon),
        error=words_of(first.error),
        violations=tuple(violations),
    )


def run_both(
    fit: Fit, pair: Pair, *, seed: int | None, several: bool = False, nested: bool = False
) -> tuple[RunTrace, RunTrace, list[Violation]]:
    """Record a fit on the first table, replay it on the second, and return what was noticed."""
    entropy = None if seed is None else Entropy.seeded(seed)
    options: dict[str, Any] = {"entropy": entropy, "several": several, "nested": nested}
    n_ids = int(max(pair.ids.max(), pair.other_ids.max())) + 1
    recorder = Recorder(pair.ids, n_ids=n_ids, steering=pair.steering, coin=pair.coin, **options)
    first = _run_watched(fit, recorder, pair.X, pair.y)
    if first.ledger is None:
        raise first.error or RuntimeError("The fit opened no ledger: nothing to audit.")
    replaying = Recorder(pair.other_ids, source=first, **options)
    second = _run_watched(fit, replaying, pair.X_other, pair.y_other)
    violations = [*first.violations, *second.violations]
    errors = (first.error, second.error)
    violations += [error.violation for error in errors if isinstance(error, DivergenceError)]
    return first, second, violations


def _run_watched(fit: Fit, recorder: Recorder, X: Any, y: Any) -> RunTrace:
    """Run a fit under a recorder; an error is a result, for it leaves the process as well."""
    transcript = recorder.transcript
    try:
        with recorder.watching():
            transcript.shown = fit(X, y) or {}
    except Exception as error:  # noqa: BLE001 - compared with that of the other run
        transcript.error = error
    return transcript


def words_of(error: Exception | None) -> str:
    """Return what an error says, nothing where there is none."""
    return "" if error is None else f"{type(error).__name__}: {error}"


def weigh(
    first: RunTrace, second: RunTrace, ledger: Ledger, violations: list[Violation]
) -> list[EntryLoss]:
    """Return the loss of every line, or none when one run stopped early."""
    if len(first.lines) != len(second.lines):
        violations.append(Violation("public path", "run", "the runs differ in length"))
        return []
    privacy_measure = ledger.accountant.privacy_measure
    result = []
    for line, other in zip(first.lines, second.lines, strict=True):
        try:
            losses = [call_loss(*pair) for pair in zip(line.calls, other.calls, strict=True)]
        except DivergenceError as error:
            violations.append(error.violation)
            continue
        result.append(
            EntryLoss(
                label=line.entry.label,
                scope=line.entry.scope,
                charge=float(line.entry.charge.cost),
                cost=_cost(line, losses, privacy_measure),
                loss=sum(loss.observed for loss in losses),
            )
        )
    return result


def _cost(line: TracedRelease, losses: Sequence[CallLoss], privacy_measure: str) -> float:
    r"""Return what a release costs on this pair, in the unit of the accountant.

    Pure epsilon is the largest absolute loss. Under concentrated privacy Gaussian noise costs
    half the squared shift, a mechanism whose losses lie in an interval of length :math:`\eta`
    costs :math:`\eta^2 / 8` (Cesar and Rogers, ALT 2021), in Gaussian privacy
    :math:`\pi \eta^2 / 8`, and one with losses of at most
    :math:`\epsilon` costs :math:`\epsilon^2 / 2` (Bun and Steinke, TCC 2016); each release is
    held to the rule by which it was charged.
    """
    shifts = sum(loss.shift_squared or 0.0 for loss in losses)
    largest = sum(max(loss.high, -loss.low) for loss in losses if loss.shift_squared is None)
    if privacy_measure == "epsilon":
        return largest if not shifts else math.inf
    interval = sum(loss.high - loss.low for loss in losses if loss.shift_squared is None)
    exponential = interval == 0 or line.calls[0].kernel == "exponential"
    if privacy_measure == "mu squared":
        return shifts + math.pi / 8 * interval**2 if exponential else math.inf
    if interval and exponential:
        return shifts / 2 + interval**2 / 8
    return shifts / 2 + largest**2 / 2


def _capacity(runs: Sequence[RunTrace]) -> float:
    """Return what all ledgers may use together: a row is in all further ones but one."""
    first, *rest = (float(run.ledger.capacity) for run in runs if run.ledger is not None)
    return first + sum(rest) * (len(rest) - 1) / max(len(rest), 1)


def _times(ledger: Ledger, group: int) -> int:
    """Return what many rows cost that change one after the other, in the cost of one."""
    return group if ledger.accountant.privacy_measure == "epsilon" else group**2


def check_ledger(entries: Sequence[EntryLoss], ledger: Ledger, group: int = 1) -> list[Violation]:
    """Hold every release to its charge, every scope to its total, and the run to epsilon."""
    return [*_check_scopes(entries, ledger, group), *_check_total(entries, ledger)]


def _check_scopes(entries: Sequence[EntryLoss], ledger: Ledger, group: int) -> list[Violation]:
    """Hold every release to its charge, and every scope to its total."""
    found = []
    times = _times(ledger, group) * (1 + TOLERANCE)
    for entry in entries:
        if entry.cost > entry.charge * times + TOLERANCE:
            where = "/".join((*entry.scope, entry.label))
            found.append(_over("entry cost", where, entry.cost, entry.charge))
    for scope in _scopes(ledger.root):
        inside = [entry for entry in entries if entry.scope[: len(scope.path)] == scope.path]
        cost, total = sum(entry.cost for entry in inside), float(scope.total.cost)
        if cost > total * times + TOLERANCE:
            found.append(_over("scope total", "/".join(scope.path) or "fit", cost, total))
    return found


def _check_total(entries: Sequence[EntryLoss], ledger: Ledger) -> list[Violation]:
    """Hold the run to epsilon and delta."""
    found = []
    measure = ledger.accountant.privacy_measure
    cost, epsilon = sum(entry.cost for entry in entries), float(ledger.epsilon)
    if measure == "epsilon":
        loss = abs(sum(entry.loss for entry in entries))
        if loss > epsilon + TOLERANCE:
            found.append(_over("total loss", "fit", loss, epsilon))
        if cost > epsilon + TOLERANCE:
            found.append(_over("total cost", "fit", cost, epsilon))
        return found
    delta, allowed = delta_of(measure, cost, epsilon), float(ledger.delta - ledger.delta_spent)
    if delta > allowed * (1 + ROUNDING):
        found.append(_over("total delta", "fit", delta, allowed))
    return found


def _over(check: str, where: str, measured: float, allowed: float) -> Violation:
    message = f"measured {measured:.6g}, allowed {allowed:.6g}"
    return Violation(check, where, message)


def _scopes(scope: Scope) -> list[Scope]:
    return [scope, *(inner for child in scope.children.values() for inner in _scopes(child))]


def compare_public_calls(first: RunTrace, second: RunTrace) -> list[Violation]:
    """Compare what public functions were handed, whether or not it shows in the end."""
    number = first_difference(first.public_calls, second.public_calls)
    if number is None:
        return []
    where = max(first.public_calls, second.public_calls, key=len)[number][0]
    return [Violation(PUBLIC_NUMBERS, where, "handed other numbers on the other table")]


def compare_runs(first: RunTrace, second: RunTrace) -> list[Violation]:
    """Compare everything that leaves the process, errors included."""
    seen, other = first.shown, second.shown
    ours, theirs = words_of(first.error), words_of(second.error)
    if ours != theirs:
        return [Violation("visible output", "exception", f"{ours} | {theirs}")]
    return [
        Violation("visible output", name, "differs between the tables")
        for name in sorted({*seen, *other} - {FAULTS})
        if seen.get(name) != other.get(name)
    ]
