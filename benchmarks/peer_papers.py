"""Three private tree learners that no package index has, implemented from their papers."""

from __future__ import annotations

import dataclasses

from benchmarks import peer_papers_page
from benchmarks.catalog import BEST, CONSTANT, LIGHTGBM
from benchmarks.experiments import Experiment, Method
from benchmarks.harness.results import Results
from benchmarks.harness.run import Plan, Request
from benchmarks.problems import PROBLEMS
from benchmarks.problems.generated import interactions
from benchmarks.problems.problem import Problem
from benchmarks.runner import Bench, as_run, cells

DELTA = 1e-5
#: Of the figures that S-BDT's authors released.
SMALL_DELTA = 5e-8
_ADULT, _ABALONE = ("adult",), ("abalone",)
TABLES: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        *(PROBLEMS[name] for name in (*_ADULT, *_ABALONE)),
        interactions(6),
        interactions(20),
    )
}
#: Trees of the section on few trees.
FEW = (1, 5, 20, 100)
#: Of Maddock et al. where trees are few: the first ones have to reach the mean of the labels.
_RATES = {1: 1.0, 5: 0.5}
#: Deviations of the noise that chosen splits have to be above.
_CAUTION = 4.0

BEST_SMALL = Method(
    name="best, delta 5e-8",
    library="dpboost_recipes",
    settings={"recipe": "best", "delta": SMALL_DELTA},
    problems=_ABALONE,
)
BEST_TREE = Method(
    name="best tree, depth 4",
    library="dpboost_trees",
    settings={"max_depth": 4},
    problems=_ADULT,
)

#: The settings that were the best of the search of its authors at epsilon 0.2 and 0.5.
_FIFTY = {
    "n_trees": 50,
    "max_depth": 3,
    "gradient_clip": 0.3,
    "share": 0.3,
    "start_clip": 0.5,
    "numeric_range": [0.0, 0.5],
}
_HUNDREDS = {**_FIFTY, "n_trees": 150, "max_depth": 2}


def _s_bdt(name: str, settings: dict[str, object], **more: object) -> Method:
    return Method(
        name=f"S-BDT, {name}",
        library="s_bdt",
        settings={"delta": DELTA, **settings, **more},
        problems=_ABALONE,
    )


def _exact(method: Method) -> Method:
    """Return a method without noise, which shows what its trees can reach."""
    return dataclasses.replace(method, name=f"{method.name}, no noise", private=False)


S_BDT_50, S_BDT_150 = _s_bdt("50 trees", _FIFTY), _s_bdt("150 trees", _HUNDREDS)
S_BDT = (
    S_BDT_50,
    S_BDT_150,
    _s_bdt("50 trees, delta 5e-8", _FIFTY, delta=SMALL_DELTA),
    _s_bdt("150 trees, delta 5e-8", _HUNDREDS, delta=SMALL_DELTA),
    _s_bdt("50 trees and 50 by the filter", _FIFTY, n_more_trees=50),
    _exact(S_BDT_50),
    _exact(S_BDT_150),
    _exact(_s_bdt("600 trees", _HUNDREDS, n_trees=600)),
    Method(
        name="S-BDT, 200 trees",
        library="s_bdt",
        # The best of the search of its authors at epsilon 0.5.
        settings={
            "delta": DELTA,
            "n_trees": 200,
            "max_depth": 6,
            "rate": 1.0,
            "gradient_clip": 0.8,
            "hessian_clip": 0.1,
            "share": 0.04,
            "ridge": 5.0,
            "newton": True,
            "start_share": 0.0,
        },
        problems=_ADULT,
    ),
)

_PRIVATREE = Method(
    name="PrivaTree, depth 4",
    library="privatree",
    settings={"max_depth": 4, "n_bins": 10},
    problems=_ADULT,
)
PRIVATREE = (
    _PRIVATREE,
    dataclasses.replace(
        _PRIVATREE,
        name="PrivaTree, depth 4, as published (not private)",
        settings={**_PRIVATREE.settings, "whole": True},
    ),
    _exact(_PRIVATREE),
)


def _maddock(name: str, problems: tuple[str, ...] | None = _ADULT, **settings: object) -> Method:
    return Method(
        name=f"Maddock et al., {name}",
        library="maddock",
        settings={"delta": DELTA, "max_depth": 4, **settings},
        problems=problems,
    )


