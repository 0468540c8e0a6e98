"""The reservation of a fit: a fraction of a budget, recorded before the first draw.

Fits without one are added up for a warning. Only the cells show whether two tables share rows: they
are assumed to if they are one object, or have columns of the same names and types; both are public.

Proof: docs/proofs/budgets.md.
"""

from __future__ import annotations

import math
import secrets
import weakref
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost._utils.warnings import warn_user
from dpboost.budgeting.budget import KNOWN, MOST_HISTOGRAMS, Budget, DisjointTable
from dpboost.budgeting.budget_records import TABLES, Part, percent, periods_of
from dpboost.budgeting.fraction_accountant import FractionAccountant
from dpboost.budgeting.holdout import HELD, TRAINED, HeldRows, deal
from dpboost.budgeting.open_budgets import (
    BudgetWarning,
    EpsilonSumWarning,
    here,
    innermost,
    is_open,
)
from dpboost.budgeting.windows import Window
from dpboost.privacy.accounting import Accountant, GDPAccountant, ZCDPAccountant
from dpboost.privacy.exact_arithmetic import PrivacyCost, as_fraction, number_of
from dpboost.privacy.ledger import Charge
from dpboost.privacy.randomness import RowCoins
from dpboost.privacy.recording import Replaying, current, is_replay, note, public_value

#: What rows that are held out may charge to stop training, as a part of what the fit takes.
STOPPING_SHARE = Fraction(1, 4)
#: What was charged is recorded in so small parts of an account, rounded up.
SMALLEST_PART = Fraction(1, 10**6)


@dataclass(kw_only=True, eq=False)
class Holdout:
    """The held-out rows of a fit."""

    #: Expected fraction of the rows.
    share: Fraction
    #: The held-out rows, once assigned.
    rows: HeldRows | None = None
    #: Positions of the lines of a fit that they may stop: for training rows and for these.
    reserved: list[int] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, eq=False)
