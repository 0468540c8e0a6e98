"""The Spark task of a partition, which keeps its rows and answers the hub."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import cloudpickle
import numpy as np

from dpboost._utils.threads import Threads
from dpboost._utils.validation import InvalidParameterError
from dpboost.cluster.partition_reader import OTHER_ROWS, Part, Reader, Site
from dpboost.cluster.partition_state import Cell, WorkerMessage, answer
from dpboost.cluster.partitioned_rows import FitFailedError
from dpboost.data.containers import unpack
from dpboost.spark.task_hub import HubAddress, receive, send


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Roles of the columns of a DataFrame, by name."""

    features: tuple[str, ...]
    #: Whether the only one of them holds vectors.
    vector: bool
    label: str
    weight: str | None = None
    user: str | None = None

    @property
    def beside(self) -> dict[str, str]:
        """Columns that are no features, in their order."""
        own = {"y": self.label, "weight": self.weight, "user_ids": self.user}
        return {name: column for name, column in own.items() if column is not None}

    def part(self, batches: Iterable[Any]) -> Part | None:
        """Return the rows of a partition, None if it has none.

        The batches have the features first.
        """
        import pyarrow as pa

        listed = list(batches)
        if not any(batch.num_rows for batch in listed):
            return None
        table = pa.Table.from_batches(listed)
        n_features = len(self.features)
        beside = table.columns[n_features:]
        own = {
            # Whole numbers stay so where some are missing: ids are compared between partitions.
            name: column.to_pandas(integer_object_nulls=True).to_numpy()
            for name, column in zip(self.beside, beside, strict=True)
        }
        features = table.select(list(range(n_features)))
        return Part(X=vectors(features.column(0)) if self.vector else unpack(features), **own)


def vectors(column: Any) -> np.ndarray:
    """Return a column of lists of numbers as an array."""
    column = column.combine_chunks()
    lengths = column.value_lengths().to_numpy(zero_copy_only=False)
    values = column.flatten().to_numpy(zero_copy_only=False)
    if column.null_count or (lengths != lengths[0]).any():
        raise InvalidParameterError(
            "The vectors of featuresCol must all be there and be of one length: handleInvalid="
            "'keep' of a VectorAssembler writes missing numbers as NaN, which are read."
        )
    return values.reshape(len(column), -1)


@dataclass(frozen=True, kw_only=True, repr=False)
class Greeting:
    """The first message to a task."""

    reader: Reader
    #: What its rows were when they were first read, None before they are.
    site: Site | None
    #: Whether it is to look at them, and to end there.
    looks: bool


@dataclass(frozen=True)
class Work:
    """The function that Spark runs for each partition; it returns nothing to Spark.

    Privacy
    -------
    Rows stay in the memory of the Python worker and are gone when it returns. What leaves goes to
    the driver alone, through the hub; an error that Spark would write into its logs goes there too.
    """

    address: HubAddress
    columns: Columns

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Hold the rows of a partition until the hub says that the fit is over."""
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        with self.address.connect(context.partitionId()) as link:
            refused: Exception
            try:
                self._talk(link, batches, context.partitionId(), context.cpus())
                return iter(())
            except InvalidParameterError as error:
                refused = InvalidParameterError(str(error))
            except Exception as error:
                # Its words and its trace may show cells.
                message = f"The fit failed: a task of Spark ended with {type(error).__name__}."
                refused = FitFailedError(message)
            send(link, refused)
            # The driver ends the connection once it knows; Spark is to hear of it later.
            with suppress(OSError):
                receive(link)
        # Rows that were cut short, as this task was to end in any case, come whole the next time.
        raise RuntimeError("This task cannot continue; the driver has the reason.")

    def _talk(self, link: Any, batches: Iterator[Any], partition: int, n_threads: int) -> None:
        greeting: Greeting = cloudpickle.loads(receive(link))
        part = self.columns.part(batches)
        if greeting.looks:
            return send(link, None if part is None else greeting.reader.look(part))
        if part is None or greeting.site is None:
            if part is not None or greeting.site is not None:
                raise InvalidParameterError(OTHER_ROWS)
            return send(link, None)
        rows = greeting.reader.read(part, greeting.site)
        cell = Cell(partition, replace(rows, threads=Threads(n_threads)), 0)
        del part, rows
        send(link, None)
        while packed := receive(link):
            send(link, answer(cell, WorkerMessage.unpack(packed)))
        return None
