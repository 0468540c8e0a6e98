"""A row store in partitions that replays its commands to lost partitions."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.cluster.partial_sums import Answer, Partial, merge
from dpboost.cluster.partition_reader import Site
from dpboost.cluster.partition_state import (
    DealByKey,
    Order,
    WorkerMessage,
    answer_again,
    bin_rows,
)
from dpboost.privacy.queries import (
    CategoryCountQuery,
    Query,
    Sensitive,
    SumQuery,
    carry_out,
    wrapped,
)
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.rows.boosting_queries import LeafSums
from dpboost.rows.raw_rows import BINNING

# So often a question is put to partitions that were lost and read again since.
ATTEMPTS = 10


class FitFailedError(RuntimeError):
    """Workers were lost faster than their partitions could be reloaded.

    The releases of the fit stay charged; there is no model.
    """


class Question:
    """A query to partitions that may lack some of the earlier commands.

    ``release`` is its number among all that are asked in the fit, ``orders`` are all that were
    given before it, and ``known`` is how many of them a partition has heard.
    """

    def __init__(
        self,
        query: SumQuery | CategoryCountQuery,
        release: int,
        orders: list[Order],
        known: dict[int, int],
    ) -> None:
        self.query = query
        self.release = release
        # Rows note the leaves they are in when they are asked for the sums of a partition.
        self.remembered = isinstance(query, LeafSums)
        self._orders = orders
        self._known = known
        self._packed: dict[int, bytes] = {}

    def packed(self, partitions: Iterable[int]) -> bytes:
        """Return the message for some partitions, which lie at one place."""
        first = min(self._known[partition] for partition in partitions)
        if first not in self._packed:
            self._packed[first] = WorkerMessage(
                release=self.release,
                first=first,
                orders=self._orders[first:],
                query=self.query,
                remembered=self.remembered,
            ).pack()
        return self._packed[first]


class PartitionedRows(ABC):
    """Rows in partitions on workers; this process is trusted and receives exact sums.

    All commands are kept, including released splits and leaves. A reloaded partition receives all
    of them and answers the open query, so nothing is released a second time. ``sites`` say which
    rows each partition holds.

    Privacy
    -------
    Workers get public and released numbers, and the keys of coins and hashes. They draw no noise
    and know no budget. What they return is private, and so are their logs and files.
    """

    def __init__(self, sites: Sequence[Site]) -> None:
        self._sites = {site.partition: site for site in sites}
        self._orders: list[Order] = []
        self._release = 0
        self._known = dict.fromkeys(self._sites, 0)
        # Partitions are parts of one table, and no sites of their own.
        self.one_table = True

    def sensitive(self, query: Query, neighbors: Neighbors) -> Sensitive:
        """Return what the gate takes."""
        return wrapped(self, query, neighbors)

    def exact(self, query: SumQuery) -> NDArray[np.int64]:
        """Return the sum over all partitions, on the private side."""
        answer = self._ask(query)
        assert isinstance(answer, np.ndarray)
        return answer

    def tally(self, query: CategoryCountQuery) -> list[Counter[Any]]:
        """Return counts over all partitions, on the private side."""
        answer = self._ask(query)
        assert isinstance(answer, list)
        return answer

    def apply(self, command: str, **given: Any) -> None:
        """Note a command, which is carried out before the next query is answered."""
        coins = given.get("coins")
        if coins is None:
            act = bin_rows if command == BINNING else carry_out
            self._orders.append(functools.partial(act, command=command, given=given))
        else:
            self._orders.append(DealByKey(shares=given["shares"], key=coins.key_for_workers()))

    @abstractmethod
    def _round(self, question: Question, waiting: set[int]) -> Partial:
        """Put a query once to some partitions, and add up what comes back."""

    @abstractmethod
    def _find_again(self) -> None:
        """Look where partitions are that did not answer."""

    def _ask(self, query: SumQuery | CategoryCountQuery) -> Answer:
        """Put a query to all partitions, and again to those that were read again since."""
        question = Question(query, self._numbers(1), self._orders, self._known)
        found: list[Partial] = []
        waiting = set(self._sites)
        for _ in range(ATTEMPTS):
            partial = self._round(question, waiting)
            for partition in partial.counted:
                self._known[partition] = len(self._orders) + question.remembered
            self._known |= partial.behind
            found.append(partial)
            waiting -= partial.counted
            if not waiting:
                if isinstance(query, LeafSums):
                    self._orders.append(functools.partial(answer_again, query=query))
                return self._complete(merge(*found))
            self._find_again()
        raise FitFailedError(
            "The fit failed: workers were lost again and again while it waited for their sums. "
            "Give workers more memory or partitions fewer rows."
        )

    def _numbers(self, n_questions: int) -> int:
        """Return the number of the first of some new queries."""
        first, self._release = self._release, self._release + n_questions
        return first

    def _complete(self, partial: Partial) -> Answer:
        """Return an answer that has every partition in it; none can be in it twice."""
        if partial.counted != frozenset(self._sites) or partial.answer is None:
            raise FitFailedError("The fit failed: a sum lacks some partitions.")
        return partial.answer
