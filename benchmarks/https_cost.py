"""What a fit costs whose parties are processes: ``python -m benchmarks.https_cost``.

Five parties and a coordinator, each an interpreter of its own, over HTTPS on this machine. CPU time
of all six processes, beside that of six processes that only start the command line.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.federated.deployment import ROOT, Deployment
from benchmarks.files import write_atomically
from benchmarks.harness.run import RESULTS

SIZES, N_FEATURES, N_ROUNDS = (20_000,) * 5, 50, 50


def cost(run: Callable[[], None]) -> tuple[float, float]:
    """Return seconds of CPU of the processes that a function starts and waits for, and of time."""
    used, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    run()
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return seconds, time.perf_counter() - start


def fit(sizes: Sequence[int], n_features: int, n_rounds: int) -> None:
    """Train by processes over HTTPS."""
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "fit"
        deployed = Deployment(own, n_rounds, sizes=sizes, n_features=n_features)
        try:
            deployed.train()
            for name in deployed.names:
                deployed.code(name, seconds=60)
        finally:
            deployed.stop()


def start_only(n_processes: int) -> None:
    """Start as many interpreters that import what a party imports, and end."""
    program = "import dpboost.cli.party_command, dpboost.federated"
    own = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    for _ in range(n_processes):
        subprocess.run([sys.executable, "-c", program], env=own, check=True)


def page(
    whole: tuple[float, float], starts: tuple[float, float], load: float, size: tuple[int, int, int]
) -> str:
    """Return the page of the results."""
    n_rows, n_features, n_rounds = size
    return "\n".join(
        [
            "# What a fit of parties over HTTPS costs",
            "",
            f"Written by `python -m benchmarks.https_cost`: 5 parties of {n_rows:,} rows and "
            f"{n_features} features, {n_rounds} rounds of `best`, a coordinator, six processes on "
            f"one machine of {os.cpu_count()} processors; load at the start {load:.1f}.",
            "",
            "| | CPU, s | time, s |",
            "| :-- | --: | --: |",
            f"| the fit | {whole[0]:.1f} | {whole[1]:.1f} |",
            f"| six processes that only import, one after another | {starts[0]:.1f} | "
            f"{starts[1]:.1f} |",
            "",
        ]
    )


def main() -> None:
    """Measure and write ``results/https-cost.md``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.https_cost")
    parser.add_argument("--rows", type=int, default=SIZES[0])
    parser.add_argument("--features", type=int, default=N_FEATURES)
    parser.add_argument("--rounds", type=int, default=N_ROUNDS)
    parser.add_argument("--folder", type=Path, default=RESULTS)
    given = parser.parse_args()
    load = os.getloadavg()[0]
    sizes = (given.rows,) * len(SIZES)
    starts = cost(lambda: start_only(len(sizes) + 1))
    whole = cost(lambda: fit(sizes, given.features, given.rounds))
    text = page(whole, starts, load, (given.rows, given.features, given.rounds))
    print(text)
    write_atomically(given.folder / "https-cost.md", text.encode())


if __name__ == "__main__":
    main()
