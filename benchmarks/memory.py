"""Peak memory of fits with all defaults, each in a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from functools import partial

from benchmarks.errors import BenchmarkError
from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, values
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.problems import PROBLEMS
from benchmarks.summary import span, table

#: Sparse and wide; many rows; small.
_PROBLEMS = ("news20", "covtype_odds_cover", "adult")
_QUICK = ("adult",)
_PEAK, _LOADED, _SECONDS = "peak MB", "MB once the data were read", "seconds"


def peak() -> int:
    """Return the largest resident size so far, in megabytes (Linux counts in kilobytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def fit(name: str) -> dict[str, float]:
    """Fit on all rows of a data set in this process and return what it took."""
    from dpboost import DPBoostClassifier, DPBoostRegressor

    problem = PROBLEMS[name]
    X, y = problem.load()
    loaded = peak()
    estimator = DPBoostRegressor if problem.task == "regression" else DPBoostClassifier
    start = time.perf_counter()
    model = estimator(schema=problem.dictionary.schema(), verbosity=0).fit(X, y)
    seconds = time.perf_counter() - start
    return {
        "rows": float(X.shape[0]),
        "columns": float(X.shape[1]),
        "rounds": float(model.n_estimators_),
        _PEAK: float(peak()),
        _LOADED: float(loaded),
        _SECONDS: seconds,
    }


def _measure(name: str) -> list[Result]:
    code = f"import json; from benchmarks.memory import fit; print(json.dumps(fit({name!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchmarkError(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return [
        Result(data=name, method="best", measure=measure, value=value)
        for measure, value in found.items()
    ]


def plan(request: Request) -> Plan:
    """Return every data set as a unit, or the one that is asked for."""
    names = (request.problem,) if request.problem else _QUICK if request.quick else _PROBLEMS
    units = []
    for name in names:
        if name not in PROBLEMS:
            raise BenchmarkError(f"There is no data set {name!r}: `python -m benchmarks list`.")
        settings = {"data": PROBLEMS[name].local_digests(), "versions": dpboost_recipes.versions()}
        units.append(Unit(name=name, settings=digest(settings), measure=partial(_measure, name)))
    return Plan(units=units)


def body(results: Results) -> list[str]:
    """Return the table."""
    lines = []
    for name in dict.fromkeys(row.data for row in results.rows):
        (rows,), (columns,), (rounds,), (most,), (loaded,), (seconds,) = (
            values(results.rows, data=name, measure=measure)
            for measure in ("rows", "columns", "rounds", _PEAK, _LOADED, _SECONDS)
        )
        size = f"{rows:,.0f} x {columns:,.0f}"
        lines.append(
            [name, size, f"{rounds:.0f}", f"{most:.0f}", f"{loaded:.0f}", f"{seconds:.1f}"]
        )
    header = ["data", "size", "rounds", "MB at most", "MB once the data were read", "fit (s)"]
    return ["Largest resident size of the process, data included.", "", *table(header, lines)]


def finding(results: Results) -> str:
    """Return the peaks from the smallest to the largest."""
    peaks = [row.value for row in results.rows if row.measure == _PEAK]
    return f"A fit takes {span(peaks, ',.0f')} MB at most, data included, by data set."


MEMORY = Run(
    name="memory",
    title="Peak memory of one fit",
    group=Group.SPEED,
    description="Peak memory of one fit with all defaults, in a process of its own.",
    plan=plan,
    body=body,
    finding=finding,
    timed=True,
)
