"""Accuracy lost where rows stay with parties.

The same recipe and budget with all rows in one place, and with several parties whose shares of the
noise are for more and more colluders.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from benchmarks.federated.held_out import EPSILON, TEST_SHARE, held_out, judge, shared
from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, values
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.summary import span, summarize, table
from dpboost import DPBoostClassifier
from dpboost.federated import FederatedBoostingClassifier

REPEATS = 3
_CENTRAL = "one place"

#: Number of parties and of colluders; None is all rows in one place.
SETTINGS: tuple[tuple[int, int] | None, ...] = (None, (2, 1), (5, 1), (5, 2), (5, 4))


def auc(setting: tuple[int, int] | None, rows: Sequence[Any], schema: Any, seed: int) -> float:
    """Train on rows in one place, or assigned out to parties, and evaluate by held-out rows."""
    X, y, X_test, y_test = rows
    given = shared(schema, seed)
    if setting is None:
        model = DPBoostClassifier(**given).fit(X, y)
    else:
        n_parties, colluding = setting
        parts = [slice(part, None, n_parties) for part in range(n_parties)]
        model = FederatedBoostingClassifier(colluding=colluding, **given).fit(
            [(X.iloc[part], y[part]) for part in parts]
        )
    return judge(model, X_test, y_test)


def measure(name: str, setting: tuple[int, int] | None, repeat: int) -> list[Result]:
    """Return the AUC of one repeat."""
    rows, schema = held_out(name, repeat)
    value = auc(setting, rows, schema, repeat)
    method = _CENTRAL if setting is None else f"{setting[0]} parties"
    colluding = "" if setting is None else str(setting[1])
    return [
        Result(
            data=name,
            method=method,
            epsilon=EPSILON,
            x=colluding,
            repeat=repeat,
            measure="AUC",
            value=value,
        )
    ]


def plan(request: Request) -> Plan:
    """Return every setting of every repeat as a unit."""
    name = request.problem or "adult"
    number = request.repeats or (1 if request.quick else REPEATS)
    versions = dpboost_recipes.versions()
    units = [
        Unit(
            name=f"{name}, {setting}, {repeat}",
            settings=digest({"problem": name, "versions": versions}),
            measure=partial(measure, name, setting, repeat),
        )
        for repeat in range(number)
        for setting in SETTINGS
    ]
    return Plan(units=units)


def body(results: Results) -> list[str]:
    """Return the table."""
    lines = []
    for method, colluding in dict.fromkeys((row.method, row.x) for row in results.rows):
        found = values(results.rows, method=method, x=colluding)
        share = "all"
        if colluding:
            honest = int(method.split()[0]) - int(colluding)
            share = share if honest == 1 else f"1/{honest}"
        lines.append([method, colluding or "-", share, f"{summarize(found):4}"])
    header = ["rows at", "colluders", "share of the noise of each party", "AUC ± standard error"]
    n = len({row.repeat for row in results.rows})
    return [
        f"{results.rows[0].data}: recipe best, epsilon {EPSILON:g}, delta 1e-6, {n} repeats with "
        f"other held-out rows ({TEST_SHARE:.0%}). Rows are assigned evenly.",
        "",
        *table(header, lines),
    ]


def finding(results: Results) -> str:
    """Return the accuracy in one place and with parties."""
    rows = results.rows
    settings = dict.fromkeys((row.method, row.x) for row in rows if row.method != _CENTRAL)
    found = [summarize(values(rows, method=method, x=x)).mean for method, x in settings]
    central = summarize(values(rows, method=_CENTRAL))
    return (
        f"On {rows[0].data} the AUC is {central:4} with all rows in one place, and "
        f"{span(found, '.4f')} with parties, depending on their number and that of colluders."
    )


FEDERATED_ACCURACY = Run(
    name="federated-accuracy",
    title="Accuracy of federated training against all rows in one place",
    group=Group.FEDERATED,
    description="What it costs that rows stay with parties: the same recipe and budget with all "
    "rows in one place, and with parties whose shares of the noise are for more and more "
    "colluders.",
    plan=plan,
    body=body,
    finding=finding,
)
