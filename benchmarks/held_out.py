"""What runs share that fit cases on the same splits and score the rows held out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeVar

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.harness.results import Result, values
from benchmarks.harness.run import Plan, Request, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.problems.problem import Problem
from benchmarks.summary import Summary, summarize


class _HasData(Protocol):
    @property
    def data(self) -> str:
        """Name of a problem."""


Case = TypeVar("Case", bound=_HasData)


def scored(
    problem: Problem, labels: np.ndarray, prediction: np.ndarray, **where: object
) -> list[Result]:
    """Return the RMSE, or for two classes the AUC, of held-out rows as a result.

    Parameters
    ----------
    labels, prediction : ndarray of shape (n_rows,)
        For two classes, the probability of the second.
    **where
        Method, epsilon and repeat of the result.
    """
    if problem.task == "regression":
        measure, value = "RMSE", float(np.sqrt(np.mean((labels - prediction) ** 2)))
    else:
        measure, value = "AUC", float(roc_auc_score(labels, prediction))
    return [Result(data=problem.name, x="", measure=measure, value=value, **where)]


def plan_of_splits(
    request: Request,
    cases: Iterable[Case],
    name: Callable[[Case], str],
    measured: Callable[[Case, int], list[Result]],
    problems: Mapping[str, Problem],
    splits: tuple[int, int],
) -> Plan:
    """Return every split of every case as a unit.

    Parameters
    ----------
    name : callable
        Name of a case in that of its units.
    splits : tuple of int
        In full, and in the quick form.
    """
    n_splits = request.repeats or splits[request.quick]
    versions = dpboost_recipes.versions()
    listed = list(cases)
    units = [
        Unit(
            name=f"{name(case)}, split {seed}",
            settings=digest({"versions": versions, "files": problems[case.data].local_digests()}),
            measure=functools.partial(measured, case, seed),
        )
        for seed in range(n_splits)
        for case in listed
    ]
    return Plan(units=units, facts={"splits": str(n_splits)})


def part_lost(rows: list[Result], before: str, after: str) -> Summary:
    """Return what a method loses beside another on the same splits: a part of RMSE or AUC - 0.5."""
    base, other = (np.array(values(rows, method=each)) for each in (before, after))
    if rows[0].measure == "RMSE":
        return summarize(list((other - base) / base.mean()))
    return summarize(list((base - other) / (base.mean() - 0.5)))
