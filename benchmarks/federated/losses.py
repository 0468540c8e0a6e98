"""What it costs in accuracy that parties are lost: of fifty, a fifth.

The rows that remain are trained on in one place as well, with the same budget.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.federated.held_out import EPSILON, held_out, judge, shared
from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, values
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.summary import listed, summarize, table
from dpboost import DPBoostClassifier
from dpboost.federated import (
    FederatedBoostingClassifier,
    Hub,
    LocalLink,
    Party,
    PartyLostError,
    outcome_of,
)
from dpboost.federated.protocol.coordinator_session import CoordinatorSession
from dpboost.federated.protocol.messages import Key
from dpboost.federated.simulation import run_together

REPEATS = 12
#: Parties of equal size, and how many of them are lost.
N_EQUAL, N_LOST = 50, 10
#: Trees of these fits, at parties and in one place: keys and shares of 50 parties take their time.
ROUNDS = 100
#: What the lost parties cost at most, in AUC.
MOST_LOSS = 0.002
#: Fits in one place of every repeat, whose mean is compared: they take no time.
N_CENTRAL = 20
# Of a normal law, 95 % lie within so many deviations.
_DEVIATIONS = 1.96
_REMAIN = "rows that remain, in one place"
_AT_ONCE, _ONE_BY_ONE = "lost before the first release", "lost one after the other"
# Steps between two losses, where they come one after the other.
_BETWEEN = 10


class Losing(LocalLink):
    """A party that is lost for good.

    Parameters
    ----------
    hub : Hub
    party : int
    step : int
        From which on it sends nothing.
    """

    def __init__(self, hub: Hub, party: int, step: int) -> None:
        super().__init__(hub, party)
        self._step = step

    def post(self, key: Key, body: bytes) -> bytes:
        """Send a message while the party is there."""
        if key.step >= self._step:
            raise PartyLostError("This party is lost.")
        return super().post(key, body)


def auc_of_lost(how: str, rows: Sequence[Any], schema: Any, seed: int) -> float:
    """Train with parties of whom a fifth is lost, or on the rows of the others in one place."""
    X, y, X_test, y_test = rows
    given = shared(schema, seed) | {"n_estimators": ROUNDS}
    size = len(y) // N_EQUAL
    if how == _REMAIN:
        remain = X[N_LOST * size :], y[N_LOST * size :]
        models = [DPBoostClassifier(**given).fit(*remain) for _ in range(N_CENTRAL)]
        return float(np.mean([judge(model, X_test, y_test) for model in models]))
    model = FederatedBoostingClassifier(**given)
    terms = dataclasses.replace(model.agreement(N_EQUAL, list(X.columns)), dropouts=N_LOST)
    parties = [
        Party(index, X[index * size : end], y[index * size : end], agreement=terms)
        for index in range(N_EQUAL)
        for end in [len(y) if index == N_EQUAL - 1 else (index + 1) * size]
    ]
    between = 0 if how == _AT_ONCE else _BETWEEN
    hub = Hub()
    links = [
        Losing(hub, index, 1 + between * index) if index < N_LOST else LocalLink(hub, index)
        for index in range(N_EQUAL)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run_together(parties, CoordinatorSession(terms, hub), hub, links=links)
    model = outcome_of(found.coordinator)
    return judge(model, X_test, y_test)


def measure(name: str, repeat: int) -> list[Result]:
    """Return the AUC of one repeat with parties that are lost, and without."""
    rows, schema = held_out(name, repeat)
    return [
        Result(
            part="lost",
            data=name,
            method=how,
            epsilon=EPSILON,
            repeat=repeat,
            measure="AUC",
            value=auc_of_lost(how, rows, schema, repeat),
        )
        for how in (_REMAIN, _AT_ONCE, _ONE_BY_ONE)
    ]


def plan(request: Request) -> Plan:
    """Return every repeat as a unit."""
    name = request.problem or "adult"
    number = request.repeats or (1 if request.quick else REPEATS)
    settings = {
        "problem": name,
        "versions": dpboost_recipes.versions(),
        "lost": (N_EQUAL, N_LOST, ROUNDS, _BETWEEN, N_CENTRAL),
    }
    units = [
        Unit(
            name=f"{name}, lost, {repeat}",
            settings=digest(settings),
            measure=partial(measure, name, repeat),
        )
        for repeat in range(number)
    ]
    return Plan(units=units)


def body(results: Results) -> list[str]:
    """Return the table."""
    rows = results.rows
    remain = values(rows, method=_REMAIN)
    lines = [[_REMAIN, f"{summarize(remain):4}", "", ""]]
    for how in (_AT_ONCE, _ONE_BY_ONE):
        found = values(rows, method=how)
        apart = summarize([one - other for one, other in zip(found, remain, strict=True)])
        least = apart.mean - _DEVIATIONS * apart.standard_error
        # One repeat has no standard error, and shows nothing.
        met = "yes" if least >= -MOST_LOSS else "no"
        lines.append([how, f"{summarize(found):4}", f"{apart:4}", met])
    shares = N_EQUAL - 1 - N_LOST
    return [
        f"{rows[0].data}: recipe best, {ROUNDS} trees, epsilon {EPSILON:g}, delta 1e-6. {N_EQUAL} "
        f"parties with as many rows each, of whom {N_LOST} are lost for good: before the first "
        "release, or one after the other while trees grow. One may collude and "
        f"{N_LOST} be lost, so that each has 1/{shares} of the noise: what {N_EQUAL - N_LOST} "
        f"parties add up to has {(N_EQUAL - N_LOST) / shares:.3f} times the variance that is "
        f"charged for. {len(remain)} repeats with other held-out rows; differences are those of "
        f"the same repeat, to the mean of {N_CENTRAL} fits in one place. The last column says "
        f"whether the lower end of the 95 % interval of the mean difference is above "
        f"-{MOST_LOSS:g}.",
        "",
        *table(["rows", "AUC ± standard error", "less one place", f"within {MOST_LOSS:g}"], lines),
    ]


def finding(results: Results) -> str:
    """Return what lost parties cost."""
    remain = values(results.rows, method=_REMAIN)
    said = []
    for how in (_AT_ONCE, _ONE_BY_ONE):
        found = values(results.rows, method=how)
        apart = summarize([one - other for one, other in zip(found, remain, strict=True)])
        said.append(f"{apart.mean:+.4f} if they are {how}")
    return (
        f"With {N_LOST} of {N_EQUAL} parties lost, the AUC differs from that of a fit on the "
        f"remaining rows in one table by {listed(said)}."
    )


FEDERATED_LOSSES = Run(
    name="federated-losses",
    title="Accuracy when parties are lost during training",
    group=Group.FEDERATED,
    description=(
        "What lost parties cost: fits of fifty parties, a fifth of which is lost, beside fits of "
        "the rows that remain in one place."
    ),
    plan=plan,
    body=body,
    finding=finding,
)
