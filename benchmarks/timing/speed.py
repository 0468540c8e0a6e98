"""Fits of ours and of LightGBM in turn, each in a fresh process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.summary import listed, span, table
from benchmarks.timing.measure import (
    Figure,
    Task,
    fit_task,
    median,
    task,
)

LIGHTGBM = "LightGBM"
_TREES = {"dpboost": 50, "best": 100, "seq": 50}
_THREADS = (1, 2)
_REPEATS = 5


@dataclass(frozen=True, kw_only=True, eq=False)
class Line:
    """A table and what is to be reached on it, as parts of LightGBM's time with two threads.

    Attributes
    ----------
    name : str
        As the page shows it.
    maker : str
        In `benchmarks.timing.tables.MAKERS`.
    arguments, quick : tuple
        Of the maker, in full and in the quick form.
    targets : dict of str to float
        By recipe.
    repeats : int
        Most fits of LightGBM, whose time on the large tables is minutes.
    scales : bool
        Whether two threads are to be 1.7 times as fast as one.
    """

    name: str
    maker: str
    arguments: tuple[Any, ...]
    quick: tuple[Any, ...]
    targets: dict[str, float]
    repeats: int = _REPEATS
    scales: bool = False


LINES = (
    Line(
        name="1,000,000 x 400 float32",
        maker="dense",
        arguments=(1_000_000, 400),
        quick=(20_000, 400),
        targets={"dpboost": 0.06, "best": 0.02},
        repeats=1,
        scales=True,
    ),
    Line(
        name="500,000 x 50 float32",
        maker="dense",
        arguments=(500_000, 50),
        quick=(50_000, 50),
        targets={"dpboost": 0.08, "best": 0.05, "seq": 1.0},
        scales=True,
    ),
    Line(
        name="Adult, native categories",
        maker="real",
        arguments=("adult",),
        quick=("adult",),
        targets={"dpboost": 0.3, "best": 0.3},
    ),
    Line(
        name="cod-rna",
        maker="real",
        arguments=("cod_rna",),
        quick=("cod_rna",),
        targets={"dpboost": 0.3, "best": 0.25},
    ),
    Line(
        name="sparse 70,000 x 20,000, density 0.0025",
        maker="sparse",
        arguments=(70_000, 20_000, 0.0025),
        quick=(5_000, 2_000, 0.0025),
        targets={"dpboost": 0.06, "best": 0.03},
        repeats=2,
    ),
)
# The quick form cuts the generated tables down, and says so.
QUICK_LINES = tuple(
    line
    if line.quick == line.arguments
    else replace(
        line, name=f"{line.name}, cut down to {line.quick[0]:,} rows", arguments=line.quick
    )
    for line in LINES
)
_MEMORY_TARGET = 1.0
_SCALING_TARGET = 1.7
_IMPORT_TARGET = 0.3
_PREDICTIONS = {"predict, two classes": 2, "predict, seven classes": 7}
_PREDICTED = (1_000_000, 50)
_PREDICTED_TREES = 100
_IMPORT = "import"
_QUICK_PREDICTED = (20_000, 50)


def tasks(*, quick: bool, repeats: int | None) -> list[Task]:
    """Measure everything."""
    number = repeats or (1 if quick else _REPEATS)
    return [item for repeat in range(number) for item in _round(repeat, quick=quick)]


def _round(repeat: int, *, quick: bool) -> list[Task]:
    """All measurements once, libraries in turn."""
    tasks = [task("import", _IMPORT, "dpboost", 1, repeat, (0,), {})]
    for line in QUICK_LINES if quick else LINES:
        for threads in _THREADS:
            if repeat < line.repeats:
                marks = sorted({_TREES[name] for name in line.targets})
                tasks.append(
                    fit_task(
                        line.name, line.maker, line.arguments, LIGHTGBM, marks, threads, repeat
                    )
                )
            for name in line.targets:
                marks = [_TREES[name]]
                tasks.append(
                    fit_task(line.name, line.maker, line.arguments, name, marks, threads, repeat)
                )
    n_rows, n_features = _QUICK_PREDICTED if quick else _PREDICTED
    for name, classes in _PREDICTIONS.items():
        for threads in _THREADS:
            for method in (LIGHTGBM, "dpboost"):
                more = {
                    "n_rows": n_rows,
                    "n_features": n_features,
                    "classes": classes,
                    "trees": _PREDICTED_TREES,
                    "method": method,
                    "threads": threads,
                }
                tasks.append(
                    task("predict", name, method, threads, repeat, (_PREDICTED_TREES,), more)
                )
    return tasks


def page(figures: Sequence[Figure]) -> list[str]:
    """Return the tables of ratios, times, threads, prediction and import."""
    return [
        *_ratios(figures),
        *_times(figures),
        *_predictions(figures),
        *_import_time(figures),
    ]


def _lines(figures: Sequence[Figure]) -> list[Line]:
    """Return the lines that were measured."""
    names = {figure.table for figure in figures}
    return [line for line in dict.fromkeys(LINES + QUICK_LINES) if line.name in names]


def _pairs(figures: Sequence[Figure]) -> list[tuple[Line, str]]:
    return [(line, name) for line in _lines(figures) for name in line.targets]


def finding(figures: Sequence[Figure]) -> str:
    """Return the range of ratios to LightGBM's time, by recipe."""
    found: dict[str, list[float]] = {}
    for line, name in _pairs(figures):
        ours = _seconds(figures, line, name, max(_THREADS))
        theirs = _seconds(figures, line, LIGHTGBM, max(_THREADS), _TREES[name])
        found.setdefault(name, []).append(ours / theirs)
    said = [f"{span(ratios, '.3f')} with `{name}`" for name, ratios in found.items()]
    return (
        f"With {max(_THREADS)} threads and as many trees as LightGBM, the time of a fit as a "
        f"fraction of LightGBM's is {listed(said)}."
    )


