"""The ledger of a fit, which releases sensitive values.

Proof that its totals hold: docs/proofs/composition.md. Machine-checked:
docs/proofs/machine-checked.md.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError, check_choice, refuse
from dpboost.privacy.accounting import GAUSSIAN_CURE, Accountant, UnsupportedReleaseError
from dpboost.privacy.exact_arithmetic import (
    DELTA_SHARE,
    ZERO,
    Epsilon,
    PrivacyCost,
    as_budget,
    as_fraction,
)
from dpboost.privacy.ledger_records import (
    NO_CHARGE,
    ONE,
    Charge,
    Disjoint,
    LedgerEntry,
    Scope,
    added,
)
from dpboost.privacy.mechanisms import Mechanism
from dpboost.privacy.queries import Sensitive, _reveal
from dpboost.privacy.randomness import Entropy, RowCoins
from dpboost.privacy.recording import new_outcomes
from dpboost.privacy.remote import Release, RemoteSensitive
from dpboost.privacy.sensitivity.bound import Neighbors

__all__ = [
    "BudgetExceededError",
    "Charge",
    "Disjoint",
    "LedgerEntry",
    "Ledger",
    "Release",
    "Scope",
    "ScopeError",
]


class BudgetExceededError(RuntimeError):
    """A release would exceed the remaining budget; nothing was drawn and nothing was recorded."""


class ScopeError(RuntimeError):
    """Scopes were used in an invalid way, without a meaningful total."""


class _OpenScope:
    """A scope while it is open; a class for speed, because a fit opens thousands."""

    __slots__ = ("_enter", "_leave", "_scope")

    def __init__(self, enter: Callable[[], Scope], leave: Callable[[Scope], None]) -> None:
        self._enter = enter
        self._leave = leave

    def __enter__(self) -> None:
        self._scope = self._enter()

    def __exit__(self, *error: object) -> None:
        self._leave(self._scope)


class Ledger:
    """Record every release before the draw, and refuse releases that exceed the budget.

    A sequential scope costs the sum of its entries and of its children; a parallel scope costs
    the largest of its children, which must use disjoint rows. Entering a name again under the
    same parent reopens that scope, so the same rows under the same name always add up.

    Parameters
    ----------
    epsilon : Fraction, float or inf
        Budget of the whole fit. ``inf`` means no privacy.
    delta : Fraction or float
        Probability of failure, in [0, 1).
    neighbors : Neighbors
        Neighboring relation of the sensitivities.
    accountant : Accountant
        Accountant of the charges.
    entropy : Entropy
        Source of all secret bits.
    histogram_delta : Fraction, optional
        Maximum delta of one stability histogram; a tenth by default.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its domain, or the accountant needs delta > 0.

    Privacy
    -------
    If all sensitivities are true and children of parallel scopes use disjoint rows, all releases
    together are (epsilon, delta)-differentially private. A charge is never refunded, not even if a
    draw fails or an exception leaves a scope.
    """

    def __init__(
        self,
        *,
        epsilon: Epsilon,
        delta: Fraction | float,
        neighbors: Neighbors,
        accountant: Accountant,
        entropy: Entropy,
        histogram_delta: Fraction | None = None,
    ) -> None:
        self._epsilon = as_budget("epsilon", "Ledger", epsilon)
        self._delta = as_fraction("delta", "Ledger", delta)
        if not 0 <= self._delta < 1:
            raise refuse("delta", "Ledger", "in [0, 1)", delta)
        self._histogram_delta = self._delta * DELTA_SHARE
        if histogram_delta is not None:
            self._histogram_delta = histogram_delta
        choices = tuple(relation.value for relation in Neighbors)
        self._neighbors = Neighbors(check_choice("neighbors", "Ledger", neighbors, choices))
        self._accountant = accountant
        self._entropy = entropy
        self._root = Scope((), because=None, parent=None)
        self._scope = self._root
        self._branches: dict[tuple[Scope, tuple[str, ...]], Scope] = {}
        self._entries: list[LedgerEntry] = []
        self._parts: list[Ledger] = []
        self._above: Callable[[LedgerEntry, Charge], None] | None = None
        self._owner = threading.get_ident()
        self._broken = False
        self._capacities: dict[tuple[int, int], PrivacyCost] = {}
        self._capacity_after(NO_CHARGE.delta)
        self._lattice_error_limit = accountant.lattice_error_limit(self._epsilon)
        self._outcomes = new_outcomes(self.reasons)

    # -- what anybody may read -----------------------------------------------------------------

    @property
    def epsilon(self) -> Epsilon:
        """Requested epsilon."""
        return self._epsilon

    @property
    def delta(self) -> Fraction:
        """Requested delta."""
        return self._delta

    @property
    def histogram_delta(self) -> Fraction:
        """Maximum delta of one stability histogram."""
        return self._histogram_delta

    @property
    def neighbors(self) -> Neighbors:
        """The relation."""
        return self._neighbors

    @property
    def accountant(self) -> Accountant:
        """The accountant."""
        return self._accountant

    @property
    def root(self) -> Scope:
        """Outermost scope, for the report."""
        return self._root

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """All entries in the order of their recording, then those of each part."""
        return tuple(chain(self._entries, *(part.entries for part in self._parts)))

    @property
    def capacity(self) -> PrivacyCost:
        """Largest total that the budget allows, given the delta that is already spent."""
        return self._capacity_after(self.delta_spent)

    @property
    def spent(self) -> PrivacyCost:
        """Total cost so far, in the accountant's unit."""
        return self._root.total.cost

    @property
    def remaining(self) -> PrivacyCost:
        """Remaining capacity."""
        return self.capacity if self.capacity == math.inf else self.capacity - self.spent

    @property
    def part_spent(self) -> float:
        """Spent fraction of the capacity: 0 at the start, at most 1."""
        capacity = self.capacity
        # As fractions: a capacity may be smaller than the least float.
        return float(self.spent / capacity) if isinstance(capacity, Fraction) else 0.0

    @property
    def delta_spent(self) -> Fraction:
        """Delta spent by releases that may fail; the rest serves the conversion."""
        return self._root.total.delta

    @property
    def epsilon_spent(self) -> float:
        """Epsilon of the total at the requested delta.

        It is at most the requested epsilon, because the total never exceeds its capacity: the
        inverse of the accountant's curve rounds up.
        """
        found = self._accountant.epsilon(self.spent, self._delta - self.delta_spent)
        return min(found, float(self._epsilon))

    @property
    def private(self) -> bool:
        """Whether the guarantee is valid."""
        return not self.reasons

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons why the guarantee is not valid; empty if it is."""
        reasons = []
        if self._epsilon == math.inf:
            reasons.append("epsilon is infinite: no noise was drawn")
        if not self._entropy.private:
            reasons.append("the noise was drawn from a seed")
        return tuple(reasons)

    # -- scopes --------------------------------------------------------------------------------

    def sequential(self, name: str) -> AbstractContextManager[None]:
        """Open a scope whose releases and children add up."""
        return self._opened(name, None)

    def parallel(
        self, name: str, because: Disjoint = Disjoint.NOT_STATED
    ) -> AbstractContextManager[None]:
        """Open a scope whose children use disjoint rows; nothing is released in it directly.

        The certificate states ``because``, the reason.
        """
        return self._opened(name, because)

    def folds(self, name: str, n_folds: int) -> AbstractContextManager[None]:
        """Open a scope of fits: each row takes part in all of them but one, at random.

        Its cost is that of all children except the cheapest. `part` opens each child.
        """
        if self._scope.children.get(name) is None:
            path = (*self._scope.path, name)
            scope = Scope(path, because=None, parent=self._scope, n_folds=n_folds)
            self._scope.children[name] = scope
        return self._opened(name, None)

    def part(self, name: str, *, accountant: Accountant, entropy: Entropy) -> Ledger:
        """Return a ledger for a named scope, whose charges count here as well.

        The scope is new: a part is opened once. ``accountant`` makes the same charges, and has a
        fraction of the total for the part.
        """
        if name in self._scope.children:
            raise ScopeError(f"The part {name!r} was opened before.")
        found = Ledger(
            epsilon=self._epsilon,
            delta=self._delta,
            neighbors=self._neighbors,
            accountant=accountant,
            entropy=entropy,
        )
        with self._opened(name, None):
            found._root = found._scope = self._scope
        found._above = self._check_covered
        self._parts.append(found)
        return found

    @contextmanager
    def beside(self, division: str, part: str, most: Fraction = ONE) -> Iterator[None]:
        """Enter a sibling scope of other rows temporarily.

        It is a child of a parallel scope of the whole fit, ``division``, with rows that no open
        scope uses. ``most`` is the maximum fraction of the whole budget for its total, and is
        passed each time.
        """
        self._check_usable()
        inner, self._scope = self._scope, self._root
        try:
            with self.parallel(division, Disjoint.HOLDOUT), self.sequential(part):
                self._scope.most = most
                yield
        finally:
            self._scope = inner

    @contextmanager
    def branch(self, names: Sequence[str]) -> Iterator[None]:
        """Open nested scopes of subsets of the rows, which their content decides.

        Names are from the outside. Subsets with different names in the same subset are disjoint.
        """
        self._check_usable()
        outer = self._scope
        place = (outer, tuple(names))
        try:
            if place not in self._branches:
                for name in names:
                    self._enter("parts", Disjoint.CONTENT)
                    self._enter(name, None)
                self._branches[place] = self._scope
            inner = self._scope = self._branches[place]
            yield
            self._check_innermost(inner)
        finally:
            self._scope = outer

    def _opened(self, name: str, because: Disjoint | None) -> _OpenScope:
        return _OpenScope(partial(self._enter, name, because), self._leave)

    def _enter(self, name: str, because: Disjoint | None) -> Scope:
        """Enter a child of the innermost scope."""
        self._check_usable()
        if not isinstance(name, str) or not name:
            raise refuse("name", "a scope", "a string that is not empty", name)
        outer = self._scope
        scope = outer.children.get(name)
        if scope is None:
            scope = Scope((*outer.path, name), because=because, parent=outer)
            outer.children[name] = scope
        elif scope.because is not because:
            raise ScopeError(f"Scope {name!r} was opened before as another kind of scope.")
        self._scope = scope
        return scope

    def _leave(self, scope: Scope) -> None:
        """Return to the enclosing scope."""
        self._check_innermost(scope)
        self._scope = scope.parent or self._root

    def _check_innermost(self, scope: Scope) -> None:
        """Raise unless a scope that is left is the innermost one."""
        if self._scope is not scope:
            # Whatever was booked from here on could be booked in the wrong block of rows.
            self._broken = True
            name = scope.path[-1] if scope.path else ""
            raise ScopeError(f"Scope {name!r} was left while another one was innermost.")

    # -- the way out ---------------------------------------------------------------------------

    def release(
        self,
        mechanism: Mechanism,
        sensitive: Sensitive,
        *,
        label: str,
        delta: Fraction | float = NO_CHARGE.delta,
    ) -> NDArray[Any]:
        """Record a release, then draw it.

        Parameters
        ----------
        mechanism : Mechanism
            Mechanism with its budget.
        sensitive : Sensitive
            Value with a sensitivity of the kind that the mechanism needs.
        label : str
            Kind of release, for the report.
        delta : Fraction or float, default=0
            Additional failure probability from the caller's use of the outcome.

        Returns
        -------
        ndarray
            Noisy int64 array of the value's shape, or int32 array of chosen candidates. All
            computation on it is post-processing.

        Raises
        ------
        InvalidParameterError
            If value, sensitivity and mechanism do not match.
        ScopeError
            Directly in a parallel scope, where the charge would have no meaning.
        BudgetExceededError
            If the charge is not covered. As with the other errors, nothing was drawn or recorded.

        Privacy
        -------
        Releases the outcome of ``mechanism``; event and charge are the entry's.
        """
        entry = self._charged(mechanism, sensitive, label, delta)
        if isinstance(sensitive, RemoteSensitive):
            remote = sensitive
            fetched: NDArray[Any] = self._outcomes.settle(
                entry, remote.shape, lambda: self._fetched([(entry, remote)])[0]
            )
            return fetched
        value = _reveal(sensitive)
        drawn: NDArray[Any] = self._outcomes.settle(
            entry, value.shape, lambda: self._draw(entry, value)
        )
        return drawn

    def check(self, mechanism: Mechanism, sensitive: Sensitive, *, label: str) -> None:
        """Raise the errors of `release`, except for the budget; nothing is recorded or drawn."""
        self._entry(mechanism, sensitive, label, NO_CHARGE.delta)

    def release_together(self, releases: Sequence[Release]) -> list[NDArray[Any]]:
        """Record releases of values that are sums over parties, then fetch all outcomes together.

        All have one holder. Errors are those of `release`: what was recorded before stays recorded,
        and nothing was drawn.

        Privacy
        -------
        As `release`, each in the scopes of its branch.
        """
        drawn: list[tuple[LedgerEntry, RemoteSensitive]] = []
        for one in releases:
            with self.branch(one.branch):
                entry = self._charged(one.mechanism, one.value, one.label, NO_CHARGE.delta)
                drawn.append((entry, one.value))
        if len({id(value.holder) for _, value in drawn}) > 1:
            raise InvalidParameterError("Releases that are fetched together have one holder.")
        fetched: list[NDArray[Any]] = []

        def next_one() -> NDArray[Any]:
            if not fetched:
                fetched.extend(self._fetched(drawn))
            return fetched.pop(0)

        return [self._outcomes.settle(entry, value.shape, next_one) for entry, value in drawn]

    def _fetched(self, drawn: Sequence[tuple[LedgerEntry, RemoteSensitive]]) -> list[NDArray[Any]]:
        """Let the holder exchange the parts of recorded releases; this process draws its part."""

        def draw(position: int, mechanism: Mechanism) -> NDArray[Any]:
            entry, value = drawn[position]
            if mechanism.parameters(entry.bound) != entry.mechanism.parameters(entry.bound):
                raise InvalidParameterError("A part must be drawn with the recorded noise.")
            return self._draw(replace(entry, mechanism=mechanism), _reveal(value))

        return drawn[0][1].holder.fetch(drawn, draw)

    def _charged(
        self, mechanism: Mechanism, sensitive: Sensitive, label: str, delta: Fraction | float
    ) -> LedgerEntry:
        """Check a release and record it."""
        entry = self._entry(mechanism, sensitive, label, delta)
        self._book(entry)
        return entry

    def _entry(
        self, mechanism: Mechanism, sensitive: Sensitive, label: str, delta: Fraction | float
    ) -> LedgerEntry:
        """Check a release and return the line that would be recorded."""
        self._check_usable()
        if not isinstance(sensitive, Sensitive):
            raise InvalidParameterError(
                "The 'sensitive' parameter of Ledger.release must be a Sensitive."
            )
        if not isinstance(label, str) or not label:
            raise refuse("label", "Ledger.release", "a string that is not empty", label)
        failure = delta
        if not isinstance(failure, Fraction):
            failure = as_fraction("delta", "Ledger.release", delta)
        if failure.numerator < 0:
            raise refuse("delta", "Ledger.release", "not negative", delta)
        bound = sensitive.bound(mechanism.needs)
        if isinstance(sensitive, RemoteSensitive):
            sensitive.holder.check(mechanism, sensitive)
            value = sensitive.placeholder()
        else:
            value = _reveal(sensitive)
        mechanism.check(value)
        mechanism.parameters(bound)  # raises now, and not after booking, where it has to
        charge = Charge(
            self._accountant.cost(mechanism, bound),
            failure,
            self._accountant.lattice_error(mechanism, bound, value.size),
        )
        return LedgerEntry(
            label=label,
            scope=self._scope.path,
            because=self._scope.reasons,
            mechanism=mechanism,
            bound=bound,
            unit=sensitive.unit,
            charge=charge,
            size=int(value.size),
        )

    def row_coins(self) -> RowCoins:
        """Return a new secret random assignment of rows, without reading rows or a charge."""
        self._check_usable()
        return self._entropy.row_coins()

    def _draw(self, entry: LedgerEntry, value: NDArray[np.int64]) -> NDArray[Any]:
        """Draw the outcome of a recorded entry. An auditor overrides this to replay outcomes."""
        return entry.mechanism.draw(value, entry.bound, self._entropy)

    # -- the entries ---------------------------------------------------------------------------

    def _book(self, entry: LedgerEntry) -> None:
        """Check the totals up to the root, then write them all; the check changes nothing."""
        scope: Scope | None = self._scope
        if self._scope.parallel or self._scope.n_folds:
            raise ScopeError(
                f"{entry.label!r} was released directly in a parallel scope or one of folds. Open "
                "a child scope for the rows that it uses."
            )
        grown: list[tuple[Scope, Charge]] = []
        increase = entry.charge
        # Above a block that costs no more than one beside it, every total stays what it was.
        while scope is not None and increase is not NO_CHARGE:
            grown.append((scope, total := added(scope.total, increase)))
            if scope.most is not ONE or scope is self._root:
                self._check_covered(entry, total, scope.most)
            if scope is self._root and self._above is not None:
                # A part has a share of this limit, and keeps to it by itself.
                increase = increase._replace(lattice_error=ZERO)
            inner, scope = scope, scope.parent
            if scope is not None and (scope.parallel or scope.n_folds):
                increase = scope.growth(inner, increase, total)
        if scope is None and self._above is not None:
            self._above(entry, total)
        for scope, total in grown:
            scope.total = total
        self._scope.entries.append(entry)
        self._entries.append(entry)

    def _check_covered(self, entry: LedgerEntry, total: Charge, most: Fraction = ONE) -> None:
        if total.delta and total.delta > _part(self._delta, most):
            raise BudgetExceededError(
                f"{entry.label!r} needs a delta of {float(entry.charge.delta):.3g}; "
                f"{float(self._delta - self.delta_spent):.3g} of {float(self._delta):.3g} is left."
            )
        if total.cost > _part(self._capacity_after(total.delta), most):
            raise BudgetExceededError(
                f"{entry.label!r} would cost {float(entry.charge.cost):.6g} of "
                f"{self._accountant.privacy_measure}; {float(self.remaining):.6g} of "
                f"{float(self.capacity):.6g} is left."
            )
        limit = self._lattice_error_limit
        if total.lattice_error and total.lattice_error > _part(limit, most):
            raise UnsupportedReleaseError(
                f"The release of {entry.label!r} is one too many for Gaussian accounting to be "
                "proved right: " + GAUSSIAN_CURE
            )

    def _capacity_after(self, delta_spent: Fraction) -> PrivacyCost:
        key = delta_spent.as_integer_ratio()  # looked up faster than a fraction
        if key not in self._capacities:
            left = self._delta - delta_spent
            self._capacities[key] = self._accountant.capacity(self._epsilon, left)
        return self._capacities[key]

    def _check_usable(self) -> None:
        if threading.get_ident() != self._owner:
            raise ScopeError("A ledger works in the thread that opened it: its scopes are a stack.")
        if self._broken:
            raise ScopeError("Scopes of this ledger were left out of order: it is closed.")

    def _refusal(self, *args: Any) -> NoReturn:
        raise TypeError("A ledger holds secret bits and stays in its process: keep its report.")

    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = _refusal


def _part(amount: Any, part: Fraction) -> Any:
    """Return a part of an amount; mostly it is the whole, whose product is not asked for."""
    return amount if part is ONE else amount * part


# What becomes of the numbered statements of the papers; docs/deviations.md is made of this.
# Numbered: DPBoost | Theorem 3 | as printed | sums of the ledger | unit/privacy/test_ledger.py
# Numbered: DPBoost | Theorem 4 | as printed | scopes of disjoint rows whose division no private
#   row moves | unit/privacy/test_ledger.py
# Numbered: DP-TopDown | Theorem 8 | as printed | sums of the ledger | unit/privacy/test_ledger.py
# Numbered: DP-TopDown | Theorem 9 | as printed | scopes of disjoint rows |
#   unit/privacy/test_ledger.py
# Numbered: Gubler | Theorem 1 | as printed | sums of the ledger | unit/privacy/test_ledger.py
# Numbered: Gubler | Theorem 2 | as printed | scopes of disjoint rows |
#   unit/privacy/test_ledger.py
# Numbered: Gubler | Theorem 3 | as printed | what is computed of released numbers is free |
#   unit/privacy/test_ledger.py
