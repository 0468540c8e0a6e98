"""The recipe best where bounds of features are far too wide, or not declared."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, distinct, pick, values
from benchmarks.harness.run import Plan, Request, Run
from benchmarks.held_out import part_lost, plan_of_splits, scored
from benchmarks.libraries import dpboost_recipes
from benchmarks.problems.adult import ADULT
from benchmarks.problems.pmlb import WIND
from benchmarks.problems.problem import Problem, take
from benchmarks.problems.services import CHURN_MODELLING, KC_HOUSE
from benchmarks.summary import Summary, summarize, table
from dpboost.recipes.best import BEST

SPLITS = 10, 2  # in full, and in the quick form
DELTA = 1e-5
EPSILONS = (0.1, 1.0)
PROBLEMS: dict[str, Problem] = {
    problem.name: problem for problem in (CHURN_MODELLING, WIND, ADULT, KC_HOUSE)
}
DECLARED, UNDECLARED = "declared", "undeclared"
#: How many times as wide as declared the bounds are.
FACTORS = {DECLARED: 1.0, "10 times": 10.0, "100 times": 100.0, UNDECLARED: None}
#: What each may cost, as a part of the RMSE or of AUC - 0.5.
MOST = {(1.0, "10 times"): 0.02, (1.0, "100 times"): 0.04, (0.1, UNDECLARED): 0.08}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A table with bounds of some width, and a budget."""

    data: str
    bounds: str
    epsilon: float


def cases() -> Iterator[Case]:
    """Yield every table with all bounds and budgets."""
    for data in PROBLEMS:
        for epsilon in EPSILONS:
            for bounds in FACTORS:
                yield Case(data=data, bounds=bounds, epsilon=epsilon)


def widened(problem: Problem, factor: float | None) -> Problem:
    """Return a problem whose bounds are so many times as wide around their middle."""
    known = problem.dictionary
    bounds = {
        name: (
            (low + high) / 2 - factor * (high - low) / 2,
            (low + high) / 2 + factor * (high - low) / 2,
        )
        for name, (low, high) in known.bounds.items()
        if factor is not None
    }
    return replace(problem, dictionary=replace(known, bounds=bounds))


def measured(case: Case, seed: int) -> list[Result]:
    """Return how the recipe does on the held-out rows of a split."""
    problem = widened(PROBLEMS[case.data], FACTORS[case.bounds])
    X, y = problem.load()
    train, test = problem.split.indices(y, seed)
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
            recipe=BEST,
        )
    where = {"method": case.bounds, "epsilon": case.epsilon, "repeat": seed}
    return scored(problem, y[test], fitted.prediction, **where)


def plan(request: Request) -> Plan:
    """Return every split of every case as a unit."""
    return plan_of_splits(
        request,
        cases(),
        lambda case: f"{case.data}, {case.bounds}, {case.epsilon:g}",
        measured,
        PROBLEMS,
        SPLITS,
    )


def cost(rows: list[Result], bounds: str) -> Summary:
    """Return what bounds cost beside the declared ones on the same splits, as a part."""
    return part_lost(rows, DECLARED, bounds)


def _lines(results: Results) -> list[list[str]]:
    rows = results.rows
    lines = []
    for data in distinct(rows, "data"):
        for epsilon in EPSILONS:
            here = pick(rows, data=data, epsilon=epsilon)
            declared = summarize(values(here, method=DECLARED))
            lines.append(
                [data, f"{epsilon:g}", here[0].measure, f"{declared:4}"]
                + [_cell(here, bounds, epsilon) for bounds in FACTORS if bounds != DECLARED]
            )
    return lines


def _cell(rows: list[Result], bounds: str, epsilon: float) -> str:
    found = cost(rows, bounds)
    most = MOST.get((epsilon, bounds))
    missed = most is not None and found.mean > most
    return f"{found:3}" + (" **missed**" if missed else "")


def finding(results: Results) -> str:
    """Return at how many points the aims are reached."""
    cells = [cell for line in _lines(results) for cell in line[4:]]
    n_missed = sum(cell.endswith("**missed**") for cell in cells)
    n_aims = len(PROBLEMS) * len(MOST)
    return (
        "Bounds that are far too wide, or undeclared, stay within their limit of lost accuracy at "
        f"{n_aims - n_missed} of {n_aims} points."
    )


def body(results: Results) -> list[str]:
    """Return the scores with declared bounds, and what the others cost."""
    return [
        f"Means over {results.facts['splits']} splits, delta {DELTA:g}, ± a standard error. Costs "
        "are parts of the RMSE, or of AUC - 0.5, on the same splits; a negative one is a gain. "
        "Bounds 10 and 100 times as wide, around the middle of the declared ones, may cost 0.02 "
        "and 0.04 at epsilon 1, and undeclared ones 0.08 at epsilon 0.1.",
        "",
        *table(
            [
                "table",
                "epsilon",
                "measure",
                DECLARED,
                *(f"cost, {b}" for b in FACTORS if b != DECLARED),
            ],
            _lines(results),
        ),
        "",
    ]


WIDE_BOUNDS = Run(
    name="best-wide",
    title="Accuracy with feature bounds that are far too wide",
    group=Group.ACCURACY,
    description="The recipe best with bounds of features as declared, 10 and 100 times as wide, "
    "and undeclared, on four tables and the same splits.",
    plan=plan,
    body=body,
    finding=finding,
)
