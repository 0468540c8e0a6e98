"""The recipe best where each individual has five rows, beside rows alone at a fifth of epsilon."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import dpboost
from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, distinct, pick, values
from benchmarks.harness.run import Plan, Request, Run
from benchmarks.held_out import plan_of_splits, scored
from benchmarks.problems.pmlb import WIND
from benchmarks.problems.problem import Problem, take
from benchmarks.problems.services import CHURN_MODELLING
from benchmarks.summary import Summary, summarize, table

SPLITS = 10, 2  # in full, and in the quick form
DELTA, ROWS = 1e-5, 5
EPSILONS = (0.1, 0.25, 1.0, 4.0)
PROBLEMS: dict[str, Problem] = {problem.name: problem for problem in (CHURN_MODELLING, WIND)}
USERS = "five rows a user"
#: What a fit of rows alone divides delta by; it divides epsilon by five.
SAME, LESS = "rows at epsilon / 5, delta", "rows at epsilon / 5, delta / 5"
DELTAS = {SAME: DELTA, LESS: DELTA / ROWS}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A table, what is protected, and a budget."""

    data: str
    method: str
    epsilon: float


def cases() -> Iterator[Case]:
    """Yield every table with every budget and unit of privacy."""
    for data in PROBLEMS:
        for epsilon in EPSILONS:
            for method in (USERS, *DELTAS):
                yield Case(data=data, method=method, epsilon=epsilon)


def measured(case: Case, seed: int) -> list[Result]:
    """Return how the recipe does on the held-out rows of a split."""
    problem = PROBLEMS[case.data]
    X, y = problem.load()
    train, test = problem.split.indices(y, seed)
    regression = problem.task == "regression"
    estimator = dpboost.DPBoostRegressor if regression else dpboost.DPBoostClassifier
    options = {"schema": problem.dictionary.schema(), "random_state": seed, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case.method == USERS:
            # Every row is one of five of some individual, who are as different as any rows.
            users = np.random.default_rng(seed).permutation(len(train)) // ROWS
            model = estimator(
                epsilon=case.epsilon, delta=DELTA, rows_per_user=ROWS, verbosity=0, **options
            )
            model.fit(take(X, train), y[train], user_ids=users)
        else:
            model = estimator(
                epsilon=case.epsilon / ROWS, delta=DELTAS[case.method], verbosity=0, **options
            )
            model.fit(take(X, train), y[train])
    tested = take(X, test)
    prediction = model.predict(tested) if regression else model.predict_proba(tested)[:, 1]
    where = {"method": case.method, "epsilon": case.epsilon, "repeat": seed}
    return scored(problem, y[test], prediction, **where)


def plan(request: Request) -> Plan:
    """Return every split of every case as a unit."""
    return plan_of_splits(
        request,
        cases(),
        lambda case: f"{case.data}, {case.method}, {case.epsilon:g}",
        measured,
        PROBLEMS,
        SPLITS,
    )


def gap(rows: list[Result], method: str) -> Summary:
    """Return what users cost beside rows on the same splits: a part of the RMSE, or AUC."""
    users, others = (np.array(values(rows, method=each)) for each in (USERS, method))
    if rows[0].measure == "RMSE":
        return summarize(list((users - others) / others.mean()))
    return summarize(list(others - users))


def _points(results: Results) -> Iterator[tuple[str, float, list[Result]]]:
    for data in distinct(results.rows, "data"):
        for epsilon in EPSILONS:
            yield data, epsilon, pick(results.rows, data=data, epsilon=epsilon)


def finding(results: Results) -> str:
    """Return at how many points users are behind rows by more than two errors."""
    points = [rows for _, _, rows in _points(results)]
    behind = {}
    for method in DELTAS:
        gaps = [gap(rows, method) for rows in points]
        behind[method] = sum(found.mean > 2 * found.standard_error for found in gaps)
    return (
        f"Five rows a user are behind rows at a fifth of epsilon by more than two errors at "
        f"{behind[SAME]} of {len(points)} points with the same delta, and at {behind[LESS]} with "
        "a fifth of it."
    )


def body(results: Results) -> list[str]:
    """Return the scores of users and of rows, and what users cost."""
    lines = []
    for data, epsilon, rows in _points(results):
        means = [f"{summarize(values(rows, method=each)):4}" for each in (USERS, *DELTAS)]
        gaps = [f"{gap(rows, each):3}" for each in DELTAS]
        lines.append([data, f"{epsilon:g}", rows[0].measure, *means, *gaps])
    heads = ["table", "epsilon", "measure", USERS, *DELTAS]
    return [
        f"Means over {results.facts['splits']} splits, delta {DELTA:g}, ± a standard error. "
        "Rows are assigned to individuals at random, five to each, so that all rows take part. "
        "Gaps are parts of the RMSE, or differences of AUC, on the same splits; a negative one is "
        "a gain of users.",
        "",
        *table([*heads, "gap, same delta", "gap, delta / 5"], lines),
        "",
    ]


USERS_RUN = Run(
    name="best-users",
    title="Accuracy with five rows a user",
    group=Group.ACCURACY,
    description="The recipe best where an individual has five rows, all of which are protected "
    "together, beside the same fit of rows alone at a fifth of epsilon, with the same delta and "
    "with a fifth of it, on two tables and the same splits.",
    plan=plan,
    body=body,
    finding=finding,
)