class Claim:
    """The reservation of a fit in a budget."""

    budget: Budget
    fraction: Fraction
    #: Name of the estimator.
    what: str
    #: Accountant of the fit's recipe, once known.
    accountant: FractionAccountant | None = None
    #: The rows that it covers, as in a line of the records.
    part: Part = ()
    #: Rows that are held out before the first release.
    holdout: Holdout | None = None
    #: Whether these rows may stop training, for a part of the reservation.
    stops: bool = False
    #: Whether it is already recorded, as the first of several fits under one line.
    booked: bool = False
    #: Positions of its lines in the records, once recorded.
    positions: list[int] = field(default_factory=list)
    #: Hashes of the rows of its periods.
    tables: Mapping[str, str] = field(default_factory=dict)

    def terms(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters that the budget determines.

        InvalidParameterError if the estimator, whose parameters are ``given``, has another unit of
        privacy, or a noise seed.
        """
        for name in ("neighbors", "rows_per_user"):
            agreed = getattr(self.budget, name)
            if given.get(name) != agreed:
                must = f"{agreed!r} as that of the budget, so that the fits add up"
                raise refuse(name, self.what, must, given.get(name))
        if given.get("noise_seed") is not None:
            raise refuse(
                "noise_seed",
                self.what,
                "None with a budget: anyone who knows the seed can remove the noise",
                given["noise_seed"],
            )
        return {"epsilon": float(self.budget.epsilon), "delta": float(self.budget.delta)}

    def settled(self, accountant: Callable[[float, float], Accountant]) -> Claim:
        """Return the claim with the accountant of the fit.

        ``accountant(epsilon, delta)`` is that of the recipe.
        """
        budget = self.budget
        inner = accountant(float(budget.epsilon - budget.pure_epsilon), float(budget.delta))
        if isinstance(inner, GDPAccountant) and isinstance(budget.accountant, ZCDPAccountant):
            # The account counts in rho since its first line, and all that has a mu has a rho.
            inner = ZCDPAccountant()
        return replace(self, accountant=budget.account(inner, self.fraction))

    @property
    def epsilon(self) -> float:
        """Epsilon that the fit may use alone, at the budget's delta."""
        assert self.accountant is not None
        return self.accountant.epsilon(self.accountant.allowance, self.accountant.least_delta)

    @property
    def learns_no_names(self) -> bool:
        """Whether the fit may read several rows of an individual, which could share a rare name.

        A stability histogram hides the name of one row; the name of k rows has k times its count.
        """
        overlap, periods = self.budget.overlap, periods_of(self.part)[0]
        return overlap is not None and overlap.several(len(periods))

    def check_continues(self, earlier: Mapping[str, Any] | None) -> None:
        """Raise if a model that is continued names this budget, whose records lack its lines.

        ``earlier`` is the budget in the report of that model.
        """
        named = self.budget.terms.get("identity")
        if earlier is None or named is None or earlier.get("identity") != named:
            return
        if is_replay():  # without lines of other fits
            return
        known = Counter(
            (line.what, line.account, line.fraction, line.part) for line in self.budget.lines
        )
        for line in earlier["lines"]:
            part = tuple(map(tuple, line["part"]))
            known[line["what"], line["account"], Fraction(line["fraction"]), part] -= 1
        if min(known.values()) < 0:
            raise InvalidParameterError(
                f"The 'init_model' of {self.what}.fit is of the budget of {self.budget.title}, "
                "whose records have no line of it: the file was replaced by an older copy. Bring "
                "the file back, with all its lines."
            )

    @property
    def histogram_delta(self) -> Fraction:
        """Maximum delta of one stability histogram."""
        return self.budget.failure_delta(self.fraction) / MOST_HISTOGRAMS

    def reserve(self) -> None:
        """Record the fraction in the budget, before the first draw."""
        assert self.accountant is not None
        if self.booked:
            return
        measure = self.accountant.privacy_measure
        line = self.budget.reserve(self.what, measure, self.fraction, self.part, self.tables)
        self.positions.append(line)
        if self.holdout is not None and self.stops:
            share = self.fraction * STOPPING_SHARE
            held = self.budget.reserve(f"{self.what}, stopping", measure, share, self._held_part)
            self.positions.append(held)
            self.holdout.reserved = [line, held]

    def record(self) -> dict[str, Any]:
        """Return the terms of the budget and the lines of this claim as plain data."""
        return self.budget.record(self.positions)

    def close(self, trained: Charge, held: Charge, capacity: PrivacyCost) -> None:
        """Return the reserved amount that a fit did not charge, after its last draw.

        ``trained`` and ``held`` are the totals of training rows and of rows that may stop training,
        ``capacity`` is that of the fit, in the same unit.
        """
        assert self.holdout is not None
        for position, total in zip(self.holdout.reserved, (trained, held), strict=True):
            self.budget.close(position, self._charged(total, capacity))

    def _charged(self, total: Charge, capacity: PrivacyCost) -> Fraction:
        """Return the fraction that covers a total: cost, failures, and slack of the lattice."""
        assert self.accountant is not None
        limit = self.accountant.lattice_error_limit(self.accountant.account_epsilon)
        part = Fraction(number_of(total.cost)) / Fraction(number_of(capacity))
        if total.delta:
            part = max(part, total.delta / (MOST_HISTOGRAMS * self.histogram_delta))
        if total.lattice_error:
            part = max(part, total.lattice_error / limit)
        return min(math.ceil(part * self.fraction / SMALLEST_PART) * SMALLEST_PART, self.fraction)

    @property
    def _held_part(self) -> Part:
        """The held-out side of a holdout, as in a line of the records."""
        return (*self.part[:-1], (self.part[-1][0], HELD))

    def set_aside(
        self,
        X: Any,
        y: NDArray[Any],
        users: NDArray[np.int64] | None,
        coins: RowCoins,
    ) -> NDArray[np.intp]:
        """Assign rows to the two sides of a holdout, and return the indices of training rows.

        ``users`` are the numbers of the users of all rows, where users are protected. The coins are
        those of the fit, and used for nothing else.
        """
        assert self.holdout is not None
        held, trained = deal(X, y, users, self.holdout.share, coins)
        self.holdout.rows = held
        return trained

    def keep(self, model: Any) -> None:
        """Keep the held-out rows of a fitted model."""
        if self.holdout is not None and self.holdout.rows is not None:
            self.budget.hold(model, self.holdout.rows, self._held_part)

    @property
    def fact(self) -> str:
        """The fact about the budget in the report of the fit."""
        periods, rest = periods_of(self.part)
        rows = "".join(f" for {name!r} of its disjoint tables" for _, name in rest[:1])
        if periods:
            rows = f" for the periods {', '.join(map(repr, periods))}; {self.budget.promise}"
        if self.holdout is not None:
            share = percent(self.holdout.share)
            part = "may stop training" if self.stops else "take no part"
            rows = f"; {share} of the rows are held out by secret random assignment and {part}"
        return (
            f"{percent(self.fraction)} of the budget of {self.budget.title}{rows}; epsilon and "
            "delta asked are those of everything under it"
        )


def claim(
    budget: Budget | DisjointTable | Window | None,
    fraction: Any,
    *,
    what: str,
    rows: Any,
    call: str | None = None,
    belongs: Sequence[Any] = (),
    holdout: Any = None,
    carrier: Any = None,
    counted: bool | None = None,
) -> Claim | None:
    """Return the reservation of a fit in the given or open budget.

    ``what`` is the name of the estimator, for the records; ``call`` that of the function in
    messages, the ``fit`` of the estimator by default. ``rows`` are those of the fit, None for
    held-out rows, which the budget knows. The objects in ``belongs``, table and estimator, then
    belong to the budget. ``holdout`` is the expected fraction of rows to hold out. ``carrier``, an
    estimator or Dataset of the call, may carry the identifier of an open budget. ``counted``, of a
    fit that `add_fit` adds outside of budgets, says whether the warning of a search covers it.

    Returns None if no budget is given or open; a BudgetWarning says so if one of the objects
    belongs to a budget. InvalidParameterError if only one of budget and fraction is given, the
    fraction is not in (0, 1], several budgets are open, or the budget is of another process and has
    no file.
    """
    call = call or f"{what}.fit"
    if budget is None and fraction is None and not is_open(carrier):
        if holdout is not None:
            raise InvalidParameterError(
                f"The 'holdout' of {call} holds out rows for an evaluation under a budget: pass "
                "budget=... and fraction=..., or open one by `with Budget(...)`."
            )
        _warn_of_known(what, belongs)
        if counted is not None:
            _keep_table(rows, counted=counted)
        return None
    part: Part = ()
    given = budget
    if isinstance(budget, DisjointTable):
        part = ((TABLES, budget.table),)
        budget = budget.budget
    elif isinstance(budget, Window):
        part = budget.part
        budget = budget.budget
    if budget is None:
        budget = innermost(call, carrier)
    elif isinstance(budget, Budget):
        budget = here(budget)
    else:
        raise refuse("budget", call, "a dpboost.Budget", budget)
    if fraction is None:
        raise InvalidParameterError(
            f"{call} needs the 'fraction' to use of the budget of {budget.title}, for example "
            "fraction=0.5."
        )
    size = as_fraction("fraction", call, fraction)
    if not 0 < size <= 1:
        raise refuse("fraction", call, "in (0, 1]", fraction)
    tables: dict[str, str] = {}
    if isinstance(given, Window):
        # Rows of a replay are blank.
        if rows is not None and not is_replay():
            tables = given.hashes(rows, budget.key(), call)
    elif rows is not None and budget.overlap is not None:
        raise InvalidParameterError(
            f"{call} does not name the periods of its rows in the budget of {budget.title}: "
            "pass budget=budget.window('2026 Q1', ...), with of_rows=... for several."
        )
    aside = None
    if holdout is not None:
        share = as_fraction("holdout", call, holdout)
        if not 0 < share < 1:
            raise refuse("holdout", call, "in (0, 1)", holdout)
        aside = Holdout(share=share)
        name = public_value("holdout", lambda: secrets.token_hex(8))
        part = (*part, (f"holdout {name}", TRAINED))
    budget.remember(*belongs)
    rho = ZCDPAccountant.privacy_measure
    running = current()
    if isinstance(running, Replaying):  # of the same name, whichever cluster made the call
        what = running.source.facts["budget"].get("what", what)
    note(
        "budget",
        {
            "what": what,
            "terms": budget.terms,
            "fraction": str(size),
            "disjoint": given.table if isinstance(given, DisjointTable) else None,
            **({"periods": given.periods} if isinstance(given, Window) else {}),
            # Of lines before, which a replay does not have.
            **({"measure": rho} if budget.accountant.privacy_measure == rho else {}),
        },
    )
    return Claim(budget=budget, fraction=size, what=what, part=part, holdout=aside, tables=tables)


def _warn_of_known(what: str, belongs: Sequence[Any]) -> None:
    """Warn if a fit uses no budget and one of its objects belongs to one."""
    for budget in tuple(KNOWN):
        if any(budget.knows(each) for each in belongs):
            warn_user(
                f"This fit of {what} is not charged to the budget of {budget.title}, to which its "
                "table or estimator belongs: its epsilon adds to that of the budget. Pass "
                "budget=... and fraction=..., unless its rows are different.",
                BudgetWarning,
            )


@dataclass(kw_only=True, eq=False)
class _Table:
    """A table, by its columns or as an object, and the epsilons of the fits on it."""

    keys: set[Hashable] = field(default_factory=set)
    objects: list[Any] = field(default_factory=list)
    n_fits: int = 0
    epsilon: float = 0.0
    delta: float = 0.0


_TABLES: list[_Table] = []
_ROWS: ContextVar[Any] = ContextVar("rows", default=None)
_COUNTED: ContextVar[bool] = ContextVar("counted", default=False)


def _keep_table(rows: Any, *, counted: bool) -> None:
    """Keep a weak reference to the table of a fit that begins outside of budgets."""
    _COUNTED.set(counted)
    found = None
    with suppress(TypeError):
        found = weakref.ref(rows)
    _ROWS.set(found)


def forget() -> None:
    """Reset the state, as in a new process."""
    _TABLES.clear()


def add_fit(key: Hashable, epsilon: float, delta: float) -> None:
    """Add a fit outside of budgets, and warn from the second one of a table on.

    Parameters
    ----------
    key : hashable
        Names and types of the columns.
    epsilon, delta : float
        Budget of the fit; an infinite epsilon is not added.
    """
    if epsilon == math.inf:
        return
    reference = _ROWS.get()
    _ROWS.set(None)
    rows = None if reference is None else reference()
    same = [
        table
        for table in _TABLES
        if key in table.keys or any(rows is not None and each() is rows for each in table.objects)
    ]
    table = same[0] if same else _Table()
    if not same:
        _TABLES.append(table)
    table.keys.add(key)
    table.objects = [each for each in table.objects if each() is not None]
    if reference is not None:
        table.objects.append(reference)
    table.n_fits += 1
    table.epsilon += epsilon
    table.delta += delta
    if table.n_fits > 1 and not _COUNTED.get():
        total = f"epsilon={table.epsilon:g}" + (f", delta={table.delta:g}" if table.delta else "")
        warn_user(
            f"This process has made {table.n_fits} fits to tables with these columns, in no "
            f"budget: if these share rows, the fits so far add up to {total}. Use one budget for "
            "the table: `with dpboost.Budget(epsilon=...):`, fit(..., fraction=...).",
            EpsilonSumWarning,
        )
