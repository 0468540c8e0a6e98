"""The rules of best on both sides of every value where they jump, on the same rows."""

from __future__ import annotations

import functools
import math
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, distinct, pick, values
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.problems import PROBLEMS
from benchmarks.problems.problem import take
from benchmarks.summary import summarize, table
from dpboost.recipes.best import BEST
from dpboost.recipes.best_rules import (
    NUMBERS,
    PURE_NUMBERS,
    PURE_TWO_CLASSES,
    TWO_CLASSES,
    StepRule,
)

if TYPE_CHECKING:
    from dpboost.recipes.recipe import PublicFacts, Recipe, Setting

SPLITS = 10
QUICK_SPLITS = 2
DELTA = 1e-5
LARGEST_EPSILON = 8.0
#: Fits on the same rows, each with fresh noise: more where rows are few and noise is large.
DRAWS_OF_ROWS = {0: 8, 5e3: 4, 1.2e4: 2}
#: What the sides are to differ by at most: in AUC, and in a part of the RMSE.
BARS = {"AUC": 0.005, "RMSE": 0.01}
CLASSES_DATA = ("adult", "bank", "cod_rna", "default_credit")
NUMBERS_DATA = ("kc_house", "bike_sharing", "protein", "diamonds")
#: Rules that change nothing on these tables: no column of them is declared monotone.
WITHOUT_EFFECT = frozenset({"monotone_alone"})
BELOW, ABOVE = "below", "from there on"
_WITHIN, _CLIFF, _OPEN = "within", "**cliff**", "not decided"

