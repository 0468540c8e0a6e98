"""What becomes of labels of many kinds.

Generated tables, recipe best: coverage of quantiles, labels whose bounds no one declares, and
objectives with a logarithm. Every fit has noise of its own.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import lightgbm
import numpy as np

from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, distinct, pick, values
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.label_laws import LAWS, Array, generated, schema
from benchmarks.libraries import dpboost_recipes
from benchmarks.summary import table
from dpboost import DPBoostRegressor

REPEATS = 3
N_TEST = 10_000
DELTA = 1e-5

LINKS: dict[str, Callable[[Array], Array]] = {
    "gamma": lambda g: np.exp(g / 4),
    "tweedie": lambda g: np.maximum(g, 0),
}


def coverage(n_rows: int, alpha: float, noise: float, half: float, seed: int) -> float:
    """Return the part of held-out labels at or below the predicted quantile."""
    X, y, _ = generated(n_rows + N_TEST, seed, noise=noise)
    model = DPBoostRegressor(
        objective="quantile",
        alpha=alpha,
        epsilon=8.0,
        delta=DELTA,
        schema=schema("normal", (-half, half)),
        random_state=seed,
    ).fit(X[:n_rows], y[:n_rows])
    return float(np.mean(y[n_rows:] <= model.predict(X[n_rows:])))


def error(name: str, n_rows: int, epsilon: float, seed: int) -> tuple[float, tuple[float, float]]:
    """Return the RMSE in deviations of the labels, and the learned bounds; nothing is declared."""
    X, g, random = generated(n_rows + N_TEST, seed)
    y = LAWS[name].labels(g, random)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DPBoostRegressor(epsilon=epsilon, delta=DELTA, random_state=seed)
        model.fit(X[:n_rows], y[:n_rows])
    left = y[n_rows:] - model.predict(X[n_rows:])
    scale = float(y.std()) if name != "constant" else float(np.abs(y).max())
    assert model.schema_.label_bounds is not None
    return float(np.sqrt(np.mean(left**2))) / scale, model.schema_.label_bounds


def explained(objective: str, law: str, n_rows: int, seed: int) -> tuple[float, float]:
    """Return the R2 of the recipe at epsilon 8 and of LightGBM."""
    X, g, _ = generated(n_rows + N_TEST, seed, law=law)
    y = LINKS[objective](g)
    own = DPBoostRegressor(
        objective=objective,
        epsilon=8.0,
        delta=DELTA,
        schema=schema(law, (float(y.min()), float(y.max()))),
        random_state=seed,
    )
    stock = lightgbm.LGBMRegressor(objective=objective, verbose=-1, n_jobs=1)
    scores = []
    for model in (own, stock):
        left = y[n_rows:] - model.fit(X[:n_rows], y[:n_rows]).predict(X[n_rows:])
        scores.append(1 - float(np.mean(left**2) / y[n_rows:].var()))
    return scores[0], scores[1]


_COVERAGE, _RMSE, _R2 = "coverage", "RMSE", "R2"
_LOW, _HIGH = "lowest learned label", "highest learned label"

Arguments = tuple[Any, ...]


def _coverage(n_rows: int, noise: float, half: float, alpha: float, seed: int) -> list[Result]:
    value = coverage(n_rows, alpha, noise, half, seed)
    data = f"{n_rows:,} rows, noise {noise:g}, labels -{half:g} to {half:g}"
    return [_result("quantiles", data, f"{alpha:g}", seed, _COVERAGE, value)]


def _error(law: str, n_rows: int, epsilon: float, seed: int) -> list[Result]:
    value, (low, high) = error(law, n_rows, epsilon, seed)
    data = f"{law}, {n_rows:,} rows, epsilon {epsilon:g}"
    numbers = {_RMSE: value, _LOW: low, _HIGH: high}
    return [_result("nothing declared", data, "", seed, *pair) for pair in numbers.items()]


def _explained(objective: str, law: str, n_rows: int, seed: int) -> list[Result]:
    own, stock = explained(objective, law, n_rows, seed)
    data = f"{objective}, {law}, {n_rows:,} rows"
    return [
        replace(_result("logarithms", data, "", seed, _R2, value), method=method)
        for method, value in (("best", own), ("LightGBM", stock))
    ]


def _result(part: str, data: str, x: str, seed: int, measure: str, value: float) -> Result:
    return Result(
        part=part, data=data, method="best", x=x, repeat=seed, measure=measure, value=value
    )


_SIZES = (5_000, 30_000)
_LOG_SIZES = (3_000, 30_000)
_DECLARED = ((3_000, 1.0), (20_000, 1.0), (20_000, 8.0))


def _fits(repeats: int) -> Iterator[tuple[Callable[..., list[Result]], Arguments]]:
    """Yield what is fitted: a function and its arguments."""
    quantiles = itertools.product(_SIZES, (0.3, 1.0), (20.0, 200.0), (0.1, 0.5, 0.9))
    yield from ((_coverage, (*own, seed)) for own in quantiles for seed in range(repeats))
    for law, (n_rows, epsilon), seed in itertools.product(LAWS, _DECLARED, range(repeats)):
        yield _error, (law, n_rows, epsilon, seed)
    links = itertools.product(LINKS, ("normal", "uniform"), _LOG_SIZES)
    yield from ((_explained, (*own, seed)) for own in links for seed in range(repeats))


def plan(request: Request) -> Plan:
    """Return every fit as a unit."""
    repeats = request.repeats or (1 if request.quick else REPEATS)
    versions = dpboost_recipes.versions()
    units = [
        Unit(
            name=f"{measure.__name__.removeprefix('_')} {arguments}",
            settings=digest({"versions": versions, "test rows": N_TEST}),
            measure=partial(measure, *arguments),
        )
        for measure, arguments in _fits(repeats)
    ]
    return Plan(units=units, facts={"repeats": str(repeats), "test rows": str(N_TEST)})


def body(results: Results) -> list[str]:
    """Return a table for each kind of label."""
    rows = results.rows
    repeats, n_test = results.facts["repeats"], int(results.facts["test rows"])
    return [
        f"Recipe best, delta {DELTA:g}, {repeats} generated tables each, {n_test:,} held-out rows.",
        "",
        *_coverage_lines(pick(rows, part="quantiles")),
        *_law_lines(pick(rows, part="nothing declared")),
        *_link_lines(pick(rows, part="logarithms")),
    ]


def _coverage_lines(rows: Sequence[Result]) -> list[str]:
    """Return the table of quantiles."""
    lines = []
    for data in distinct(rows, "data"):
        cells = []
        for alpha in distinct(rows, "x"):
            found = values(rows, data=data, x=alpha)
            worst = max(found, key=lambda value, own=float(alpha): abs(value - own))
            cells.append(f"{np.mean(found):.3f} ({worst:.3f})")
        lines.append([data, *cells])
    return [
        "## Quantiles",
        "",
        "Part of held-out labels at or below the prediction, mean and the value furthest from "
        "alpha; epsilon 8, labels 3 x0 + x2 + noise.",
        "",
        *table(["labels", *(f"alpha {alpha}" for alpha in distinct(rows, "x"))], lines),
        "",
    ]


def _law_lines(rows: Sequence[Result]) -> list[str]:
    """Return the table of labels whose bounds are learned."""
    lines = []
    for data in distinct(rows, "data"):
        found = values(rows, data=data, measure=_RMSE)
        low, high = (values(rows, data=data, measure=name)[-1] for name in (_LOW, _HIGH))
        shown = f"{np.mean(found):.2g} ({max(found):.2g})"
        lines.append([data, shown, f"{low:.12g} to {high:.12g}"])
    return [
        "## Nothing declared",
        "",
        "RMSE on held-out rows in standard deviations of the labels (of a constant: in its size), "
        "mean and largest; bounds learned in the last fit.",
        "",
        *table(["labels", "RMSE", "learned bounds"], lines),
        "",
    ]


def _link_lines(rows: Sequence[Result]) -> list[str]:
    """Return the table of objectives with a logarithm."""
    lines = []
    for data in distinct(rows, "data"):
        means = [np.mean(values(rows, data=data, method=name)) for name in ("best", "LightGBM")]
        lines.append([data, *(f"{mean:.3f}" for mean in means)])
    return [
        "## Objectives with a logarithm",
        "",
        "R2 on held-out rows, mean; epsilon 8, labels exp(g / 4) (gamma) and max(0, g) (tweedie) "
        "with g = 3 x0 + x2 + .3 noise, label bounds of the generated range.",
        "",
        *table(["objective, features", "best", "LightGBM"], lines),
        "",
    ]


def finding(results: Results) -> str:
    """Return how far coverage is off, and what undeclared bounds and logarithms give."""
    quantiles = pick(results.rows, part="quantiles")
    off = [
        abs(float(np.mean(values(quantiles, data=data, x=alpha))) - float(alpha))
        for data in distinct(quantiles, "data")
        for alpha in distinct(quantiles, "x")
    ]
    laws = pick(results.rows, part="nothing declared", measure=_RMSE)
    errors = [float(np.mean(values(laws, data=data))) for data in distinct(laws, "data")]
    return (
        f"The mean coverage differs from its quantile by at most {max(off):.3f}. Without "
        f"declarations, the RMSE is at most {max(errors):.2f} standard deviations of the labels."
    )


LABELS = Run(
    name="labels",
    title="Accuracy with labels of many kinds: quantiles, undeclared bounds, logarithms",
    group=Group.ACCURACY,
    description=(
        "Labels of many kinds on generated tables: coverage of quantiles, bounds that are not "
        "declared, objectives with a logarithm."
    ),
    plan=plan,
    body=body,
    finding=finding,
)
