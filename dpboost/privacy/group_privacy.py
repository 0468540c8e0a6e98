"""Accounting for more than one row, or for more than one fit, with the same releases.

Proof: docs/proofs/users.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from dpboost.privacy.accounting import Accountant
from dpboost.privacy.exact_arithmetic import Epsilon, PrivacyCost
from dpboost.privacy.mechanisms import Mechanism, Noise
from dpboost.privacy.sensitivity.bound import Sensitivity

M = TypeVar("M", bound=Mechanism)


@dataclass(frozen=True, kw_only=True)
class DerivedAccountant:
    """An accountant that charges releases as another one does, and allows another total.

    Parameters
    ----------
    inner : Accountant
        Says what a release costs.
    """

    inner: Accountant

    def terms(self) -> dict[str, Any] | None:
        """Return how totals count, as plain data for a certificate; None where once."""
        return None

    @property
    def name(self) -> str:
        """Name for the report."""
        return self.inner.name

    @property
    def privacy_measure(self) -> str:
        """What costs are counted in."""
        return self.inner.privacy_measure

    def cost(self, mechanism: Mechanism, bound: Sensitivity) -> PrivacyCost:
        """Return what a release costs for one row."""
        return self.inner.cost(mechanism, bound)

    def calibrate(self, kind: type[M], budget: PrivacyCost) -> M:
        """Return the mechanism of this kind that costs at most ``budget`` for one row."""
        return self.inner.calibrate(kind, budget)

    def noise(self, budget: PrivacyCost) -> Noise:
        """Return the least noise that ``budget`` buys."""
        return self.inner.noise(budget)

    def lattice_error(self, mechanism: Mechanism, bound: Sensitivity, size: int) -> Fraction:
        """Return what the release takes of the limit."""
        return self.inner.lattice_error(mechanism, bound, size)

    def lattice_error_limit(self, epsilon: Epsilon) -> Fraction:
        """Return the limit of the inner accountant."""
        return self.inner.lattice_error_limit(epsilon)

    def witness(self, total: PrivacyCost, delta: Fraction) -> Fraction | None:
        """Return the witness of the inner accountant."""
        return self.inner.witness(total, delta)


@dataclass(frozen=True, kw_only=True)
class GroupAccountant(DerivedAccountant):
    """An accountant whose totals count several times.

    Releases are charged as for one row of one fit; capacities are divided by ``factor``, and the
    epsilon of a total is that of ``factor`` times the total.

    Parameters
    ----------
    inner : Accountant
        Accounts for one row and one fit.
    factor : Fraction
        At least 1.
    coordinates : int
        How many times as many entries may differ as one row changes in a release.
    fits : int
        Fits that fail together: what one spends of delta, each may spend.
    delta : Fraction
        Of all of them.
    """

    factor: Fraction
    coordinates: int
    fits: int = 1
    delta: Fraction = Fraction(0)

    def terms(self) -> dict[str, Any]:
        """Return how totals count, as plain data for a certificate."""
        return {
            "of": "rows of a user" if self.fits == 1 else "fits of a cross-validation",
            "factor": str(self.factor),
            "coordinates": self.coordinates,
            "fits": self.fits,
        }

    def capacity(self, epsilon: Epsilon, delta: Fraction) -> PrivacyCost:
        """Return a total for one row that guarantees (epsilon, delta) for all."""
        return self.inner.capacity(epsilon, self._left(delta)) / self.factor

    def epsilon(self, total: PrivacyCost, delta: Fraction) -> float:
        """Return the epsilon that a total for one row guarantees for all at ``delta``."""
        return self.inner.epsilon(total * self.factor, self._left(delta))

    def lattice_error(self, mechanism: Mechanism, bound: Sensitivity, size: int) -> Fraction:
        """Return what the release takes of the limit, for all entries that may differ."""
        return super().lattice_error(mechanism, bound, size) * self.coordinates

    def witness(self, total: PrivacyCost, delta: Fraction) -> Fraction | None:
        """Return the witness of a total for one row, for all at ``delta``."""
        return self.inner.witness(total * self.factor, self._left(delta))

    def _left(self, delta: Fraction) -> Fraction:
        """Return what is left of delta when all fits have spent as much of it as this one."""
        return delta if self.fits == 1 else self.delta - self.fits * (self.delta - delta)


def for_group(inner: Accountant, rows: int) -> Accountant:
    r"""Account for all rows of a group at once.

    Parameters
    ----------
    inner : Accountant
        Accounts for one row.
    rows : int
        Most rows of a group, at least 1.

    Returns
    -------
    Accountant

    Notes
    -----
    What is private for one row is so for :math:`k` rows, which change one after the other, at
    :math:`k` times its epsilon, :math:`k^2` times its rho (Bun and Steinke, TCC 2016,
    Proposition 1.9) or :math:`k` times its mu (Dong, Roth, Su, JRSS B 2022, Theorem 5). The
    Gaussian lattice condition counts entries that differ, of which there are at most :math:`k`
    times as many.
    """
    if rows == 1:
        return inner
    factor = rows if inner.privacy_measure == "epsilon" else rows**2
    return GroupAccountant(inner=inner, factor=Fraction(factor), coordinates=rows)


def for_part(inner: Accountant, share: Fraction, fits: int, delta: Fraction) -> Accountant:
    """Account for a fit that may spend a share of a budget, beside others of its kind.

    Parameters
    ----------
    inner : Accountant
        Accounts for everything together.
    share : Fraction
        Part of the capacity, in (0, 1].
    fits : int
        How many such fits there are in all.
    delta : Fraction
        Of everything together.

    Returns
    -------
    Accountant
    """
    return GroupAccountant(inner=inner, factor=1 / share, coordinates=fits, fits=fits, delta=delta)
