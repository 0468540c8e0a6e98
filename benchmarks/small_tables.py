"""The recipe best on tables cut to a few hundred rows, declared and with nothing declared."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, distinct, pick, values
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.problems import PROBLEMS
from benchmarks.problems.problem import Table, take
from benchmarks.summary import listed, span, table
from dpboost import DPBoostClassifier

if TYPE_CHECKING:
    from benchmarks.problems.problem import Problem

CUTS = 31
QUICK_CUTS = 3
ROWS = 500
#: Held-out rows, which are those of no cut.
TEST_ROWS = 10_000
NAMES = ("adult", "bank")
EPSILONS = (0.1, 1.0, 8.0)
DELTA = 1e-5
#: At this epsilon the log loss of a declared table is to be at most so many times the constant's.
BAR_EPSILON, BAR = 0.1, 1.05
DECLARED, UNDECLARED = "declared", "nothing declared"

_LOSS, _AUC = "log loss over the constant's", "AUC"


def cut(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the rows of a cut and of the held-out ones."""
    order = np.random.default_rng(seed).permutation(len(y))
    return order[:ROWS], order[-TEST_ROWS:]


def scores(
    problem: Problem, X: Table, y: np.ndarray, method: str, epsilon: float, seed: int
) -> tuple[float, float]:
    """Return the log loss in that of the share of classes in the cut, and the AUC."""
    own, held_out = cut(y, seed)
    schema = problem.dictionary.schema() if method == DECLARED else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DPBoostClassifier(
            epsilon=epsilon, delta=DELTA, schema=schema, random_state=seed, n_jobs=1, verbosity=0
        ).fit(take(X, own), y[own])
    shown = np.asarray(model.predict_proba(take(X, held_out)))[:, 1]
    constant = np.full(len(held_out), y[own].mean())
    truth = y[held_out]
    return log_loss(truth, shown) / log_loss(truth, constant), float(roc_auc_score(truth, shown))


def plan(request: Request) -> Plan:
    """Return every cut of every table at every epsilon as a unit."""
    n_cuts = request.repeats or (QUICK_CUTS if request.quick else CUTS)
    epsilons = EPSILONS[:1] if request.quick else EPSILONS
    load = functools.cache(lambda name: PROBLEMS[name].load())

    def measure(name: str, method: str, epsilon: float, seed: int) -> list[Result]:
        X, y = load(name)
        found = scores(PROBLEMS[name], X, y, method, epsilon, seed)
        return [
            Result(
                data=name,
                method=method,
                epsilon=epsilon,
                repeat=seed,
                measure=what,
                value=float(value),
            )
            for what, value in zip((_LOSS, _AUC), found, strict=True)
        ]

    units = []
    for name in NAMES:
        settings = digest(
            {
                "versions": dpboost_recipes.versions(),
                "files": PROBLEMS[name].local_digests(),
                "rows": [ROWS, TEST_ROWS],
            }
        )
        for arguments in itertools.product(
            (name,), (DECLARED, UNDECLARED), epsilons, range(n_cuts)
        ):
            unit = Unit(
                name=" ".join(map(str, arguments)),
                settings=settings,
                measure=functools.partial(measure, *arguments),
            )
            units.append(unit)
    return Plan(units=units, facts={"cuts": str(n_cuts), "rows of a cut": str(ROWS)})


def body(results: Results) -> list[str]:
    """Return what is to hold and the medians."""
    rows, n_cuts = results.rows, results.facts["cuts"]
    lines = []
    for name, epsilon in itertools.product(distinct(rows, "data"), _epsilons(rows)):
        own = pick(rows, data=name, epsilon=epsilon)
        aucs = [values(own, method=method, measure=_AUC) for method in (DECLARED, UNDECLARED)]
        losses = [values(own, method=method, measure=_LOSS) for method in (DECLARED, UNDECLARED)]
        lines.append(
            [
                f"{name}, epsilon {epsilon:g}",
                *(f"{np.median(found):.3f} ({max(found):.3f})" for found in losses),
                *(f"{np.median(found):.3f}" for found in aucs),
                f"{np.median(np.subtract(*aucs)):+.3f}",
            ]
        )
    heads = [f"log loss, {DECLARED}", UNDECLARED, f"AUC, {DECLARED}", UNDECLARED, "cost, AUC"]
    return [
        f"{ROWS} rows drawn from each table, {n_cuts} times; {TEST_ROWS:,} other rows held out; "
        f"delta {DELTA:g}. Log loss is in that of the share of the classes in the cut, median and "
        "largest; AUC and what it loses where nothing is declared are medians.",
        "",
        _verdict(rows),
        "",
        *table(["table", *heads], lines),
        "",
    ]


def _at_bar(rows: Sequence[Result]) -> dict[str, float]:
    return {
        name: float(
            np.median(values(rows, data=name, method=DECLARED, epsilon=BAR_EPSILON, measure=_LOSS))
        )
        for name in distinct(rows, "data")
    }


def _verdict(rows: Sequence[Result]) -> str:
    found = _at_bar(rows)
    shown = ", ".join(f"{name} {value:.3f}" for name, value in found.items())
    holds = "holds" if max(found.values()) <= BAR else "**does not hold**"
    return (
        f"All declared, the median log loss at epsilon {BAR_EPSILON:g} is to be at most {BAR:g} "
        f"times the constant's. This {holds}: {shown}."
    )


def _epsilons(rows: Sequence[Result]) -> list[float]:
    return sorted({result.epsilon for result in rows if result.epsilon is not None})


def finding(results: Results) -> str:
    """Return the log loss at the smallest epsilon, and what it costs to declare nothing."""
    losses = listed([f"{value:.3f} on {name}" for name, value in _at_bar(results.rows).items()])
    epsilon = max(_epsilons(results.rows))
    own = pick(results.rows, epsilon=epsilon, measure=_AUC)
    costs = [
        np.median(np.subtract(*(values(own, data=name, method=m) for m in (DECLARED, UNDECLARED))))
        for name in distinct(own, "data")
    ]
    return (
        f"At epsilon {BAR_EPSILON:g}, the ratio of the median log loss to that of a constant is "
        f"{losses}. A fit without declarations loses {span(costs, '.3f')} of AUC at epsilon "
        f"{epsilon:g}."
    )


SMALL_TABLES = Run(
    name="best-small",
    title="Accuracy on 500 rows, declared and with nothing declared",
    group=Group.ACCURACY,
    description="The recipe best on Adult and Bank cut to 500 rows: whether it is worse than a "
    "constant, and what it costs to declare nothing.",
    plan=plan,
    body=body,
    finding=finding,
)
