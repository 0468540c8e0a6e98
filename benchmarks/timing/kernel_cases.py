"""The hot kernels, each on inputs of its own: ``python -m benchmarks.timing.kernel_cases TASK``.

Kernels are loaded from their files, without the package around them: under an instrument that
counts instructions, importing the package would take minutes.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib import machinery, util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

_FOLDER = Path(__file__).parents[2] / "dpboost" / "_kernels"
_SHARED = "dpboost._kernels._shared"  # what Cython needs of memory views, for all kernels
_BINS = 255
_CELLS = 1024
PLAIN = "nanoseconds of the plain build"
_NO_WEIGHTS = np.empty(0, dtype=np.int32)

Run = Callable[[int], None]


def load(name: str, *, fast: bool = True) -> Any:
    """Return a kernel: the build for x86-64-v3 where this machine has it and `fast` says so."""
    if fast and has_second(name):
        return _from_folder(f"dpboost._kernels.{name}", _FOLDER / "v3")
    return _from_folder(f"dpboost._kernels.{name}", _FOLDER)


def has_second(name: str) -> bool:
    """Tell whether a kernel has a second build and this machine can run it."""
    machine = _from_folder("dpboost._kernels.cpu_features", _FOLDER)
    return machine.has_v3() and any((_FOLDER / "v3").glob(f"{name}.*"))


def _from_folder(name: str, folder: Path) -> Any:
    if name != _SHARED and _SHARED not in sys.modules:
        sys.modules[_SHARED] = _from_folder(_SHARED, _FOLDER)
    spec = machinery.PathFinder.find_spec(name, [str(folder)])
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    alone = "dpboost" not in sys.modules
    if alone:  # a kernel imports the shared one by its whole name, and so the package
        sys.modules["dpboost"] = ModuleType("dpboost")
    try:
        spec.loader.exec_module(module)
    finally:
        if alone:
            del sys.modules["dpboost"]
    return module


@dataclass(frozen=True, kw_only=True)
class Case:
    """A kernel on inputs of some size.

    Attributes
    ----------
    name : str
        As the page shows it.
    unit : str
        What the figures are for each of.
    kernel, function : str
        Where it is; of a class, its name and the method's.
    n_bytes : float
        What has to be read and written for a unit, however clever the kernel.
    make : callable
        From a size to what runs the kernel with some threads, and the number of units.
    size, small : int
        For time, and for counting instructions.
    counted : bool
        Whether instructions are counted; of two cases of one function only the first.
    """

    name: str
    unit: str
    kernel: str
    function: str
    n_bytes: float
    make: Callable[[Any, int], tuple[Run, int]]
    size: int
    small: int
    counted: bool = True


def _maps(n_features: int, *, table: bool) -> dict[str, Any]:
    every = np.ones(n_features)
    n_cells = _CELLS if table else _BINS
    cells = np.append(np.arange(_CELLS) * _BINS // _CELLS, _BINS).astype(np.uint8)
    return {
        "search": np.full(n_features, int(table), dtype=np.uint8),
        "lower": 0 * every,
        "scale": n_cells * every,
        "first": 0 * every,
        "last": (n_cells - 1.0) * every,
        "missing_cell": float(n_cells) * every,
        "zero": 0 * every,
        "step": np.zeros(n_features, dtype=np.int32),
        "start": np.zeros(n_features, dtype=np.intp),
        "table": cells,
        "borders": np.array([np.inf]),
    }


def _values(n_rows: int) -> np.ndarray:
    return np.random.default_rng(0).random((n_rows, 50), dtype=np.float32)


def _binning(table: bool) -> Callable[[Any, int], tuple[Run, int]]:
    def make(kernel: Any, n_rows: int) -> tuple[Run, int]:
        X = _values(n_rows)
        out = np.empty((50, n_rows), dtype=np.uint8)
        maps = _maps(50, table=table)
        return lambda n: kernel.bin_dense(X, **maps, out=out, first_row=0, n_threads=n), X.size

    return make


def _counting(kernel: Any, n_rows: int) -> tuple[Run, int]:
    X = _values(n_rows)
    columns = np.arange(50, dtype=np.int32)
    zeros, scale = np.zeros(50), np.full(50, float(_CELLS))
    counts = np.zeros((50, _CELLS + 1), dtype=np.intp)
    return lambda n: kernel.count_cells(X, columns, zeros, scale, zeros, counts, n), X.size


def _curve() -> np.ndarray:
    heights = np.rint(2.0**30 / (1 + np.exp(-np.arange(-1536, 1537) / 128))).astype(np.int64)
    return (heights[:-1] << 32) + np.diff(heights)


def _pass(loss: str) -> Callable[[Any, int], tuple[Run, int]]:
    def make(kernel: Any, n_rows: int) -> tuple[Run, int]:
        random = np.random.default_rng(0)
        bins = random.integers(0, 65, (20, n_rows), dtype=np.uint8)
        steps = np.zeros((3, 256), dtype=np.int32)
        steps[0], steps[1] = 65 * np.minimum(np.arange(256), 64), np.minimum(np.arange(256), 64)
        table = random.integers(0, 64, 65 * 65).astype(np.uint16)
        arrays = (
            np.zeros((1, n_rows), dtype=np.int64),
            random.integers(0, 2, n_rows),
            np.ones(n_rows, dtype=np.uint8),
            _NO_WEIGHTS,
            random.integers(-4096, 4097, (1, 64)),
            np.zeros(n_rows, dtype=np.uint16),
            bins,
            np.array([3, 11], dtype=np.int32),
            steps,
            table,
            np.empty((2, 1, 64), dtype=np.int64),
        )
        last = (_curve(), 65536) if loss == "logistic" else (0.0625, 65536)
        return lambda n: getattr(kernel, loss)(*arrays, n, *last), n_rows

    return make


def _words(kernel: Any, n_rows: int) -> tuple[Run, int]:
    random = np.random.default_rng(0)
    scores, labels = random.integers(-(2**21), 2**21, 50 * n_rows), np.zeros(50 * n_rows, dtype=int)
    rows = np.sort(random.choice(50 * n_rows, n_rows, replace=False)).astype(np.int32)
    words = np.empty(n_rows, dtype=np.int64)
    curve = _curve()[1536:].copy()
    curve = np.append(curve, (1 << 30) << 32)
    return (
        lambda n: kernel.logistic(
            scores, labels, rows, curve, 13, 12 << 20, 65536, 65536, words, n
        ),
        n_rows,
    )


def _gather(kernel: Any, n_rows: int) -> tuple[Run, int]:
    random = np.random.default_rng(0)
    bins = random.integers(0, 256, (50, 8 * n_rows), dtype=np.uint8)
    rounds = random.integers(0, 48, 8 * n_rows)
    order = np.argsort(rounds, kind="stable").astype(np.int32)
    starts = np.searchsorted(np.sort(rounds), np.arange(7)).astype(np.intp)  # an eighth of them
    out = np.empty(50 * starts[-1], dtype=np.uint8)
    return lambda n: kernel.gather_rounds(bins, order, starts, out, n), out.size


def _histograms(kernel: Any, n_rows: int) -> tuple[Run, int]:
    random = np.random.default_rng(0)
    bins = random.integers(0, _BINS + 1, (50, n_rows), dtype=np.uint8)
    words = random.integers(-65536, 65537, n_rows) * 2**32 + 1
    order, starts = np.arange(n_rows, dtype=np.int32), np.array([0, n_rows], dtype=np.int32)
    offsets = (256 * np.arange(51)).astype(np.int32)
    sums, counts = np.empty((2, 1, 50 * 256), dtype=np.int64)
    node = np.zeros(1, dtype=np.int32)
    return (
        lambda n: kernel.build(bins, order, starts, node, words, offsets, sums, counts, n),
        bins.size,
    )


def _gains(kernel: Any, n_nodes: int) -> tuple[Run, int]:
    random = np.random.default_rng(0)
    counts = random.integers(0, 40, (n_nodes, 50 * 256))
    sums = random.integers(-65536, 65537, counts.shape) * counts
    cells, candidates = (np.arange(51) * size for size in (256, 255))
    cells, candidates = cells.astype(np.int32), candidates.astype(np.int32)
    scores = np.empty((n_nodes, 50 * 255), dtype=np.int64)
    nominal = np.zeros(50, dtype=np.uint8)
    settings = (0.25, 0.1, 2.0**-18, 2**49)
    return (
        lambda n: kernel.gradient_gain(
            sums, counts, cells, candidates, nominal, *settings, scores, n
        ),
        scores.size,
    )


def _few_rows(kernel: Any, n_rows: int) -> tuple[Run, int]:
    random = np.random.default_rng(0)
    n_features, depth = 50, 5
    bins = random.integers(0, _BINS, (n_features, n_rows), dtype=np.uint8)
    words = random.integers(-65536, 65537, n_rows) * 2**32 + 1
    cells, candidates = (np.arange(n_features + 1) * size for size in (256, 255))
    layout = (cells.astype(np.int32), candidates.astype(np.int32), np.zeros(n_features, np.uint8))
    scores, starts = (np.empty(candidates[-1] << depth, kind) for kind in (np.int64, np.int32))

    def run(n: int) -> None:
        rows = kernel.FewRows(bins, words, *layout, n)
        for level in range(depth + 1):
            rows.runs(0.25, 0.1, 2.0**-18, 2**49, scores, starts)
            n_nodes = 2**level
            rows.split(np.full(n_nodes, level, np.int32), np.full(n_nodes, 127, np.uint8))

    return run, n_rows * n_features * (depth + 1)


def _selection(kernel: Any, n_nodes: int) -> tuple[Run, int]:
    random = np.random.default_rng(0)
    scores = random.integers(0, 200 * 65536, (n_nodes, 50 * 255))
    chosen = np.empty(n_nodes, dtype=np.int32)
    bits = np.random.PCG64(0)
    return lambda n: kernel.exponential(bits, scores, 1, 48 * 65536, chosen), scores.size


def _sparse_gains(kernel: Any, n_rows: int) -> tuple[Run, int]:
    random = np.random.default_rng(0)
    n_features, each = 20_000, 50
    columns = np.sort(random.integers(0, n_features, n_rows * each))
    start = np.searchsorted(columns, np.arange(n_features + 1)).astype(np.intp)
    rows = random.integers(0, n_rows, n_rows * each).astype(np.int32)
    bins = random.integers(1, _BINS, n_rows * each).astype(np.uint8)
    node = random.integers(0, 8, n_rows).astype(np.int32)
    words = random.integers(-65536, 65537, n_rows) * 2**32 + 1
    totals = np.zeros((2, 8), dtype=np.int64)
    np.add.at(totals[0], node, words >> 32)
    np.add.at(totals[1], node, 1)
    cells, candidates = (np.arange(n_features + 1) * size for size in (256, 255))
    cells, candidates = cells.astype(np.int32), candidates.astype(np.int32)
    every = np.zeros(n_features, dtype=np.uint8)
    settings = (0.25, 0.1, 2.0**-18, 2**49)

    def run(n: int) -> None:
        kernel.runs(
            start, rows, bins, every, node, words, *totals, cells, candidates, every, *settings, n
        )

    return run, len(rows)


def _splitting(kernel: Any, n_rows: int) -> tuple[Run, int]:
    random = np.random.default_rng(0)
    bins = random.integers(0, 256, (50, n_rows), dtype=np.uint8)
    order = np.arange(n_rows, dtype=np.int32)
    starts = (np.arange(17) * (n_rows // 16)).astype(np.int32)
    starts[-1] = n_rows
    feature = random.integers(0, 50, 16).astype(np.int32)
    split_bin = np.full(16, 120, dtype=np.uint8)
    nominal = np.zeros(50, dtype=np.uint8)
    out, starts_out = np.empty_like(order), np.empty(33, dtype=np.int32)
    return (
        lambda n: kernel.split_rows(
            bins, order, starts, feature, split_bin, nominal, out, starts_out, n
        ),
        n_rows,
    )


def _prediction(
    kernel: Any, n_rows: int, *, few: bool = False, n_nodes: int = 63
) -> tuple[Run, int]:
    """Trees that read any features, or three features each with missing bins on random sides."""
    random = np.random.default_rng(0)
    bins = random.integers(0, _BINS, (50, n_rows), dtype=np.uint8)
    n_trees = 50
    nodes, leaves = (np.arange(n_trees + 1) * size for size in (n_nodes, n_nodes + 1))
    child = np.arange(n_nodes)
    left, right = 2 * child + 1, 2 * child + 2
    left, right = (np.where(side < n_nodes, side, ~(side - n_nodes)) for side in (left, right))
    feature = random.integers(0, 50, n_trees * n_nodes).astype(np.int32)
    border = random.integers(1, _BINS, n_trees * n_nodes)
    bits = np.arange(256) <= border[:, np.newaxis]
    if few:
        tree = np.arange(n_trees * n_nodes) // n_nodes
        feature = (3 * tree + feature % 3).astype(np.int32) % 50
        bits[:, _BINS] = random.random(len(bits)) < 0.5
    left_bins = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
    scores = np.zeros(n_rows, dtype=np.int64)
    arguments = (
        bins,
        np.arange(n_rows, dtype=np.int32),
        np.zeros(n_rows, dtype=np.int32),
        n_trees,
        nodes.astype(np.int32),
        leaves.astype(np.int32),
        feature,
        left_bins,
        np.tile(left, n_trees).astype(np.int32),
        np.tile(right, n_trees).astype(np.int32),
        random.integers(-999, 999, (1, n_trees * (n_nodes + 1))),
        scores[np.newaxis],
    )
    return lambda n: kernel.add_trees(*arguments, n), n_rows * n_trees


def _noise(kernel: Any, n: int) -> tuple[Run, int]:
    values = np.zeros(n, dtype=np.int64)
    bits = np.random.PCG64(0)
    return lambda _: kernel.discrete_gaussian(bits, values, 1 << 20, values), n


def _leaves(kernel: Any, n_rows: int) -> tuple[Run, int]:
    random = np.random.default_rng(0)
    bins = random.integers(0, 64, (3, n_rows), dtype=np.uint8)
    features = np.array([0, 1, 2], dtype=np.int32)
    steps = np.array([[4096], [64], [1]], dtype=np.int32) * np.minimum(np.arange(256), 63)
    steps = np.ascontiguousarray(steps, dtype=np.int32)
    table = random.integers(0, 64, 64**3).astype(np.uint16)
    every, leaves = np.empty(0, dtype=np.int32), np.empty(n_rows, dtype=np.uint16)
    words = random.integers(-65536, 65537, n_rows) * 2**32 + 1
    sums = np.empty((2, 64), dtype=np.int64)

    def run(n: int) -> None:
        kernel.find_leaves(bins, every, features, steps, table, leaves, n)
        kernel.leaf_sums(words, leaves, *sums, n)

    return run, n_rows


def _newton(kernel: Any, n_rows: int) -> tuple[Run, int]:
    random = np.random.default_rng(0)
    scores = random.integers(-(2**21), 2**21, (8, n_rows))
    labels = random.integers(0, 8, n_rows)
    rows = np.arange(n_rows, dtype=np.int32)
    words = np.empty((8, n_rows), dtype=np.int64)
    return lambda n: kernel.softmax(scores, labels, rows, _falling(), 65536, words, n), 8 * n_rows


def _falling() -> np.ndarray:
    values = np.rint(2.0**30 * np.exp(-np.arange(2049) / 128)).astype(np.int64)
    return (values[:-1] << 32) + np.diff(values)


def _class_counts(kernel: Any, n_rows: int) -> tuple[Run, int]:
    random = np.random.default_rng(0)
    bins = random.integers(0, 256, (20, n_rows), dtype=np.uint8)
    classes = random.integers(0, 3, n_rows).astype(np.uint8)
    order = np.arange(n_rows, dtype=np.int32)
    begins, ends = (np.array([row], dtype=np.int32) for row in (0, n_rows))
    offsets = (256 * np.arange(21)).astype(np.int32)
    counts = np.empty((1, 20 * 256 * 3), dtype=np.int64)
    one_each = np.empty(0, dtype=np.int32)
    rows = (bins, order, begins, ends, classes, one_each)
    return lambda n: kernel.build(*rows, offsets, 3, counts, n), bins.size


def _impurities(kernel: Any, n_nodes: int) -> tuple[Run, int]:
    random = np.random.default_rng(0)
    counts = random.integers(0, 40, (n_nodes, 20 * 256 * 3))
    cells, candidates = (np.arange(21) * size for size in (256, 255))
    positions = (cells.astype(np.int32), candidates.astype(np.int32), np.zeros(20, dtype=np.uint8))
    caps, scales = np.full(n_nodes, 9.0), np.full(n_nodes, 2.0**16)
    out = np.empty((n_nodes, 20 * 255), dtype=np.int64)
    return lambda n: kernel.scores(counts, *positions, 3, 0, caps, scales, out, n), out.size


def _merging(kernel: Any, n_features: int) -> tuple[Run, int]:
    mass = np.random.default_rng(0).exponential(size=(n_features, _CELLS))
    totals, bins = mass.sum(axis=1), np.empty(mass.shape, dtype=np.uint8)
    return lambda _: kernel.merge(mass, totals, 64, 12, bins), mass.size


CASES = (
    Case(
        name="bins of float32, one formula a feature",
        unit="value",
        kernel="binning",
        function="bin_dense",
        n_bytes=5,
        make=_binning(False),
        size=200_000,
        small=2_000,
    ),
    Case(
        name="bins of float32, runs of fine cells",
        unit="value",
        kernel="binning",
        function="bin_dense",
        n_bytes=5,
        make=_binning(True),
        size=200_000,
        small=2_000,
        counted=False,
    ),
    Case(
        name="counts of fine cells of float32",
        unit="value",
        kernel="binning",
        function="count_cells",
        n_bytes=4,
        make=_counting,
        size=200_000,
        small=2_000,
    ),
    Case(
        name="pass of `best`, logistic loss",
        unit="row",
        kernel="training_pass",
        function="logistic",
        n_bytes=31,
        make=_pass("logistic"),
        size=1_000_000,
        small=50_000,
    ),
    Case(
        name="pass of `best`, squared loss",
        unit="row",
        kernel="training_pass",
        function="squared",
        n_bytes=31,
        make=_pass("squared"),
        size=1_000_000,
        small=50_000,
    ),
    Case(
        name="gradients of a tree's rows",
        unit="row",
        kernel="gradient",
        function="logistic",
        n_bytes=28,
        make=_words,
        size=20_000,
        small=20_000,
    ),
    Case(
        name="compact columns of the rows of six trees",
        unit="cell",
        kernel="row_assignment",
        function="gather_rounds",
        n_bytes=2,
        make=_gather,
        size=20_000,
        small=2_000,
    ),
    Case(
        name="histograms",
        unit="cell",
        kernel="histogram",
        function="build",
        n_bytes=1,
        make=_histograms,
        size=20_000,
        small=20_000,
    ),
    Case(
        name="scores of splits",
        unit="candidate",
        kernel="gain",
        function="gradient_gain",
        n_bytes=24,
        make=_gains,
        size=32,
        small=4,
    ),
    Case(
        name="levels of a small tree, histograms and scores",
        unit="cell",
        kernel="small_tree_gain",
        function="FewRows.runs",
        n_bytes=1,
        make=_few_rows,
        size=1_200,
        small=1_200,
    ),
    Case(
        name="exponential mechanism",
        unit="candidate",
        kernel="selection",
        function="exponential",
        n_bytes=8,
        make=_selection,
        size=32,
        small=16,
    ),
    Case(
        name="scores of splits, sparse",
        unit="stored cell",
        kernel="sparsegain",
        function="runs",
        n_bytes=5,
        make=_sparse_gains,
        size=1_400,
        small=1_400,
    ),
    Case(
        name="rows to their children",
        unit="row",
        kernel="partition",
        function="split_rows",
        n_bytes=10,
        make=_splitting,
        size=500_000,
        small=50_000,
    ),
    Case(
        name="prediction, depth 6",
        unit="row and tree",
        kernel="predict",
        function="add_trees",
        n_bytes=1,
        make=_prediction,
        size=100_000,
        small=20_000,
    ),
    Case(
        name="prediction, depth 6, three features",
        unit="row and tree",
        kernel="predict",
        function="add_trees",
        n_bytes=1,
        make=partial(_prediction, few=True),
        size=100_000,
        small=20_000,
    ),
    Case(
        name="prediction, depth 7, three features",
        unit="row and tree",
        kernel="predict",
        function="add_trees",
        n_bytes=1,
        make=partial(_prediction, few=True, n_nodes=127),
        size=100_000,
        small=20_000,
    ),
    Case(
        name="discrete Gaussian noise",
        unit="number",
        kernel="noise",
        function="discrete_gaussian",
        n_bytes=8,
        make=_noise,
        size=20_000,
        small=2_000,
    ),
    Case(
        name="leaves of rows and their sums",
        unit="row",
        kernel="lookup_trees",
        function="find_leaves",
        n_bytes=13,
        make=_leaves,
        size=200_000,
        small=20_000,
    ),
    Case(
        name="gradients of eight classes",
        unit="row and class",
        kernel="newton",
        function="softmax",
        n_bytes=17,
        make=_newton,
        size=50_000,
        small=5_000,
    ),
    Case(
        name="counts of classes",
        unit="cell",
        kernel="classcounts",
        function="build",
        n_bytes=1,
        make=_class_counts,
        size=50_000,
        small=5_000,
    ),
    Case(
        name="scores of splits from counts of classes",
        unit="candidate",
        kernel="impurity",
        function="scores",
        n_bytes=32,
        make=_impurities,
        size=32,
        small=4,
    ),
    Case(
        name="bins of fine cells",
        unit="cell",
        kernel="bin_merging",
        function="merge",
        n_bytes=9,
        make=_merging,
        size=50,
        small=5,
    ),
)


def measure(threads: list[int], repeats: int, shrink: int) -> list[dict[str, Any]]:
    """Return the best time of every case for a unit, in nanoseconds, by number of threads.

    Of a kernel with a second build the first one too, with one thread, by turns with the second.
    """
    found = []
    for case in CASES:
        size = max(case.size // shrink, 1)
        run, units = case.make(load(case.kernel), size)
        runs = {("nanoseconds", number): run for number in threads}
        if has_second(case.kernel):
            runs[PLAIN, 1] = case.make(load(case.kernel, fast=False), size)[0]
        best = dict.fromkeys(runs, float("inf"))
        for timed in range(repeats + 1):
            for key, one in runs.items():
                seconds = _timed(one, key[1])
                if timed:  # the first time warms up
                    best[key] = min(best[key], seconds)
        for (what, number), seconds in best.items():
            value = seconds / units * 1e9
            found.append({"case": case.name, "what": what, "threads": number, "value": value})
    for number in threads:
        value = _memory(number, shrink)
        found.append({"case": "memory", "what": "GB/s", "threads": number, "value": value})
    return found


def _timed(run: Run, number: int) -> float:
    start = time.perf_counter()
    run(number)
    return time.perf_counter() - start


def _memory(threads: int, shrink: int) -> float:
    """Return gigabytes a second that all threads together read, each from memory of its own."""
    parts = [np.ones((1 << 27) // shrink // threads, dtype=np.int64) for _ in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        best = float("inf")
        for _ in range(5):
            start = time.perf_counter()
            list(pool.map(np.bitwise_or.reduce, parts))
            best = min(best, time.perf_counter() - start)
    return sum(part.nbytes for part in parts) / best / 1e9


def count() -> dict[str, int]:
    """Run every counted case once, with one thread; return its number of units."""
    units = {}
    for case in CASES:
        if case.counted:
            run, units[case.name] = case.make(load(case.kernel), case.small)
            run(1)
    return units


def main(arguments: list[str]) -> int:
    """Do one task and print what it found."""
    task = json.loads(arguments[0])
    print(json.dumps(count() if task.pop("task") == "count" else measure(**task)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
