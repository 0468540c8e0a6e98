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
    """An accountant with a fixed fraction of the capacity of another one, of the whole account.

    The fractions of all fits of an account add up to at most 1 for any row. Therefore so do their
    charges, their lattice errors, and the delta of their stability histograms.
    """

    #: Maximum amount for the fit.
    allowance: PrivacyCost
    fraction: Fraction
    account_epsilon: Epsilon
    #: Minimum delta that remains after the fit's stability histograms; the conversion of the
    #: account uses it.
    least_delta: Fraction

    def capacity(self, epsilon: Epsilon, delta: Fraction) -> PrivacyCost:
        """Return the allowance, or zero if the failure probabilities use up delta."""
        return self.allowance if delta >= self.least_delta else NO_COST

    def epsilon(self, total: PrivacyCost, delta: Fraction) -> float:
        """Return the epsilon of this fit alone at ``delta``."""
        return self.inner.epsilon(total, delta)

    def lattice_error_limit(self, epsilon: Epsilon) -> Fraction:
        """Return the fit's fraction of the limit of the account."""
        return super().lattice_error_limit(self.account_epsilon) * self.fraction
