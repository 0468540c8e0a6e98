"""The recipe best with many columns: a hundred of them tell nothing, or no one knows which do."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks._compat import import_pandas
from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, distinct, pick, values
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.problems.adult import ADULT
from benchmarks.problems.pmlb import CLEAN2, COIL2000, OPTDIGITS, SATIMAGE, WAVEFORM_40, WIND
from benchmarks.problems.problem import Problem, take
from benchmarks.problems.services import CHURN_MODELLING, DEFAULT_CREDIT, KC_HOUSE, SPAMBASE
from benchmarks.summary import summarize, table
from dpboost.recipes.best import BEST

SPLITS, QUICK_SPLITS = 10, 2
DELTA = 1e-5
ADDED = 100
WITH = "chosen"
WITHOUT = "all alike"
RECIPES = {WITHOUT: replace(BEST, columns_to_choose=None), WITH: BEST}
PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (CHURN_MODELLING, WIND, ADULT, KC_HOUSE, WAVEFORM_40, CLEAN2, COIL2000)
    + (OPTDIGITS, SATIMAGE, SPAMBASE, DEFAULT_CREDIT)
}
#: Tables to which columns of noise are added.
GROWN = ("churn_modelling", "wind", "adult", "kc_house")
EPSILONS = (0.1, 1.0)
#: What the added columns may cost: of AUC, and as a part of the RMSE.
MOST = {0.1: {"AUC": 0.04, "RMSE": 0.15}, 1.0: {"AUC": 0.02, "RMSE": 0.08}}
#: What the model is to reach.
LEAST = {("waveform_40", 0.1): 0.88, ("clean2", 0.1): 0.95, ("coil2000", 1.0): 0.73}
_SECONDS = "fit seconds"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A table with some columns more, and a budget."""

    data: str
    added: int
    epsilon: float


def cases() -> Iterator[Case]:
    """Yield every table, with and without more columns."""
    for data in PROBLEMS:
        for epsilon in EPSILONS:
            for added in (0, ADDED) if data in GROWN else (0,):
                yield Case(data=data, added=added, epsilon=epsilon)


@functools.lru_cache(maxsize=2)
def load(data: str, added: int, seed: int) -> tuple[Any, np.ndarray, Problem]:
    """Return the rows, beside as many columns of uniform numbers, and the problem of them."""
    problem = PROBLEMS[data]
    X, y = problem.load()
    if not added:
        return X, y, problem
    noise = np.random.default_rng(1000 + seed).random((len(y), added))
    more = import_pandas().DataFrame(noise).add_prefix("noise_")
    grown = import_pandas().concat([X.reset_index(drop=True), more], axis=1)
    known = problem.dictionary
    bounds = {**known.bounds, **dict.fromkeys(more.columns, (0, 1))}
    return grown, y, replace(problem, dictionary=replace(known, bounds=bounds))


def measured(case: Case, seed: int) -> list[Result]:
    """Return how both recipes do on the held-out rows of a split, and how long they take."""
    X, y, problem = load(case.data, case.added, seed)
    train, test = problem.split.indices(y, seed)
    found = []
    for method, recipe in RECIPES.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = dpboost_recipes.fit_predict(
                problem,
                take(X, train),
                y[train],
                take(X, test),
                epsilon=case.epsilon,
                seed=seed,
                n_jobs=1,
                delta=DELTA,
                recipe=recipe,
            )
        for measure, value in (
            _score(problem, y[test], fitted.prediction),
            (_SECONDS, fitted.fit_seconds),
        ):
            found.append(
                Result(
                    data=case.data,
                    method=method,
                    epsilon=case.epsilon,
                    x=str(case.added),
                    repeat=seed,
                    measure=measure,
                    value=value,
                )
            )
    return found


def _score(problem: Problem, y: np.ndarray, shown: np.ndarray) -> tuple[str, float]:
    if problem.task == "regression":
        return "RMSE", float(np.sqrt(np.mean((y - shown) ** 2)))
    if problem.task == "binary":
        return "AUC", float(roc_auc_score(y, shown))
    shares = shown / shown.sum(axis=1, keepdims=True)
    return "AUC", float(roc_auc_score(y, shares, multi_class="ovr"))


def plan(request: Request) -> Plan:
    """Return every split of every case as a unit."""
    n_splits = request.repeats or (QUICK_SPLITS if request.quick else SPLITS)
    versions = dpboost_recipes.versions()
    units = []
    for seed in range(n_splits):
        for case in cases():
            files = PROBLEMS[case.data].local_digests()
            units.append(
                Unit(
                    name=f"{case.data}, {case.added} more, {case.epsilon:g}, split {seed}",
                    settings=digest({"versions": versions, "files": files}),
                    measure=functools.partial(measured, case, seed),
                )
            )
    return Plan(units=units, facts={"splits": str(n_splits)})


