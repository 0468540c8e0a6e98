"""Exact arithmetic of budgets: fractions, and integers with conservative rounding.

Why that is towards privacy: docs/proofs/mechanisms.md. Machine-checked, for the root:
docs/proofs/machine-checked.md. Budgets are in the unit of the accountant. A part of infinity is
infinity. Proof that parts add up: docs/proofs/composition.md.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from dpboost._utils.validation import InvalidParameterError, check_integer, refuse

if TYPE_CHECKING:
    # At run time both are fractions, or ``math.inf``. The type checker sees two types, so that an
    # epsilon in the place of a cost, or the other way round, is an error of mypy.
    Amount = TypeVar("Amount", bound="_Amount")

    class _Amount:
        """An amount in one unit, with sums and differences of the same unit, and multiples."""

        @property
        def numerator(self) -> int: ...
        @property
        def denominator(self) -> int: ...
        def __float__(self) -> float: ...
        def __bool__(self) -> bool: ...
        def __hash__(self) -> int: ...
        def __eq__(self, other: object) -> bool: ...
        def __add__(self: Amount, other: Amount) -> Amount: ...
        def __sub__(self: Amount, other: Amount) -> Amount: ...
        def __mul__(self: Amount, other: Fraction | int) -> Amount: ...
        def __rmul__(self: Amount, other: Fraction | int) -> Amount: ...
        def __truediv__(self: Amount, other: Fraction | int) -> Amount: ...
        def __lt__(self: Amount, other: Amount | int) -> bool: ...
        def __le__(self: Amount, other: Amount | int) -> bool: ...
        def __gt__(self: Amount, other: Amount | int) -> bool: ...
        def __ge__(self: Amount, other: Amount | int) -> bool: ...

    class Epsilon(_Amount):
        """The epsilon of a guarantee, or ``math.inf`` where no noise is wanted."""

    class PrivacyCost(_Amount):
        """An amount in an accountant's unit (epsilon, rho or mu squared), or ``math.inf``."""

else:
    Epsilon = PrivacyCost = Fraction | float


def epsilon_of(number: Fraction | float) -> Epsilon:
    """Return a number that is meant as an epsilon."""
    return cast(Epsilon, number)


def cost_of(number: Fraction | float) -> PrivacyCost:
    """Return a number that is meant as an amount in an accountant's unit."""
    return cast(PrivacyCost, number)


def number_of(amount: Epsilon | PrivacyCost) -> Fraction | float:
    """Return the bare number, where units no longer matter."""
    return cast("Fraction | float", amount)


def pure_cost(epsilon: Epsilon) -> PrivacyCost:
    """Return the cost of ``epsilon`` in pure accounting, whose unit is epsilon."""
    # Every level of every tree asks: no call of ``cast``.
    return epsilon  # type: ignore[return-value]


def pure_epsilon(cost: PrivacyCost) -> Epsilon:
    """Return the epsilon that ``cost`` is in pure accounting, whose unit is epsilon."""
    return cost  # type: ignore[return-value]


#: The one zero of ledgers, by which they know that a part of a charge is none.
ZERO = Fraction(0)

#: The same zero as a cost.
NO_COST = cost_of(ZERO)

#: The kernels of noise take numerators and denominators below this limit.
RATIO_LIMIT = 2**32 - 1

#: The kernel of the discrete Gaussian takes a standard deviation below this limit.
SIGMA_LIMIT = 2**31 - 1

_SIGNIFICANT_BITS = 32


def as_fraction(name: str, owner: str, value: Any) -> Fraction:
    """Return a finite real number as a fraction.

    A float is taken for the decimal that it prints as: ``0.1`` is one tenth. That is what the
    person meant and what the report will say, and it keeps denominators short.
    """
    if type(value) is Fraction:
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise refuse(name, owner, "a real number", value)
    if isinstance(value, numbers.Rational):
        return Fraction(value)
    number = float(value)
    if not math.isfinite(number):
        raise refuse(name, owner, "a finite real number", value)
    return Fraction(repr(number))


def as_budget(name: str, owner: str, value: Any) -> Epsilon:
    """Return a positive fraction, or ``math.inf``, or raise."""
    if isinstance(value, float) and value == math.inf:
        return epsilon_of(math.inf)
    if type(value) is Fraction and value.numerator > 0:
        return value  # type: ignore[return-value]
    fraction = as_fraction(name, owner, value)
    if fraction <= 0:
        raise refuse(name, owner, "positive", value)
    return epsilon_of(fraction)


