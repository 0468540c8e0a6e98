"""Time, memory and bytes of a federated fit of many parties, all in one process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.errors import BenchmarkError
from benchmarks.federated.traffic import weighed
from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, pick
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.memory import peak
from benchmarks.summary import table
from dpboost.federated import Agreement, FederatedBoostingClassifier, Party

EPSILON = 1.0
TEST_ROWS = 20_000


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large a fit is.

    Parameters
    ----------
    parties : int
    rows : int
        Of each party.
    features : int
    rounds : int
    """

    parties: int
    rows: int
    features: int
    rounds: int

    def __str__(self) -> str:
        return f"{self.parties} x {self.rows} x {self.features}, {self.rounds} rounds"


SIZES = (
    Size(parties=5, rows=20_000, features=50, rounds=400),
    Size(parties=50, rows=20_000, features=50, rounds=400),
)
QUICK = (Size(parties=5, rows=2_000, features=10, rounds=20),)


def rows_of(size: Size, seed: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose class depends on ten columns at most."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, size.features))
    score = (X[:, :10] - 0.5) @ np.linspace(1, 3, X[:, :10].shape[1]) + 4 * X[:, 0] * X[:, 1]
    return X, (score + rng.normal(0, 0.5, n_rows) > 1.0).astype(int)


def parties_of(size: Size, agreement: Agreement) -> list[Party]:
    """Return all parties, each with rows of its own."""
    return [
        Party(index, *rows_of(size, 1 + index, size.rows), agreement=agreement)
        for index in range(size.parties)
    ]


def fit(size: Size) -> dict[str, float]:
    """Train over parties in this process, and return what it took."""
    names = [f"x{column}" for column in range(size.features)]
    model: Any = FederatedBoostingClassifier(
        epsilon=EPSILON,
        schema={"bounds": dict.fromkeys(names, (0, 1)), "classes": [0, 1]},
        n_estimators=size.rounds,
        random_state=0,
        verbosity=0,
    )
    agreement = model.agreement(size.parties, names)
    parties = parties_of(size, agreement)
    start, busy = time.perf_counter(), time.process_time()
    model, exchanges = weighed(agreement, parties)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    most = peak()
    down, up = np.sum(exchanges, axis=0).tolist()
    X, y = rows_of(size, 0, TEST_ROWS)
    return {
        "seconds": seconds,
        "CPU seconds": busy,
        "peak MB": float(most),
        "exchanges": float(len(exchanges)),
        "bytes down": float(down),
        "bytes up": float(up),
        "AUC": float(roc_auc_score(y, model.predict_proba(X)[:, 1])),
    }


def measure(size: Size) -> list[Result]:
    """Train in a process of its own."""
    code = (
        "import json; from benchmarks.federated.scale import Size, fit; "
        f"print(json.dumps(fit(Size(**{asdict(size)!r}))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchmarkError(f"{size}: {done.stderr.strip().splitlines()[-1]}")
    found = asdict(size) | json.loads(done.stdout.strip().splitlines()[-1])
    return [
        Result(data=str(size), method="best", epsilon=EPSILON, measure=name, value=float(value))
        for name, value in found.items()
    ]


def plan(request: Request) -> Plan:
    """Return every size as a unit."""
    versions = dpboost_recipes.versions()
    units = [
        Unit(
            name=str(size),
            settings=digest({**asdict(size), "versions": versions}),
            measure=partial(measure, size),
        )
        for size in (QUICK if request.quick else SIZES)
    ]
    return Plan(units=units)


def body(results: Results) -> list[str]:
    """Return the table."""
    lines = []
    for name in dict.fromkeys(row.data for row in results.rows):
        one = {row.measure: row.value for row in results.rows if row.data == name}
        rounds = one["rounds"]
        lines.append(
            [
                f"{one['parties']:.0f}",
                f"{one['rows']:,.0f} x {one['features']:.0f}",
                f"{rounds:.0f}",
                f"{one['seconds'] / 60:.1f}",
                f"{one['CPU seconds'] / 60:.1f}",
                f"{one['peak MB'] / 1000:.2f}",
                f"{one['exchanges'] / rounds:.2f}",
                f"{one['bytes down'] / rounds / 1000:.1f}",
                f"{one['bytes up'] / rounds / 1000:.1f}",
                f"{one['AUC']:.3f}",
            ]
        )
    header = ["parties", "rows of each", "rounds", "fit (min)", "of a CPU (min)", "GB at most"]
    header += ["messages a round", "KB to each party a round", "KB from each party a round", "AUC"]
    return [
        f"Recipe best with its defaults, epsilon {EPSILON:g}, delta 1e-6, two classes, one "
        "colluder. All parties are threads of one process, and each runs the whole fit: between "
        "institutions they work on their own machines. A round takes one message of each party, "
        "with its part of the sums, and one reply, with the sums. "
        "Rows of the parties are in memory as float64, and count in the memory.",
        "",
        *table(header, lines),
    ]


def finding(results: Results) -> str:
    """Return what the fit with most parties takes."""
    largest = max(pick(results.rows, measure="parties"), key=lambda row: row.value).data
    one = {row.measure: row.value for row in pick(results.rows, data=largest)}
    return (
        f"A fit of {one['parties']:.0f} parties of {one['rows']:,.0f} rows takes "
        f"{one['seconds'] / 60:.1f} minutes and {one['peak MB'] / 1000:.2f} GB in one process."
    )


FEDERATED_SCALE = Run(
    name="federated-scale",
    title="Time and memory of federated training with many parties",
    group=Group.FEDERATED,
    description="Federated fits of many parties: time, memory, and the bytes of each party in "
    "each round. Fifty parties are to take at most 15 minutes and 3 GB on an idle machine.",
    plan=plan,
    body=body,
    finding=finding,
    timed=True,
)
