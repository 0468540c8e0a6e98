"""Exact output distributions of the kernels, from their integer arguments.

Independent of the formulas in the mechanisms; the tests compare the two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from dpboost.audit.run_trace import DivergenceError, KernelCall


@dataclass(frozen=True, kw_only=True)
class CallLoss:
    """Privacy loss of the outcome of a kernel."""

    #: log P(outcome | first table) - log P(outcome | second table).
    observed: float
    #: Smallest and largest value over all outcomes; infinite for Gaussian noise.
    low: float
    high: float
    #: For Gaussian noise, the squared distance of the two values in standard deviations.
    shift_squared: float | None = None


def call_loss(first: KernelCall, second: KernelCall) -> CallLoss:
    """Compare a recorded call with its replay, of the same integers and outcome."""
    given, other, outcome = _common(first, second)
    if first.kernel == "argmax":
        same = np.array_equal(given.argmax(axis=1), other.argmax(axis=1))
        loss = 0.0 if same else math.inf
        return CallLoss(observed=loss, low=-loss, high=loss)
    if first.kernel == "discrete_laplace":
        return _laplace(given, other, outcome, first.integers[0] / first.integers[1])
    if first.kernel == "discrete_gaussian":
        return _gaussian(given, other, outcome, first.integers[0])
    if first.kernel in ("exponential", "permute_and_flip"):
        rate = first.integers[0] / first.integers[1]
        law = softmax if first.kernel == "exponential" else permute_and_flip
        moved = (given != other).any(axis=1)
        table = law(given[moved], rate) - law(other[moved], rate)
        chosen = table[np.arange(len(table)), outcome[moved]]
        return CallLoss(
            observed=float(chosen.sum()),
            low=float(table.min(axis=1, initial=math.inf).sum()),
            high=float(table.max(axis=1, initial=-math.inf).sum()),
        )
    raise DivergenceError("kernel inputs", first.kernel, "the auditor knows no law of this kernel")


def _common(
    first: KernelCall, second: KernelCall
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return both values and the outcome, without categories that only one table has."""
    if second.alignment is None:
        return first.given, second.given, first.outcome
    there, here = second.alignment
    return first.given[there], second.given[here], first.outcome[there]


def _laplace(
    given: NDArray[np.int64], other: NDArray[np.int64], outcome: NDArray[np.int64], rate: float
) -> CallLoss:
    # Integers are subtracted before anything is rounded; entries that agree drop out exactly.
    gain = np.abs(outcome - other) - np.abs(outcome - given)
    most = rate * float(np.abs(given - other).sum())
    return CallLoss(observed=rate * float(gain.sum()), low=-most, high=most)


def _gaussian(
    given: NDArray[np.int64], other: NDArray[np.int64], outcome: NDArray[np.int64], sigma: int
) -> CallLoss:
    here, there = ((outcome - value).astype(np.float64) / sigma for value in (given, other))
    shift = (given - other).astype(np.float64) / sigma
    shift_squared = float(np.sum(shift * shift))
    ends = math.inf if shift_squared else 0.0
    return CallLoss(
        observed=float(np.sum(there * there - here * here) / 2),
        low=-ends,
        high=ends,
        shift_squared=shift_squared,
    )


def softmax(scores: NDArray[np.int64], rate: float) -> NDArray[np.float64]:
    """Log-probabilities of the exponential mechanism, by node and candidate."""
    weights = _log_acceptance(scores, rate)
    if not weights.size:
        return weights
    return weights - logsumexp(weights, axis=1, keepdims=True)


def permute_and_flip(scores: NDArray[np.int64], rate: float) -> NDArray[np.float64]:
    r"""Log-probabilities of permute-and-flip, by node and candidate.

    Candidates come at independent uniform times; :math:`i` wins at time :math:`t` when its coin
    shows heads and no earlier one did: :math:`a_i \int_0^1 \prod_{j \ne i} (1 - t a_j) dt`. The
    integrand is a polynomial, which Gauss-Legendre quadrature integrates exactly.
    """
    weights = _log_acceptance(scores, rate)
    times, shares = np.polynomial.legendre.leggauss(scores.shape[1] // 2 + 1)
    times, shares = (times + 1) / 2, shares / 2
    result = np.empty_like(weights)
    for node, row in enumerate(weights):
        survival = np.log1p(-np.outer(times, np.exp(row)))
        others = survival.sum(axis=1, keepdims=True) - survival
        result[node] = row + logsumexp(others, b=shares[:, np.newaxis], axis=0)
    return result


def _log_acceptance(scores: NDArray[np.int64], rate: float) -> NDArray[np.float64]:
    if not scores.size:
        return np.zeros(scores.shape)
    return (scores - scores.max(axis=1, keepdims=True)).astype(np.float64) * rate
