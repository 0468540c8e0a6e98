"""Accountants: charges of releases in one unit, and their conversion to (epsilon, delta).

An accountant has no state: the ledger holds the totals. Costs are fractions that add up exactly,
also when later budgets depend on earlier outputs (pure and concentrated privacy: Rogers et al.,
NeurIPS 2016, Whitehouse et al., ICML 2023; Gaussian: Smith and Thakurta, COLT 2022). Capacities
are computed in floating point with conservative rounding. Derived accountants cover several rows,
or several fits, with the same releases.
Proofs: docs/proofs/accountants.md and docs/proofs/users.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Protocol, TypeVar

from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr

from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.exact_arithmetic import (
    NO_COST,
    ZERO,
    Epsilon,
    PrivacyCost,
    cost_of,
    number_of,
    pure_cost,
    pure_epsilon,
    shorten,
)
from dpboost.privacy.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Mechanism,
    Noise,
)
from dpboost.privacy.sensitivity.bound import Sensitivity

#: A release under Gaussian accounting has at least this standard deviation, in units.
SMALLEST_SIGMA = 2**16
# What helps where lattice noise is not near enough to Gaussian noise.
GAUSSIAN_CURE = (
    "take a smaller epsilon or delta, a larger gradient_clip or n_estimators, or delta=0 for pure "
    "accounting."
)

#: What the lattice may add to epsilon, and to delta, over the continuous Gaussian.
LATTICE_EPSILON = Fraction(1, 10**6)
LATTICE_DELTA = Fraction(1, 10**20)

_FLOAT_SLACK = 1e-12

M = TypeVar("M", bound=Mechanism)


class UnsupportedReleaseError(InvalidParameterError):
    """The accountant does not support a release."""


class Accountant(Protocol):
    """The interface of accountants."""

    @property
    def name(self) -> str:
        """Name for the report."""

    @property
    def privacy_measure(self) -> str:
        """Unit of costs."""

    def cost(self, mechanism: Mechanism, bound: Sensitivity) -> PrivacyCost:
        """Return what a release costs, or raise :class:`UnsupportedReleaseError`."""

    def calibrate(self, kind: type[M], budget: PrivacyCost) -> M:
        """Return the mechanism of this kind that costs at most ``budget``."""

    def noise(self, budget: PrivacyCost) -> Noise:
        """Return the least noise that ``budget`` buys."""

    def capacity(self, epsilon: Epsilon, delta: Fraction) -> PrivacyCost:
        """Return a total that still guarantees (epsilon, delta)."""

    def epsilon(self, total: PrivacyCost, delta: Fraction) -> float:
        """Return the epsilon that a total guarantees at ``delta``."""

    def lattice_error(self, mechanism: Mechanism, bound: Sensitivity, size: int) -> Fraction:
        """Return what the release takes of :meth:`lattice_error_limit`."""

    def lattice_error_limit(self, epsilon: Epsilon) -> Fraction:
        """Return the largest sum of slacks under which :meth:`epsilon` holds."""

    def witness(self, total: PrivacyCost, delta: Fraction) -> Fraction | None:
        """Return the order by which a total converts to :meth:`epsilon`; None without one."""


class _WithoutSlack:
    def lattice_error(self, mechanism: Mechanism, bound: Sensitivity, size: int) -> Fraction:
        """Return zero: this accounting is exact on the integers."""
        return ZERO

    def lattice_error_limit(self, epsilon: Epsilon) -> Fraction:
        """Return zero: this accounting is exact on the integers."""
        return ZERO

    def witness(self, total: PrivacyCost, delta: Fraction) -> Fraction | None:
        """Return None: no order is chosen."""
        return None


@dataclass(frozen=True)
class PureAccountant(_WithoutSlack):
    """Pure epsilon: the total is the exact sum; delta is not used."""

    name: ClassVar[str] = "pure"
    privacy_measure: ClassVar[str] = "epsilon"

    def cost(self, mechanism: Mechanism, bound: Sensitivity) -> PrivacyCost:
        """Return the mechanism's epsilon."""
        if mechanism.epsilon is None:
            raise UnsupportedReleaseError(
                f"The {mechanism.name} mechanism has no pure epsilon: account in zCDP, which "
                "needs delta > 0, or add discrete Laplace noise."
            )
        return pure_cost(mechanism.epsilon)

    def calibrate(self, kind: type[M], budget: PrivacyCost) -> M:
        """Return the mechanism with epsilon ``budget``."""
        if getattr(kind, "needs", None) == "l2":
            raise UnsupportedReleaseError(f"The {kind.name} mechanism has no pure epsilon.")
        return kind(epsilon=budget)  # type: ignore[call-arg]

    def noise(self, budget: PrivacyCost) -> DiscreteLaplace:
        """Return discrete Laplace noise."""
        return DiscreteLaplace(epsilon=pure_epsilon(budget))

    def capacity(self, epsilon: Epsilon, delta: Fraction) -> PrivacyCost:
        """Return ``epsilon``."""
        return pure_cost(epsilon)

    def epsilon(self, total: PrivacyCost, delta: Fraction) -> float:
        """Return the total, as the nearest float."""
        return float(total)


