"""What is said of several results of these experiments."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.harness.results import Result, values
from benchmarks.summary import Summary, summarize

MSE = "mean squared error"
SECONDS = "seconds"


def mean_of(rows: Iterable[Result], **wanted: object) -> Summary | None:
    """Return mean and standard error of these rows, None without any."""
    found = values(rows, **wanted)
    return summarize(found) if found else None


def by_method(rows: Iterable[Result]) -> dict[tuple[str, str, float | None], list[float]]:
    """Return the values by table, method and epsilon, in the order of the repeats."""
    groups: dict[tuple[str, str, float | None], list[float]] = {}
    errors = (row for row in rows if row.measure == MSE)
    for row in sorted(errors, key=lambda row: row.repeat):
        groups.setdefault((row.data, row.method, row.epsilon), []).append(row.value)
    return groups
