"""The data sets, by name."""

from __future__ import annotations

from benchmarks.problems.abalone import ABALONE
from benchmarks.problems.adult import ADULT
from benchmarks.problems.problem import Problem

__all__ = ["PROBLEMS", "Problem"]

PROBLEMS: dict[str, Problem] = {problem.name: problem for problem in (ADULT, ABALONE)}
