"""What few rows, and few rows of one class, leave to the recipe best and to LightGBM."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import lightgbm
import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, distinct, pick, values
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.problems import PROBLEMS
from benchmarks.problems.problem import Table, take
from benchmarks.summary import listed, summarize, table
from dpboost import DPBoostClassifier

if TYPE_CHECKING:
    from benchmarks.problems.problem import Problem

NAMES = ("adult", "bank")
EPSILONS = (1.0, 4.0)
DELTA = 1e-5
REPEATS, QUICK_REPEATS = 10, 2
#: Rows of the cuts whose classes are as frequent as in the table.
ROWS = (250, 500, 1000, 2000, 5000)
#: Rows of the rarer class in cuts of `ROWS_OF_RARE` rows.
RARE_ROWS = (25, 50, 100, 200, 400)
ROWS_OF_RARE = 5000
TEST_ROWS = 10_000

BEST, WEIGHTED, PLAIN = "best", "best, rarer class weighted", "LightGBM"
FEW, RARE = "few rows", "few rows of a class"
_AUC, _FOUND = "AUC", "found in the first tenth"


def cut(y: np.ndarray, part: str, size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the rows of a cut, and of held-out rows.

    Parameters
    ----------
    part : {"few rows", "few rows of a class"}
    size : int
        Rows of the cut, or those of class 1 among `ROWS_OF_RARE`.
    """
    order = np.random.default_rng(seed).permutation(len(y))
    rest, held_out = order[:-TEST_ROWS], order[-TEST_ROWS:]
    if part == FEW:
        return rest[:size], held_out
    common, rare = rest[y[rest] == 0], rest[y[rest] == 1]
    return np.concatenate([common[: ROWS_OF_RARE - size], rare[:size]]), held_out


def scores(
    problem: Problem, X: Table, y: np.ndarray, method: str, epsilon: float | None, where: tuple
) -> tuple[float, float]:
    """Return the AUC, and what part of class 1 has one of the tenth of highest scores."""
    part, size, seed = where
    own, held_out = cut(y, part, size, seed)
    common = {"random_state": seed, "n_jobs": 1, "verbosity": -1}
    if epsilon is None:
        model = lightgbm.LGBMClassifier(**common)
    else:
        # The ratio of the classes in the cut stands for public knowledge of it.
        ratio = float((len(own) - y[own].sum()) / y[own].sum())
        more = {"scale_pos_weight": ratio} if method == WEIGHTED else {}
        schema = problem.dictionary.schema()
        model = DPBoostClassifier(epsilon=epsilon, delta=DELTA, schema=schema, **common, **more)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(take(X, own), y[own])
    shown = np.asarray(model.predict_proba(take(X, held_out)))[:, 1]
    truth = y[held_out]
    first = np.argsort(-shown, kind="stable")[: len(truth) // 10]
    return float(roc_auc_score(truth, shown)), float(truth[first].sum() / truth.sum())


def plan(request: Request) -> Plan:
    """Return every cut of every table, method and epsilon as a unit."""
    repeats = request.repeats or (QUICK_REPEATS if request.quick else REPEATS)
    load = functools.cache(lambda name: PROBLEMS[name].load())

    def measure(
        name: str, method: str, epsilon: float | None, part: str, size: int, seed: int
    ) -> list[Result]:
        X, y = load(name)
        found = scores(PROBLEMS[name], X, y, method, epsilon, (part, size, seed))
        return [
            Result(
                part=part,
                data=name,
                method=method,
                epsilon=epsilon,
                x=str(size),
                repeat=seed,
                measure=what,
                value=value,
            )
            for what, value in zip((_AUC, _FOUND), found, strict=True)
        ]

    units = []
    for name in NAMES[:1] if request.quick else NAMES:
        settings = digest(
            {
                "versions": dpboost_recipes.versions(),
                "files": PROBLEMS[name].local_digests(),
                "rows": [ROWS_OF_RARE, TEST_ROWS],
            }
        )
        for arguments in _cases(quick=request.quick):
            for seed in range(repeats):
                unit = Unit(
                    name=" ".join(map(str, (name, *arguments, seed))),
                    settings=settings,
                    measure=functools.partial(measure, name, *arguments, seed),
                )
                units.append(unit)
    return Plan(units=units, facts={"repeats": str(repeats)})


def _cases(*, quick: bool) -> Iterator[tuple[str, float | None, str, int]]:
    """Yield method, epsilon, part and size."""
    for part, sizes, methods in ((FEW, ROWS, (BEST,)), (RARE, RARE_ROWS, (BEST, WEIGHTED))):
        for size in sizes[1:3] if quick else sizes:
            yield PLAIN, None, part, size
            for method, epsilon in itertools.product(methods, EPSILONS[:1] if quick else EPSILONS):
                yield method, epsilon, part, size


def body(results: Results) -> list[str]:
    """Return a table for each part and measure."""
    rows, repeats = results.rows, results.facts["repeats"]
    lines = [
        f"Means of {repeats} cuts; {TEST_ROWS:,} other rows held out, in which classes are as "
        f"frequent as in the table; delta {DELTA:g}; bounds, categories and classes declared.",
        "",
    ]
    for part, measure in ((FEW, _AUC), (RARE, _AUC), (RARE, _FOUND)):
        own = [row for row in rows if row.part == part]
        sizes = sorted({row.x for row in own}, key=int)
        unit = "rows" if part == FEW else f"of class 1 among {ROWS_OF_RARE:,}"
        lines += [f"## {part.capitalize()}: {measure}", ""]
        lines += table(
            ["table, method", *(f"{int(size):,} {unit}" for size in sizes)],
            [
                [f"{name}, {_called(method, epsilon)}"]
                + [
                    f"{summarize(found):3}"
                    for size in sizes
                    for found in [
                        values(
                            [row for row in own if row.x == size],
                            data=name,
                            method=method,
                            epsilon=epsilon,
                            measure=measure,
                        )
                    ]
                ]
                for name in distinct(own, "data")
                for method, epsilon in _methods(own, name)
            ],
        )
        lines.append("")
    return lines


def _methods(rows: list[Result], name: str) -> list[tuple[str, float | None]]:
    found = {(row.method, row.epsilon) for row in pick(rows, data=name)}
    return sorted(found, key=lambda pair: (pair[1] or 1e9, pair[0]))


def _called(method: str, epsilon: float | None) -> str:
    return method if epsilon is None else f"{method}, epsilon {epsilon:g}"


def finding(results: Results) -> str:
    """Return the AUC of few rows, at the smaller epsilon."""
    own = pick(results.rows, part=FEW, measure=_AUC)
    # The smallest size that a short form has too.
    sizes = [row.x for row in own if row.x != str(ROWS[0])]
    if not sizes:
        return ""
    size, epsilon = min(sizes, key=int), EPSILONS[0]
    said = []
    for name in distinct(own, "data"):
        private, plain = (
            np.mean(values(own, data=name, method=method, epsilon=spent, x=size))
            for method, spent in ((BEST, epsilon), (PLAIN, None))
        )
        said.append(f"{private:.3f} on {name} ({plain:.3f} with LightGBM)")
    return f"With {int(size):,} rows and epsilon {epsilon:g}, `best` has an AUC of {listed(said)}."


FEW_ROWS = Run(
    name="few-rows",
    title="Accuracy with a few hundred rows, and with few rows of a class",
    group=Group.ACCURACY,
    description="How much a model still finds in a few hundred rows, and in a few rows of one "
    "class: the recipe best beside LightGBM without privacy, on Adult and Bank.",
    plan=plan,
    body=body,
    finding=finding,
)
