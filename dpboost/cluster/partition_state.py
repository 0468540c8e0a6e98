"""The rows of a partition on a worker, and the commands and queries that they receive."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import cloudpickle
import numpy as np

from dpboost._utils.threads import Threads
from dpboost.cluster.partial_sums import Answer, Partial
from dpboost.data.sparse import dense_matrix
from dpboost.privacy.queries import CategoryCountQuery, SumQuery, carry_out
from dpboost.privacy.randomness import RowCoins
from dpboost.rows.boosting_state import BoostingState

#: What a partition is told: from its rows to their next state.
Order = Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DealByKey:
    """The command to assign each row to one round of an ensemble by a secret draw."""

    #: Public chance of each round.
    shares: tuple[Fraction, ...]
    #: Of the coins; stays on the private side.
    key: bytes

    def __call__(self, rows: BoostingState) -> BoostingState:
        """Assign the rows of one partition."""
        rows.deal(self.shares, RowCoins(self.key))
        return rows


def bin_rows(rows: Any, command: str, given: Mapping[str, Any]) -> Any:
    """Put the rows of a partition into bins, by one of the commands that do so."""
    binned = carry_out(rows, command, given)
    # Trees of split nodes are grown from dense bins where rows are in several sites.
    if isinstance(binned, BoostingState):
        binned.bins = dense_matrix(binned.bins)
    return binned


def answer_again(rows: Any, query: SumQuery) -> Any:
    """Let rows that start again answer, to no one, what they prepared for in answering it."""
    query.evaluate(rows)
    return rows


def answer_of(rows: Any, query: SumQuery | CategoryCountQuery) -> Answer:
    """Return the sum or the counts of the rows of one partition."""
    return query.count(rows) if hasattr(query, "count") else query.evaluate(rows)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class WorkerMessage:
    """The commands and queries that a worker receives."""

    #: Number of the query.
    release: int
    #: Number of the first order.
    first: int
    #: From that one to the last.
    orders: Sequence[Order]
    query: SumQuery | CategoryCountQuery
    #: Whether the query is itself an order, the next one.
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
    """The rows of a partition, and the number of executed commands.

    The number tells which commands are missing after the rows were read again or copied on another
    worker. ``position`` is the number of orders that were carried out.

    Privacy
    -------
    Private; stays on workers.
    """

    def __init__(self, partition: int, rows: Any, position: int) -> None:
        self.partition = partition
        self.position = position
        self._rows = rows
        self._whole = True
        self._lock = threading.Lock()

    def use(self, n_threads: int) -> None:
        """Have kernels use so many threads from now on; rows must be in bins."""
        with self._lock:
            self._rows.threads = Threads(n_threads)

    def evaluate(self, message: WorkerMessage) -> Partial:
        """Carry out what is new among the orders of a message, and answer its query.

        Returns
        -------
        Partial
            That counts nothing where orders before those of the message are missing.
        """
        with self._lock:
            if not self._whole:
                raise RuntimeError("A partition failed during a command.")
            if self.position < message.first:
                return Partial(
                    release=message.release,
                    counted=frozenset(),
                    answer=None,
                    behind={self.partition: self.position},
                )
            self._whole = False
            for order in message.orders[self.position - message.first :]:
                self._rows = order(self._rows)
                self.position += 1
            answer = answer_of(self._rows, message.query)
            if message.remembered:
                self.position = message.first + len(message.orders) + 1
            self._whole = True
            return Partial(
                release=message.release, counted=frozenset([self.partition]), answer=answer
            )

    def __getstate__(self) -> dict[str, Any]:
        # Never half of an order: a copy waits for its end.
        with self._lock:
            return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())


@np.errstate(all="ignore")
def answer(cell: Cell, message: WorkerMessage) -> Partial:
    """Let a partition answer, silently: a numpy warning about an odd cell would reveal it."""
    return cell.evaluate(message)
