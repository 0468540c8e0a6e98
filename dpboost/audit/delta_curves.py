"""The delta of a total at some epsilon, written apart from the accountants that it checks."""

from __future__ import annotations

import math

from scipy.optimize import minimize_scalar
from scipy.stats import norm


def delta_of(measure: str, total: float, epsilon: float) -> float:
    """Return a delta at which releases of this total cost are (epsilon, delta)-private.

    Parameters
    ----------
    measure : {"mu squared", "rho"}
        Unit of the total.

    Returns
    -------
    float
        Exact for Gaussian privacy (Dong, Roth, Su, JRSS B 2022, Corollary 1); for zero-concentrated
        privacy the least bound over all orders (Canonne, Kamath, Steinke, NeurIPS 2020,
        Proposition 12).
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
