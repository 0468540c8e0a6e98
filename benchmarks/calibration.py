"""Probabilities of best for two classes: calibration slopes and log loss beside a constant's."""

from __future__ import annotations

import contextlib
import functools
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import scipy.optimize
import scipy.special
import scipy.stats
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, distinct, pick, values
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.problems.adult import ADULT
from benchmarks.problems.bank import BANK
from benchmarks.problems.pmlb import COIL2000
from benchmarks.problems.problem import Problem, take
from benchmarks.problems.services import CHURN_MODELLING, DEFAULT_CREDIT, TELCO_CHURN
from benchmarks.summary import summarize, table
from dpboost.losses import logistic
from dpboost.losses.link_table import two_sided_table
from dpboost.recipes import best_rules

SPLITS, QUICK_SPLITS = 10, 1
DELTA = 1e-5
ROWS = (500, 1000, 5000, None)
EPSILONS = (0.1, 0.5, 1.0, 8.0)
#: Rows on which predictions are compared with labels, at most.
MOST_TEST_ROWS = 20_000
#: Rows of the other class for each row of the rare one.
RARE = 100
PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (ADULT, BANK, DEFAULT_CREDIT, CHURN_MODELLING, TELCO_CHURN, COIL2000)
}
RARE_NAME = f"{BANK.name}, 1:{RARE}"
BEFORE, AFTER = "clipped", "clipped at rest"
SLOPE, AUC, LOSS = "slope", "AUC", "log loss over the constant's"
PRIVATE = "log loss over a private constant's"
COLUMNS = [(measure, method) for measure in (SLOPE, AUC, LOSS) for method in (BEFORE, AFTER)]
#: The slope where epsilon is 1, with so many rows and so many test rows of the rarer class.
BETWEEN, SLOPE_ROWS, SLOPE_TEST_ROWS = (0.85, 1.15), 5000, 200
#: Rows times epsilon from which the constant is one that knows the share.
ENOUGH = 1000.0


@dataclass(frozen=True, kw_only=True)
class Case:
    """Rows of a table, and a budget."""

    data: str
    n_rows: int | None
    epsilon: float


def cases() -> Iterator[Case]:
    """Yield every size of every table with every budget."""
    for data in (*PROBLEMS, RARE_NAME):
        for n_rows in ROWS:
            for epsilon in EPSILONS:
                yield Case(data=data, n_rows=n_rows, epsilon=epsilon)


@contextlib.contextmanager
def as_before() -> Iterator[None]:
    """Compare clipped labels with the probability itself, with the steps that went with it."""
    rules = best_rules.TWO_CLASSES | {
        "learning_rate": best_rules.CLASSES["learning_rate"],
        "follows_signal": best_rules.StepRule({0: False, 1.5e5: True}),
    }
    with (
        mock.patch.object(logistic, "two_sided_table", return_value=two_sided_table()),
        mock.patch.object(best_rules, "TWO_CLASSES", rules),
    ):
        yield


def problem_of(data: str) -> Problem:
    """Return the problem that a table is made of."""
    return BANK if data == RARE_NAME else PROBLEMS[data]


