"""Black-box audit of local reports: how well one report distinguishes two records."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.audit.blackbox import clopper_pearson
from dpboost.audit.run_trace import Violation
from dpboost.local.label_levels import POSITION_BITS, ClassLabels, NumericLabels
from dpboost.local.randomizer import ONE_RECORD
from dpboost.local.registry import find_randomizer
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
    "randomized response": ("response", NUMERIC),
    "randomized response of classes": ("response", ClassLabels(classes=("a", "b"))),
    "the paper's reports": ("paper", NUMERIC),
}


def local_reports(epsilon: float = 1.0) -> list[Violation]:
    """Draw many reports of unlike records and bound the epsilon of each mechanism from below.

    A violation is an event that is more frequent than the epsilon of one report allows.
    """
    return [violation for name in KINDS for violation in _audit(name, epsilon)]


def _audit(name: str, epsilon: float) -> Iterator[Violation]:
    mechanism, labels = KINDS[name]
    randomizer: Any = find_randomizer(mechanism, epsilon, labels, N_CELLS, "audit")
    records = [(cell, position) for cell in range(2) for position in (0, _STEP)]
    tables = [np.tile(np.array(record, dtype=np.int64), (N_REPORTS, 1)) for record in records]
    drawn = [randomizer.draw(table, ONE_RECORD, Entropy.secure()) for table in tables]
    counted = [_events(payload, mechanism) for payload in drawn]
    found = max(_lower_bound(first, second) for first, second in permutations(counted, 2))
    if found > epsilon:
        message = f"one report tells at least epsilon {found:.3f}, claimed {epsilon:g}"
        yield Violation("local report", name, message)


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
        low = clopper_pearson(first.get(event, 0), N_REPORTS, error)[0]
        high = clopper_pearson(second.get(event, 0), N_REPORTS, error)[1]
        best = max(best, math.log(low / high) if low else 0.0)
    return best
