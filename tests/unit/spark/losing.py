"""A program of its own, as Spark has one context a process: a fit whose executors are killed.

python -m tests.unit.spark.losing FOLDER
"""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from contextlib import suppress
from pathlib import Path

from pyspark.sql import SparkSession

from dpboost import DPBoostRegressor
from dpboost.privacy.ledger import Ledger
from dpboost.spark import SparkDPBoostRegressor
from tests.unit.spark.rows import LABELS, NAMES, SCHEMA, on_spark, table

ROOT = str(Path(__file__).resolve().parents[3])
ROUNDS = 6
OPTIONS = {
    "schema": SCHEMA | LABELS["regression"],
    "n_estimators": ROUNDS,
    "noise_seed": 3,
    "trees_per_ensemble": 2,
    "verbosity": -1,
}


def mark(folder):
    """Return a map of batches that notes which processes read them, and how often."""

    def noting(batches):
        executor = os.getppid()
        while "CoarseGrained" not in Path(f"/proc/{executor}/cmdline").read_text():
            executor = parent_of(executor)
        (folder / f"{executor}-{len(list(folder.iterdir()))}").touch()
        yield from batches

    return noting


def parent_of(process):
    """Return the number of the process that has started another."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def descendants(process):
    """Return the processes that another has started, and those that they have started."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parents.setdefault(parent_of(path.name), []).append(int(path.name))
    found, left = [], [process]
    while left:
        left = [child for each in left for child in parents.get(each, ())]
        found += left
    return found


class Kill:
    """Kill the executor of a partition after some rounds."""

    def __init__(self, folder, rounds):
        self.folder = folder
        self.rounds = rounds
        self.killed = []

    def __call__(self, env):
        if env.iteration in self.rounds:
            own = {int(path.name.split("-")[0]) for path in self.folder.iterdir()}
            executor = max(own - set(self.killed))
            # Python workers would outlive it for some rounds.
            for process in (*descendants(executor), executor):
                os.kill(process, signal.SIGKILL)
            self.killed.append(executor)


def main():
    """Print what became of the fit."""
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.executorEnv.PYTHONPATH", ROOT)
        # Spark 3.5 hands workers of killed tasks to the next ones, which fail with them.
        .config("spark.python.worker.reuse", "false")
        .config("spark.stage.maxConsecutiveAttempts", "12")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    counted = []
    release = Ledger.release
    Ledger.release = lambda *each, **more: counted.append(1) or release(*each, **more)
    rows = table()
    labels = rows.column("regression").to_numpy()
    local = DPBoostRegressor(**OPTIONS).fit(rows.select(NAMES), labels)
    n_releases = len(counted)
    own = SparkDPBoostRegressor(featuresCols=NAMES, labelCol="regression", **OPTIONS)
    (folder / "killed").mkdir()
    frame = on_spark(session, 2)
    kill = Kill(folder / "killed", [1, 4])
    model = own.fit(frame.mapInArrow(mark(kill.folder), frame.schema), callbacks=[kill])
    found = {
        "killed": len(set(kill.killed)),
        "readings": len(list(kill.folder.iterdir())),
        "same text": model.to_local().booster_.model_to_string()
        == local.booster_.model_to_string(),
        "same report": model.privacy_report_.to_dict() == local.privacy_report_.to_dict(),
        "releases": [n_releases, len(counted) - n_releases],
    }
    print(json.dumps(found))
    session.stop()


if __name__ == "__main__":
    main()
