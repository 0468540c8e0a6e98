"""Rows in partitions of a Spark DataFrame, with all rounds in one barrier stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from uuid import uuid4

import pyspark
from pyspark.ml.functions import vector_to_array
from pyspark.sql import functions

from dpboost._utils.validation import InvalidParameterError
from dpboost.cluster.partial_sums import Partial, merge
from dpboost.cluster.partition_reader import PartFacts, Reader, Site
from dpboost.cluster.partitioned_fit import fit_partitions, reader_of
from dpboost.cluster.partitioned_rows import FitFailedError, PartitionedRows, Question
from dpboost.privacy.queries import RowHandle
from dpboost.spark.task import Columns, Greeting, Work
from dpboost.spark.task_hub import TaskHub
from dpboost.training.fitted_model import FittedModel
from dpboost.training.inputs import GivenRows
from dpboost.training.request import FitRequest

#: Setting of a Spark session: the port at which tasks reach the driver, where not any is open.
PORT = "spark.dpboost.port"
_NOTHING = "nothing int"
_SECONDS_TO_GO_HOME = 5.0


class SparkRows(PartitionedRows):
    """Rows that tasks of a barrier stage hold in their Python workers.

    If an executor is lost, Spark retries the whole stage. Its tasks reload their partitions,
    reconnect to the hub, and receive all commands again.
    """

    def __init__(self, hub: TaskHub, sites: Sequence[Site]) -> None:
        super().__init__(sites)
        self._hub = hub

    def _round(self, question: Question, waiting: set[int]) -> Partial:
        """Put a query once to each task that holds rows."""
        nothing = Partial(release=question.release, counted=frozenset(), answer=None)
        found = self._hub.ask(sorted(waiting), lambda partition: question.packed([partition]))
        return merge(nothing, *found)

    def _find_again(self) -> None:
        """Do nothing: the hub waits until a task is back."""


def fit_dataframe(
    frame: Any, columns: Columns, given: GivenRows, request: FitRequest
) -> FittedModel:
    """Fit a model to the rows of a Spark DataFrame.

    They are read twice: once to be checked, and once to be held. ``columns`` says which of its
    columns are what, ``given`` is what a local fit gets.

    Privacy
    -------
    As `fit_partitions`. Rows and sums come neither into results of Spark's jobs nor into its logs.
    """
    request = request.checked()
    reader = reader_of(given, request)
    selected = _selected(frame, columns)
    facts = _look(selected, columns, reader)
    _check_slots(frame.sparkSession, max(facts, default=0) + 1)
    nobody = PartFacts.of_no_rows()
    with ExitStack() as stack:

        def held(reader: Reader, sites: list[Site]) -> RowHandle:
            own = {site.partition: site for site in sites}

            def greeting(partition: int) -> Greeting:
                return Greeting(reader=reader, site=own.get(partition), looks=False)

            hub = stack.enter_context(_held(selected, columns, greeting))
            return RowHandle(SparkRows(hub, sites))

        every = [facts.get(partition, nobody) for partition in range(max(facts, default=0) + 1)]
        return fit_partitions(every, reader, request, held)


def _look(selected: Any, columns: Columns, reader: Reader) -> dict[int, PartFacts]:
    """Have every partition checked where it lies; those without rows may say nothing."""
    greeting = Greeting(reader=reader, site=None, looks=True)
    with _hub(selected.sparkSession, lambda _: greeting) as hub:
        try:
            selected.mapInArrow(Work(hub.address, columns), _NOTHING).collect()
        except Exception as error:
            hub.fail(_why(error))
        hub.check()
        return {partition: facts for partition, facts in hub.first.items() if facts is not None}


def _selected(frame: Any, columns: Columns) -> Any:
    """Return the columns that tasks get, the features first."""
    features = [column_of(name) for name in columns.features]
    if columns.vector:
        features = [vector_to_array(features[0]).alias("features")]
    beside = [column_of(name).alias(f"_{own}") for own, name in columns.beside.items()]
    return frame.select(*features, *beside)


def column_of(name: str) -> Any:
    """Return a column by its very name, which may have dots."""
    escaped = name.replace("`", "``")
    return functions.col(f"`{escaped}`")


def _check_slots(session: Any, n_partitions: int) -> None:
    """Raise if the cluster cannot run a task for each partition at once."""
    if session.sparkContext.getConf().get("spark.dynamicAllocation.enabled", "false") == "true":
        raise InvalidParameterError(
            "Spark runs no barrier stage while it changes the number of executors: start the "
            "session with spark.dynamicAllocation.enabled=false."
        )
    context = session.sparkContext._jsc.sc()
    profile = context.resourceProfileManager().defaultResourceProfile()
    slots = context.maxNumConcurrentTasks(profile)
    if n_partitions > slots:
        raise InvalidParameterError(
            f"The DataFrame has {n_partitions} partitions, and the cluster runs {slots} tasks at "
            "once: all of them take part in every round. Give it more cores, write the rows to "
            f"fewer files, or use frame.repartition({slots}).persist()."
        )


def _hub(session: Any, greeting: Callable[[int], Greeting]) -> TaskHub:
    """Return a hub where the tasks of a session reach the driver."""
    settings = session.sparkContext.getConf()
    host = settings.get("spark.driver.host", "localhost")
    bind = settings.get("spark.driver.bindAddress", host)
    return TaskHub(host, bind, int(settings.get(PORT, "0")), greeting)


@contextmanager
def _held(
    selected: Any, columns: Columns, greeting: Callable[[int], Greeting]
) -> Iterator[TaskHub]:
    """Have tasks hold all partitions until the hub is left."""
    context = selected.sparkSession.sparkContext
    tag = f"dpboost-{uuid4().hex}"
    with _hub(selected.sparkSession, greeting) as hub:
        run = selected.mapInArrow(Work(hub.address, columns), _NOTHING, barrier=True)

        def work() -> None:
            context.addJobTag(tag)
            try:
                # A barrier stage that is the last one is not tried again: a shuffle comes last.
                run.repartition(1).collect()
            except Exception as error:
                hub.fail(_why(error))

        thread = pyspark.InheritableThread(target=work, daemon=True)
        thread.start()
        try:
            yield hub
        finally:
            hub.close()
            # Tasks go home at once; those that Spark has just begun to try again need not begin.
            thread.join(_SECONDS_TO_GO_HOME)
            if thread.is_alive():
                context.cancelJobsWithTag(tag)
                thread.join()


def _why(error: Exception) -> Exception:
    """Return the message to the user about an error of Spark, whose own words may show cells."""
    if "No module named 'dpboost'" in str(error):
        return InvalidParameterError(
            "The Python of Spark's workers has no dpboost: install the same version there, or set "
            "PYSPARK_PYTHON to a Python that has it before the session starts."
        )
    if "SPARK-24820" in str(error):
        return InvalidParameterError(
            "Spark runs no barrier stage on a DataFrame that coalesce(), union() or limit() has "
            "made: use frame.repartition(n).persist(), or write the rows to Parquet first."
        )
    return FitFailedError(
        f"The fit failed: Spark gave its job up ({type(error).__name__}), and its log has the "
        "reason. All releases remain charged. Give executors more memory, or partitions fewer "
        "rows."
    )
