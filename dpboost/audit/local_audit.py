"""Reports of devices, from outside: how well one report tells two records apart."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from dpboost.audit.transcript import Violation
from dpboost.local.labels import POSITION_BITS, ClassLabels, NumericLabels
from dpboost.local.randomizer import ONE_RECORD
from dpboost.local.registry import find_randomiser
from dpboost.privacy.randomness import Entropy

N_REPORTS = 200_000
N_CELLS = 3

#: Permitted probability of a false alarm of one audit of all mechanisms.
ERROR = 1e-9

_STEP = 1 << POSITION_BITS

NUMERIC = NumericLabels(lower=-1, upper=1)
KINDS: dict[str, tuple[str, Any]] = {
    "signed cell": ("signed_cell", NUMERIC),
    "unary encoding": ("unary", NUMERIC),
    "randomised response": ("response", NUMERIC),
    "randomised response of classes": ("response", ClassLabels(classes=("a", "b"))),
    "the paper's reports": ("paper", NUMERIC),
}


def local_reports(epsilon: float = 1.0) -> list[Violation]:
    """Draw many reports of unlike records and bound the epsilon of each mechanism from below.

    Parameters
    ----------
    epsilon : float, default=1
        Claimed for one report.

    Returns
    -------
    list of Violation
        Empty where no event is more frequent than epsilon allows.
    """
    return [violation for name in KINDS for violation in _audit(name, epsilon)]


def _audit(name: str, epsilon: float) -> Iterator[Violation]:
    mechanism, labels = KINDS[name]
    randomiser: Any = find_randomiser(mechanism, epsilon, labels, N_CELLS, "audit")
    records = [(cell, position) for cell in range(2) for position in (0, _STEP)]
    drawn = [
        randomiser.draw(
            np.tile(np.array(record, dtype=np.int64), (N_REPORTS, 1)),
            ONE_RECORD,
            Entropy.secure(),
        )
        for record in records
    ]
    counted = [_events(payload, mechanism) for payload in drawn]
    bounds = [_lower_bound(first, second) for first, second in permutations(counted, 2)]
    found = max(bounds)
    if found > epsilon:
        message = f"one report tells at least epsilon {found:.3f}, claimed {epsilon:g}"
        yield Violation(check="local report", where=name, message=message)


def _events(payload: NDArray[np.uint8], mechanism: str) -> dict[bytes, int]:
    """Count the reports; numbers of the paper's mechanism by their sign and the bits beside."""
    kept = payload
    if mechanism == "paper":
        # The bits come first; of the noisy label the sign is an event of its own.
        signs = payload[:, -1:] >> 7
        kept = np.hstack([payload[:, : -(-N_CELLS // 8)], signs])
    rows, times = np.unique(kept, axis=0, return_counts=True)
    return {row.tobytes(): int(n) for row, n in zip(rows, times, strict=True)}


def _lower_bound(first: dict[bytes, int], second: dict[bytes, int]) -> float:
    """Bound the largest log-ratio of the chances of an event, by Clopper and Pearson."""
    events = set(first) | set(second)
    error = ERROR / (len(events) * 24 * len(KINDS))
    best = 0.0
    for event in events:
        n, m = first.get(event, 0), second.get(event, 0)
        if n == 0:
            continue
        low = float(beta.ppf(error, n, N_REPORTS - n + 1))
        high = float(beta.ppf(1 - error, m + 1, N_REPORTS - m)) if m < N_REPORTS else 1.0
        best = max(best, math.log(low / high))
    return best
