"""Dask tasks that read or query a partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpboost.cluster.partial_sums import Partial, merge
from dpboost.cluster.partition_reader import Part, PartFacts, Reader, Site
from dpboost.cluster.partition_state import Cell, Order, WorkerMessage, answer, answer_of
from dpboost.privacy.queries import CategoryCountQuery, SumQuery
from dpboost.rows.cell_counts import Magnitudes, RangeCounts
from dpboost.rows.raw_rows import ClassSizes, ClassTally, MeanAndRows, PresentRows, RowCount


def of_labels(query: SumQuery | CategoryCountQuery) -> bool:
    """Return whether a query is one of labels and what goes with them, and not of the table."""
    if isinstance(query, Magnitudes):
        return query.columns is None
    return isinstance(
        query, RowCount | PresentRows | ClassSizes | MeanAndRows | ClassTally | RangeCounts
    )


def gather(X: Any, y: Any, weight: Any, init_score: Any, user_ids: Any) -> Part:
    """Put the pieces of a partition together."""
    return Part(X=X, y=y, weight=weight, init_score=init_score, user_ids=user_ids)


def look(part: Part, reader: Reader) -> PartFacts:
    """Check a partition and return what the client has to know."""
    return reader.look(part)


@np.errstate(all="ignore")
def visit(
    part: Part,
    reader: Reader,
    site: Site,
    orders: Sequence[Order],
    release: int,
    queries: Sequence[SumQuery | CategoryCountQuery],
) -> list[Partial]:
    """Answer queries from the rows as they come, which are dropped again."""
    rows: Any = reader.read(part, site)
    for order in orders:
        rows = order(rows)
    return [
        Partial(
            release=release + number,
            counted=frozenset([site.partition]),
            answer=answer_of(rows, query),
        )
        for number, query in enumerate(queries)
    ]


def merge_lists(*partials: list[Partial]) -> list[Partial]:
    """Add up the answers to each of several queries."""
    return [merge(*own) for own in zip(*partials, strict=True)]


@np.errstate(all="ignore")
def hold(part: Part, reader: Reader, site: Site, orders: Sequence[Order]) -> Cell:
    """Bin a partition; nothing else of it is kept."""
    rows: Any = reader.read(part, site)
    for order in orders:
        rows = order(rows)
    return Cell(site.partition, rows, len(orders))


def ask(cells: Sequence[Cell], packed: bytes) -> Partial:
    """Let the partitions of a worker carry out orders and answer a query, as one sum."""
    message = WorkerMessage.unpack(packed)
    partials = []
    for cell in cells:
        cell.use(_threads())
        partials.append(answer(cell, message))
    return merge(*partials)


def _threads() -> int:
    """Return how many threads this worker has: it works on one partition at a time."""
    from distributed import get_worker

    return int(get_worker().state.nthreads)
