"""One fit on a cluster of this machine, measured: ``python -m benchmarks.cluster.one '{...}'``."""

from __future__ import annotations

import json
import os
import pickle
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

METHODS = ("best", "dpboost", "lightgbm")
_SECONDS_BETWEEN = 0.1


@dataclass(frozen=True, kw_only=True)
class Run:
    """What is fitted, on what.

    Parameters
    ----------
    method : {"best", "dpboost", "lightgbm"}
    rows, features : int
        Of the table, generated in partitions.
    partition : int
        Rows of a partition.
    workers : int
        Processes with one thread each.
    rounds : int
    memory : str
        Limit of each worker, as Dask reads it.
    persist : bool
        Whether the partitions are kept in memory as floats, rather than generated again.
    """

    method: str
    rows: int
    features: int
    partition: int
    workers: int
    rounds: int
    memory: str = "4GB"
    persist: bool = False


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What it took.

    Parameters
    ----------
    seconds : float
        Of the whole fit.
    round_seconds : float
        Median of the rounds after the first ones.
    round_cpu : float
        Seconds in which workers were busy, all together; what else runs on the machine does not
        change it much.
    least_seconds : float
        The fastest round: what a message takes where little else runs.
    client_cpu : float
        Processor time of client and scheduler, a round; 0 for LightGBM, whose workers need none.
    round_bytes : float
        On the loopback interface, median likewise: all that processes say to each other.
    message_bytes, sum_bytes : float
        What a worker is sent in a round, and what it returns, median likewise; 0 for LightGBM.
    peak_bytes : int
        Largest sum of the resident sizes of client, scheduler and workers during the fit.
    worker_bytes : int
        Largest resident size of all workers together.
    idle_bytes : int
        Of the workers together, once they have imported everything.
    """

    seconds: float
    round_seconds: float
    round_cpu: float
    least_seconds: float
    client_cpu: float
    round_bytes: float
    message_bytes: float
    sum_bytes: float
    peak_bytes: int
    worker_bytes: int
    idle_bytes: int


def generated(part: int, n_rows: int, n_features: int) -> np.ndarray:
    """Return a partition: features between -1 and 1, and a label in the last column."""
    random = np.random.default_rng(part)
    rows = random.random((n_rows, n_features + 1), dtype=np.float32)
    rows *= 2
    rows -= 1
    rows[:, -1] = rows[:, 0] + rows[:, 1] * rows[:, 2] + rows[:, -1] / 2
    return rows


def collections(run: Run) -> tuple[Any, Any]:
    """Return the rows and labels of a run as Dask arrays."""
    import dask
    import dask.array as da

    parts = []
    for part, first in enumerate(range(0, run.rows, run.partition)):
        n_rows = min(run.partition, run.rows - first)
        table = dask.delayed(generated, pure=True)(part, n_rows, run.features)
        parts.append(da.from_delayed(table, (n_rows, run.features + 1), np.float32))
    whole = da.concatenate(parts)
    return whole[:, : run.features], whole[:, run.features]


class Watcher:
    """Looks at the sizes of the processes of a fit until it is reported to stop."""

    def __init__(self, workers: list[int]) -> None:
        import psutil

        self._workers = [psutil.Process(number) for number in workers]
        self._others = psutil.Process()
        self.worker_bytes = self.peak_bytes = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def idle(self) -> int:
        """Return the resident size of all workers now."""
        return sum(process.memory_info().rss for process in self._workers)

    def busy(self) -> float:
        """Return the seconds of processor time of all workers so far."""
        times = [process.cpu_times() for process in self._workers]
        return sum(each.user + each.system for each in times)

    def _look(self) -> None:
        while not self._end.wait(_SECONDS_BETWEEN):
            sizes = {
                each.pid: each.memory_info().rss
                for each in (self._others, *self._others.children(recursive=True), *self._workers)
                if each.is_running()
            }
            held = sum(sizes.get(worker.pid, 0) for worker in self._workers)
            self.worker_bytes = max(self.worker_bytes, held)
            self.peak_bytes = max(self.peak_bytes, sum(sizes.values()))


def loopback() -> int:
    """Return the bytes that went over the loopback interface so far."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, counters = line.partition(":")
        if name.strip() == "lo":
            return int(counters.split()[0])
    raise RuntimeError("there is no loopback interface")


