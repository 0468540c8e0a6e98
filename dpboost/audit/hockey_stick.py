"""Hockey-stick divergence of total costs and samples of losses, as (epsilon, delta).

Independent of the accountants that it checks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import norm


@dataclass(frozen=True, kw_only=True)
class DeltaEstimate:
    """The delta of some epsilon, estimated: the mean of ``max(0, 1 - exp(epsilon - loss))``.

    The bounds ``low`` and ``high`` are each wrong with at most ``error``.
    """

    epsilon: float
    delta: float
    low: float
    high: float
    error: float


def hockey_stick(losses: Sequence[float], epsilon: float, error: float = 1e-6) -> DeltaEstimate:
    r"""Estimate the delta at which a mechanism is (epsilon, delta)-private on a pair of tables.

    :math:`\delta(\varepsilon) = E[\max(0, 1 - e^{\varepsilon - L})]`, with the loss :math:`L` of
    an outcome drawn on the first table, is the least delta for this direction of the pair.

    Parameters
    ----------
    losses : sequence of float
        Total losses of independent runs, as from ``PairAudit.loss``.
    error : float, default=1e-6
        Permitted probability that a bound is wrong.

    Returns
    -------
    DeltaEstimate
        With the bounds of Maurer and Pontil (Empirical Bernstein Bounds, COLT 2009, Theorem 4).
    """
    values = np.maximum(0.0, -np.expm1(epsilon - np.asarray(losses, dtype=np.float64)))
    n, mean = len(values), float(values.mean())
    logarithm = math.log(2 / error)
    reach = math.sqrt(2 * float(values.var(ddof=1)) * logarithm / n)
    reach += 7 * logarithm / (3 * (n - 1))
    return DeltaEstimate(
        epsilon=epsilon,
        delta=mean,
        low=max(0.0, mean - reach),
        high=min(1.0, mean + reach),
        error=error,
    )


def delta_of(measure: str, total: float, epsilon: float) -> float:
    """Return a delta at which releases of this total cost are (epsilon, delta)-private.

    The measure is "mu squared" or "rho". Exact for Gaussian privacy (Dong, Roth, Su, JRSS B 2022,
    Corollary 1); for zero-concentrated privacy the least bound over all orders (Canonne, Kamath,
    Steinke, NeurIPS 2020, Proposition 12).
    """
    if total <= 0:
        return 0.0
    if epsilon == math.inf or total == math.inf:
        return 0.0 if epsilon == math.inf else 1.0
    if measure == "mu squared":
        mu = math.sqrt(total)
        first, second = norm.cdf(mu / 2 - epsilon / mu), norm.logcdf(-mu / 2 - epsilon / mu)
        return float(first - math.exp(epsilon + second))

    def log_delta(order: float) -> float:
        gap = order - 1
        return gap * (order * total - epsilon) + order * math.log1p(-1 / order) - math.log(gap)

    ends = (1 + 1e-9, 1e9 / max(epsilon, 1.0))
    found = minimize_scalar(
        lambda power: log_delta(1 + math.exp(power)),
        bounds=tuple(math.log(end - 1) if end < 2 else math.log(end) for end in ends),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return min(1.0, math.exp(min(0.0, float(found.fun))))
