"""Accounting of a fit that uses a fraction of one account of a budget.

Proof: docs/proofs/budgets.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpboost.privacy.accounting import DerivedAccountant
from dpboost.privacy.exact_arithmetic import NO_COST, Epsilon, PrivacyCost


@dataclass(frozen=True, kw_only=True)
class FractionAccountant(DerivedAccountant):
    """An accountant with a fixed fraction of the capacity of another one.

    The fractions of all fits of an account add up to at most 1 for any row. Therefore so do their
    charges, their lattice errors, and the delta of their stability histograms.

    Parameters
    ----------
    inner : Accountant
        Accounts for everything on the account.
    allowance : PrivacyCost
        Most that the fit may use.
    fraction : Fraction
        Its part of the account.
    account_epsilon : Epsilon
        Epsilon of the account.
    least_delta : Fraction
        What the fit's stability histograms leave of delta at least. The conversion of the account
        counts on it.
    """

    allowance: PrivacyCost
    fraction: Fraction
    account_epsilon: Epsilon
    least_delta: Fraction

    def capacity(self, epsilon: Epsilon, delta: Fraction) -> PrivacyCost:
        """Return the allowance, or nothing once delta is used up by what may fail."""
        return self.allowance if delta >= self.least_delta else NO_COST

    def epsilon(self, total: PrivacyCost, delta: Fraction) -> float:
        """Return the epsilon that this fit's total guarantees alone at ``delta``."""
        return self.inner.epsilon(total, delta)

    def lattice_error_limit(self, epsilon: Epsilon) -> Fraction:
        """Return the fit's part of the limit of the account."""
        return super().lattice_error_limit(self.account_epsilon) * self.fraction
