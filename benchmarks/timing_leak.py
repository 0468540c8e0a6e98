"""What the time and memory of a fit tell: ``python -m benchmarks.timing_leak``.

Generated tables, one thread. An attacker who measures a fit guesses which of two tables it was of.
"""

from __future__ import annotations

import argparse
import math
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from benchmarks._compat import import_pandas
from benchmarks.files import write_atomically
from benchmarks.other_pages import headed
from dpboost import DPBoostClassifier, DPTreeClassifier, Schema

RESULTS = Path(__file__).parent / "results"
REPEATS = 300
N_FEATURES = 5
SIZES = (1_000, 20_000)
#: How many more rows the other table has, in parts of the first.
MORE = (0.01, 0.1, 1.0)
FEW_ROWS = 200
MEMORY_ROWS = 50_000
# So many deviations from chance are no chance.
ALARM = 3.0

Array = NDArray[np.float64]

SCHEMA = Schema(bounds=dict.fromkeys(range(N_FEATURES), (0.0, 1.0)), classes=[0, 1])
MODELS: dict[str, Callable[[], Any]] = {
    "best, delta 1e-5": lambda: DPBoostClassifier(epsilon=1.0, delta=1e-5, schema=SCHEMA, n_jobs=1),
    "dpboost, pure": lambda: DPBoostClassifier(
        recipe="dpboost", preset="paper", epsilon=1.0, delta=0, schema=SCHEMA, n_jobs=1
    ),
    "single tree": lambda: DPTreeClassifier(epsilon=1.0, schema=SCHEMA, n_jobs=1),
}


def table(n_rows: int, seed: int = 0) -> tuple[Array, NDArray[np.int64]]:
    """Return features in [0, 1] and classes that mostly follow the first one."""
    random = np.random.default_rng(seed)
    X = random.uniform(size=(n_rows, N_FEATURES))
    return X, (X[:, 0] + 0.3 * random.normal(size=n_rows) > 0.5).astype(np.int64)


def with_row(n_rows: int, kind: str) -> tuple[Array, NDArray[np.int64]]:
    """Return the same table and one row more: like the others, or far away and contrary."""
    X, y = table(n_rows)
    row = np.full((1, N_FEATURES), 0.5) if kind == "ordinary" else np.ones((1, N_FEATURES))
    return np.vstack([X, row]), np.append(y, 1 if kind == "ordinary" else 0)


def fit_seconds(name: str, X: Array, y: NDArray[np.int64]) -> tuple[float, float]:
    """Return processor time and wall time of a fit."""
    model = MODELS[name]()
    started, used = time.perf_counter(), time.process_time()
    model.fit(X, y)
    return time.process_time() - used, time.perf_counter() - started


def peak_bytes(name: str, X: Array, y: NDArray[np.int64]) -> int:
    """Return the most memory that the objects and arrays of a fit have taken."""
    model = MODELS[name]()
    tracemalloc.start()
    try:
        model.fit(X, y)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def in_turn(first: Callable[[], Any], second: Callable[[], Any], repeats: int) -> list[Array]:
    """Measure both again and again in random order, so that a change of the machine hits both."""
    random = np.random.default_rng(1)
    found: list[list[Any]] = [[], []]
    first(), second()  # what is loaded and compiled once
    for _ in range(repeats):
        for position in random.permutation(2).tolist():
            found[position].append((first, second)[position]())
    return [np.array(values, dtype=np.float64) for values in found]


def advantage(one: Array, other: Array) -> tuple[float, float]:
    """Return how often the second measure is above the first, and its distance from chance.

    Returns
    -------
    area : float
        Probability that a measure of the second table is above one of the first; 0.5 tells
        nothing, 1 tells all.
    deviations : float
        Distance of ``area`` from 0.5 in standard deviations of what chance gives.
    """
    ranks = rankdata(np.concatenate([one, other]))
    below = ranks[len(one) :].sum() - len(other) * (len(other) + 1) / 2
    area = below / (len(one) * len(other))
    chance = math.sqrt((len(one) + len(other) + 1) / (12 * len(one) * len(other)))
    return float(area), float((area - 0.5) / chance)


