"""What a fit costs whose parties are processes: ``python -m benchmarks.https_cost``.

Five parties and a coordinator, each an interpreter of its own, over HTTPS on this machine. CPU time
of all six processes, beside that of six that only import what a party imports, and of six that only
import LightGBM. All find their modules compiled, as those of an installed package are.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from benchmarks.federated.deployment import ROOT, Deployment
from benchmarks.files import write_atomically
from benchmarks.harness.run import RESULTS
from benchmarks.other_pages import headed

SIZES, N_FEATURES, N_ROUNDS = (20_000,) * 5, 50, 50
PARTY = "dpboost.cli.main, dpboost.federated"


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


def start_only(n_processes: int, modules: str) -> None:
    """Start as many interpreters that import some modules, and end."""
    own = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    for _ in range(n_processes):
        subprocess.run([sys.executable, "-c", f"import {modules}"], env=own, check=True)


@contextmanager
def compiled() -> Iterator[None]:
    """Let processes that are started inside find their modules compiled."""
    with tempfile.TemporaryDirectory() as folder:
        own = {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        with patch.dict(os.environ, own):
            fit((20,) * 2, 1, 1)
            yield


def page(
    whole: tuple[float, float],
    starts: tuple[float, float],
    stock: tuple[float, float],
    load: float,
    size: tuple[int, int, int],
) -> str:
    """Return the page of the results."""
    n_rows, n_features, n_rounds = size
    body = "\n".join(
        [
            f"Written by `python -m benchmarks.https_cost`: 5 parties of {n_rows:,} rows and "
            f"{n_features} features, {n_rounds} rounds of `best`, a coordinator, six processes on "
            f"one machine of {os.cpu_count()} processors, rows in CSV files, modules compiled as "
            f"those of an installed package are; load at the start {load:.1f}.",
            "",
            "| | CPU, s | time, s |",
            "| :-- | --: | --: |",
            f"| the fit | {whole[0]:.1f} | {whole[1]:.1f} |",
            "| six processes that only import what a party imports, one after another | "
            f"{starts[0]:.1f} | {starts[1]:.1f} |",
            "| six processes that only import LightGBM, one after another | "
            f"{stock[0]:.1f} | {stock[1]:.1f} |",
            "",
        ]
    )
    return headed("https-cost.md", body)


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
    with compiled():
        starts = cost(lambda: start_only(len(sizes) + 1, PARTY))
        stock = cost(lambda: start_only(len(sizes) + 1, "lightgbm"))
        whole = cost(lambda: fit(sizes, given.features, given.rounds))
    text = page(whole, starts, stock, load, (given.rows, given.features, given.rounds))
    print(text)
    write_atomically(given.folder / "https-cost.md", text.encode())


if __name__ == "__main__":
    main()
