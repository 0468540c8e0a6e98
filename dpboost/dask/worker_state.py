"""The state of a partition on its worker, and the tasks that work with it."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import cloudpickle
import numpy as np

from dpboost._utils.threads import Threads
from dpboost.dask.partial_sums import Answer, Partial, merge
from dpboost.dask.partition_reader import Part, PartFacts, Reader, Site
from dpboost.data.sparse import dense_matrix
from dpboost.privacy.private_bounds import Magnitudes, RangeCounts
from dpboost.privacy.queries import CategoryCountQuery, SumQuery
from dpboost.privacy.randomness import RowCoins
from dpboost.rows.boosting_state import BoostingState
from dpboost.rows.raw_rows import ClassTally
from dpboost.rows.start_queries import ClassSizes, MeanAndRows, PresentRows, RowCount

#: What a partition is told: from its rows to their next state.
Order = Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DealByKey:
    """Every row goes to one round of an ensemble by a secret coin, on the worker that has it.

    Parameters
    ----------
    shares : tuple of Fraction
        Public chance of each round.
    key : bytes
        Of the coins; stays on the private side.
    """

    shares: tuple[Fraction, ...]
    key: bytes

    def __call__(self, rows: BoostingState) -> BoostingState:
        """Deal the rows of one partition."""
        rows.deal(self.shares, RowCoins(self.key))
        return rows


def answer_again(rows: Any, query: SumQuery) -> Any:
    """Let rows that start again answer, to nobody, what they prepared for in answering it."""
    query.evaluate(rows)
    return rows


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class WorkerMessage:
    """What a worker is told and asked.

    Parameters
    ----------
    release : int
        Number of the question.
    first : int
        Number of the first order.
    orders : sequence of Order
        From that one to the last.
    query : SumQuery
    remembered : bool
        Whether the question is itself an order, the next one.
    """

    release: int
    first: int
    orders: Sequence[Order]
    query: SumQuery
    remembered: bool

    def pack(self) -> bytes:
        """Return it as bytes: the tables of partitions are long and alike."""
        return zlib.compress(cloudpickle.dumps(self), level=1)

    @classmethod
    def unpack(cls, packed: bytes) -> WorkerMessage:
        """Return what `pack` has packed."""
        message: WorkerMessage = cloudpickle.loads(zlib.decompress(packed))
        return message


class Cell:
    """The rows of a partition once they are binned, and how many orders they have carried out.

    Dask may compute it again on another worker, or send a copy there: whatever becomes of it, it
    knows which orders it has not heard of yet.

    Parameters
    ----------
    partition : int
    rows : BoostingState
    position : int
        Orders that were carried out.

    Privacy
    -------
    Private; stays on workers.
    """

    def __init__(self, partition: int, rows: BoostingState, position: int) -> None:
        self.partition = partition
        self.position = position
        self._rows = rows
        self._whole = True
        self._lock = threading.Lock()

    def evaluate(self, message: WorkerMessage, n_threads: int) -> Answer | None:
        """Carry out what is new among the orders of a message, and answer its question.

        Returns
        -------
        ndarray or None
            None where orders before those of the message are missing.
        """
        with self._lock:
            if not self._whole:
                raise RuntimeError("A partition failed in the middle of an order.")
            if self.position < message.first:
                return None
            self._whole = False
            self._rows.threads = Threads(n_threads)
            for order in message.orders[self.position - message.first :]:
                self._rows = order(self._rows)
                self.position += 1
            answer = message.query.evaluate(self._rows)
            if message.remembered:
                self.position = message.first + len(message.orders) + 1
            self._whole = True
            return answer

    def __getstate__(self) -> dict[str, Any]:
        # Never half of an order: a copy waits for its end.
        with self._lock:
            return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())


def of_labels(query: SumQuery | CategoryCountQuery) -> bool:
    """Return whether a question is one of labels and what goes with them, and not of the table."""
    if isinstance(query, Magnitudes):
        return query.columns is None
    return isinstance(
        query, RowCount | PresentRows | ClassSizes | MeanAndRows | ClassTally | RangeCounts
    )


def gather(X: Any, y: Any, weight: Any, init_score: Any) -> Part:
    """Put the pieces of a partition together."""
    return Part(X=X, y=y, weight=weight, init_score=init_score)


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
    """Answer questions from the rows as they come, which are dropped again."""
    rows: Any = reader.read(part, site)
    for order in orders:
        rows = order(rows)
    return [
        Partial(
            release=release + number,
            counted=frozenset([site.partition]),
            answer=query.count(rows) if hasattr(query, "count") else query.evaluate(rows),
        )
        for number, query in enumerate(queries)
    ]


def merge_lists(*partials: list[Partial]) -> list[Partial]:
    """Add up the answers to each of several questions."""
    return [merge(*own) for own in zip(*partials, strict=True)]


@np.errstate(all="ignore")
def hold(part: Part, reader: Reader, site: Site, orders: Sequence[Order]) -> Cell:
    """Bin a partition; nothing else of it is kept."""
    rows: Any = reader.read(part, site)
    for order in orders:
        rows = order(rows)
    # Trees of split nodes are grown from dense bins where rows are in several sites.
    if isinstance(rows, BoostingState):
        rows.bins = dense_matrix(rows.bins)
    return Cell(site.partition, rows, len(orders))


@np.errstate(all="ignore")
def ask(cells: Sequence[Cell], packed: bytes) -> Partial:
    """Let the partitions of a worker carry out orders and answer a question, as one sum."""
    message = WorkerMessage.unpack(packed)
    partials = []
    for cell in cells:
        answer = cell.evaluate(message, _threads())
        known = answer is not None
        partials.append(
            Partial(
                release=message.release,
                counted=frozenset([cell.partition] if known else []),
                answer=answer,
                behind={} if known else {cell.partition: cell.position},
            )
        )
    return merge(*partials)


def _threads() -> int:
    """Return how many threads this worker has: it works on one partition at a time."""
    from distributed import get_worker

    return int(get_worker().state.nthreads)