def ratio_down(value: Fraction) -> tuple[int, int]:
    """Return the largest ratio of two 32-bit integers that is at most ``value``, or raise.

    The walk is the continued fraction of ``value``: its convergents lie below and above in turn,
    and the last one that fits together with the last intermediate fraction that fits enclose it.
    Both integers are in ``[1, 2**32 - 1]``. The value is the exact factor of an exponent: rounding
    it down only adds noise.
    """
    # By integers: fractions would be brought to lowest terms at every step.
    numerator, denominator = value.numerator, value.denominator
    last, previous = (1, 0), (0, 1)  # infinity and zero enclose everything
    over, under = numerator, denominator
    while True:
        whole, rest = divmod(over, under)
        following = (previous[0] + whole * last[0], previous[1] + whole * last[1])
        if max(following) > RATIO_LIMIT:
            break
        previous, last = last, following
        if not rest:
            return _positive(last, value)
        over, under = under, rest
    steps = min((RATIO_LIMIT - previous[i]) // last[i] if last[i] else whole for i in range(2))
    between = (previous[0] + steps * last[0], previous[1] + steps * last[1])
    fitting = [
        pair for pair in (last, between) if pair[1] and pair[0] * denominator <= numerator * pair[1]
    ]
    return _positive(max(fitting, key=lambda pair: Fraction(*pair)), value)


def _positive(pair: tuple[int, int], value: Fraction) -> tuple[int, int]:
    if pair[0] < 1:
        raise InvalidParameterError(
            "The noise of a release would be too large to be drawn exactly: take a larger epsilon, "
            "or spend it on less (a smaller n_estimators or max_depth, more declared in the "
            "schema)."
        )
    return pair


def root_up(value: Fraction) -> int:
    """Return the smallest integer whose square is at least ``value >= 0``."""
    whole = -(-value.numerator // value.denominator)
    root = math.isqrt(whole)
    return root if root * root == whole else root + 1


def root_down(value: Fraction | float) -> Fraction | float:
    """Return a fraction of about 32 significant bits just below the square root of ``value``."""
    if isinstance(value, float):
        return math.sqrt(value)
    root = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
    if root * root == value:
        return root
    shift = _SIGNIFICANT_BITS + max(0, value.denominator.bit_length())
    return shorten(
        Fraction(math.isqrt((value.numerator << 2 * shift) // value.denominator), 1 << shift)
    )


def shorten(value: Fraction) -> Fraction:
    """Round a positive fraction down to 32 significant binary digits.

    Capacities come out of floating-point searches with 53 digits; sums over thousands of parts
    of them stay fast when their denominators stay short.
    """
    if value <= 0:
        return Fraction(0)
    shift = _SIGNIFICANT_BITS - (value.numerator.bit_length() - value.denominator.bit_length())
    scale = Fraction(2) ** shift
    return Fraction(math.floor(value * scale)) / scale


#: Part of the budget that goes to whatever public knowledge has to be learned instead.
PREPARATION_SHARE = Fraction(1, 10)

#: Part of a tree's budget that goes to its leaves (Li et al., AAAI 2020, Algorithm 1).
LEAF_SHARE = Fraction(1, 2)

#: What a stability histogram may take of delta.
DELTA_SHARE = Fraction(1, 10)


def divide(total: PrivacyCost, weights: Sequence[int | Fraction]) -> tuple[PrivacyCost, ...]:
    """Split a budget in proportion to weights, without a remainder; a part of weight 0 is 0.

    Weights are not negative and have a positive sum.
    """
    whole = Fraction(sum(weights))
    if whole <= 0 or min(weights) < 0:
        raise refuse("weights", "divide", "not negative, with a positive sum", weights)
    # Many trees mostly have one weight, and a division of fractions is slow.
    parts = {weight: total * (weight / whole) if weight else NO_COST for weight in set(weights)}
    return tuple(parts[weight] for weight in weights)


@dataclass(frozen=True, kw_only=True)
class FitBudget:
    """The budget of a fit, by stage."""

    #: Budget of each thing that is learned before training, by name; empty when nothing is.
    preparation: dict[str, PrivacyCost]
    #: What is left for the trees.
    training: PrivacyCost


def split_fit(total: PrivacyCost, learned: Sequence[str]) -> FitBudget:
    """Set a tenth aside for the preparation, in equal parts, when something has to be learned.

    ``learned`` is a public list of different names of what is not declared. The parts add up to
    ``total``.
    """
    if len(set(learned)) < len(learned):
        raise refuse("learned", "split_fit", "a list of different names", learned)
    if not learned:
        return FitBudget(preparation={}, training=total)
    preparation, training = divide(total, (PREPARATION_SHARE, 1 - PREPARATION_SHARE))
    parts = divide(preparation, [1] * len(learned))
    return FitBudget(preparation=dict(zip(learned, parts, strict=True)), training=training)


@dataclass(frozen=True, kw_only=True)
class TreeBudget:
    """The budget of a tree."""

    #: For the splits of each level, from the root down.
    levels: tuple[PrivacyCost, ...]
    #: For the values of all leaves.
    leaves: PrivacyCost


@lru_cache(maxsize=64)
def split_tree(total: PrivacyCost, depth: int, leaf_share: Fraction = LEAF_SHARE) -> TreeBudget:
    """Split a tree's budget: a share for the leaves, the rest equally over the levels.

    A row is in one node of each level and in one leaf, so levels and leaves add up while the nodes
    of a level do not (Li et al., AAAI 2020, Algorithm 1, with one half for the leaves). A tree of
    depth 0 gives everything to its leaf; the share of the leaves is 1 where splits cost nothing.
    The parts add up to ``total``.
    """
    levels = check_integer("depth", "split_tree", depth, low=0)
    share = Fraction(leaf_share)
    if not 0 < share <= 1:
        raise refuse("leaf_share", "split_tree", "in (0, 1]", leaf_share)
    if levels == 0:
        return TreeBudget(levels=(), leaves=total)
    leaves, *rest = divide(total, [share] + [(1 - share) / levels] * levels)
    return TreeBudget(levels=tuple(rest), leaves=leaves)