def _epsilon_of_rho(rho: float, delta: float) -> tuple[float, float]:
    r"""Return the best epsilon of rho-zCDP at delta, a little rounded up, and its alpha.

    .. math:: \varepsilon = \inf_{\alpha > 1} \alpha \rho
        + \frac{\ln (1 / \delta) - \ln \alpha}{\alpha - 1} + \ln \left(1 - \frac1\alpha\right)

    (Canonne, Kamath, Steinke, NeurIPS 2020, Proposition 12). Every alpha is valid, so an
    imprecise search costs accuracy, never privacy.
    """
    if rho == 0:
        return 0.0, 2.0

    def at(log_excess: float) -> float:
        excess = math.exp(log_excess)
        alpha = 1 + excess
        return alpha * rho + (-math.log(delta) - math.log(alpha)) / excess - math.log1p(1 / excess)

    # The textbook's alpha minimizes all but the last two terms: the search starts around it.
    middle = math.log(max(-math.log(delta), 1e-3) / rho) / 2
    found = minimize_scalar(at, bounds=(middle - 8, middle + 8), method="bounded")
    best, order = min((float(found.fun), float(found.x)), (at(middle), middle))
    return max(best + _FLOAT_SLACK * (1 + abs(best)), 0.0), 1 + math.exp(order)


def _largest(holds: Callable[[float], bool]) -> float:
    """Return nearly the largest positive float for which a decreasing condition holds, or 0."""
    low, high = 0.0, 1.0
    while holds(high):
        low, high = high, high * 2
    while low == 0.0 and high > 1e-300:
        if holds(high / 2):
            low = high / 2
        else:
            high /= 2
    while high - low > 1e-13 * high and low > 0:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _checked_delta(left: Fraction) -> float:
    """Return the remaining delta, or raise if none remains for Gaussian noise."""
    if left <= 0:
        raise InvalidParameterError(
            "The 'delta' parameter is too small for Gaussian noise, of which what is learned takes "
            f"a part and accounting {float(LATTICE_DELTA):.0e}: take a larger delta, such as 1e-6, "
            "or delta=0 for pure accounting."
        )
    return float(left)


@dataclass(frozen=True)
class ZCDPAccountant(_WithoutSlack):
    """Zero-concentrated differential privacy: every mechanism has a rho, and the rhos add up."""

    name: ClassVar[str] = "zCDP"
    privacy_measure: ClassVar[str] = "rho"

    def cost(self, mechanism: Mechanism, bound: Sensitivity) -> PrivacyCost:
        """Return the mechanism's rho."""
        return mechanism.rho

    def calibrate(self, kind: type[M], budget: PrivacyCost) -> M:
        """Return the mechanism that costs at most rho = ``budget``."""
        return kind.of_rho(budget)  # type: ignore[return-value]

    def noise(self, budget: PrivacyCost) -> DiscreteGaussian:
        """Return discrete Gaussian noise."""
        return DiscreteGaussian(rho=budget)

    def capacity(self, epsilon: Epsilon, delta: Fraction) -> PrivacyCost:
        """Return the largest rho found that is (epsilon, delta)-differentially private."""
        if isinstance(epsilon, float):
            return cost_of(math.inf)
        allowance = _checked_delta(delta)
        target = float(epsilon) * (1 - _FLOAT_SLACK)
        return cost_of(
            shorten(Fraction(_largest(lambda rho: _epsilon_of_rho(rho, allowance)[0] <= target)))
        )

    def epsilon(self, total: PrivacyCost, delta: Fraction) -> float:
        """Return the epsilon of rho = ``total`` at ``delta``."""
        if isinstance(total, float):
            return math.inf
        if total == 0:
            return 0.0
        return _epsilon_of_rho(float(total), _checked_delta(delta))[0]

    def witness(self, total: PrivacyCost, delta: Fraction) -> Fraction | None:
        """Return the alpha of :meth:`epsilon`."""
        if isinstance(total, float):
            return None
        return Fraction(_epsilon_of_rho(float(total), _checked_delta(delta))[1])


