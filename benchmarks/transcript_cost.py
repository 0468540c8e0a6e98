"""What keeping the transcript costs: ``python -m benchmarks.transcript_cost``.

The same fit with and without its transcript, in alternating pairs in one process; CPU time of the
process, so that other programs on the machine count little.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.files import write_atomically
from benchmarks.harness.run import RESULTS
from benchmarks.other_pages import headed
from dpboost import DPBoostClassifier, DPBoostRegressor

N_PAIRS = 30
# A side of a pair is as many fits as take so long.
LEAST_SECONDS = 1.0
SEED = 11
# Of a 95 % interval of a mean of so many pairs.
Z = 1.96


def table(n_rows: int) -> tuple[Any, Any]:
    """Return a generated table with a strong signal."""
    rng = np.random.default_rng(SEED)
    X = rng.uniform(size=(n_rows, 10))
    return X, X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n_rows)


SCHEMA = {"bounds": dict.fromkeys(range(10), (0, 1))}


def cases() -> dict[str, tuple[Callable[[], Any], Any, Any]]:
    """Return estimators and tables, by name."""
    found: dict[str, tuple[Callable[[], Any], Any, Any]] = {}
    for n_rows in (5_000, 100_000):
        X, y = table(n_rows)
        numbers, classes = {**SCHEMA, "label_bounds": (-1, 3)}, {**SCHEMA, "classes": [0, 1]}
        found[f"best, numbers, {n_rows:,} rows"] = (
            lambda schema=numbers: DPBoostRegressor(schema=schema, n_jobs=1, verbosity=-1),
            X,
            y,
        )
        found[f"dpboost, classes, {n_rows:,} rows"] = (
            lambda schema=classes: DPBoostClassifier(
                recipe="dpboost", schema=schema, n_jobs=1, verbosity=-1
            ),
            X,
            (y > 1).astype(int),
        )
    return found


def seconds(fit: Callable[..., Any], models: list[Any], X: Any, y: Any) -> float:
    """Return the CPU seconds in which models are fitted."""
    before = time.process_time()
    for model in models:
        fit(model, X, y)
    return time.process_time() - before


def measured(make: Callable[[], Any], X: Any, y: Any, n_pairs: int) -> tuple[float, float, float]:
    """Return the mean ratio with and without a transcript, half its interval, and bytes a number.

    The function that is recorded keeps the one without a record as its ``__wrapped__``. Quick fits
    are repeated on both sides of a pair, because a clock of the processor has its own error.
    """
    kept = make()
    fit = type(kept).fit
    plain = fit.__wrapped__
    repeats = max(1, round(LEAST_SECONDS / seconds(fit, [kept], X, y)))
    ratios = []
    for pair in range(n_pairs):
        times = {}
        for each in (fit, plain) if pair % 2 else (plain, fit):
            times[each] = seconds(each, [make() for _ in range(repeats)], X, y)
        ratios.append(times[fit] / times[plain])
    logs = np.log(ratios)
    transcript = kept.transcript_
    size = len(transcript.to_bytes()) / transcript.n_integers
    half = Z * float(logs.std(ddof=1)) / np.sqrt(len(logs))
    return float(np.exp(logs.mean())), float(half), size


def page(rows: dict[str, tuple[float, float, float]], n_pairs: int) -> str:
    """Return the page of the results."""
    lines = [
        f"Written by `python -m benchmarks.transcript_cost`: {n_pairs} alternating pairs, each of "
        f"fits with and without their transcript for {LEAST_SECONDS:.0f} s a side in one process, "
        "CPU time with one thread, geometric mean of the ratios with an interval of 95 %. The "
        "limit is 1.05, and 10 bytes.",
        "",
        "| fit | CPU time, with : without | bytes of the file for each released integer |",
        "| :-- | --: | --: |",
    ]
    for name, (ratio, half, size) in rows.items():
        low, high = ratio * np.exp(-half), ratio * np.exp(half)
        lines.append(f"| {name} | {ratio:.3f} ({low:.3f} to {high:.3f}) | {size:.1f} |")
    return headed("transcript-cost.md", "\n".join([*lines, ""]))


def main() -> None:
    """Measure and write ``results/transcript-cost.md``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.transcript_cost")
    parser.add_argument("--pairs", type=int, default=N_PAIRS)
    parser.add_argument("--folder", type=Path, default=RESULTS)
    given = parser.parse_args()
    rows = {name: measured(*case, given.pairs) for name, case in cases().items()}
    text = page(rows, given.pairs)
    print(text)
    write_atomically(given.folder / "transcript-cost.md", text.encode())


if __name__ == "__main__":
    main()