def _tables(results: Results) -> tuple[list[list[str]], list[list[str]]]:
    """Return the lines of both recipes on every table, and those of what more columns cost."""
    rows = results.rows
    lines: list[list[str]] = []
    costs: list[list[str]] = []
    for data in distinct(rows, "data"):
        for epsilon in EPSILONS:
            here = pick(rows, data=data, epsilon=epsilon)
            kinds = distinct(here, "x")
            for added in kinds:
                lines.append(_line(data, epsilon, added, pick(here, x=added)))
            if len(kinds) > 1:
                costs.append(_cost(data, epsilon, here))
    return lines, costs


def finding(results: Results) -> str:
    """Return in how many points the aims are reached, and at how many of them without a choice."""
    lines, costs = _tables(results)
    reached = [cells[-1].endswith("reached") for cells in (*lines, *costs) if cells[-1]]
    if not costs:
        return ""
    before = [float(cells[2].split()[0]) <= float(cells[4]) for cells in costs]
    kept = sum(cells[-1] == "reached" for cells in costs)
    return (
        f"The private choice of columns reaches {sum(reached)} of {len(reached)} aims. "
        f"With it, {ADDED} columns of noise stay within their limit of lost accuracy at {kept} of "
        f"{len(costs)} points; without it, at {sum(before)}."
    )


def body(results: Results) -> list[str]:
    """Return both recipes beside each other on every table, and what more columns cost."""
    lines, costs = _tables(results)
    heads = ["table", "epsilon", "more columns", "measure", WITHOUT, WITH]
    heads += ["difference", "time of a fit", "aim"]
    return [
        f"Means over {results.facts['splits']} splits, delta {DELTA:g}. Fits with both recipes "
        "are of the same rows. The difference is that of AUC (of several classes: each against "
        "the rest), or of RMSE as a part of it, ± a standard error over the splits. The time is "
        "that of fits that choose columns, as a part of that of the others.",
        "",
        *table(heads, lines),
        "",
        f"What {ADDED} columns of uniform numbers cost, in AUC or as a part of the RMSE, "
        "± a standard error:",
        "",
        *table(["table", "epsilon", WITHOUT, WITH, "at most", ""], costs),
        "",
    ]


def _measure(rows: list[Result]) -> str:
    return next(row.measure for row in rows if row.measure != _SECONDS)


def _line(data: str, epsilon: float, added: str, rows: list[Result]) -> list[str]:
    measure = _measure(rows)
    before, after = (np.array(values(rows, method=m, measure=measure)) for m in (WITHOUT, WITH))
    relative = 1.0 if measure == "AUC" else float(before.mean())
    difference = summarize(list((after - before) / relative))
    seconds = [np.sum(values(rows, method=m, measure=_SECONDS)) for m in (WITHOUT, WITH)]
    least = LEAST.get((data, epsilon))
    aim = "" if least is None else f"{least:g}, " + _verdict(float(after.mean()) >= least)
    means = [f"{before.mean():.4g}", f"{after.mean():.4g}"]
    return [
        *(data, f"{epsilon:g}", added, measure, *means),
        *(f"{difference:4}", f"{seconds[1] / seconds[0]:.2f}", aim),
    ]


def _cost(data: str, epsilon: float, rows: list[Result]) -> list[str]:
    measure = _measure(rows)
    cells = []
    for method in (WITHOUT, WITH):
        own, more = (
            np.array(values(pick(rows, x=x), method=method, measure=measure))
            for x in ("0", str(ADDED))
        )
        lost = own - more if measure == "AUC" else (more - own) / own.mean()
        cells.append(summarize(list(lost)))
    most = MOST[epsilon][measure]
    reached = _verdict(cells[1].mean <= most)
    return [data, f"{epsilon:g}", *(f"{cell:4}" for cell in cells), f"{most:g}", reached]


def _verdict(reached: bool) -> str:
    return "reached" if reached else "**missed**"


IRRELEVANT_COLUMNS = Run(
    name="best-irrelevant",
    title="Accuracy with a hundred irrelevant columns, with and without a choice of columns",
    group=Group.ACCURACY,
    description="The recipe best, which chooses some of many columns before its first tree, beside "
    "the same recipe without that choice: on tables to which a hundred columns of noise are added, "
    "and on tables with many columns of their own.",
    plan=plan,
    body=body,
    finding=finding,
)
