"""Charges for releases of other libraries from the same rows.

Proof: docs/proofs/charges.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from scipy.special import expit, ndtri

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.budgeting.budget_records import MEASURES, Part
from dpboost.privacy.accounting import Accountant, PureAccountant, ZCDPAccountant
from dpboost.privacy.exact_arithmetic import as_fraction, number_of

if TYPE_CHECKING:
    from dpboost.budgeting.periods import Overlap
    from dpboost.budgeting.windows import Window

_OWNER = "Budget.charge"
# Relative error of the search for a mu, with room to spare.
_SLACK = 1e-9


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """The guarantee of a release, and how often it is repeated."""

    #: One of "epsilon", "rho", "mu squared".
    kind: str
    #: Positive.
    amount: Fraction
    times: int = 1

    def cost(self, measure: str) -> Fraction | None:
        """Return the charge in the unit of an account; None if there is no conversion.

        The measure is "epsilon", "rho" or "mu squared".
        """
        if self.kind == measure:
            return self.times * self.amount
        if (self.kind, measure) == ("epsilon", "rho"):
            return self.times * self.amount**2 / 2
        if (self.kind, measure) == ("mu squared", "rho"):
            return self.times * self.amount / 2
        if (self.kind, measure) == ("epsilon", "mu squared"):
            return self.times * mu_of_epsilon(self.amount) ** 2
        return None


def mu_of_epsilon(epsilon: Fraction) -> Fraction:
    r"""Return a mu, rounded up, so that what is epsilon-private is mu-Gaussian private.

    .. math:: \mu = -2 \Phi^{-1} \left( \frac{1}{1 + e^\varepsilon} \right)
        \le \sqrt{\pi / 2} \, \varepsilon

    The second is used if the first loses digits.
    """
    number = float(epsilon)
    small = math.sqrt(math.pi / 2) * number
    mu = small if number < 1e-3 else min(small, -2 * float(ndtri(expit(-number))))
    if not math.isfinite(mu):
        raise refuse("epsilon", _OWNER, "so small that a mu is as private", number)
    return Fraction(mu * (1 + _SLACK))


def guarantees_of(event: Any) -> tuple[Guarantee, ...]:
    """Return guarantees that dominate a ``dp_accounting`` event, or raise.

    It is a GaussianDpEvent, LaplaceDpEvent, ComposedDpEvent or SelfComposedDpEvent;
    InvalidParameterError for every other event, also inside these.
    """
    kind = type(event)
    name = kind.__name__ if kind.__module__.partition(".")[0] == "dp_accounting" else ""
    if name == "ComposedDpEvent":
        return tuple(each for inner in event.events for each in guarantees_of(inner))
    if name == "SelfComposedDpEvent":
        times = event.count
        if isinstance(times, bool) or not isinstance(times, int) or times < 1:
            raise refuse("event", _OWNER, "composed a positive number of times", times)
        return tuple(
            Guarantee(kind=each.kind, amount=each.amount, times=times * each.times)
            for each in guarantees_of(event.event)
        )
    if name in ("GaussianDpEvent", "LaplaceDpEvent"):
        noise = as_fraction("event", _OWNER, event.noise_multiplier)
        if noise <= 0:
            raise refuse("event", _OWNER, "with a positive noise_multiplier", event)
        if name == "GaussianDpEvent":
            return (Guarantee(kind="mu squared", amount=1 / noise**2),)
        return (Guarantee(kind="epsilon", amount=1 / noise),)
    raise InvalidParameterError(
        f"The 'event' parameter of {_OWNER} is or holds a {kind.__name__}, for which no rule gives "
        "epsilon, rho or mu: give GaussianDpEvent, LaplaceDpEvent, and ComposedDpEvent or "
        "SelfComposedDpEvent of these, or what you know of it as epsilon=..., rho=... or mu=... "
        "(privacy loss distributions do not add up under an adaptive budget)."
    )


class ChargedBudget:
    """Mixin of `Budget` for releases of other libraries."""

    _overlap: Overlap | None
    _accounts: Any
    account: Any
    reserve: Any
    failure_delta: Any
    if TYPE_CHECKING:

        @property
        def accountant(self) -> Accountant:
            """What is counted in."""

        @property
        def title(self) -> str:
            """Name of the table in messages."""

        @property
        def lines(self) -> tuple[Any, ...]:
            """Fraction of every fit."""

        def window(self, *periods: str) -> Window:
            """Return this budget for some periods."""

    def charge(
        self,
        what: str,
        *,
        epsilon: Any = None,
        delta: Any = 0,
        rho: Any = None,
        mu: Any = None,
        event: Any = None,
        periods: tuple[str, ...] | list[str] = (),
    ) -> Fraction:
        r"""Record what something else releases of the same rows, before it does.

        Parameters
        ----------
        what : str
            Name of the release in the records.
        epsilon : float or Fraction, optional
            If the release is (epsilon, delta)-private.
        delta : float or Fraction, default=0
            Only with ``epsilon``.
        rho : float or Fraction, optional
            If the release is rho-zero-concentrated private.
        mu : float or Fraction, optional
            If the release is mu-Gaussian private.
        event : dp_accounting.DpEvent, optional
            Gaussian, Laplace, composed or self-composed of these; any other is refused.
        periods : sequence of str, default=()
            Periods of its rows, for a budget with periods.

        Returns
        -------
        Fraction
            Recorded fraction of the account.

        Raises
        ------
        BudgetExceededError
            If too little remains; nothing is recorded, and the release must not take place.
        InvalidParameterError
            Unless exactly one guarantee is given, for an account that the budget has.

        Privacy
        -------
        The total is one guarantee, even if releases depend on earlier ones. The user must ensure
        that the release has the stated guarantee, for the rows and the neighboring relation of the
        budget (with ``rows_per_user`` for all rows of a user, with periods for one row). It must
        not begin before this call returns. Charges are never refunded.

        Notes
        -----
        Epsilon without delta is charged to the pure account if there is one. Otherwise, and for rho
        or mu, the Gaussian account is charged in its unit: :math:`\rho = \varepsilon^2 / 2` or
        :math:`\mu^2 / 2`, or :math:`\mu = -2 \Phi^{-1} (1 / (1 + e^\varepsilon))`. A rho does not
        imply a mu: it must be charged before all fits, which then use rho as well. Delta uses a
        fraction of the reserved fifth, and the larger of both fractions is recorded.

        Examples
        --------
        >>> import dpboost
        >>> budget = dpboost.Budget(epsilon=1, delta=1e-6)
        >>> part = budget.charge("a histogram of another library", mu=0.05)
        >>> print(f"{float(part):.3f}")
        0.046
        """
        if not isinstance(what, str) or not what:
            raise refuse("what", _OWNER, "a string that is not empty", what)
        given = {"epsilon": epsilon, "rho": rho, "mu": mu, "event": event}
        known = {name: value for name, value in given.items() if value is not None}
        failure = as_fraction("delta", _OWNER, delta)
        if not 0 <= failure < 1 or (failure and "epsilon" not in known):
            raise refuse("delta", _OWNER, "in [0, 1), and 0 without epsilon", delta)
        if len(known) != 1:
            got = ", ".join(known) or "none"
            raise InvalidParameterError(
                f"{_OWNER} takes one of epsilon, rho, mu and event. Got {got} instead."
            )
        ((name, value),) = known.items()
        found = guarantees_of(value) if name == "event" else (_guarantee(name, value),)
        part = self._part_of(periods, failure)
        accountant = self._account_for(found)
        whole = Fraction(number_of(self.account(accountant, Fraction(1)).allowance))
        measure = accountant.privacy_measure
        costs = [each.cost(measure) for each in found]
        if None in costs:
            raise InvalidParameterError(
                f"The {MEASURES[measure]} account of the budget of {self.title} counts in "
                f"{measure}, and a rho has none: charge it before all else, so that fits count in "
                "rho too, or give a mu."
            )
        fraction = sum((each for each in costs if each is not None), Fraction(0)) / whole
        if failure:
            fraction = max(fraction, failure / self._set_aside())
        self.reserve(f"{what} (charged)", measure, fraction, part)
        return fraction

    def _part_of(self, periods: Any, failure: Fraction) -> Part:
        """Return the periods that are charged, as in a line of the records."""
        if isinstance(periods, str):
            raise refuse("periods", _OWNER, "a sequence of names", periods)
        if self._overlap is None and not periods:
            return ()
        part = self.window(*periods).part
        if failure and self._overlap is not None and self._overlap.several(len(part)):
            raise InvalidParameterError(
                f"The 'delta' parameter of {_OWNER} must be 0 if one individual may have several "
                "rows in the periods: delta does not add up over them. Charge one period at a "
                "time, or use a budget with rows_per_user."
            )
        return part

    def _account_for(self, found: tuple[Guarantee, ...]) -> Accountant:
        """Return the accountant of the account that is charged."""
        accounts = self._accounts()
        if "Gaussian" not in accounts:
            if any(each.kind != "epsilon" for each in found):
                raise InvalidParameterError(
                    f"The budget of {self.title} has a pure account alone, and rho and mu have no "
                    "epsilon without a delta: take delta > 0 and a pure_epsilon below epsilon."
                )
            return PureAccountant()
        if "pure" in accounts and all(each.kind == "epsilon" for each in found):
            return PureAccountant()
        begun = any(line.account == "Gaussian" for line in self.lines)
        if not begun and any(each.kind == "rho" for each in found):
            return ZCDPAccountant()
        return self.accountant

    def _set_aside(self) -> Fraction:
        """Return what the releases of an account may fail by together."""
        whole: Fraction = self.failure_delta(Fraction(1))
        if not whole:
            raise InvalidParameterError(
                f"The 'delta' parameter of {_OWNER} must be 0 under a budget whose delta is 0."
            )
        return whole


def _guarantee(name: str, value: Any) -> Guarantee:
    amount = as_fraction(name, _OWNER, value)
    if amount <= 0:
        raise refuse(name, _OWNER, "positive", value)
    if name == "mu":
        return Guarantee(kind="mu squared", amount=amount**2)
    return Guarantee(kind=name, amount=amount)