def _log_delta_of_mu(mu: float, epsilon: float) -> float:
    r"""Return the log of the delta of mu-Gaussian privacy at epsilon, a little rounded up.

    .. math:: \delta = \Phi(\mu / 2 - \varepsilon / \mu)
        - e^\varepsilon \Phi(-\mu / 2 - \varepsilon / \mu)

    (Dong, Roth, Su, Gaussian Differential Privacy, JRSS B 2022, Corollary 1.)
    """
    first = float(log_ndtr(mu / 2 - epsilon / mu))
    second = float(log_ndtr(-mu / 2 - epsilon / mu))
    if first == -math.inf:
        return first
    # The difference of exponents of this size is right to this relative error.
    error = 1e-14 * (1 + abs(first) + abs(second) + epsilon)
    share = -math.expm1(min(epsilon + second - first, 0.0)) + error
    return first + math.log(share)


@lru_cache(maxsize=64)
def _lattice_slack(touched: int, sigma: int) -> Fraction:
    return Fraction(10 * touched, 8 * sigma**2)


@dataclass(frozen=True)
class GDPAccountant:
    r"""Gaussian differential privacy: exact for Gaussian noise, plus the lattice error.

    Costs are :math:`\mu^2`. Only discrete Gaussian noise of ``sigma >= 2**16`` units is accepted;
    let one row contribute :math:`2^{16}` units or more. The exponential mechanism has a separate
    mu, without a lattice error.

    Notes
    -----
    The discrete Gaussian is not exactly Gaussian private, but the continuous Gaussian rounded to
    integers is, and the two are near. The ledger adds up :math:`10 T / (8 \sigma^2)` along its
    scopes, for the :math:`T` entries of a release that one row changes, and keeps :math:`(10 T + 9
    x) / (8 \sigma^2)` below 1e-6, with :math:`x \ge 60` and :math:`\varepsilon - x \le -47`. The
    curve is then evaluated at :math:`\varepsilon - 10^{-6}` and :math:`(1 - 10^{-6}) \delta -
    10^{-20}`. Proof: docs/proofs/accountants.md.
    """

    name: ClassVar[str] = "GDP"
    privacy_measure: ClassVar[str] = "mu squared"

    def cost(self, mechanism: Mechanism, bound: Sensitivity) -> PrivacyCost:
        """Return the mechanism's squared mu."""
        cost = mechanism.mu_squared
        if cost is None:
            if mechanism.epsilon == math.inf:
                return cost_of(math.inf)
            raise UnsupportedReleaseError(
                f"The {mechanism.name} mechanism is not Gaussian: account in zCDP."
            )
        if mechanism.needs != "l2":
            return cost
        parameters = mechanism.parameters(bound)
        if parameters and parameters[0] < SMALLEST_SIGMA:
            raise UnsupportedReleaseError(
                "The noise of a release would be too small for Gaussian accounting to be proved "
                "right: " + GAUSSIAN_CURE
            )
        return cost

    def calibrate(self, kind: type[M], budget: PrivacyCost) -> M:
        """Return the mechanism that costs at most mu squared = ``budget``."""
        if kind is ExponentialMechanism:
            return ExponentialMechanism.of_mu_squared(budget)  # type: ignore[return-value]
        if budget != math.inf and getattr(kind, "needs", None) != "l2":
            raise UnsupportedReleaseError(f"The {kind.name} mechanism is not Gaussian.")
        return kind.of_rho(budget / 2)  # type: ignore[return-value]

    def noise(self, budget: PrivacyCost) -> DiscreteGaussian:
        """Return discrete Gaussian noise."""
        return DiscreteGaussian(rho=budget / 2)

    def capacity(self, epsilon: Epsilon, delta: Fraction) -> PrivacyCost:
        """Return the largest squared mu found that is (epsilon, delta)-differentially private."""
        if isinstance(epsilon, float):
            return cost_of(math.inf)
        exact = number_of(epsilon)
        if exact <= LATTICE_EPSILON:
            return NO_COST
        log_delta = math.log(self._curve_delta(delta))
        target = float(exact - LATTICE_EPSILON) * (1 - _FLOAT_SLACK)
        mu = _largest(lambda value: _log_delta_of_mu(value, target) <= log_delta)
        return cost_of(shorten(Fraction(mu) ** 2))

    def epsilon(self, total: PrivacyCost, delta: Fraction) -> float:
        """Return the epsilon of mu squared = ``total`` at ``delta``."""
        if isinstance(total, float):
            return math.inf
        if total == 0:
            return 0.0
        log_delta = math.log(self._curve_delta(delta))
        mu = math.sqrt(total) * (1 + _FLOAT_SLACK)

        def too_small(epsilon: float) -> bool:
            return _log_delta_of_mu(mu, epsilon) > log_delta

        low = _largest(too_small) if too_small(1e-300) else 0.0
        return low * (1 + _FLOAT_SLACK) + float(LATTICE_EPSILON)

    def lattice_error(self, mechanism: Mechanism, bound: Sensitivity, size: int) -> Fraction:
        """Return ``10 T / (8 sigma**2)`` for the T entries of the array that one row changes."""
        parameters = mechanism.parameters(bound)
        if not parameters or mechanism.needs != "l2":
            return ZERO
        touched = size if bound.coordinates is None else bound.coordinates
        return _lattice_slack(touched, parameters[0])

    def lattice_error_limit(self, epsilon: Epsilon) -> Fraction:
        """Return what 1e-6 leaves for the slacks once ``9 x / (8 sigma**2)`` is taken off."""
        excess = max(60, math.ceil(epsilon) + 47) if epsilon != math.inf else 60
        return LATTICE_EPSILON - Fraction(9 * excess, 8 * SMALLEST_SIGMA**2)

    @staticmethod
    def _curve_delta(delta: Fraction) -> Fraction:
        left = (1 - LATTICE_EPSILON) * delta - LATTICE_DELTA
        _checked_delta(left)
        return left

    def witness(self, total: PrivacyCost, delta: Fraction) -> Fraction | None:
        """Return None: the curve has no order."""
        return None


