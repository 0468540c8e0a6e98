"""A federated fit over Flower: time, bytes and memory of processes on this machine."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.errors import BenchmarkError
from benchmarks.federated import process_watch
from benchmarks.federated.flower_federation import FlowerFederation, needs_flower
from benchmarks.federated.process_watch import ProcessWatch
from benchmarks.federated.scale import EPSILON, Size, rows_of
from benchmarks.federated.traffic import weighed
from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, pick
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.summary import table
from dpboost.federated import FederatedBoostingClassifier, Identity

SIZES = (Size(parties=5, rows=20_000, features=50, rounds=50),)
QUICK = (Size(parties=2, rows=200, features=3, rounds=1),)
NOISE_SEED = 11
# A message takes seconds, and more where the processors are busy.
_PATIENCE = 3 * 3600.0

#: What each program is, and the measure of its memory.
PROGRAMS = {
    "hospitals.warm flower-superlink": "the link, or a fork that it starts",
    "hospitals.warm flower-supernode": "the node of a party, or a fork that it starts",
    "hospitals.party work": "the party",
}
_TOGETHER = "all together"


def prepare(size: Size, folder: Path) -> None:
    """Write agreement, keys and rows, as the example does."""
    names = [f"x{column}" for column in range(size.features)]
    identities = [Identity() for _ in range(size.parties)]
    terms: Any = FederatedBoostingClassifier(
        epsilon=EPSILON,
        schema={"bounds": dict.fromkeys(names, (0, 1)), "classes": [0, 1]},
        n_estimators=size.rounds,
        random_state=0,
        noise_seed=NOISE_SEED,
    )
    for index, identity in enumerate(identities):
        X, y = rows_of(size, 1 + index, size.rows)
        np.savez(folder / f"rows{index}.npz", X=X, y=y)
        (folder / f"identity{index}").write_bytes(identity.secret)
    agreement = terms.agreement(size.parties, names, [each.public for each in identities])
    (folder / "agreement.json").write_text(agreement.to_json(), "utf-8")


def fit_here(federation: FlowerFederation, path: Path) -> tuple[str, list[tuple[int, int]]]:
    """Return the model text of the same fit in this process, and the bytes of its messages."""
    model, exchanges = weighed(federation.agreement, federation.parties())
    model.booster_.save_model(str(path))
    return path.read_text("utf-8"), exchanges


def measure(size: Size) -> list[Result]:
    """Train over Flower, and once more in this process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = folder / "work"
        work.mkdir()
        prepare(size, work)
        federation = FlowerFederation(folder, work)
        try:
            federation.start()
            with ProcessWatch(federation.processes) as watch:
                start = time.perf_counter()
                text = federation.run(_PATIENCE)
                seconds = time.perf_counter() - start
                busy = watch.cpu_seconds()
            carried = [(relay.down, relay.up) for relay in federation.relays]
        finally:
            federation.stop()
        start = time.perf_counter()
        expected, exchanges = fit_here(federation, folder / "expected.txt")
        seconds_here = time.perf_counter() - start
    down, up = np.sum(exchanges, axis=0).tolist()
    found = asdict(size) | {
        "seconds": seconds,
        "CPU seconds": busy,
        "seconds in one process": seconds_here,
        "exchanges": len(exchanges),
        "bytes down": down,
        "bytes up": up,
        "bytes down by Flower": max(one for one, _ in carried),
        "bytes up by Flower": max(one for _, one in carried),
        "same text": text == expected,
    }
    found |= {f"peak MB of {kind}": watch.peaks[program] for program, kind in PROGRAMS.items()}
    found[f"peak MB of {_TOGETHER}"] = watch.together
    return results_of(size, found)


def results_of(size: Size, found: Mapping[str, float]) -> list[Result]:
    """Return a result for each measure."""
    return [
        Result(data=str(size), method="best", epsilon=EPSILON, measure=measured, value=float(value))
        for measured, value in found.items()
    ]


