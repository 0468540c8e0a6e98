"""Simulation of several parties in one process with a trusted sum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.queries import CategoryCountQuery, Query, Sensitive, SumQuery, carry_out
from dpboost.privacy.sensitivity.bound import Neighbors


class Sites:
    """Rows of several parties whose results one process adds up before it draws noise.

    The distribution of all releases is that of parties whose noise shares add up to the charged
    noise, without keys, masks and messages.

    Privacy
    -------
    This process sees the rows of all sites: it must be trusted by all of them.
    """

    def __init__(self, rows: Sequence[Any]) -> None:
        self._rows = list(rows)

    def exact(self, query: SumQuery) -> NDArray[np.int64]:
        """Return the sum of the answers, on the private side."""
        total = query.evaluate(self._rows[0])
        for rows in self._rows[1:]:
            total = total + query.evaluate(rows)
        return total

    def tally(self, query: CategoryCountQuery) -> list[Counter[Any]]:
        """Return counts over the rows of all sites, on the private side."""
        counts = [query.count(rows) for rows in self._rows]
        return [sum(columns, Counter()) for columns in zip(*counts, strict=True)]

    def sensitive(self, query: Query, neighbors: Neighbors) -> Sensitive:
        """Return the sum of the answers: a row moves the answer of its place alone."""
        return Sensitive(self.exact(query), query.bounds(neighbors), query.unit)

    def each(self, query: Query, neighbors: Neighbors) -> Sensitive:
        """Return the answers of all sites, one after the other on the first axis.

        A row moves one of them, as if it were the only one.
        """
        answers = np.concatenate([query.evaluate(rows) for rows in self._rows])
        return Sensitive(answers, query.bounds(neighbors), query.unit)

    def apply(self, command: str, **given: Any) -> None:
        """Have a command carried out at every site."""
        self._rows = [carry_out(rows, command, given) for rows in self._rows]
