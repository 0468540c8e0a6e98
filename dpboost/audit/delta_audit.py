"""Audit of delta: the probability that a category of a single row is released.

The replay excludes categories that only one of the two tables has, because no outcome of the other
table can contain them. This audit covers the probability that they are released.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import norm

from dpboost.audit.run_trace import KernelCall, Recorder, TracedRelease, Violation

LONE = "only one row has this"

#: Columns in which the row has a category of its own.
N_COLUMNS = 2

#: A noisy count that no threshold reaches.
OUT_OF_REACH = 1 << 45


def lone_category(make_estimator: Callable[[], Any]) -> list[Violation]:
    """Compute the exact chance that categories of one row come out, and hold it to its charge.

    Outcomes are forced to find the least noisy count that the code lets through. RuntimeError if
    the estimator learns no categories: there is nothing to audit.
    """
    line, released = _fit(make_estimator, OUT_OF_REACH)
    if not released:
        message = "a category is left out that the forced noise lets through: exact counts decide"
        return [Violation("failure chance", line.where, message)]
    # Sixty scales from the count of one row no noise comes, nor does a threshold lie so far.
    low = int(line.calls[0].given.min())
    high = low + math.ceil(60 * _scale(line.calls[0]))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _fit(make_estimator, middle)[1] else (middle, high)
    chance, charge = N_COLUMNS * _chance(line, high), float(line.entry.charge.delta)
    if chance <= charge * (1 + 1e-9):
        return []
    message = f"comes out with chance {chance:.6g}, charged {charge:.6g}"
    return [Violation("failure chance", line.where, message)]


def _fit(make_estimator: Callable[[], Any], noisy_count: int) -> tuple[TracedRelease, bool]:
    """Fit with a forced noisy count of the lone categories; whether they came out."""
    import pandas as pd

    column = pd.Categorical(["a"] * 9 + [LONE], categories=["a", LONE])
    X = pd.DataFrame({f"column {number}": column for number in range(N_COLUMNS)})
    # The categories of a column are sorted: "a", then the lone one.
    wish = np.array([OUT_OF_REACH, noisy_count] * N_COLUMNS)
    recorder = Recorder(np.arange(len(X)), steering={("categories", 0): wish})
    with recorder.watching() as transcript, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_estimator().fit(X, np.zeros(len(X)))
    lines = [line for line in transcript.lines if line.entry.label == "categories"]
    if not lines:
        raise RuntimeError("The estimator learned no categories.")
    return lines[0], any(LONE in listed for listed in model.schema_.categories.values())


def _scale(call: KernelCall) -> float:
    """Scale of the noise, in units: sigma, or one over the rate of a Laplace law."""
    if call.kernel == "discrete_gaussian":
        return call.integers[0]
    return call.integers[1] / call.integers[0]


def _chance(line: TracedRelease, least: int) -> float:
    """Probability that the noise lifts the count of one row to this one."""
    call = line.calls[0]
    missing = least - int(call.given.min())
    if call.kernel == "discrete_gaussian":
        # On so fine a lattice a sum up to an integer is the integral up to the half before it.
        return float(norm.sf((missing - 0.5) / _scale(call)))
    rate = 1 / _scale(call)
    return math.exp(-rate * missing) / (1 + math.exp(-rate))
