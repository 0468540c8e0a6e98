"""Rows in partitions on the workers of a Dask cluster, and fits to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import dask
import numpy as np
from distributed import Client, Future, KilledWorker, wait
from numpy.typing import NDArray

from dpboost.cluster.partial_sums import Answer, Partial, merge
from dpboost.cluster.partition_reader import PartFacts, Reader, Site
from dpboost.cluster.partitioned_fit import fit_partitions, reader_of
from dpboost.cluster.partitioned_rows import FitFailedError, PartitionedRows, Question
from dpboost.dask.partition_tasks import ask, hold, look, merge_lists, of_labels, visit
from dpboost.dask.partitions import join
from dpboost.privacy.queries import CategoryCountQuery, RowHandle, SumQuery
from dpboost.rows.raw_rows import BINNING
from dpboost.training.fitted_model import FittedModel
from dpboost.training.inputs import GivenRows
from dpboost.training.request import FitRequest

# Partial sums that are added up in one task.
FAN_IN = 16


class DaskRows(PartitionedRows):
    """Rows in partitions on Dask workers.

    Before binning, rows are read again for each query, by one task per partition, and dropped.
    Binned rows remain on their workers as `Cell` objects, which are results of Dask tasks: Dask
    recomputes those of a lost worker from their partition, and they receive all commands again. A
    query is then one task per worker, and one sum of integers. ``parts`` are the partitions with
    rows, a `Part` each, ``labels`` the same without their tables, and ``sites`` say which rows each
    of them holds.

    Privacy
    -------
    As `PartitionedRows`. What Dask shows of a worker on its dashboard is private as well.
    """

    def __init__(
        self,
        client: Client,
        parts: Sequence[Any],
        labels: Sequence[Any],
        reader: Reader,
        sites: Sequence[Site],
    ) -> None:
        super().__init__(sites)
        self._client = client
        self._parts = list(parts)
        self._labels = list(labels)
        self._reader = dask.delayed(reader, pure=False, traverse=False)
        self._prefetched: dict[SumQuery, NDArray[np.int64]] = {}
        self._cells: dict[int, Future] = {}
        self._groups: dict[str, list[int]] = {}

    def exact(self, query: SumQuery) -> NDArray[np.int64]:
        """Return the sum over all partitions, on the private side."""
        if self._cells:
            return super().exact(query)
        if query in self._prefetched:
            return self._prefetched.pop(query)
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
        """Note a command, which is carried out before the next query is answered."""
        super().apply(command, **given)
        if command == BINNING:
            self._hold()

    def _visit(self, queries: Sequence[SumQuery | CategoryCountQuery]) -> list[Any]:
        """Read all partitions, or their labels alone, and add up their answers."""
        read = self._labels if all(map(of_labels, queries)) else self._parts
        release = self._numbers(len(queries))
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
        answers: list[Answer] = [self._complete(partial) for partial in partials]
        return answers

    def _hold(self) -> None:
        """Have all partitions binned and held by workers."""
        orders = dask.delayed(list(self._orders), pure=False, traverse=False)
        cells = [
            dask.delayed(hold, pure=False)(part, self._reader, site, orders)
            for part, site in zip(self._parts, self._sites.values(), strict=True)
        ]
        self._cells = dict(zip(self._sites, self._client.compute(cells), strict=True))
        self._known = dict.fromkeys(self._cells, len(self._orders))
        self._find_again()

    def _find_again(self) -> None:
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

    def _round(self, question: Question, waiting: set[int]) -> Partial:
        """Put a query once to each worker that holds some of the partitions."""
        futures = []
        for worker, partitions in self._groups.items():
            own = [partition for partition in partitions if partition in waiting]
            if not own:
                continue
            # Where the worker is gone the task runs where its partitions were computed again.
            futures.append(
                self._client.submit(
                    ask,
                    [self._cells[partition] for partition in own],
                    question.packed(own),
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
            "The fit failed: several workers died while they processed one partition. Give "
            "workers more memory or partitions fewer rows."
        )


def fit_collections(client: Client, given: GivenRows, request: FitRequest) -> FittedModel:
    """Fit a model to rows that lie on the workers of a Dask cluster.

    The collections of labels and what else rows have are divided as the table is.

    Privacy
    -------
    As `fit_partitions`.
    """
    request = request.checked()
    reader = reader_of(given, request)
    parts, without_tables = join(
        given.X, given.y, given.sample_weight, given.init_score, given.user_ids
    )

    def held(reader: Reader, sites: list[Site]) -> RowHandle:
        return RowHandle(
            DaskRows(
                client,
                [parts[site.partition] for site in sites],
                [without_tables[site.partition] for site in sites],
                reader,
                sites,
            )
        )

    return fit_partitions(_look(client, parts, reader), reader, request, held)


def _look(client: Client, parts: list[Any], reader: Reader) -> list[PartFacts]:
    """Have every partition checked where it lies."""
    shared = dask.delayed(reader, pure=False, traverse=False)
    seen = [dask.delayed(look, pure=False)(part, shared) for part in parts]
    facts: list[PartFacts] = client.gather(client.compute(seen))
    return facts