def size_lines(repeats: int) -> list[str]:
    """Return the table of what a fit tells about the number of rows."""
    lines = [
        "## The number of rows",
        "",
        "How often a fit of the larger table takes longer (0.5 tells nothing, 1 tells all), by "
        "processor time and by wall time, and its distance from chance in standard deviations.",
        "",
        "| model | rows | and more | seconds, medians | processor time | wall time |",
        "| :-- | --: | --: | :-- | :-- | :-- |",
    ]
    for name in MODELS:
        for n_rows in SIZES:
            for more in MORE:
                tables = table(n_rows), table(round(n_rows * (1 + more)))
                one, other = in_turn(*(partial(fit_seconds, name, *t) for t in tables), repeats)
                lines.append(
                    f"| {name} | {n_rows:,} | {100 * more:g} % | {np.median(one[:, 0]):.4f}, "
                    f"{np.median(other[:, 0]):.4f} | {_told(one[:, 0], other[:, 0])} | "
                    f"{_told(one[:, 1], other[:, 1])} |"
                )
    return lines


def row_lines(repeats: int) -> list[str]:
    """Return the table of what a fit tells about one row."""
    lines = [
        "## One row",
        "",
        f"The same for a table of {FEW_ROWS} rows, and one row more: in the middle, or in a corner "
        "with the label that contradicts all rows near it.",
        "",
        "| model | row | seconds, medians | processor time | wall time |",
        "| :-- | :-- | :-- | :-- | :-- |",
    ]
    for name in MODELS:
        for kind in ("ordinary", "contrary"):
            tables = table(FEW_ROWS), with_row(FEW_ROWS, kind)
            one, other = in_turn(*(partial(fit_seconds, name, *t) for t in tables), repeats)
            lines.append(
                f"| {name} | {kind} | {np.median(one[:, 0]):.4f}, {np.median(other[:, 0]):.4f} | "
                f"{_told(one[:, 0], other[:, 0])} | {_told(one[:, 1], other[:, 1])} |"
            )
    return lines


def memory_lines(repeats: int) -> list[str]:
    """Return the table of what the memory of a fit tells."""
    lines = [
        "## Memory",
        "",
        "Most bytes that a fit has allocated, for a table, one row more, and twice the rows; how "
        "often one row more takes more bytes; and bytes for each row.",
        "",
        "| model | rows | bytes, medians | one row more | bytes a row |",
        "| :-- | --: | :-- | :-- | --: |",
    ]
    for name in MODELS:
        n_rows = MEMORY_ROWS
        tables = table(n_rows), with_row(n_rows, "ordinary")
        one, other = in_turn(*(partial(peak_bytes, name, *t) for t in tables), repeats)
        twice = peak_bytes(name, *table(2 * n_rows))
        medians = f"{np.median(one):,.0f}, {np.median(other):,.0f}, {twice:,}"
        slope = (twice - np.median(one)) / n_rows
        lines.append(f"| {name} | {n_rows:,} | {medians} | {_told(one, other)} | {slope:.0f} |")
    return lines


def _told(one: Array, other: Array) -> str:
    area, deviations = advantage(one, other)
    return f"{area:.3f} ({deviations:+.1f}{', shows' if abs(deviations) > ALARM else ''})"


def page(repeats: int) -> str:
    """Measure everything and write it as Markdown."""
    few, fewest = max(repeats // 10, 2), max(repeats // 60, 2)
    lines = [
        f"Written by `python -m benchmarks.timing_leak`: generated tables of {N_FEATURES} "
        f"features, one thread, {repeats} fits on either of two tables that differ in a row, {few} "
        f"where they differ in size, {fewest} for memory, in turn. Beyond {ALARM:g} deviations "
        "from chance it shows.",
        "",
    ]
    for part, times in ((size_lines, few), (row_lines, repeats), (memory_lines, fewest)):
        lines += [*part(times), ""]
    return headed("timing-leak.md", "\n".join(lines))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write ``results/timing-leak.md``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.timing_leak")
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where to write the page")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    given = parser.parse_args(arguments)
    import_pandas()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = page(given.repeats)
    write_atomically(given.folder / "timing-leak.md", text.encode())
    print(text, end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
