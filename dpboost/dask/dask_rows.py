"""Rows in partitions on the workers of a Dask cluster."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import dask
import numpy as np
from distributed import Client, Future, KilledWorker, wait
from numpy.typing import NDArray

from dpboost.dask.partial_sums import Partial, merge
from dpboost.dask.partition_reader import Reader, Site
from dpboost.dask.worker_state import (
    DealByKey,
    Order,
    WorkerMessage,
    answer_again,
    ask,
    hold,
    merge_lists,
    of_labels,
    visit,
)
from dpboost.privacy.neighbors import Neighbors
from dpboost.privacy.queries import CategoryCountQuery, Query, SumQuery, carry_out, wrapped
from dpboost.privacy.sensitive import Sensitive
from dpboost.rows.boosting_queries import LeafSums
from dpboost.rows.encoded_rows import BINNING

# Partial sums that are added up in one task.
FAN_IN = 16
# So often a question is put to partitions that had to be computed again since.
ATTEMPTS = 10


class FitFailedError(RuntimeError):
    """Workers were lost faster than their partitions could be computed again.

    What the fit has released stays charged; there is no model.
    """


class DaskRows:
    """Rows in partitions; it is trusted, so exact sums come to the client.

    Before they are binned, rows are read again for each question, by one task a partition, and
    dropped. Binned rows stay on their workers as `Cell` objects, which are results of Dask tasks:
    those of a lost worker are computed again by Dask from their partition, and told all orders
    again. A question then is one task a worker, and one sum of integers.

    Parameters
    ----------
    client : distributed.Client
    parts : list of Delayed
        Partitions with rows: a `Part` each.
    labels : list of Delayed
        The same without their tables.
    reader : Reader
    positions : list of Site
        Which rows each of them holds.

    Privacy
    -------
    Workers get public and released numbers, and the keys of coins and hashes. They draw no noise
    and know no budget. What they return is private, and so are their logs, dashboards and files.
    """

    def __init__(
        self,
        client: Client,
        parts: Sequence[Any],
        labels: Sequence[Any],
        reader: Reader,
        sites: Sequence[Site],
    ) -> None:
        self._client = client
        self._parts = list(parts)
        self._labels = list(labels)
        self._reader = dask.delayed(reader, pure=False, traverse=False)
        self._sites = {site.partition: site for site in sites}
        self._orders: list[Order] = []
        self._release = 0
        self._prefetched: dict[SumQuery, NDArray[np.int64]] = {}
        # Partitions are parts of one table, and no sites of their own.
        self.one_table = True
        self._cells: dict[int, Future] = {}
        self._known: dict[int, int] = {}
        self._groups: dict[str, list[int]] = {}

    def sensitive(self, query: Query, neighbors: Neighbors) -> Sensitive:
        """Return what the gate takes."""
        return wrapped(self, query, neighbors)

    def exact(self, query: SumQuery) -> NDArray[np.int64]:
        """Return the sum over all partitions, on the private side."""
        if self._cells:
            answer = self._ask(query)
        elif query in self._prefetched:
            answer = self._prefetched.pop(query)
        else:
            (answer,) = self._visit([query])
        return answer

    def tally(self, query: CategoryCountQuery) -> list[Counter[Any]]:
        """Return counts over all partitions, on the private side."""
        (answer,) = self._visit([query])
        return answer

    def prefetch(self, queries: Sequence[SumQuery]) -> None:
        """Answer in one reading what will be asked one by one."""
        answers = self._visit(queries)
        self._prefetched = dict(zip(queries, answers, strict=True))

    def apply(self, command: str, **given: Any) -> None:
        """Note a command, which is carried out before the next question is answered."""
        coins = given.get("coins")
        if coins is None:
            self._orders.append(functools.partial(carry_out, command=command, given=given))
        else:
            self._orders.append(DealByKey(shares=given["shares"], key=coins.key_for_workers()))
        if command in BINNING:
            self._hold()

    def _visit(self, queries: Sequence[SumQuery | CategoryCountQuery]) -> list[Any]:
        """Read all partitions, or their labels alone, and add up their answers."""
        read = self._labels if all(map(of_labels, queries)) else self._parts
        release, self._release = self._release, self._release + len(queries)
        orders = dask.delayed(list(self._orders), pure=False, traverse=False)
        asked = dask.delayed(list(queries), pure=False, traverse=False)
        parts = [
            dask.delayed(visit, pure=False)(part, self._reader, site, orders, release, asked)
            for part, site in zip(read, self._sites.values(), strict=True)
        ]
        while len(parts) > 1:
            parts = [
                dask.delayed(merge_lists, pure=False)(*parts[start : start + FAN_IN])
                for start in range(0, len(parts), FAN_IN)
            ]
        partials: list[Partial] = self._result(self._client.compute(parts[0]))
        for partial in partials:
            self._check_complete(partial)
        return [partial.answer for partial in partials]

    def _hold(self) -> None:
        """Have all partitions binned and held by workers."""
        orders = dask.delayed(list(self._orders), pure=False, traverse=False)
        cells = [
            dask.delayed(hold, pure=False)(part, self._reader, site, orders)
            for part, site in zip(self._parts, self._sites.values(), strict=True)
        ]
        self._cells = dict(zip(self._sites, self._client.compute(cells), strict=True))
        self._known = dict.fromkeys(self._cells, len(self._orders))
        self._locate()

    def _locate(self) -> None:
        """Find out which worker holds which partition, once all are held."""
        futures = list(self._cells.values())
        with self._client.as_current():
            wait(futures)
        for future in futures:
            if future.status == "error":
                self._result(future)
        held = self._client.who_has(futures)
        groups: dict[str, list[int]] = {}
        for partition, future in self._cells.items():
            workers = sorted(held.get(future.key) or ["nobody"])
            groups.setdefault(workers[0], []).append(partition)
        self._groups = groups

    def _ask(self, query: SumQuery) -> NDArray[np.int64]:
        """Put a question to the workers, and again to partitions that were computed again."""
        release, self._release = self._release, self._release + 1
        # Rows note the leaves they are in when they are asked for the sums of a partition.
        remembered = isinstance(query, LeafSums)
        found: list[Partial] = []
        waiting = set(self._cells)
        for _ in range(ATTEMPTS):
            partial = self._round(query, release, waiting, remembered)
            for partition in partial.counted:
                self._known[partition] = len(self._orders) + remembered
            self._known |= partial.behind
            found.append(partial)
            waiting -= partial.counted
            if not waiting:
                if remembered:
                    self._orders.append(functools.partial(answer_again, query=query))
                total = merge(*found)
                self._check_complete(total)
                assert isinstance(total.answer, np.ndarray)
                return total.answer
            self._locate()
        raise FitFailedError(
            "The fit failed: workers were lost again and again while it waited for their sums. "
            "Give workers more memory or partitions fewer rows."
        )

    def _round(self, query: SumQuery, release: int, waiting: set[int], remembered: bool) -> Partial:
        """Put a question once to each worker that holds some of the partitions."""
        futures = []
        messages: dict[int, bytes] = {}
        for worker, partitions in self._groups.items():
            own = [partition for partition in partitions if partition in waiting]
            if not own:
                continue
            first = min(self._known[partition] for partition in own)
            if first not in messages:
                messages[first] = WorkerMessage(
                    release=release,
                    first=first,
                    orders=self._orders[first:],
                    query=query,
                    remembered=remembered,
                ).pack()
            cells = [self._cells[partition] for partition in own]
            # Where the worker is gone the task runs where its partitions were computed again.
            futures.append(
                self._client.submit(
                    ask,
                    cells,
                    messages[first],
                    workers=[worker],
                    allow_other_workers=True,
                    pure=False,
                )
            )
        while len(futures) > FAN_IN:
            futures = [
                self._client.submit(merge, *futures[start : start + FAN_IN], pure=False)
                for start in range(0, len(futures), FAN_IN)
            ]
        return merge(*(self._result(future) for future in futures))

    def _result(self, future: Future) -> Any:
        """Wait for a result."""
        try:
            return future.result()
        except KilledWorker:
            pass
        raise FitFailedError(
            "The fit failed: a partition was being worked on by each of several workers that "
            "died. Give workers more memory or partitions fewer rows."
        )

    def _check_complete(self, partial: Partial) -> None:
        """Raise unless every partition is in a sum; none can be in it twice."""
        if partial.counted != frozenset(self._sites):
            raise FitFailedError("The fit failed: a sum does not hold all partitions.")
