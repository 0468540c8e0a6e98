"""Records of the ledger: charges, entries, and the scopes that add them up.

Proof: docs/proofs/composition.md. Machine-checked: docs/proofs/machine-checked.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import NamedTuple

from dpboost.privacy.exact_arithmetic import NO_COST, ZERO, PrivacyCost
from dpboost.privacy.mechanisms import Mechanism
from dpboost.privacy.sensitivity.bound import Sensitivity


class Charge(NamedTuple):
    """An amount in the ledger."""

    #: In the accountant's unit.
    cost: PrivacyCost
    #: Probability of failure, as of stability histograms.
    delta: Fraction
    #: Use of the accountant's lattice error limit.
    lattice_error: Fraction


#: All of a budget.
ONE = Fraction(1)
#: No charge.
NO_CHARGE = Charge(NO_COST, ZERO, ZERO)


# Arithmetic of fractions is most of the work of booking: most scopes are new, and most parts of a
# charge are no charge at all, which is always the same object.


def added(left: Charge, right: Charge) -> Charge:
    """Return the sum of two charges."""
    if left is NO_CHARGE:
        return right
    return Charge(
        left.cost if right.cost is NO_COST else left.cost + right.cost,
        left.delta if right.delta is ZERO else left.delta + right.delta,
        left.lattice_error
        if right.lattice_error is ZERO
        else left.lattice_error + right.lattice_error,
    )


def growth(old: Charge, child: Charge) -> Charge:
    """Return by how much a parallel scope grows when a child now has this total."""
    if old is NO_CHARGE:
        return child
    # Written so that inf - inf is never asked for.
    cost = child.cost - old.cost if child.cost > old.cost else NO_COST
    delta, lattice_error = ZERO, ZERO
    if child.delta is not old.delta and child.delta > old.delta:
        delta = child.delta - old.delta
    if child.lattice_error is not old.lattice_error and child.lattice_error > old.lattice_error:
        lattice_error = child.lattice_error - old.lattice_error
    if cost is NO_COST and delta is lattice_error is ZERO:
        return NO_CHARGE
    return Charge(cost, delta, lattice_error)


class Disjoint(str, Enum):
    """The reason why the children of a parallel scope use disjoint rows."""

    #: Each row draws its child at random, independently of its content.
    RANDOM = "random assignment"
    #: Each row is held out, or not, at random.
    HOLDOUT = "holdout"
    #: The content of a row decides: nodes of a tree. A replaced row may leave one child for
    #: another, so that a charge for ``replace`` covers two releases for ``add_remove``.
    CONTENT = "nodes by content"
    NOT_STATED = "not stated"


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """One line of the ledger; public, and written before the draw."""

    label: str
    #: Names of the enclosing scopes, from the outside.
    scope: tuple[str, ...]
    mechanism: Mechanism
    #: The sensitivity that scaled the noise, in units.
    bound: Sensitivity
    unit: float
    charge: Charge
    #: Of each scope around it, from the outside, why its children work on disjoint rows; None
    #: where they do not.
    because: tuple[Disjoint | None, ...] = ()
    #: Entries of the released array, columns of a stability histogram: public.
    size: int = 1

    @property
    def parallel(self) -> tuple[bool, ...]:
        """Of each scope around it, whether its children work on disjoint rows."""
        return tuple(reason is not None for reason in self.because)


@dataclass(eq=False)
class Scope:
    """A node of the tree of scopes, with its running total."""

    #: Names from the outside.
    path: tuple[str, ...]
    #: Why its children work on disjoint rows; None if they do not.
    because: Disjoint | None
    parent: Scope | None
    #: Maximum fraction of the whole budget for its total.
    most: Fraction = ONE
    #: Number of children of a scope of folds; each row is in all but one. 0 for other scopes.
    n_folds: int = 0
    children: dict[str, Scope] = field(default_factory=dict)
    entries: list[LedgerEntry] = field(default_factory=list)
    total: Charge = NO_CHARGE

    def __post_init__(self) -> None:
        above = () if self.parent is None else self.parent.reasons
        # Of the scopes of the path, which the root is not on.
        self.reasons: tuple[Disjoint | None, ...] = (*above, self.because) if self.path else ()

    @property
    def parallel(self) -> bool:
        """Whether its children work on disjoint rows."""
        return self.because is not None

    def growth(self, child: Scope, increase: Charge, total: Charge) -> Charge:
        """Return by how much it grows when a child grows by a charge, to a total."""
        if self.parallel:
            return growth(self.total, total)
        # Each row is in all fits but that of its fold: at worst it is left out of the cheapest, and
        # one that has not begun costs nothing. Delta and lattice error count for all of them.
        costs = [each.total.cost for each in self.children.values() if each is not child]
        costs = sorted([total.cost, *costs])[len(costs) + 1 == self.n_folds :]
        most = sum(costs, NO_COST)
        # Written so that inf - inf is never asked for.
        cost = most - self.total.cost if most > self.total.cost else NO_COST
        return increase._replace(cost=cost)
