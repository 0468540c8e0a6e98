"""Processes of a federated fit are killed at random moments, and start again."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.federated.deployment import N_PARTIES, Deployment
from benchmarks.harness.results import Result, Results
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.summary import table

KILLS = 200
KILLS_A_FIT = 10
N_TREES = 30
#: Seconds between two kills, at most: a process needs about one to start.
MOST_SECONDS = 3.0


def torture(folder: Path, n_kills: int, seed: int, n_trees: int) -> tuple[Deployment, list[str]]:
    """Train while processes are killed, and return the fit and who was killed, in order.

    Every process that was killed is started again at once, with the same command.

    Raises
    ------
    RuntimeError
        If no model comes out in ten minutes.
    """
    rng = np.random.default_rng(seed)
    fit = Deployment(folder, n_trees)
    killed: list[str] = []
    deadline = time.monotonic() + 600.0
    try:
        for name in fit.names:
            fit.start(name)
        while (code := fit.code("coordinator")) is None or code != 0:
            if time.monotonic() > deadline or code is not None:
                raise RuntimeError(fit.log("coordinator"))
            if len(killed) == n_kills:
                fit.code("coordinator", seconds=deadline - time.monotonic())
                continue
            time.sleep(rng.uniform(0, MOST_SECONDS))
            name = str(rng.choice(fit.names))
            if fit.kill(name):
                killed.append(name)
                fit.start(name)
            elif name != "coordinator":
                raise RuntimeError(fit.log(name))
    finally:
        fit.stop()
    return fit, killed


def measure(position: int, n_kills: int, n_trees: int = N_TREES) -> Iterator[Result]:
    """Compare a tortured fit with one that was left alone."""
    with tempfile.TemporaryDirectory() as folder:
        alone = Deployment(Path(folder) / "alone", n_trees)
        try:
            alone.train()
        finally:
            alone.stop()
        other, killed = torture(Path(folder) / "tortured", n_kills, position, n_trees)
        found = {
            "kills": len(killed),
            "kills of the coordinator": killed.count("coordinator"),
            "same trees": float(_trees(alone.model) == _trees(other.model)),
            "same charges": float(alone.charged() == other.charged()),
        }
    for name, value in found.items():
        yield Result(data="three parties", method="best", measure=name, value=value, draw=position)


def _trees(text: str) -> str:
    return text[: text.index("end of trees")]


def plan(request: Request) -> Plan:
    """Return fits with ten kills each; ``repeats`` is the number of kills."""
    n_kills = request.repeats or (KILLS_A_FIT if request.quick else KILLS)
    versions = dpboost_recipes.versions()
    n_fits = -(-n_kills // KILLS_A_FIT)
    units = [
        Unit(
            name=f"fit {position}",
            settings=digest({"kills": KILLS_A_FIT, "trees": N_TREES, "versions": versions}),
            measure=partial(measure, position, KILLS_A_FIT),
        )
        for position in range(n_fits)
    ]
    return Plan(units=units)


def body(results: Results) -> list[str]:
    """Return the table."""
    rows = results.rows
    sums = {
        name: sum(row.value for row in rows if row.measure == name)
        for name in dict.fromkeys(row.measure for row in rows)
    }
    n_fits = sum(row.measure == "kills" for row in rows)
    lines = [
        ["fits", str(n_fits)],
        ["processes killed (SIGKILL)", f"{sums['kills']:.0f}"],
        ["of them the coordinator", f"{sums['kills of the coordinator']:.0f}"],
        ["fits that ended in the model of a fit that was left alone", f"{sums['same trees']:.0f}"],
        ["fits in which every party's records have the same total", f"{sums['same charges']:.0f}"],
    ]
    return [
        f"{N_PARTIES} parties that serve their rows by `dpboost party`, and `dpboost coordinate`, "
        "over HTTPS on this machine. One of the four processes is killed at random moments and "
        f"started again with the same command, about {KILLS_A_FIT} times a fit. The noise is from "
        "a seed, so that the model of a fit that was left alone is known.",
        "",
        *table(["", "number"], lines),
    ]


FEDERATED_CHAOS = Run(
    name="federated-chaos",
    description="Parties and coordinator that are killed at random moments and start again.",
    plan=plan,
    body=body,
    noise="The noise is from a seed in each fit; the moments of the kills are the clock's.",
)
