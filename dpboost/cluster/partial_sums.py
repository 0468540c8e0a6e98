"""Sums over a subset of the partitions, each counted once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Answer: TypeAlias = "NDArray[np.int64] | list[Counter[Any]]"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Partial:
    """The sum of the results of some partitions.

    Privacy
    -------
    Private.
    """

    #: Number of the query among all that were asked in the fit.
    release: int
    #: Partitions that are in the sum.
    counted: frozenset[int]
    #: None if no partition is counted.
    answer: Answer | None
    #: Partitions that have not heard of the orders before the query, with the number of orders that
    #: they know.
    behind: dict[int, int] = field(default_factory=dict)


def merge(*partials: Partial) -> Partial:
    """Add up sums over different partitions.

    RuntimeError if a partition would be counted twice, or the sums answer different queries.
    """
    release = partials[0].release
    counted: frozenset[int] = frozenset()
    behind: dict[int, int] = {}
    answer: Answer | None = None
    for partial in partials:
        if partial.release != release or counted & partial.counted:
            raise RuntimeError("Partial sums are of different queries, or of the same rows.")
        counted |= partial.counted
        behind |= partial.behind
        answer = _add(answer, partial.answer)
    return Partial(release=release, counted=counted, answer=answer, behind=behind)


def _add(left: Answer | None, right: Answer | None) -> Answer | None:
    """Add two answers; None is nothing."""
    if left is None or right is None:
        return right if left is None else left
    if isinstance(left, list) and isinstance(right, list):
        return [one + other for one, other in zip(left, right, strict=True)]
    assert isinstance(left, np.ndarray)
    assert isinstance(right, np.ndarray)
    return left + right