KINDS: dict[str, tuple[Mapping[str, Any], float, tuple[str, ...]]] = {
    "two classes": (TWO_CLASSES, DELTA, CLASSES_DATA),
    "numbers": (NUMBERS, DELTA, NUMBERS_DATA),
    "two classes, delta 0": (PURE_TWO_CLASSES, 0.0, CLASSES_DATA),
    "numbers, delta 0": (PURE_NUMBERS, 0.0, NUMBERS_DATA),
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A value at which rules jump, and rows of a table on which both sides are tried."""

    kind: str
    jump: float
    data: str
    n_rows: int

    @property
    def epsilon(self) -> float:
        """The epsilon with which the rows have the value."""
        return self.jump / self.n_rows


def jumps(rules: Mapping[str, Any]) -> list[float]:
    """Return the rows times epsilon at which some rule jumps."""
    found = {
        key
        for name, rule in rules.items()
        if isinstance(rule, StepRule) and name not in WITHOUT_EFFECT
        for key in rule.values
    }
    return sorted(found - {0})


def names_of(kind: str, jump: float) -> str:
    """Return the rules of a kind that jump at a value."""
    rules = KINDS[kind][0].items()
    return ", ".join(
        name for name, rule in rules if isinstance(rule, StepRule) and jump in rule.values
    )


def cases() -> Iterator[Case]:
    """Yield every jump on every table that has enough rows for it."""
    for kind, (rules, _, tables) in KINDS.items():
        for jump in jumps(rules):
            for data in tables:
                n_rows = min(math.floor(jump), ROWS[data])
                case = Case(kind=kind, jump=jump, data=data, n_rows=n_rows)
                if case.epsilon <= LARGEST_EPSILON:
                    yield case


#: Rows that a fit of a table gets at most.
ROWS = {
    **{"adult": 39_000, "bank": 36_000, "cod_rna": 47_000, "default_credit": 24_000},
    **{"kc_house": 17_000, "bike_sharing": 13_900, "protein": 36_500, "diamonds": 43_000},
}


def with_rules_at(n_rows: float) -> Recipe:
    """Return `best` with the rules for so many rows, whatever number a fit releases."""

    def moved(facts: PublicFacts) -> PublicFacts:
        return replace(facts, n_rows=n_rows)

    def build(setting: Setting) -> Any:
        return BEST.build(replace(setting, facts=moved(setting.facts)))

    assert BEST.planned is not None
    planned = BEST.planned
    return replace(
        BEST,
        defaults=lambda facts: BEST.defaults(moved(facts)),
        planned=lambda facts: planned(moved(facts)),
        build=build,
    )


def score(case: Case, side: str, seed: int, draw: int) -> float:
    """Return AUC or RMSE of the rules of one side on the held-out rows of a split."""
    problem = PROBLEMS[case.data]
    X, y = load(case.data)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: case.n_rows], order[ROWS[case.data] :]
    factor = 1 - 1e-6 if side == BELOW else 1 + 1e-6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shown = dpboost_recipes.fit_predict(
            problem,
            take(X, train),
            y[train],
            take(X, test),
            epsilon=case.epsilon,
            seed=100 * seed + draw,
            n_jobs=1,
            delta=KINDS[case.kind][1],
            recipe=with_rules_at(factor * case.n_rows),
        ).prediction
    if problem.task == "binary":
        return float(roc_auc_score(y[test], shown))
    return float(np.sqrt(np.mean((y[test] - shown) ** 2)))


@functools.cache
def load(name: str) -> Any:
    """Return the rows of a table."""
    return PROBLEMS[name].load()


def plan(request: Request) -> Plan:
    """Return every split of every case as a unit."""
    n_splits = request.repeats or (QUICK_SPLITS if request.quick else SPLITS)

    def measure(case: Case, seed: int) -> list[Result]:
        what = "AUC" if PROBLEMS[case.data].task == "binary" else "RMSE"
        draws = DRAWS_OF_ROWS[max(least for least in DRAWS_OF_ROWS if least <= case.n_rows)]
        return [
            Result(
                part=case.kind,
                data=case.data,
                method=side,
                epsilon=case.epsilon,
                x=f"{case.jump:g}",
                repeat=seed,
                draw=draw,
                measure=what,
                value=score(case, side, seed, draw),
            )
            for draw in range(draws)
            for side in (BELOW, ABOVE)
        ]

    versions = dpboost_recipes.versions()
    units = []
    for case in cases():
        files = PROBLEMS[case.data].local_digests()
        settings = digest({"versions": versions, "files": files, "rows": case.n_rows})
        units += [
            Unit(
                name=f"{case.kind}, {case.jump:g}, {case.data}, {seed}",
                settings=settings,
                measure=functools.partial(measure, case, seed),
            )
            for seed in range(n_splits)
        ]
    rules = {_fact(case.kind, f"{case.jump:g}"): names_of(case.kind, case.jump) for case in cases()}
    return Plan(units=units, facts={"splits": str(n_splits), **rules})


def _fact(kind: str, jump: str) -> str:
    """Return the name of the fact that says which rules jump."""
    return f"{kind}, from {jump}"


def finding(results: Results) -> str:
    """Return how many jumps move the accuracy by more than they are to."""
    found = Counter(line[-1] for line in _lines(results))
    return (
        f"At {found[_WITHIN]} of {found.total()} jumps both sides differ by no more than the bar; "
        f"{found[_CLIFF]} differ beyond it by two standard errors, and "
        f"{found[_OPEN]} are not decided."
    )


def _lines(results: Results) -> list[list[str]]:
    rows, lines = results.rows, []
    for kind in distinct(rows, "part"):
        of_kind = pick(rows, part=kind)
        for jump in sorted(distinct(of_kind, "x"), key=float):
            at_jump = pick(of_kind, x=jump)
            rules = results.facts[_fact(kind, jump)]
            lines += [
                [kind, jump, rules, name, *_compared(pick(at_jump, data=name))]
                for name in distinct(at_jump, "data")
            ]
    return lines


def body(results: Results) -> list[str]:
    """Return what the sides differ by at every jump."""
    heads = ["fit", "rows times epsilon", "rules", "table", BELOW, ABOVE, "difference", ""]
    return [
        f"Rows of {results.facts['splits']} splits, the same for both sides; delta {DELTA:g} or 0. "
        "The difference is that of AUC, or of RMSE as a part of it, ± a standard error over the "
        f"splits; it is to be at most {BARS['AUC']:g} of AUC or {BARS['RMSE']:.0%} of RMSE.",
        "",
        *table(heads, _lines(results)),
        "",
    ]


def _compared(rows: list[Result]) -> list[str]:
    """Return the scores of both sides, their difference and what it says."""
    measure = rows[0].measure
    sides = [np.array(values(rows, method=side)) for side in (BELOW, ABOVE)]
    below, above = sides
    relative = 1.0 if measure == "AUC" else np.mean(below)
    difference = summarize(list((above - below) / relative))
    off, error = abs(difference.mean), difference.standard_error
    bar = BARS[measure]
    verdict = _WITHIN if off <= bar else _CLIFF if off - 2 * error > bar else _OPEN
    return [*(f"{np.mean(side):.4g}" for side in sides), f"{difference:4}", verdict]


RULE_CLIFFS = Run(
    name="best-cliffs",
    title="Accuracy on both sides of the values at which defaults of `best` change",
    group=Group.ACCURACY,
    description="The rules of best just below and just above every number of rows times epsilon "
    "at which one of them jumps, on the same rows.",
    plan=plan,
    body=body,
    finding=finding,
)