def plan(request: Request) -> Plan:
    """Return every size as a unit.

    Raises
    ------
    BenchmarkError
        Where Flower is not there, or nothing tells what processes take.
    """
    needs_flower()
    if not process_watch.PROC.is_dir():
        raise BenchmarkError("federated-flower reads the memory of processes in /proc: use Linux.")
    versions = {**dpboost_recipes.versions(), "flwr": version("flwr")}
    units = [
        Unit(
            name=str(size),
            settings=digest({**asdict(size), "versions": versions}),
            measure=partial(measure, size),
        )
        for size in (QUICK if request.quick else SIZES)
    ]
    return Plan(units=units, facts={"flower": versions["flwr"]})


def body(results: Results) -> list[str]:
    """Return the tables."""
    fits, memory = [], []
    for name in dict.fromkeys(row.data for row in results.rows):
        one = {row.measure: row.value for row in results.rows if row.data == name}
        per_round = [
            one[f"bytes {way}{by}"] / one["rounds"] / 1000
            for by in ("", " by Flower")
            for way in ("down", "up")
        ]
        fits.append(
            [
                f"{one['parties']:.0f}",
                f"{one['rows']:,.0f} x {one['features']:.0f}",
                f"{one['rounds']:.0f}",
                f"{one['seconds']:.0f}",
                f"{one['CPU seconds']:.0f}",
                f"{one['seconds in one process']:.1f}",
                f"{one['exchanges'] / one['rounds']:.2f}",
                *(f"{number:.1f}" for number in per_round),
                "the same text" if one["same text"] else "ANOTHER",
            ]
        )
        kinds = [*PROGRAMS.values(), _TOGETHER]
        memory += [[name, kind, f"{one[f'peak MB of {kind}']:.0f}"] for kind in kinds]
    header = ["parties", "rows of each", "rounds", "fit (s)", "of CPUs (s)"]
    header += [
        "in one process (s)",
        "messages a round",
        "KB to each party a round",
        "KB from each party a round",
    ]
    header += ["with Flower's: to", "from", "model"]
    return [
        f"Recipe best with its defaults, epsilon {EPSILON:g}, delta 1e-6, two classes, one "
        "colluder, keys of all parties. A link of Flower "
        f"({results.facts['flower']}), a node for each party and the coordinator's app, each a "
        "process of its own, as in `examples/06_federated_flower`; its app is what runs. Flower "
        "starts a process for each message to a party, which hands it over a Unix socket to the "
        "party, a process that lasts. These processes are forks of one that has imported Flower. "
        "The time of the fit is mostly Flower's waiting: its node asks for a message every 3 s, "
        "and so does its server for replies. The time of CPUs is of all processes from their "
        "start. The model is compared "
        "with that of the same fit in one process (`simulate`), noise from the same seed.",
        "",
        *table(header, fits),
        "",
        "Bytes without Flower's are those of the messages themselves. With them, they are what "
        "goes over the connections of the party that has most of it: also Flower's own protocol, "
        "the app, and a question every few seconds whether there is a message, so that a slower "
        "machine has more of them.",
        "",
        *table(["fit", "process", "MB at most"], memory),
        "",
        "Resident sizes, looked at five times a second; what processes share counts for each.",
    ]


def finding(results: Results) -> str:
    """Return whether models are the same, and how long the largest fit took."""
    same = [row.value for row in pick(results.rows, measure="same text")]
    over, alone = (
        max(row.value for row in pick(results.rows, measure=name))
        for name in ("seconds", "seconds in one process")
    )
    return (
        f"Over Flower {int(sum(same))} of {len(same)} fits gave the model of one process; the "
        f"longest took {over:.0f} s, in one process {alone:.1f} s."
    )


FEDERATED_FLOWER = Run(
    name="federated-flower",
    title="Federated training over Flower",
    group=Group.FEDERATED,
    description="A federated fit over Flower on this machine, a process for each party and more: "
    "time, memory, bytes, and whether the model is that of one process.",
    plan=plan,
    body=body,
    finding=finding,
    noise="The noise is from a seed in each fit.",
    timed=True,
)