@dataclass(frozen=True, kw_only=True)
class DerivedAccountant:
    """An accountant with the charges of another one and a different capacity."""

    #: Accountant of the charges of a release.
    inner: Accountant

    def terms(self) -> dict[str, Any] | None:
        """Return how totals count, as plain data for a certificate; None if once."""
        return None

    @property
    def name(self) -> str:
        """Name for the report."""
        return self.inner.name

    @property
    def privacy_measure(self) -> str:
        """Unit of costs."""
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
    """

    #: At least 1.
    factor: Fraction
    #: Factor of the number of entries of a release that may differ.
    coordinates: int
    #: Number of fits that each may use the same delta.
    fits: int = 1
    #: Of all of them.
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
    r"""Account for all rows of a group of at most so many at once, by an accountant of one row.

    Notes
    -----
    A guarantee for one row implies one for :math:`k` rows, with :math:`k` times its epsilon,
    :math:`k^2` times its rho (Bun and Steinke, TCC 2016, Proposition 1.9) or :math:`k` times its mu
    (Dong, Roth, Su, JRSS B 2022, Theorem 5). The Gaussian lattice condition counts entries that
    differ, which are at most :math:`k` times as many.
    """
    if rows == 1:
        return inner
    factor = rows if inner.privacy_measure == "epsilon" else rows**2
    return GroupAccountant(inner=inner, factor=Fraction(factor), coordinates=rows)


def for_part(inner: Accountant, share: Fraction, fits: int, delta: Fraction) -> Accountant:
    """Account for a fit that uses a fraction of a budget together with similar fits.

    ``share`` is its fraction of the capacity, in (0, 1]. The accountant and delta are those of all
    ``fits`` together.
    """
    return GroupAccountant(inner=inner, factor=1 / share, coordinates=fits, fits=fits, delta=delta)
