"""The recipe best where cells are missing, beside LightGBM, and where rows have weights."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import lightgbm
import numpy as np
import pandas as pd

import dpboost
from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, distinct, pick, values
from benchmarks.harness.run import Plan, Request, Run
from benchmarks.held_out import part_lost, plan_of_splits, scored
from benchmarks.problems.adult import ADULT
from benchmarks.problems.pmlb import WIND
from benchmarks.problems.problem import Problem, take
from benchmarks.problems.services import CHURN_MODELLING, KC_HOUSE
from benchmarks.summary import Summary, summarize, table

SPLITS = 10, 2  # in full, and in the quick form
DELTA, MISSING, MAX_WEIGHT = 1e-5, 0.2, 2.0
EPSILONS = (0.1, 1.0, 8.0)
PROBLEMS: dict[str, Problem] = {
    problem.name: problem for problem in (CHURN_MODELLING, WIND, ADULT, KC_HOUSE)
}
COMPLETE, GAPS, WEIGHTED = "complete", "a fifth missing", "weights from 1 to 2"
#: What missing cells may cost: so many times what they cost LightGBM, or this part.
TIMES, PART = 1.3, 0.03
#: What weights may cost.
MOST_OF_WEIGHTS = 0.05


@dataclass(frozen=True, kw_only=True)
class Case:
    """A table, what was done to its rows, and a budget; none for LightGBM."""

    data: str
    rows: str
    epsilon: float | None


def cases() -> Iterator[Case]:
    """Yield every table as it is and changed, with every budget and without privacy."""
    for data in PROBLEMS:
        for epsilon in (*EPSILONS, None):
            for rows in (COMPLETE, GAPS, WEIGHTED)[: 3 if epsilon else 2]:
                yield Case(data=data, rows=rows, epsilon=epsilon)


def with_gaps(X: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return a table without a fifth of its cells, which are drawn whatever they hold."""
    return X.mask(np.random.default_rng(seed).random(X.shape) < MISSING)


def measured(case: Case, seed: int) -> list[Result]:
    """Return how a model does on the held-out rows of a split."""
    problem = PROBLEMS[case.data]
    X, y = problem.load()
    train, test = problem.split.indices(y, seed)
    if case.rows == GAPS:
        X = with_gaps(X, seed)
    regression = problem.task == "regression"
    more = {}
    if case.epsilon is None:
        kind = lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier
        model = kind(random_state=seed, n_jobs=1, verbosity=-1)
    else:
        own = dpboost.DPBoostRegressor if regression else dpboost.DPBoostClassifier
        options = {"max_weight": MAX_WEIGHT} if case.rows == WEIGHTED else {}
        model = own(
            epsilon=case.epsilon,
            delta=DELTA,
            schema=problem.dictionary.schema(),
            random_state=seed,
            n_jobs=1,
            verbosity=0,
            **options,
        )
        if options:
            # They tell nothing of the rows: what they cost is noise, and the rows they leave out.
            weights = np.random.default_rng(seed).uniform(1.0, MAX_WEIGHT, len(train))
            more = {"sample_weight": weights}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(take(X, train), y[train], **more)
        tested = take(X, test)
        prediction = model.predict(tested) if regression else model.predict_proba(tested)[:, 1]
    where = {"method": case.rows, "epsilon": case.epsilon, "repeat": seed}
    return scored(problem, y[test], prediction, **where)


def plan(request: Request) -> Plan:
    """Return every split of every case as a unit."""
    return plan_of_splits(
        request,
        cases(),
        lambda case: f"{case.data}, {case.rows}, {case.epsilon or 'LightGBM'}",
        measured,
        PROBLEMS,
        SPLITS,
    )


def cost(rows: list[Result], changed: str) -> Summary:
    """Return what a change of the rows costs on the same splits, as a part."""
    return part_lost(rows, COMPLETE, changed)


def _holds(found: Summary, changed: str, of_lightgbm: float) -> bool:
    most = MOST_OF_WEIGHTS if changed == WEIGHTED else max(TIMES * of_lightgbm, PART)
    return found.mean <= most


def _points(results: Results) -> Iterator[tuple[str, float, float, list[Result]]]:
    for data in distinct(results.rows, "data"):
        of_lightgbm = cost(pick(results.rows, data=data, epsilon=None), GAPS).mean
        for epsilon in EPSILONS:
            yield data, epsilon, of_lightgbm, pick(results.rows, data=data, epsilon=epsilon)


def finding(results: Results) -> str:
    """Return how often costs stay within their limits."""
    points = list(_points(results))
    held = {
        changed: sum(_holds(cost(rows, changed), changed, theirs) for _, _, theirs, rows in points)
        for changed in (GAPS, WEIGHTED)
    }
    return (
        f"A fifth of the cells missing costs no more than {TIMES:g} times what it costs LightGBM, "
        f"or {100 * PART:g} %, at {held[GAPS]} of {len(points)} points; weights within a factor of "
        f"two cost no more than {100 * MOST_OF_WEIGHTS:g} % at {held[WEIGHTED]}."
    )


def body(results: Results) -> list[str]:
    """Return the scores, and what missing cells and weights cost."""
    lines = []
    for data, epsilon, theirs, rows in _points(results):
        whole = summarize(values(rows, method=COMPLETE))
        costs = []
        for changed in (GAPS, WEIGHTED):
            found = cost(rows, changed)
            more = "" if _holds(found, changed, theirs) else " **missed**"
            costs.append(f"{found:3}{more}")
        lines.append([data, f"{epsilon:g}", rows[0].measure, f"{whole:4}", *costs, f"{theirs:.3f}"])
    heads = ["table", "epsilon", "measure", COMPLETE, f"cost, {GAPS}", f"cost, {WEIGHTED}"]
    return [
        f"Means over {results.facts['splits']} splits, delta {DELTA:g}, ± a standard error. Costs "
        "are parts of the RMSE, or of AUC - 0.5, on the same splits; a negative one is a gain. "
        "Cells are missing at random, in the rows of training and in those held out. Weights are "
        "drawn at random, and held-out rows count alike: what they cost is noise. "
        f"Missing cells may cost {TIMES:g} times what they cost LightGBM, or {PART:g}, whichever "
        f"is more; weights {MOST_OF_WEIGHTS:g}.",
        "",
        *table([*heads, "cost, LightGBM, a fifth missing"], lines),
        "",
    ]


MISSING_CELLS = Run(
    name="best-missing",
    title="Accuracy with missing cells and with weights",
    group=Group.ACCURACY,
    description="The recipe best with a fifth of the cells missing, beside what that costs "
    "LightGBM, and with weights within a factor of two, on four tables and the same splits.",
    plan=plan,
    body=body,
    finding=finding,
)
