"""Renyi accounting of repeated Gaussian releases, as the papers of other private trees state it."""

from __future__ import annotations

import functools
import math

import numpy as np
import scipy.special

#: Largest order that is looked at.
LARGEST_ORDER = 2000
_STEPS = 60


def divergence(order: int, shift: float, rate: float = 1.0) -> float:
    """Return the Renyi divergence that one release of sums with Gaussian noise allows.

    Parameters
    ----------
    order : int
        Of the divergence, at least 2.
    shift : float
        Half the squared change by one row over the variance of the noise.
    rate : float
        Chance of each row to be part of the release, alone and in secret.

    Notes
    -----
    With all rows it is ``order * shift``. With a sample it is the bound for Poisson sampling whose
    terms are the powers of the sampled density over the other one.
    """
    if rate == 1:
        return order * shift
    powers = np.arange(2, order + 1)
    terms = (
        _log_binomials(order)
        + (order - powers) * math.log1p(-rate)
        + powers * math.log(rate)
        + (powers - 1) * powers * shift
    )
    first = (order - 1) * math.log1p(-rate) + math.log(order * rate - rate + 1)
    return float(scipy.special.logsumexp(np.append(terms, first))) / (order - 1)


@functools.lru_cache(maxsize=LARGEST_ORDER)
def _log_binomials(order: int) -> np.ndarray:
    """Return the logarithms of ``order`` over 2, 3 and so on."""
    powers = np.arange(2, order + 1)
    log_factorial = scipy.special.gammaln
    found: np.ndarray = (
        log_factorial(order + 1) - log_factorial(powers + 1) - log_factorial(order - powers + 1)
    )
    return found


def epsilon_of(order: int, total: float, delta: float) -> float:
    """Return the epsilon that a total divergence of one order gives at a delta."""
    return total - (math.log(delta) + math.log(order)) / (order - 1) + math.log1p(-1 / order)


def best_order(shift: float, rate: float, n_releases: int, delta: float) -> tuple[int, float]:
    """Return the order at which so many releases have the least epsilon, and that epsilon.

    The epsilon first falls and then rises with the order, so the range is cut in three again and
    again.
    """

    def spent(order: int) -> float:
        return epsilon_of(order, n_releases * divergence(order, shift, rate), delta)

    low, high = 2, LARGEST_ORDER
    while high - low > 2:
        third = (high - low) // 3
        left, right = low + third, high - third
        if spent(left) <= spent(right):
            high = right
        else:
            low = left
    order = min(range(low, high + 1), key=spent)
    return order, spent(order)


@functools.lru_cache(maxsize=256)
def calibrated(
    epsilon: float, delta: float, n_releases: int, rate: float = 1.0
) -> tuple[float, int]:
    """Return the noise that spends a budget on releases that a row changes by at most 1.

    Parameters
    ----------
    epsilon, delta : float
        Budget of all releases together.
    n_releases : int
    rate : float
        As for `divergence`.

    Returns
    -------
    noise : float
        Deviation of the noise of each release; a little more than needed, never less.
    order : int
        Order at which the budget is kept.
    """

    def spent(noise: float) -> float:
        return best_order(1 / (2 * noise**2), rate, n_releases, delta)[1]

    low, high = 1e-3, 1.0
    while spent(high) > epsilon:
        low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if spent(middle) > epsilon:
            low = middle
        else:
            high = middle
        if high - low < 1e-6 * high:
            break
    return high, best_order(1 / (2 * high**2), rate, n_releases, delta)[0]
