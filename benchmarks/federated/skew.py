"""Accuracy where parties differ in size and in the share of the classes.

All parties together, all rows in one place, and each party alone, with the same budget.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.federated.held_out import EPSILON, held_out, judge, shared
from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, distinct, pick, values
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.summary import span, summarize, table
from dpboost import DPBoostClassifier
from dpboost.federated import FederatedBoostingClassifier

REPEATS = 3
#: Trees of all fits.
ROUNDS = 100
#: Parties among whom each class is divided by a Dirichlet distribution with these parameters.
N_PARTIES = 10
SKEWS = (0.1, 1.0, 10.0)
_CENTRAL, _TOGETHER, _ALONE = "one place", "all parties together", "each party alone"
_BEST_ALONE, _SMALLEST, _LARGEST = "the best party alone", "smallest", "largest"


def divided(y: NDArray[Any], skew: float, seed: int) -> list[NDArray[np.int64]]:
    """Return the rows of each party; each class is divided by a Dirichlet distribution."""
    random = np.random.default_rng(seed)
    parts: list[list[NDArray[np.int64]]] = [[] for _ in range(N_PARTIES)]
    for label in np.unique(y):
        own = random.permutation(np.flatnonzero(y == label))
        ends = np.cumsum(random.dirichlet(np.full(N_PARTIES, skew)))[:-1] * len(own)
        for part, rows in zip(parts, np.split(own, np.rint(ends).astype(int)), strict=True):
            part.append(rows)
    return [np.sort(np.concatenate(part)) for part in parts]


def of_skewed(skew: float, rows: Sequence[Any], schema: Any, seed: int) -> dict[str, float]:
    """Return the AUC of one place, of all parties together, and of each on its own rows."""
    X, y, X_test, y_test = rows
    given = shared(schema, seed) | {"n_estimators": ROUNDS}
    parts = divided(y, skew, seed)
    tables = [(X.iloc[part], y[part]) for part in parts]
    alone = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        central = DPBoostClassifier(**given).fit(X, y)
        together = FederatedBoostingClassifier(**given).fit(tables)
        for own, labels in tables:
            # Who has no rows has no model, and guesses.
            found = 0.5
            if len(labels):
                found = judge(DPBoostClassifier(**given).fit(own, labels), X_test, y_test)
            alone.append(found)
    return {
        _CENTRAL: judge(central, X_test, y_test),
        _TOGETHER: judge(together, X_test, y_test),
        _ALONE: float(np.mean(alone)),
        _BEST_ALONE: max(alone),
        _SMALLEST: float(min(map(len, parts))),
        _LARGEST: float(max(map(len, parts))),
    }


def measure(name: str, skew: float, repeat: int) -> list[Result]:
    """Return what one repeat with unequal parties gives."""
    rows, schema = held_out(name, repeat)
    return [
        Result(
            data=name,
            method=method,
            epsilon=EPSILON,
            x=f"{skew:g}",
            repeat=repeat,
            measure="rows" if method in (_SMALLEST, _LARGEST) else "AUC",
            value=value,
        )
        for method, value in of_skewed(skew, rows, schema, repeat).items()
    ]


def plan(request: Request) -> Plan:
    """Return every division of every repeat as a unit."""
    name = request.problem or "adult"
    number = request.repeats or (1 if request.quick else REPEATS)
    settings = {
        "problem": name,
        "versions": dpboost_recipes.versions(),
        "terms": (N_PARTIES, ROUNDS),
    }
    units = [
        Unit(
            name=f"{name}, skew {skew:g}, {repeat}",
            settings=digest(settings),
            measure=partial(measure, name, skew, repeat),
        )
        for repeat in range(number)
        for skew in SKEWS
    ]
    return Plan(units=units)


def body(results: Results) -> list[str]:
    """Return the table."""
    rows = results.rows
    methods = (_CENTRAL, _TOGETHER, _ALONE, _BEST_ALONE)
    lines = []
    for skew in distinct(rows, "x"):
        own = pick(rows, x=skew)
        low, high = min(values(own, method=_SMALLEST)), max(values(own, method=_LARGEST))
        found = [f"{summarize(values(own, method=method)):4}" for method in methods]
        lines.append([skew, f"{low:,.0f} to {high:,.0f}", *found])
    n = len({row.repeat for row in rows})
    return [
        f"{rows[0].data}: recipe best, {ROUNDS} trees, epsilon {EPSILON:g}, delta 1e-6, {n} "
        "repeats with other held-out rows. Each class is divided among "
        f"{N_PARTIES} parties by a Dirichlet "
        "distribution: parties differ in size and in the share of the classes, the more so the "
        "smaller its parameter. A party alone has the same budget and its own rows; one without "
        "rows guesses (0.5). Entries are AUC ± standard error.",
        "",
        *table(["Dirichlet", "rows of a party", *methods], lines),
    ]


def finding(results: Results) -> str:
    """Return how the common model stands to one place and to the best party alone."""
    below, above = [], []
    for skew in distinct(results.rows, "x"):
        own = pick(results.rows, x=skew)
        central, together, alone = (
            summarize(values(own, method=method)).mean
            for method in (_CENTRAL, _TOGETHER, _BEST_ALONE)
        )
        below.append(together - central)
        above.append(together - alone)
    return (
        "Depending on how unequal the parties are, the AUC of their common model differs by "
        f"{span(below, '+.4f')} from that of all rows in one table, and by "
        f"{span(above, '+.4f')} from that of the best party alone."
    )


FEDERATED_SKEW = Run(
    name="federated-skew",
    title="Accuracy with parties that differ in size and classes",
    group=Group.FEDERATED,
    description="Parties that differ: one model of all of them, the model of all rows in one "
    "place, and the models that each trains alone.",
    plan=plan,
    body=body,
    finding=finding,
)
