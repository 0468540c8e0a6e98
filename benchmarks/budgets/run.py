"""The run ``budget``: ``python -m benchmarks run budget``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.budgets.forecasts import EPSILONS, NEAR_AUC, NEAR_RMSE, TABLES, Case, cases
from benchmarks.budgets.intervals import DELTA, EPSILON, FRACTION, Metric, measure
from benchmarks.budgets.kills import runs
from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, distinct, pick, values
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.problems import ALL_PROBLEMS
from benchmarks.summary import listed, span, table

REPEATS = 2000
KILLS = 200
AUC_ROWS = {5_000: 0.02, 20_000: 0.005}
_INTERVALS, _FORECASTS, _KILLS = "intervals", "forecasts", "kills"
_AS_IT_IS, _PLANTED = "as it is", "lines after the draws"


def plan(request: Request) -> Plan:
    """Return a unit for each set of evaluations, each table, and each kind of records."""
    repeats = request.repeats or (20 if request.quick else REPEATS)
    kills = 5 if request.quick else KILLS
    versions = dpboost_recipes.versions()
    units = []
    for n_rows, classes in (*((size, True) for size in AUC_ROWS), (min(AUC_ROWS), False)):
        settings = {"versions": versions, "repeats": repeats}
        kind = "classes" if classes else "numbers"
        units.append(
            Unit(
                name=f"{kind} of {n_rows} rows",
                settings=digest(settings),
                measure=partial(_intervals, n_rows, repeats, classes=classes),
            )
        )
    for name in TABLES[:1] if request.quick else TABLES:
        settings = {"versions": versions, "data": ALL_PROBLEMS[name].local_digests()}
        units.append(Unit(name=name, settings=digest(settings), measure=partial(_forecasts, name)))
    for method in (_AS_IT_IS, _PLANTED):
        settings = {"versions": versions, "kills": kills}
        units.append(
            Unit(name=method, settings=digest(settings), measure=partial(_kills, method, kills))
        )
    return Plan(units=units, facts={"repeats": str(repeats)})


def _intervals(n_rows: int, repeats: int, *, classes: bool) -> Iterator[Result]:
    for metric in measure(n_rows, repeats, classes=classes):
        for name, value in _numbers(metric).items():
            yield Result(
                part=_INTERVALS,
                data=metric.name,
                method="evaluate",
                epsilon=EPSILON,
                x=str(n_rows),
                measure=name,
                value=value,
            )


def _numbers(metric: Metric) -> dict[str, float]:
    """Return what is kept of the repeats of a metric."""
    off = np.abs(metric.errors)
    found = {
        "population": metric.truth,
        "covered": metric.covered,
        "mean error": float(metric.errors.mean()),
        "deviation of the error": float(metric.errors.std()),
    }
    if metric.name == "auc":
        found |= {
            "mean distance": float(off.mean()),
            "95 % are within": float(np.quantile(off, 0.95)),
            "within the target": float(np.mean(off <= AUC_ROWS[metric.n_rows])),
        }
    return found


def _forecasts(name: str) -> Iterator[Result]:
    for case in cases(name):
        numbers = {
            "forecast": case.forecast,
            "low": case.low,
            "high": case.high,
            "fit": case.fitted,
            "fit on public rows": case.on_public,
        }
        for each, value in numbers.items():
            yield Result(
                part=_FORECASTS,
                data=name,
                method=case.metric,
                epsilon=case.epsilon,
                x=str(case.n_rows),
                measure=each,
                value=value,
            )


def _kills(method: str, kills: int) -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        found = runs(Path(folder) / "budget", kills, planted=method == _PLANTED)
    numbers = {
        "kills": len(found),
        "more drawn than booked": sum(drew > booked for drew, booked in found),
        "drew": found[-1][0],
        "booked": found[-1][1],
    }
    for name, value in numbers.items():
        yield Result(part=_KILLS, method=method, measure=name, value=float(value))


def body(results: Results) -> list[str]:
    """Return the sections of the page."""
    intervals = pick(results.rows, part=_INTERVALS)
    return [
        *_interval_lines(intervals, results.facts["repeats"]),
        *_area_lines(pick(intervals, data="auc")),
        *_forecast_lines(pick(results.rows, part=_FORECASTS)),
        *_kill_lines(pick(results.rows, part=_KILLS)),
    ]


def _interval_lines(rows: Sequence[Result], repeats: str) -> list[str]:
    lines = []
    for name in distinct(rows, "data"):
        for size in distinct(pick(rows, data=name), "x"):
            truth, covered, mean, deviation = (
                _one(rows, data=name, x=size, measure=measure_name)
                for measure_name in (
                    "population",
                    "covered",
                    "mean error",
                    "deviation of the error",
                )
            )
            lines.append(
                [
                    name,
                    f"{int(size):,}",
                    f"{truth:.4f}",
                    f"{100 * covered:.1f} %",
                    f"{mean:+.4f}",
                    f"{deviation:.4f}",
                ]
            )
    return [
        "## Intervals",
        "",
        f"Share of {repeats} evaluations, each of other rows from one population, whose interval "
        f"of 95 % holds the metric of the population. Each takes {FRACTION:g} of a budget of "
        f"({EPSILON:g}, {DELTA:g}). To be 93 to 97 %; the share itself is known to "
        f"{_reach(int(repeats)):.1f} % up or down. Errors are those against the same rows without "
        "privacy.",
        "",
        *table(
            ["metric", "rows", "population", "covered", "mean error", "deviation of the error"],
            lines,
        ),
        "",
    ]


def _reach(repeats: int) -> float:
    """Return two standard errors of a share of 95 %, in hundredths."""
    return 200 * float(np.sqrt(0.95 * 0.05 / repeats))


def _area_lines(rows: Sequence[Result]) -> list[str]:
    lines = []
    for size, target in AUC_ROWS.items():
        mean, most, share = (
            _one(rows, x=str(size), measure=each)
            for each in ("mean distance", "95 % are within", "within the target")
        )
        lines.append(
            [f"{size:,}", f"{target:g}", f"{mean:.4f}", f"{most:.4f}", f"{100 * share:.0f} %"]
        )
    return [
        "## AUC",
        "",
        "How far the private AUC is from that of the same rows, a quarter of them positive.",
        "",
        *table(["rows", "target", "mean distance", "95 % are within", "within the target"], lines),
        "",
    ]


def _cases(rows: Sequence[Result]) -> list[Case]:
    found = []
    for name in distinct(rows, "data"):
        for epsilon in EPSILONS:
            own = pick(rows, data=name, epsilon=epsilon)
            numbers = {row.measure: row.value for row in own}
            found.append(
                Case(
                    table=name,
                    metric=own[0].method,
                    n_rows=int(own[0].x),
                    epsilon=epsilon,
                    forecast=numbers["forecast"],
                    low=numbers["low"],
                    high=numbers["high"],
                    fitted=numbers["fit"],
                    on_public=numbers["fit on public rows"],
                )
            )
    return found


def _forecast_lines(rows: Sequence[Result]) -> list[str]:
    found = _cases(rows)
    near = sum(case.near for case in found)
    inside = sum(case.inside for case in found)
    known = sum(case.public_near for case in found)
    lines = [
        [
            case.table,
            f"{case.n_rows:,}",
            f"{case.epsilon:g}",
            case.metric,
            f"{case.forecast:.4g}",
            f"{case.low:.4g} to {case.high:.4g}",
            f"{case.fitted:.4g}",
            f"{case.on_public:.4g}",
            "yes" if case.near else "no",
        ]
        for case in found
    ]
    header = ["table", "rows", "epsilon", "metric", "forecast", "band", "fit", "public", "near"]
    return [
        "## Forecasts",
        "",
        f"From 1,000 public rows, for fits of other rows at epsilon "
        f"{', '.join(map(str, EPSILONS))}: {near} of {len(found)} within {NEAR_AUC:g} AUC or "
        f"{100 * NEAR_RMSE:g} % of the RMSE (to be 80 %), {inside} inside the band. *public* is "
        f"the score of the private fit itself on those 1,000 rows: {known} of {len(found)} are as "
        "near. That is what so few rows can tell at best.",
        "",
        *table(header, lines),
        "",
    ]


def _kill_lines(rows: Sequence[Result]) -> list[str]:
    kills, over, drew, booked = (
        int(_one(rows, method=_AS_IT_IS, measure=name))
        for name in ("kills", "more drawn than booked", "drew", "booked")
    )
    seen = int(_one(rows, method=_PLANTED, measure="more drawn than booked"))
    return [
        "## Kills",
        "",
        f"After each of {kills} SIGKILLs at random moments of fits under a budget in a file, "
        f"more fits had drawn than the file has lines for: {over} times ({drew:,} fits drew, "
        f"{booked:,} are recorded). With lines planted after the draws: {seen} times of {kills}.",
        "",
    ]


def _one(rows: Sequence[Result], **wanted: object) -> float:
    (value,) = values(rows, **wanted)
    return value


def finding(results: Results) -> str:
    """Return the coverage of intervals, how near forecasts are, and what kills left out."""
    said = []
    covered = [row.value for row in pick(results.rows, part=_INTERVALS, measure="covered")]
    if covered:
        said.append(f"intervals of 95 % cover {span((100 * x for x in covered), '.1f')} %")
    cases = _cases(pick(results.rows, part=_FORECASTS))
    if cases:
        near = sum(case.near for case in cases)
        said.append(f"{near} of {len(cases)} forecasts are near the fit")
    kills = pick(results.rows, part=_KILLS)
    if kills:
        number, over = (
            int(_one(kills, method=_AS_IT_IS, measure=name))
            for name in ("kills", "more drawn than booked")
        )
        said.append(f"fits were missing from the records after {over} of {number} kills")
    text = listed(said)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


BUDGET = Run(
    name="budget",
    title="Intervals of private evaluations, utility estimates and records of a budget",
    group=Group.PRIVACY,
    description="Intervals of private evaluations, forecasts from public rows, and the records of "
    "a budget whose process is killed.",
    plan=plan,
    body=body,
    finding=finding,
)