def measure(run: Run) -> Measured:
    """Make a cluster, fit once and return what it took."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=run.workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=run.memory,
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        workers = list(client.run(_ready).values())
        X, y = collections(run)
        if run.persist or run.method == "lightgbm":
            X, y = _kept(client, X, y)
        watcher = Watcher(workers)
        idle = watcher.idle()
        fit = _fit_lightgbm if run.method == "lightgbm" else _fit_private
        with watcher:
            start = time.perf_counter()
            figures = fit(run, client, X, y, watcher)
            seconds = time.perf_counter() - start
        return Measured(
            seconds=seconds,
            **figures,
            peak_bytes=watcher.peak_bytes,
            worker_bytes=watcher.worker_bytes,
            idle_bytes=idle,
        )


def _ready() -> int:
    """Import what a fit needs, and return the number of the process."""
    import lightgbm.dask  # noqa: F401

    import dpboost.dask  # noqa: F401

    return os.getpid()


def _kept(client: Any, X: Any, y: Any) -> tuple[Any, Any]:
    from distributed import wait

    kept = client.persist([X, y])
    wait(kept)
    return kept[0], kept[1]


def _fit_private(run: Run, client: Any, X: Any, y: Any, watcher: Watcher) -> dict[str, float]:
    """Fit a private model, and look at the clock and the interface after every round."""
    from dpboost.cluster import partition_state
    from dpboost.dask import DaskDPBoostRegressor, dask_rows

    marks: list[tuple[float, float, int, float]] = []
    messages: list[int] = []
    sums: list[int] = []
    _record(partition_state.WorkerMessage, "pack", lambda packed: messages.append(len(packed)))
    _record(
        dask_rows.DaskRows,
        "_round",
        lambda partial: sums.append(len(pickle.dumps(partial.answer))),
    )
    schema = {"bounds": dict.fromkeys(range(run.features), (-1, 1)), "label_bounds": (-2.5, 2.5)}
    model = DaskDPBoostRegressor(
        recipe=run.method,
        preset="paper" if run.method == "dpboost" else None,
        schema=schema,
        n_estimators=run.rounds,
        random_state=0,
        verbosity=-1,
        client=client,
    )

    def look(_: Any) -> None:
        marks.append((time.perf_counter(), watcher.busy(), loopback(), time.process_time()))

    model.fit(X, y, callbacks=[look])
    first = len(marks) // 4
    times, busy, octets, own = np.diff(np.array(marks), axis=0)[first:].T
    a_round = len(messages) // run.rounds  # questions of a round
    return {
        "round_seconds": statistics.median(times),
        "round_cpu": statistics.mean(busy),
        "least_seconds": min(times),
        "client_cpu": statistics.mean(own),
        "round_bytes": statistics.median(octets),
        "message_bytes": a_round * statistics.mean(messages[a_round:]),
        "sum_bytes": a_round * statistics.mean(sums[a_round:]),
    }


class Clock:
    """A callback of LightGBM on a worker, which writes down when rounds end.

    Parameters
    ----------
    folder : str
        Every worker has a file of its own there.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, env: Any) -> None:
        """Write one line: the time, the processor time of the worker, the loopback counter."""
        with (Path(self.folder) / str(os.getpid())).open("a") as file:
            file.write(f"{time.perf_counter()} {time.process_time()} {loopback()}\n")

    def rounds(self) -> np.ndarray:
        """Return what later rounds took: seconds, processor time of all workers, bytes."""
        files = [np.loadtxt(path) for path in Path(self.folder).iterdir()]
        joined = np.column_stack(
            [
                join([each[:, position] for each in files], axis=0)
                for position, join in enumerate((np.max, np.sum, np.max))
            ]
        )
        return np.diff(joined, axis=0)[len(joined) // 4 :]


def _fit_lightgbm(run: Run, client: Any, X: Any, y: Any, watcher: Watcher) -> dict[str, float]:
    """Fit LightGBM, whose workers look at the clock after every round."""
    from lightgbm.dask import DaskLGBMRegressor

    with tempfile.TemporaryDirectory() as folder:
        clock = Clock(folder)
        model = DaskLGBMRegressor(n_estimators=run.rounds, verbosity=-1, client=client)
        model.fit(X, y, callbacks=[clock])
        seconds, busy, octets = clock.rounds().T
    return {
        "round_seconds": statistics.median(seconds),
        "round_cpu": statistics.mean(busy),
        "least_seconds": min(seconds),
        "client_cpu": 0.0,
        "round_bytes": statistics.median(octets),
        "message_bytes": 0.0,
        "sum_bytes": 0.0,
    }


def _record(kind: Any, name: str, note: Callable[[Any], None]) -> None:
    """Have a method of a class note what it returns."""
    method = getattr(kind, name)

    def noted(*arguments: Any) -> Any:
        found = method(*arguments)
        note(found)
        return found

    setattr(kind, name, noted)


def main(arguments: list[str]) -> int:
    """Measure the run that is described on the command line, and print what it took."""
    print(json.dumps(asdict(measure(Run(**json.loads(arguments[0]))))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
