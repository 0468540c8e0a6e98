"""Hockey-stick divergence: what a sample of privacy losses says about (epsilon, delta)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class DeltaEstimate:
    """The delta of some epsilon, estimated.

    Parameters
    ----------
    delta : float
        Mean of ``max(0, 1 - exp(epsilon - loss))``: unbiased.
    low, high : float
        Bounds, each of which is wrong with at most ``error``.
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
    epsilon : float
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