def _ratios(figures: Sequence[Figure]) -> list[str]:
    """Ours as parts of LightGBM's, and memory as parts of the input, against the targets."""
    lines = []
    for line, name in _pairs(figures):
        cells = [line.name, f"`{name}`, {_TREES[name]} trees"]
        for threads in reversed(_THREADS):
            ratio = _seconds(figures, line, name, threads) / _seconds(
                figures, line, LIGHTGBM, threads, _TREES[name]
            )
            cells.append(f"{ratio:.3f}")
            if threads == max(_THREADS):
                cells += [f"<= {line.targets[name]:g}", _yes(ratio <= line.targets[name])]
        memory = _of(figures, line, name, max(_THREADS), "peak_mb")
        memory /= _of(figures, line, name, max(_THREADS), "input_mb")
        gain = _seconds(figures, line, name, 1) / _seconds(figures, line, name, 2)
        cells += [f"{memory:.2f}", _yes(memory <= _MEMORY_TARGET), f"{gain:.2f}"]
        cells.append(_yes(gain >= _SCALING_TARGET) if line.scales else "")
        lines.append(cells)
    header = ["table", "ours", "2 threads", "target", "holds", "1 thread"]
    header += ["peak / input", f"<= {_MEMORY_TARGET:g}"]
    header += ["2 threads against 1", f">= {_SCALING_TARGET:g}"]
    return [
        "## Time as a part of LightGBM's",
        "",
        "The same rows and number of trees, depth 6, 64 leaves, 255 bins, from the raw table to "
        "the model; medians. Every fit is in a process of its own, ours and LightGBM's in turn. "
        "Peak is the largest resident size above what the process held when the fit began.",
        "",
        *table(header, lines),
        "",
    ]


def _times(figures: Sequence[Figure]) -> list[str]:
    """Seconds, CPU seconds and megabytes of all fits."""
    lines = []
    for line in _lines(figures):
        methods = [(LIGHTGBM, trees) for trees in sorted({_TREES[name] for name in line.targets})]
        methods += [(name, _TREES[name]) for name in line.targets]
        for method, trees in methods:
            cells = [line.name, f"{method}, {trees} trees"]
            for threads in _THREADS:
                values = {"table": line.name, "method": method, "threads": threads, "trees": trees}
                for name, digits in (("seconds", 3), ("cpu_seconds", 3), ("peak_mb", 0)):
                    cells.append(f"{median(figures, name, **values):.{digits}f}")
            cells.append(f"{median(figures, 'input_mb', table=line.name):.0f}")
            cells.append(str(_count(figures, line.name, method, trees)))
            lines.append(cells)
    header = ["table", "method"]
    for threads in _THREADS:
        header += [f"{threads}: wall (s)", f"{threads}: CPU (s)", f"{threads}: peak (MB)"]
    header += ["input (MB)", "fits"]
    note = (
        "Number of threads: figure. LightGBM's time at 50 trees is taken on the way to 100; its "
        "large tables are measured less often, as the last column says."
    )
    return ["## Seconds and megabytes", "", note, "", *table(header, lines), ""]


def _predictions(figures: Sequence[Figure]) -> list[str]:
    """Our predictor beside LightGBM's on the same trees."""
    lines = []
    for name in _PREDICTIONS:
        for threads in _THREADS:
            ours, theirs = (
                median(figures, table=name, method=method, threads=threads)
                for method in ("dpboost", LIGHTGBM)
            )
            cells = [name, str(threads), f"{ours:.3f}", f"{theirs:.3f}", f"{ours / theirs:.2f}"]
            lines.append([*cells, _yes(ours <= theirs)])
    megabytes = median(figures, "input_mb", table=next(iter(_PREDICTIONS)))
    note = (
        f"{_PREDICTED_TREES} rounds of `best`, a table of {megabytes:.0f} MB: our predictor, and "
        "LightGBM's from the text of the same model."
    )
    header = ["task", "threads", "ours (s)", "LightGBM (s)", "ratio", "<= 1"]
    return ["## Prediction", "", note, "", *table(header, lines), ""]


def _import_time(figures: Sequence[Figure]) -> list[str]:
    seconds = median(figures, table=_IMPORT)
    return [
        "## Import",
        "",
        f"`import dpboost` after `import lightgbm`: {seconds:.3f} s; to be reached: "
        f"{_IMPORT_TARGET:g} s; holds: {_yes(seconds <= _IMPORT_TARGET)}.",
    ]


def _seconds(
    figures: Sequence[Figure], line: Line, method: str, threads: int, trees: int | None = None
) -> float:
    return _of(figures, line, method, threads, "seconds", trees)


def _of(
    figures: Sequence[Figure],
    line: Line,
    method: str,
    threads: int,
    name: str,
    trees: int | None = None,
) -> float:
    wanted: dict[str, object] = {"table": line.name, "method": method, "threads": threads}
    if trees is not None:
        wanted["trees"] = trees
    return median(figures, name, **wanted)


def _count(figures: Sequence[Figure], shown: str, method: str, trees: int) -> int:
    """Return how many fits a median is of; the same for every number of threads."""
    return len(
        {
            figure.repeat
            for figure in figures
            if (figure.table, figure.method, figure.trees) == (shown, method, trees)
        }
    )


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"
