"""Where private rows are: what may be asked of them, and what they may be told.

A fit works with rows through a `RowStore` alone. Rows may lie in this process, in partitions on
other machines, or at parties that show them to nobody; the fit is the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.sensitive import Sensitive
from dpboost.privacy.sensitivity.bound import Sensitivity


class SumQuery(Protocol):
    """An integer array that adds up over rows; public itself, and picklable.

    Privacy
    -------
    It is made of public and released numbers. Its answer is private.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the answer."""

    def evaluate(self, rows: Any) -> NDArray[np.int64]:
        """Return the array for the rows of one place.

        The answer for all rows is the sum of the answers of the sites, exactly. Asking twice
        gives the same answer and changes nothing that a later one depends on.
        """


class Query(SumQuery, Protocol):
    """A sum that may be released, with proof of how far one row can move it."""

    @property
    def unit(self) -> float:
        """Worth of one unit of the answer."""

    def bounds(self, neighbours: Neighbours) -> tuple[Sensitivity, ...]:
        """Return the sensitivities of the answer, from public numbers."""


class CategoryCountQuery(Protocol):
    """Counts by values that nobody has listed; only for sources that may be looked into."""

    def count(self, rows: Any) -> list[Counter[Any]]:
        """Return one table of counts for each column; adds up over sites."""


class Command(Protocol):
    """What rows are told: released splits and leaves, the next round; picklable."""

    def execute(self, rows: Any) -> Any:
        """Return the next state of the rows of one site, maybe the same object."""


class RowStore(Protocol):
    """Private rows, wherever they are."""

    def sensitive(self, query: Query, neighbours: Neighbours) -> Sensitive:
        """Return what the gate takes."""

    def exact(self, query: SumQuery) -> NDArray[np.int64]:
        """Return the sum over all rows, on the private side.

        Scores of splits and clipped leaves are no sums: whoever computes them from this wraps
        them as `Sensitive` at once. A source of parties has no such sum to give.
        """

    def tally(self, query: CategoryCountQuery) -> list[Counter[Any]]:
        """Return counts over all rows, on the private side, as `exact` does."""

    def apply(self, order: Command) -> None:
        """Have an order carried out wherever rows are."""


class LocalRows:
    """Rows of this process.

    Parameters
    ----------
    rows : object
        Their state, as questions and orders know it.
    """

    __slots__ = ("_prefetched", "_rows")

    def __init__(self, rows: Any) -> None:
        self._rows = rows
        self._prefetched: dict[SumQuery, NDArray[np.int64]] = {}

    def sensitive(self, query: Query, neighbours: Neighbours) -> Sensitive:
        """Return what the gate takes."""
        return wrapped(self, query, neighbours)

    def exact(self, query: SumQuery) -> NDArray[np.int64]:
        """Return the sum over all rows, on the private side."""
        if query in self._prefetched:
            return self._prefetched.pop(query)
        return query.evaluate(self._rows)

    def tally(self, query: CategoryCountQuery) -> list[Counter[Any]]:
        """Return counts over all rows, on the private side."""
        return query.count(self._rows)

    def prefetch(self, queries: Sequence[SumQuery]) -> None:
        """Answer them at once where rows are read in batches, so that they are read once."""
        at_once = getattr(self._rows, "answers", None)
        found = at_once(queries) if at_once is not None else None
        if found is not None:
            self._prefetched = dict(zip(queries, found, strict=True))

    def apply(self, order: Command) -> None:
        """Carry out an order."""
        self._rows = order.execute(self._rows)


def wrapped(source: RowStore, query: Query, neighbours: Neighbours) -> Sensitive:
    """Return the exact answer of a trusted source as what the gate takes."""
    return Sensitive(source.exact(query), query.bounds(neighbours), unit=query.unit)


def prefetch(source: RowStore, queries: Sequence[SumQuery]) -> None:
    """Say which questions come next, one by one.

    A source that reads its rows again for each question, and therefore has a method of this name,
    answers all of them in one reading. To the others it makes no difference.

    Parameters
    ----------
    source : RowStore
    queries : sequence of SumQuery
        Equal ones are taken as one.
    """
    at_once = getattr(source, "prefetch", None)
    if at_once is not None:
        at_once(queries)
