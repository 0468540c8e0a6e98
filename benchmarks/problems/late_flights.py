"""Flights that are late or not: as many rows as a large user has, and a weak signal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks._compat import import_pandas
from benchmarks.problems.problem import DataDictionary, Problem

if TYPE_CHECKING:
    import pandas as pd

N_ROWS = 1_250_000
_SEED = 0
_CARRIERS = tuple(f"C{position}" for position in range(16))
_AIRPORTS = tuple(f"A{position}" for position in range(200))
_RANGES = {
    "month": (1, 12),
    "day": (1, 31),
    "weekday": (1, 7),
    "departure": (0, 1_439),  # minutes after midnight
    "distance": (0, 5_000),
    "seats": (0, 500),
    "age": (0, 50),
    "wind": (0, 60),
    "visibility": (0, 50),
    "temperature": (-40, 50),
    "turnaround": (0, 600),
}


def _read(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(_SEED)

    def effect(size: float, *shape: int) -> np.ndarray:
        return random.normal(0, size, shape)

    def whole(low: int, high: int) -> np.ndarray:
        return random.integers(low, high + 1, N_ROWS)

    month, day, weekday = whole(1, 12), whole(1, 31), whole(1, 7)
    departure = np.clip(np.rint(random.normal(820, 260, N_ROWS)), 0, 1_439)
    distance = np.minimum(np.rint(random.lognormal(6.4, 0.7, N_ROWS)), 5_000)
    seats, age = random.choice([50, 76, 120, 150, 180, 220, 300], N_ROWS), whole(0, 30)
    wind = np.minimum(np.rint(random.gamma(3.0, 4.0, N_ROWS)), 60)
    visibility = np.rint(np.minimum(random.exponential(20, N_ROWS), 50))
    temperature = np.rint(random.normal(14 - 12 * np.cos(month * np.pi / 6), 8))
    turnaround = np.minimum(np.rint(random.lognormal(4.2, 0.5, N_ROWS)), 600)
    carrier = random.integers(0, len(_CARRIERS), N_ROWS)
    origin = np.minimum(random.geometric(0.03, N_ROWS), len(_AIRPORTS)) - 1
    destination = np.minimum(random.geometric(0.02, N_ROWS), len(_AIRPORTS)) - 1
    hour = (departure // 60).astype(np.int64)
    # What several columns make together is most of it.
    score = effect(0.25, len(_CARRIERS))[carrier]
    score += effect(0.3, len(_AIRPORTS))[origin] + effect(0.25, len(_AIRPORTS))[destination]
    score += effect(0.25, len(_CARRIERS), 7)[carrier, weekday - 1]
    score += effect(0.25, len(_AIRPORTS), 4)[origin, hour // 6]
    score += 0.09 * (hour - 13) * (1 + 0.6 * np.isin(month, (6, 7, 12)))
    score += 0.5 * ((wind > 18) & (visibility < 8)) + 0.7 * ((temperature < 0) & (wind > 12))
    score += 0.6 * ((turnaround < 45) & (seats >= 180)) - 0.3 * (distance > 1_500)
    late = random.random(N_ROWS) < 1 / (1 + np.exp(1.7 - score))
    pandas = import_pandas()
    columns = {
        "month": month,
        "day": day,
        "weekday": weekday,
        "departure": departure,
        "distance": distance,
        "seats": seats,
        "age": age,
        "wind": wind,
        "visibility": visibility,
        "temperature": temperature,
        "turnaround": turnaround,
    }
    X = pandas.DataFrame(
        {name: np.clip(own, *_RANGES[name]).astype(float) for name, own in columns.items()}
    )
    for name, codes, known in (
        ("carrier", carrier, _CARRIERS),
        ("origin", origin, _AIRPORTS),
        ("destination", destination, _AIRPORTS),
    ):
        X[name] = pandas.Categorical.from_codes(codes, categories=list(known))
    return X, late.astype(np.int64)


LATE_FLIGHTS = Problem(
    name="late_flights",
    task="binary",
    files=(),
    dictionary=DataDictionary(
        bounds=_RANGES,
        categories={"carrier": _CARRIERS, "origin": _AIRPORTS, "destination": _AIRPORTS},
        integer=tuple(_RANGES),
        classes=(0, 1),
    ),
    read=_read,
    source="benchmarks/problems/late_flights.py",
    made_by=f"{N_ROWS} flights that are late by chance, season, hour, carrier, airports and what "
    f"these do together, seed {_SEED}",
)
