"""Orderings that the paper claims, set by set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchmarks.harness.claims import Claim
from benchmarks.harness.results import Result
from benchmarks.reproductions.dpboost.plan import OVERLAP

Where = Callable[[float], bool]


@dataclass(frozen=True, kw_only=True)
class Ordering:
    """One method has smaller errors than another.

    Attributes
    ----------
    text : str
    better, worse : str
        Names of methods.
    where : callable
        ``where(position)``: the points that are compared: epsilon, or a number of trees.
    ours : bool
        Whether the paper does not claim it.
    """

    text: str
    better: str
    worse: str
    where: Where = lambda position: True
    ours: bool = False


def claims(rows: Sequence[Result], orderings: Iterable[Ordering]) -> list[Claim]:
    """Return the claims on every set on which both methods were run."""
    found = []
    parts = list(dict.fromkeys(row.part for row in rows))
    methods: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        methods.setdefault((row.part, row.data), set()).add(row.method)
    for ordering in orderings:
        for part in parts:
            for (own, data), names in methods.items():
                if own == part and {ordering.better, ordering.worse} <= names:
                    found.append(
                        Claim(
                            part=part,
                            text=ordering.text,
                            above=ordering.better,
                            below=ordering.worse,
                            data=data,
                            where=lambda data, position, own=ordering.where: own(position),
                            overlap=OVERLAP,
                            lower_is_better=True,
                            ours=ordering.ours,
                        )
                    )
    return found