MADDOCK = (
    _maddock("200 random trees", n_trees=200),
    _maddock("200 random trees of one column", n_trees=200, one_column=True),
    _maddock("200 random trees in batches of 10", n_trees=200, batch=10),
    _maddock(
        "200 random trees of one column in batches of 10", n_trees=200, one_column=True, batch=10
    ),
)


def _few() -> dict[str, tuple[Method, ...]]:
    """Return the methods of the section on few trees, by what its lines are called."""
    found: dict[str, list[Method]] = {}
    for n_trees in FEW:
        rate = {"learning_rate": _RATES.get(n_trees, 0.3), "n_trees": n_trees}
        plural = f"{n_trees} tree" + "s" * (n_trees > 1)
        chosen = {**rate, "structure": "histogram"}
        of = {
            "best": Method(
                name=f"best, {plural}",
                library="dpboost_recipes",
                settings={"recipe": "best", "delta": DELTA, "n_estimators": n_trees},
            ),
            "dpboost": Method(
                name=f"dpboost, {plural}",
                library="dpboost_recipes",
                settings={"recipe": "dpboost", "delta": 0, "n_estimators": n_trees},
            ),
            "Maddock et al., random": _maddock(f"random, {plural}", None, **rate),
            "Maddock et al., random with caution": _maddock(
                f"random with caution, {plural}", None, **rate, caution=_CAUTION
            ),
            "Maddock et al., chosen": _maddock(f"chosen, {plural}", None, **chosen),
            "Maddock et al., chosen with caution": _maddock(
                f"chosen with caution, {plural}", None, **chosen, caution=_CAUTION
            ),
        }
        for line, method in of.items():
            found.setdefault(line, []).append(method)
    return {line: tuple(methods) for line, methods in found.items()}


FEW_TREES = _few()
_DPBOOST = Method(
    name="dpboost", library="dpboost_recipes", settings={"recipe": "dpboost", "delta": 0}
)
#: Splits of the tables that take longer.
_FEWER = {"adult": 5, **{name: 3 for name in TABLES if name not in (*_ADULT, *_ABALONE)}}


def _on_fewer_splits(method: Method) -> Method:
    return dataclasses.replace(method, n_splits=_FEWER)


EXPERIMENT = Experiment(
    name="peer-papers",
    problems=tuple(TABLES),
    methods=tuple(
        _on_fewer_splits(method)
        for method in (
            BEST,
            BEST_SMALL,
            BEST_TREE,
            _DPBOOST,
            *S_BDT,
            *PRIVATREE,
            *MADDOCK,
            *(method for line in FEW_TREES.values() for method in line),
            LIGHTGBM,
            CONSTANT,
        )
    ),
    epsilons=(0.1, 0.15, 0.5, 1.0),
    splits=tuple(range(10)),
    title="Accuracy against S-BDT, PrivaTree and Maddock et al., implemented from their papers",
    description="Three private tree learners that have no distribution on the package index, "
    "implemented here from their papers (`libraries/s_bdt.py`, `privatree.py` and `maddock.py`; "
    "not the authors' packages), beside best, with the same splits and the same declared bounds. "
    f"Delta is {DELTA:g} unless stated; PrivaTree, the recipe dpboost and the single tree spend a "
    "pure epsilon.",
    quick_problems=("abalone",),
    quick_epsilons=(0.15, 0.5),
)


_RUN = as_run(EXPERIMENT, Bench(problems=TABLES))


def hidden() -> set[str]:
    """Return the names of the fits that the page does not show: few trees at small budgets."""
    few = {method.name for line in FEW_TREES.values() for method in line}
    return {
        cell.name
        for cell in cells(EXPERIMENT)
        if (cell.method in few or cell.problem not in (*_ADULT, *_ABALONE))
        and cell.epsilon is not None
        and cell.epsilon not in peer_papers_page.FEW_EPSILONS
    }


def plan(request: Request) -> Plan:
    """Return every fit that the page shows as a unit."""
    planned, left_out = _RUN.plan(request), hidden()
    units = [unit for unit in planned.units if unit.name not in left_out]
    return dataclasses.replace(planned, units=units)


def _page(results: Results) -> peer_papers_page.PeerPapers:
    return peer_papers_page.PeerPapers(results, EXPERIMENT, TABLES, FEW_TREES, FEW)


PEER_PAPERS = dataclasses.replace(
    _RUN,
    plan=plan,
    body=lambda results: peer_papers_page.body(_page(results)),
    finding=lambda results: peer_papers_page.finding(_page(results)),
    timed=False,
)
