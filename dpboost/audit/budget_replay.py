"""The replay auditor for all releases under one budget."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np

from dpboost.audit.neighboring_pairs import Pair
from dpboost.audit.pair_replay import (
    TOLERANCE,
    EntryLoss,
    Fit,
    check_ledger,
    compare_runs,
    run_both,
    weigh,
)
from dpboost.audit.run_trace import RunTrace, TracedRelease, Violation
from dpboost.budgeting.budget import Budget
from dpboost.budgeting.budget_records import spent


@dataclass(frozen=True, kw_only=True)
class BudgetAudit:
    """The outcome of a replay of all that was released under a budget.

    Parameters
    ----------
    entries : tuple of EntryLoss
        In the order of their release, over all fits and evaluations.
    measured : dict of str to float
        What the differing row has cost, as a part of each account.
    failures : dict of str to float
        What it has used of the delta for releases that may fail, as a part of that of each account.
    booked : dict of str to Fraction
        What the records of the budget have, of each account.
    violations : tuple of Violation
        Empty where the guarantee held.
    """

    entries: tuple[EntryLoss, ...]
    measured: dict[str, float]
    failures: dict[str, float]
    booked: dict[str, Fraction]
    violations: tuple[Violation, ...]


def replay_budget(
    run: Fit, pair: Pair, *, seed: int | None = None, group: int = 1, compare_visible: bool = True
) -> BudgetAudit:
    """Run on the first table, replay on the second, and hold all releases to one set of records.

    Parameters
    ----------
    run : callable
        Opens one budget, and fits and evaluates on ``(X, y)`` under it.
    seed : int, optional
        Draw the first run from a seed.
    group : int, default=1
        Rows that may differ between the tables: those of one user that the budget lets take part.
        Each release may cost as much as that many rows, and all of them what was recorded.
    compare_visible : bool
        Whether what ``run`` returns must be the same for both tables.

    Raises
    ------
    RuntimeError
        If the run opens no budget or releases nothing.

    Notes
    -----
    A row is on one side of every division into disjoint parts: what is released of another side
    has no cost on this pair, so that the sum over all releases is what the row has paid.
    """
    with _opened() as budgets:
        first, second, violations = run_both(run, pair, seed=seed, several=True)
    if not budgets:
        raise RuntimeError("The run opened no budget.")
    budget = budgets[0]
    entries: list[EntryLoss] = []
    measured: dict[str, float] = {}
    failures: dict[str, float] = {}
    if not violations:
        for own, other, ledger in _by_ledger(first, second, violations):
            found = weigh(own, other, ledger, violations)
            violations += check_ledger(found, ledger, group)
            account = "pure" if ledger.accountant.privacy_measure == "epsilon" else "Gaussian"
            whole = budget.total(ledger.accountant)
            cost = sum(entry.cost for entry in found) / float(whole)
            measured[account] = measured.get(account, 0.0) + cost
            failed = _failure(own, other, budget)
            failures[account] = failures.get(account, 0.0) + failed
            entries += found
        if compare_visible:
            violations += compare_runs(first, second)
    booked = spent(budget.lines, budget.overlap)
    for what, parts in (("account", measured), ("failure delta", failures)):
        for account, cost in parts.items():
            allowed = float(booked.get(account, Fraction(0)))
            if cost > allowed * (1 + TOLERANCE) + TOLERANCE:
                message = f"measured {cost:.6g} of the {what}, recorded {allowed:.6g}"
                violations.append(Violation("records", account, message))
    return BudgetAudit(
        entries=tuple(entries),
        measured=measured,
        failures=failures,
        booked=booked,
        violations=tuple(violations),
    )


def _failure(first: RunTrace, second: RunTrace, budget: Budget) -> float:
    """Return what the releases that saw the differing row may fail by, as a part of the whole."""
    whole = budget.failure_delta(Fraction(1))
    used = sum(
        one.entry.charge.delta
        for one, other in zip(first.lines, second.lines, strict=True)
        if one.entry.charge.delta and _differs(one, other)
    )
    return float(used / whole) if used else 0.0


def _differs(line: TracedRelease, other: TracedRelease) -> bool:
    """Return whether a release was handed something else on the other table."""
    return any(
        one.keys != two.keys or not np.array_equal(one.given, two.given)
        for one, two in zip(line.calls, other.calls, strict=True)
    )


@contextmanager
def _opened() -> Iterator[list[Budget]]:
    """Take note of the budgets that are opened inside."""
    found: list[Budget] = []
    original = Budget.__init__

    def init(budget: Budget, *arguments: Any, **options: Any) -> None:
        original(budget, *arguments, **options)
        found.append(budget)

    with mock.patch.object(Budget, "__init__", init):
        yield found


def _by_ledger(
    first: RunTrace, second: RunTrace, violations: list[Violation]
) -> Iterator[tuple[RunTrace, RunTrace, Any]]:
    """Yield the lines of each ledger of both runs."""
    if len(first.lines) != len(second.lines) or len(first.ledgers) != len(second.ledgers):
        violations.append(Violation("public path", "run", "the runs differ in length"))
        return
    for number, ledger in enumerate(first.ledgers):
        one, other = (
            RunTrace(run.ids, lines=[line for line in run.lines if line.ledger == number])
            for run in (first, second)
        )
        yield one, other, ledger
