"""The replay auditor: the exact privacy loss of every release of a real fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpboost.audit.delta_curves import delta_of
from dpboost.audit.disjoint_scopes import CHECK as DISJOINT
from dpboost.audit.disjoint_scopes import disjoint_scopes
from dpboost.audit.neighbouring_pairs import Pair
from dpboost.audit.output_distributions import CallLoss, call_loss
from dpboost.audit.public_numbers import CHECK as PUBLIC_NUMBERS
from dpboost.audit.public_numbers import first_difference
from dpboost.audit.transcript import DivergenceError, Line, Recorder, Transcript, Violation
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
    """What one release tells.

    Parameters
    ----------
    charge : float
        Booked, in the unit of the accountant.
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
    epsilon : float
        Epsilon asked for.
    error : str
        What both fits raised; empty where they came to their end. The entries before it count.
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
    pair : Pair
    seed : int, optional
        Draw the first run from a seed, for reproducible audits.
    compare_visible : bool
        Whether what leaves the process must be the same in both runs.
    group : int, default=1
        Rows by which the tables differ at most, where charges are those of one row: a release
        may then cost as much as that many rows, and the fit as much as it claims for them.
    several : bool, default=False
        Whether the fit opens several ledgers, which together may spend what it claims.

    Returns
    -------
    PairAudit
        Exact up to the rounding of doubles; a violation is a proof, not a suspicion.
    """
    entropy = None if seed is None else Entropy.seeded(seed)
    first = Recorder(
        pair.ids,
        n_ids=int(max(pair.ids.max(), pair.other_ids.max())) + 1,
        steering=pair.steering,
        coin=pair.coin,
        entropy=entropy,
        nested=several,
    )
    seen, error = run_watched(fit, first, pair.X, pair.y)
    ledger = first.transcript.ledger
    if ledger is None:
        if error is not None:
            raise error
        raise RuntimeError("The fit opened no ledger, so there is nothing to audit.")
    second = Recorder(pair.other_ids, source=first.transcript, entropy=entropy, nested=several)
    other_seen, other_error = run_watched(fit, second, pair.X_other, pair.y_other)
    runs = [first.transcript, *first.transcript.children]
    others = [second.transcript, *second.transcript.children]
    violations = [found for run in (*runs, *others) for found in run.violations]
    violations += [found for run in runs for found in disjoint_scopes(run)]
    for stopped in (error, other_error):
        if isinstance(stopped, DivergenceError):
            violations.append(stopped.violation)
    violations += [
        Violation(check=check, where="fit", message=message)
        for told in (seen, other_seen)
        for check, message in told.get(FAULTS, ())
    ]
    parts: list[list[EntryLoss]] = [[] for _ in runs]
    if len(runs) != len(others):
        violations.append(
            Violation(check="public path", where="run", message="another number of ledgers")
        )
    elif not any(found.check not in OF_ONE_RUN for found in violations):
        parts = [
            weigh(run, other, ledger, violations) for run, other in zip(runs, others, strict=True)
        ]
        violations += compare_runs(seen, other_seen, error, other_error) if compare_visible else []
        violations += compare_public_calls(first.transcript, second.transcript)
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
        error="" if error is None else f"{type(error).__name__}: {error}",
        violations=tuple(violations),
    )


def run_watched(
    fit: Fit, recorder: Recorder, X: Any, y: Any
) -> tuple[Mapping[str, Any], Exception | None]:
    """Run a fit under a recorder; an error is a result, for it leaves the process as well."""
    try:
        with recorder.watching():
            return fit(X, y) or {}, None
    except Exception as error:  # noqa: BLE001 - compared with that of the other run
        return {}, error


def weigh(
    first: Transcript, second: Transcript, ledger: Ledger, violations: list[Violation]
) -> list[EntryLoss]:
    """Return the loss of every line, or none when one run stopped early."""
    if len(first.lines) != len(second.lines):
        violations.append(
            Violation(check="public path", where="run", message="the runs differ in length")
        )
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


def _cost(line: Line, losses: Sequence[CallLoss], privacy_measure: str) -> float:
    r"""Return what a release costs on this pair, in the unit of the accountant.

    Pure epsilon is the largest absolute loss. Under concentrated privacy Gaussian noise costs
    half the squared shift, a mechanism whose losses lie in an interval of length :math:`\eta`
    costs :math:`\eta^2 / 8` (Cesar and Rogers, ALT 2021), and one with losses of at most
    :math:`\epsilon` costs :math:`\epsilon^2 / 2` (Bun and Steinke, TCC 2016); each release is
    held to the rule by which it was charged.
    """
    shifts = sum(loss.shift_squared or 0.0 for loss in losses)
    largest = sum(max(loss.high, -loss.low) for loss in losses if loss.shift_squared is None)
    if privacy_measure == "epsilon":
        return largest if not shifts else math.inf
    if privacy_measure == "mu squared":
        return shifts if not largest else math.inf
    interval = sum(loss.high - loss.low for loss in losses if loss.shift_squared is None)
    if losses and losses[0].shift_squared is None and line.calls[0].kernel == "exponential":
        return shifts / 2 + interval**2 / 8
    return shifts / 2 + largest**2 / 2


def _capacity(runs: Sequence[Transcript]) -> float:
    """Return what all ledgers may spend together: a row is in all further ones but one."""
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
    return Violation(check=check, where=where, message=message)


def _scopes(scope: Scope) -> list[Scope]:
    return [scope, *(inner for child in scope.children.values() for inner in _scopes(child))]


def compare_public_calls(first: Transcript, second: Transcript) -> list[Violation]:
    """Compare what public functions were handed, whether or not it shows in the end."""
    where = first_difference(first.public_calls, second.public_calls)
    if where is None:
        return []
    message = "handed other numbers on the other table"
    return [Violation(check=PUBLIC_NUMBERS, where=where, message=message)]


def compare_runs(
    seen: Mapping[str, Any],
    other: Mapping[str, Any],
    error: Exception | None,
    other_error: Exception | None,
) -> list[Violation]:
    """Compare everything that leaves the process, errors included."""
    ours, theirs = (f"{type(e).__name__}: {e}" if e else "" for e in (error, other_error))
    if ours != theirs:
        return [Violation(check="visible output", where="exception", message=f"{ours} | {theirs}")]
    return [
        Violation(check="visible output", where=name, message="differs between the tables")
        for name in sorted({*seen, *other} - {FAULTS})
        if seen.get(name) != other.get(name)
    ]
