"""The recipe best against the mean: ten laws of labels, four sizes, five epsilons, any bounds.

A table small for its epsilon is where bounds that are far too wide, or that no one declares, can
make a model worse than none. Every fit has rows and noise of its own.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, distinct, pick, values
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.label_laws import LAWS, Bounds, generated, schema
from benchmarks.libraries import dpboost_recipes
from benchmarks.summary import listed, table
from dpboost import DPBoostRegressor

DELTA = 1e-5
#: Fits of a cell.
FITS, QUICK_FITS = 30, 5
N_TEST = 2_000
GRID_LAWS = tuple(name for name in LAWS if name != "line")
SIZES = (500, 1_000, 3_000, 10_000)
EPSILONS = (0.1, 0.5, 1.0, 2.0, 8.0)
QUICK_SIZES, QUICK_EPSILONS = (500, 3_000), (1.0, 8.0)
#: From so many rows times epsilon on, a model is to be no worse than the mean. By how many times
#: too wide the bounds are; 0: nothing is declared.
LEAST: dict[int, float] = {1: 500, 10: 500, 100: 2_000, 0: 2_000}
#: So much worse it may be; and so much of their bounds or of their size, where labels are constant.
MOST, MOST_OF_CONSTANT = 1.02, 0.01
#: Rows and epsilon where bounds so many times too wide are to make no difference.
WIDTH_ROWS, WIDTH_EPSILON, WIDTHS = 20_000, 1.0, (1, 3, 10, 0)
#: The best and the worst of these may be so far apart.
APART = 1.03

PART, WIDTH_PART = "against the mean", "width of bounds"
_MEAN, _LARGEST = "RMSE over the mean's", "the same, largest"

Cell = tuple[str, int, int, float]


def cells(*, quick: bool) -> Iterator[Cell]:
    """Yield laws, widths of bounds, numbers of rows and epsilons for which there is a bar."""
    sizes, epsilons = (QUICK_SIZES, QUICK_EPSILONS) if quick else (SIZES, EPSILONS)
    for cell in itertools.product(LEAST, GRID_LAWS, sizes, epsilons):
        width, law, n_rows, epsilon = cell
        if n_rows * epsilon >= LEAST[width]:
            yield law, width, n_rows, epsilon


def width_cells() -> Iterator[Cell]:
    """Yield the cells in which the bounds are to make no difference."""
    for law, width in itertools.product(GRID_LAWS, WIDTHS):
        if law != "constant":
            yield law, width, WIDTH_ROWS, WIDTH_EPSILON


def measured(part: str, cell: Cell, n_fits: int) -> list[Result]:
    """Return mean and largest error of some fits of a cell."""
    law, width, n_rows, epsilon = cell
    found = [error(law, width, n_rows, epsilon, seed) for seed in range(n_fits)]
    return [
        Result(
            part=part,
            data=_data(law, n_rows),
            method=str(width),
            epsilon=epsilon,
            measure=measure,
            value=value,
        )
        for measure, value in ((_MEAN, float(np.mean(found))), (_LARGEST, max(found)))
    ]


def error(law: str, width: int, n_rows: int, epsilon: float, seed: int) -> float:
    """Return the RMSE on held-out rows in that of the mean of the training labels.

    Of constant labels in the largest of their size and the width of their bounds.
    """
    X, line, random = generated(n_rows + N_TEST, seed)
    y = LAWS[law].labels(line, random)
    bounds = LAWS[law].widened(width) if width else None
    known = schema("normal", bounds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DPBoostRegressor(epsilon=epsilon, delta=DELTA, schema=known, random_state=seed)
        model.fit(X[:n_rows], y[:n_rows])
    left = y[n_rows:] - model.predict(X[n_rows:])
    return _root_mean_square(left) / _unit(law, y[n_rows:], float(y[:n_rows].mean()), bounds)


def _unit(law: str, y: np.ndarray, mean: float, bounds: Bounds | None) -> float:
    if law == "constant":
        size = float(np.abs(y).max())
        return size if bounds is None else max(size, bounds[1] - bounds[0])
    return _root_mean_square(y - mean)


def _root_mean_square(numbers: np.ndarray) -> float:
    return float(np.sqrt(np.mean(numbers**2)))


def _data(law: str, n_rows: int) -> str:
    return f"{law}, {n_rows:,} rows"


def plan(request: Request) -> Plan:
    """Return the fits of every cell as a unit."""
    n_fits = request.repeats or (QUICK_FITS if request.quick else FITS)
    asked = [(PART, cell) for cell in cells(quick=request.quick)]
    asked += [(WIDTH_PART, cell) for cell in width_cells() if not request.quick]
    settings = digest({"versions": dpboost_recipes.versions(), "test rows": N_TEST})
    units = [
        Unit(
            name=f"{part} {cell} {n_fits}",
            settings=settings,
            measure=partial(measured, part, cell, n_fits),
        )
        for part, cell in asked
    ]
    return Plan(units=units, facts={"fits of a cell": str(n_fits)})


def body(results: Results) -> list[str]:
    """Return a table for each width of bounds, and what the width is worth."""
    rows, n_fits = results.rows, results.facts["fits of a cell"]
    text = [
        f"Recipe best, delta {DELTA:g}, {N_TEST:,} held-out rows, {n_fits} fits of a cell. "
        f"RMSE on held-out rows in that of the mean of the training labels, mean of the fits "
        "(the largest of them); of constant labels in the width of their bounds or their own "
        f"size. It is to be at most {MOST:g}, of constant labels {MOST_OF_CONSTANT:g}, from so "
        "many rows times epsilon on as the heads of the tables say; **bold** where it is not. "
        "Wide bounds keep their end that is nearest to zero.",
        "",
    ]
    for width, least in LEAST.items():
        own = pick(rows, part=PART, method=str(width))
        text += [f"## {_called(width)}, from {least:,g} rows times epsilon on", ""]
        text += [*_verdict(own), "", *_grid(own), ""]
    widths = pick(rows, part=WIDTH_PART)
    return text + (_width_lines(widths) if widths else [])


def _called(width: int) -> str:
    if width == 0:
        return "Nothing declared of labels"
    return "Bounds as a dictionary gives them" if width == 1 else f"Bounds {width} times as wide"


def _too_large(result: Result) -> bool:
    constant = result.data.startswith("constant,")
    return result.value > (MOST_OF_CONSTANT if constant else MOST)


def _held(rows: Sequence[Result]) -> tuple[int, int]:
    """Return how many cells are within the bar, and how many there are."""
    means = pick(rows, measure=_MEAN)
    return sum(not _too_large(result) for result in means), len(means)


def _verdict(rows: Sequence[Result]) -> list[str]:
    held, n = _held(rows)
    return [f"This holds in {held} of {n} cells."]


def _grid(rows: Sequence[Result]) -> list[str]:
    epsilons = sorted({result.epsilon for result in rows if result.epsilon is not None})
    body = []
    for data in distinct(rows, "data"):
        line = [data]
        for epsilon in epsilons:
            own = pick(rows, data=data, epsilon=epsilon)
            line.append(_shown(own) if own else "")
        body.append(line)
    return table(["labels", *(f"epsilon {epsilon:g}" for epsilon in epsilons)], body)


def _shown(own: Sequence[Result]) -> str:
    (mean,), (largest,) = pick(own, measure=_MEAN), pick(own, measure=_LARGEST)
    text = f"{mean.value:.2g}" if mean.value < 0.01 else f"{mean.value:.3f}"
    return (
        f"**{text}** ({largest.value:.2g})" if _too_large(mean) else f"{text} ({largest.value:.2g})"
    )


def _width_lines(rows: Sequence[Result]) -> list[str]:
    body = []
    for data in distinct(rows, "data"):
        found = [values(rows, data=data, method=str(width), measure=_MEAN)[0] for width in WIDTHS]
        apart = max(found) / min(found)
        shown = f"{apart:.3f}" if apart <= APART else f"**{apart:.3f}**"
        body.append([data, *(f"{value:.3f}" for value in found), shown])
    heads = ["undeclared" if width == 0 else f"{width} times" for width in WIDTHS]
    return [
        "## How much the width of bounds matters",
        "",
        f"The same RMSE at epsilon {WIDTH_EPSILON:g}; the worst over the best is to be at most "
        f"{APART:g}.",
        "",
        *table(["labels", *heads, "worst over best"], body),
        "",
    ]


def finding(results: Results) -> str:
    """Return in how many cells the error is within its bar, by width of the bounds."""
    said = []
    for width in LEAST:
        held, n = _held(pick(results.rows, part=PART, method=str(width)))
        if n:
            called = _called(width)
            said.append(f"{held} of {n} cells with {called[0].lower()}{called[1:]}")
    return f"The error is at most {MOST:g} times that of the mean, its limit, in {listed(said)}."


LABEL_BOUNDS = Run(
    name="label-bounds",
    title="Accuracy with wide label bounds, and with none",
    group=Group.ACCURACY,
    description="Ten laws of labels against the mean, in small and larger tables: with bounds as a "
    "dictionary gives them, ten and a hundred times as wide, and with none.",
    plan=plan,
    body=body,
    finding=finding,
)
