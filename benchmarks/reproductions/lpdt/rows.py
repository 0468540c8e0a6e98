"""One measured figure, and what is said of several of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.summary import Summary, summarise


@dataclass(frozen=True, kw_only=True)
class LocalRow:
    """One figure of one repeat.

    Attributes
    ----------
    problem : str
        Table or panel.
    method : str
        Method with its mechanism.
    epsilon : float
        0 for a method without privacy.
    setting : str
        Sizes, or where on the x axis.
    repeat : int
        Number of the repeat, which seeds the division of the rows.
    value : float
        Mean squared error on test rows, or seconds.
    """

    problem: str
    method: str
    epsilon: float
    setting: str
    repeat: int
    value: float


def select(rows: Iterable[LocalRow], **wanted: object) -> list[float]:
    """Return the values of the rows with these attributes, in the order of the repeats."""
    mine = [row for row in rows if all(getattr(row, key) == wanted[key] for key in wanted)]
    return [row.value for row in sorted(mine, key=lambda row: row.repeat)]


def mean_of(rows: Iterable[LocalRow], **wanted: object) -> Summary | None:
    """Return mean and standard error of these rows, None without any."""
    values = select(rows, **wanted)
    return summarise(values) if values else None


def by_method(rows: Iterable[LocalRow]) -> dict[tuple[str, str, float], list[float]]:
    """Return the values by problem, method and epsilon, in the order of the repeats."""
    groups: dict[tuple[str, str, float], list[float]] = {}
    for row in sorted(rows, key=lambda row: row.repeat):
        groups.setdefault((row.problem, row.method, row.epsilon), []).append(row.value)
    return groups