@functools.lru_cache(maxsize=2)
def load(data: str) -> tuple[Any, np.ndarray]:
    """Return all rows of a table; where a class is to be rare, only some rows of it."""
    X, y = problem_of(data).load()
    if data != RARE_NAME:
        return X, y
    random = np.random.default_rng(RARE)
    common, rare = np.flatnonzero(y == 0), np.flatnonzero(y == 1)
    kept = np.concatenate([common, random.choice(rare, len(common) // RARE, replace=False)])
    random.shuffle(kept)
    return take(X, kept), y[kept]


def slope_of(scores: np.ndarray, y: np.ndarray) -> float:
    """Return the slope of a logistic regression of the labels on raw scores."""
    X = np.stack([np.ones_like(scores), scores - scores.mean()])

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        raw = weights @ X
        gradient = X @ (scipy.special.expit(raw) - y) / len(y)
        return float(np.mean(np.logaddexp(0, raw) - y * raw)), gradient

    return float(scipy.optimize.minimize(loss, [0.0, 1.0], jac=True).x[1])


def gaussian_noise(epsilon: float) -> float:
    """Return the deviation of the Gaussian noise of one count for the whole budget."""

    def over(mu: float) -> float:
        left, right = scipy.stats.norm.cdf([mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu])
        return float(left - math.exp(epsilon) * right - DELTA)

    return 1 / float(scipy.optimize.brentq(over, 1e-3, 20.0))


def constant_loss(share: float, y: np.ndarray) -> float:
    """Return the log loss of one probability for all rows."""
    return float(log_loss(y, np.full(len(y), min(max(share, 0.001), 0.999)), labels=[0, 1]))


def measured(case: Case, seed: int) -> list[Result]:
    """Return what the probabilities of both are worth on held-out rows of a split."""
    problem = problem_of(case.data)
    X, y = load(case.data)
    train, test = problem.split.indices(y, seed)
    train, test = train[: case.n_rows], test[:MOST_TEST_ROWS]
    inside, outside = take(X, train), take(X, test)
    share, random = float(y[train].mean()), np.random.default_rng()
    noise = gaussian_noise(case.epsilon) / len(train)
    noisy = np.clip(share + noise * random.standard_normal(50), 0.01, 0.99)
    constant = constant_loss(share, y[test])
    private = float(np.mean([constant_loss(each, y[test]) for each in noisy]))
    found = []
    for method, state in ((BEFORE, as_before()), (AFTER, contextlib.nullcontext())):
        with warnings.catch_warnings(), state:
            warnings.simplefilter("ignore")
            shown = dpboost_recipes.fit_predict(
                problem,
                inside,
                y[train],
                outside,
                epsilon=case.epsilon,
                seed=seed,
                n_jobs=1,
                delta=DELTA,
            ).prediction
        shown = np.clip(shown, 1e-12, 1 - 1e-12)
        loss = float(log_loss(y[test], shown, labels=[0, 1]))
        for measure, value in {
            AUC: float(roc_auc_score(y[test], shown)),
            SLOPE: slope_of(scipy.special.logit(shown), y[test]),
            LOSS: loss / constant,
            PRIVATE: loss / private,
        }.items():
            found.append(
                Result(
                    data=case.data,
                    method=method,
                    epsilon=case.epsilon,
                    x="all" if case.n_rows is None else str(case.n_rows),
                    repeat=seed,
                    measure=measure,
                    value=value,
                )
            )
    return found


def plan(request: Request) -> Plan:
    """Return every split of every case as a unit."""
    n_splits = request.repeats or (QUICK_SPLITS if request.quick else SPLITS)
    versions = dpboost_recipes.versions()
    units, facts = [], {"splits": str(n_splits)}
    for data in (*PROBLEMS, RARE_NAME):
        problem = problem_of(data)
        settings = digest({"versions": versions, "files": problem.local_digests()})
        train, test = problem.split.indices(load(data)[1], 0)
        labels = load(data)[1][test[:MOST_TEST_ROWS]]
        facts[f"rows of {data}"] = str(len(train))
        facts[f"rarer of {data}"] = str(min(int(labels.sum()), int((1 - labels).sum())))
        units += [
            Unit(
                name=f"{data}, {case.n_rows or 'all'}, {case.epsilon:g}, split {seed}",
                settings=settings,
                measure=functools.partial(measured, case, seed),
            )
            for case in cases()
            if case.data == data
            for seed in range(n_splits)
        ]
    return Plan(units=units, facts=facts)


def _lines(results: Results) -> list[list[str]]:
    lines = []
    for data in distinct(results.rows, "data"):
        of_data = pick(results.rows, data=data)
        for size in distinct(of_data, "x"):
            n_rows = int(results.facts[f"rows of {data}"] if size == "all" else size)
            for epsilon in EPSILONS:
                here = pick(of_data, x=size, epsilon=epsilon)
                if here:
                    lines.append(_line(results, data, n_rows, epsilon, here))
    return lines


def _line(
    results: Results, data: str, n_rows: int, epsilon: float, rows: list[Result]
) -> list[str]:
    cells = [data, f"{n_rows:,}", f"{epsilon:g}"]
    for measure in (SLOPE, AUC, LOSS):
        cells += [
            f"{summarize(values(rows, method=m, measure=measure)):3}" for m in (BEFORE, AFTER)
        ]
    enough = n_rows * epsilon >= ENOUGH
    losses = summarize(values(rows, method=AFTER, measure=LOSS if enough else PRIVATE))
    error = np.nan_to_num(losses.standard_error)
    cells.append(_verdict(bool(losses.mean - 2 * error <= 1)))
    rarer = int(results.facts[f"rarer of {data}"])
    asked = epsilon == 1 and n_rows >= SLOPE_ROWS and rarer >= SLOPE_TEST_ROWS
    slope = float(np.mean(values(rows, method=AFTER, measure=SLOPE)))
    cells.append(_verdict(BETWEEN[0] <= slope <= BETWEEN[1]) if asked else "")
    return cells


def _verdict(reached: bool) -> str:
    return "reached" if reached else "**missed**"


def finding(results: Results) -> str:
    """Return in how many points the aims are reached."""
    lines = _lines(results)
    losses = [line[-2] == "reached" for line in lines]
    slopes = [line[-1] == "reached" for line in lines if line[-1]]
    return (
        f"Log loss is not worse than a constant's at {sum(losses)} of {len(losses)} points; the "
        f"calibration slope at epsilon 1 is between {BETWEEN[0]:g} and {BETWEEN[1]:g} at "
        f"{sum(slopes)} of {len(slopes)}."
    )


def body(results: Results) -> list[str]:
    """Return slopes, AUC and log losses of both on every table."""
    heads = ["table", "rows", "epsilon"]
    heads += [
        f"{measure}, {method}" for measure in (SLOPE, AUC, LOSS) for method in (BEFORE, AFTER)
    ]
    heads += ["log loss", "slope"]
    return [
        f"Means ± a standard error; splits of the rows: {results.facts['splits']}, delta "
        f"{DELTA:g}. "
        f"'{BEFORE}': gradients of the probability, clipped, with the steps that went with them; "
        f"'{AFTER}': best as it is. The slope is that of a logistic regression of held-out labels "
        "on raw scores: below 1 where probabilities are too extreme. Log loss is a part of that of "
        "the share of the training rows. It is to be no worse by more than two standard errors, "
        f"where rows times epsilon are below {ENOUGH:,.0f} than that of a share released for the "
        "whole budget. The slope is asked for at epsilon 1 where "
        f"{SLOPE_ROWS:,} rows are trained on and {SLOPE_TEST_ROWS} test rows are of the rarer "
        "class.",
        "",
        *table(heads, _lines(results)),
        "",
    ]


CALIBRATION = Run(
    name="best-calibration",
    title="Calibration of the probabilities of `best`",
    group=Group.ACCURACY,
    description="Slopes, AUC and log loss of best on tables of two classes with 500 rows and more, "
    "beside the same recipe with gradients clipped the usual way.",
    plan=plan,
    body=body,
    finding=finding,
)
