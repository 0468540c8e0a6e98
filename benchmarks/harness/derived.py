"""Numbers made of results, for claims that are about more than the means of two methods."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from benchmarks.harness.results import Result

Chosen = Callable[[Result], bool]

#: Ending of the part that has the spread of the results of another.
SPREAD = ", spread"


def differences(
    rows: Iterable[Result],
    *,
    name: str,
    first: Chosen,
    second: Chosen,
    by: Callable[[Result], str],
    x: str = "0",
) -> list[Result]:
    """Return the mean of some results less that of others, repeat by repeat.

    Parameters
    ----------
    rows : iterable of Result
    name : str
        Of the method that has the differences.
    first, second : callable
        Which results.
    by : callable
        Data set or panel of the difference that a result is part of.
    x : str
        Position of the differences.
    """
    groups: dict[tuple[str, str, int], tuple[list[Result], list[Result]]] = {}
    for row in rows:
        sides = groups.setdefault((row.part, by(row), row.repeat), ([], []))
        for side, chosen in zip(sides, (first, second), strict=True):
            if chosen(row):
                side.append(row)
    return [
        Result(
            part=part,
            data=data,
            method=name,
            x=x,
            repeat=repeat,
            measure="difference",
            value=_mean(one) - _mean(other),
        )
        for (part, data, repeat), (one, other) in groups.items()
        if one and other
    ]


def deviations(rows: Iterable[Result], *, by_repeat: bool) -> list[Result]:
    """Return how far each result is from the mean of its point, to compare spreads (Levene).

    Parameters
    ----------
    rows : iterable of Result
    by_repeat : bool
        Whether a point is the draws of one repeat; else it is all repeats.
    """
    groups: dict[tuple[object, ...], list[Result]] = {}
    for row in rows:
        point = (row.part, row.data, row.method, row.epsilon, row.x, row.measure)
        groups.setdefault((*point, row.repeat) if by_repeat else point, []).append(row)
    return [
        replace(
            row,
            part=f"{row.part}{SPREAD}",
            measure="deviation",
            value=abs(row.value - _mean(own)),
        )
        for own in groups.values()
        if len(own) > 1
        for row in own
    ]


def shifted(rows: Iterable[Result], *, method: str, name: str, by: float) -> list[Result]:
    """Return the results of a method with another name, and with a number added to each."""
    return [replace(row, method=name, value=row.value + by) for row in rows if row.method == method]


def best_positions(rows: Iterable[Result], *, measure: str) -> list[Result]:
    """Return the position with the least value of every method, budget and repeat."""
    groups: dict[tuple[str, str, str, float | None, int], list[Result]] = {}
    for row in rows:
        groups.setdefault((row.part, row.data, row.method, row.epsilon, row.repeat), []).append(row)
    found = []
    for own in groups.values():
        least = min(own, key=lambda row: row.value)
        found.append(replace(least, x="", measure=measure, value=float(least.x)))
    return found


def _mean(rows: Sequence[Result]) -> float:
    return statistics.fmean(row.value for row in rows)
