"""The recipe best that continues a model of public rows: is it ever worse than its start?"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import lightgbm
import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, distinct, pick, values
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.problems.adult import ADULT
from benchmarks.problems.bank import BANK
from benchmarks.problems.problem import Problem, take
from benchmarks.problems.services import DEFAULT_CREDIT
from benchmarks.summary import summarize, table
from dpboost import DPBoostClassifier, Schema

SPLITS, QUICK_SPLITS = 10, 2
DELTA = 1e-5
EPSILONS = (0.1, 0.5, 1.0, 4.0)
PROBLEMS: dict[str, Problem] = {each.name: each for each in (ADULT, BANK, DEFAULT_CREDIT)}
PUBLIC, PRIVATE, N_TEST = (200, 1000), (2000, 18_000), 8000
SAME, SHIFTED = "same population", "shifted population"
START = "start"
#: A column of numbers whose upper half alone is public, where the population is shifted.
SHIFTED_BY = {"adult": "age", "bank": "age", "default_credit": "LIMIT_BAL"}
ASSUMED = ("column_types", "classes", "init_model")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A table, public rows of a kind, and a number of them."""

    data: str
    population: str
    n_public: int


def cases() -> Iterator[Case]:
    """Yield every table with all kinds and numbers of public rows."""
    for data in PROBLEMS:
        for population in (SAME, SHIFTED):
            for n_public in PUBLIC:
                yield Case(data=data, population=population, n_public=n_public)


def divided(X: Any, case: Case, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the positions of public rows, of rows for tests, and of private ones in order."""
    order = np.random.default_rng(seed).permutation(len(X))
    candidates = order
    if case.population == SHIFTED:
        column = X[SHIFTED_BY[case.data]].to_numpy()
        candidates = order[column[order] > np.median(column)]
    public = candidates[: case.n_public]
    rest = order[~np.isin(order, public)]
    return public, rest[:N_TEST], rest[N_TEST:]


def measured(case: Case, seed: int) -> list[Result]:
    """Return the AUC of the start, and of what continues it on private rows."""
    problem = PROBLEMS[case.data]
    X, y = problem.load()
    y = (y == sorted(set(y.tolist()))[1]).astype(int)
    public, test, private = divided(X, case, seed)
    start = lightgbm.LGBMClassifier(n_estimators=60, num_leaves=8, n_jobs=1, verbosity=-1)
    start.fit(take(X, public), y[public])
    known = problem.dictionary
    schema = Schema(bounds=known.bounds, categories=known.categories, classes=[0, 1])
    held = take(X, test)
    found = [(0, 0.0, START, roc_auc_score(y[test], start.predict_proba(held)[:, 1]))]
    for n_private in PRIVATE:
        rows = private[:n_private]
        for epsilon in EPSILONS:
            model = DPBoostClassifier(
                epsilon=epsilon,
                delta=DELTA,
                schema=schema,
                assume_public=ASSUMED,
                n_jobs=1,
                verbosity=-1,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(take(X, rows), y[rows], init_model=start)
                shown = model.predict_proba(held)[:, 1]
            found.append((n_private, epsilon, "continued", roc_auc_score(y[test], shown)))
    return [
        Result(
            data=case.data,
            method=f"{method}, {case.n_public} public rows, {case.population}",
            epsilon=epsilon,
            x=str(n_private),
            repeat=seed,
            measure="AUC",
            value=float(value),
        )
        for n_private, epsilon, method, value in found
    ]


def plan(request: Request) -> Plan:
    """Return every split of every case as a unit."""
    n_splits = request.repeats or (QUICK_SPLITS if request.quick else SPLITS)
    versions = dpboost_recipes.versions()
    units = [
        Unit(
            name=f"{case.data}, {case.n_public} public, {case.population}, split {seed}",
            settings=digest({"versions": versions, "files": PROBLEMS[case.data].local_digests()}),
            measure=functools.partial(measured, case, seed),
        )
        for seed in range(n_splits)
        for case in cases()
    ]
    return Plan(units=units, facts={"splits": str(n_splits)})


def _gains(results: Results) -> Iterator[tuple[Case, str, float, Any, Any]]:
    """Yield each point: its case, private rows, epsilon, start, and gain over it."""
    for case in cases():
        kind = f"{case.n_public} public rows, {case.population}"
        rows = pick(results.rows, data=case.data)
        start = np.array(values(rows, method=f"{START}, {kind}"))
        if not start.size:
            continue
        continued = pick(rows, method=f"continued, {kind}")
        for n_private in distinct(continued, "x"):
            for epsilon in EPSILONS:
                after = np.array(values(continued, x=n_private, epsilon=epsilon))
                yield (
                    case,
                    n_private,
                    epsilon,
                    summarize(list(start)),
                    summarize(list(after - start)),
                )


def finding(results: Results) -> str:
    """Return at how many points the result is worse, and better, than its start."""
    gains = [gain for *_, gain in _gains(results)]
    worse = sum(gain.mean < -2 * gain.standard_error for gain in gains)
    better = sum(gain.mean > 2 * gain.standard_error for gain in gains)
    return (
        f"Continuing a model of public rows on private ones is worse than this start by more than "
        f"two standard errors at {worse} of {len(gains)} points, and better at {better}."
    )


def body(results: Results) -> list[str]:
    """Return the start, and what each number of private rows and budget adds to it."""
    lines: dict[tuple[Case, str], list[str]] = {}
    for case, n_private, _, start, gain in _gains(results):
        head = [case.data, case.population, str(case.n_public), n_private, f"{start:4}"]
        lines.setdefault((case, n_private), head).append(f"{gain:4}")
    return [
        f"Means over {results.facts['splits']} divisions of the rows, delta {DELTA:g}, ± a "
        "standard error. The start is LightGBM's model of the public rows (60 trees of 8 leaves). "
        "Public rows of a shifted population are of the upper half of one column. What is added "
        "is AUC.",
        "",
        *table(
            ["table", "public rows", "number", "private rows", "AUC of the start"]
            + [f"added, epsilon {epsilon:g}" for epsilon in EPSILONS],
            lines.values(),
            n_texts=2,
        ),
        "",
    ]


PUBLIC_START = Run(
    name="public-start",
    title="Continuing a model of public rows on private rows",
    group=Group.ACCURACY,
    description="The recipe best that continues LightGBM's model of 200 and 1,000 public rows, of "
    "the same and of a shifted population, on 2,000 and 18,000 private rows.",
    plan=plan,
    body=body,
    finding=finding,
)
