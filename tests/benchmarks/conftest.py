from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.experiments import Experiment, Method
from benchmarks.harness.run import Request
from benchmarks.libraries.result import Result
from benchmarks.problems.problem import DataDictionary, Problem
from benchmarks.rows import Row, rows_of
from benchmarks.runner import Bench, as_run


class FakeLibrary:
    """Predicts the labels' mean and remembers how it was called; may fail at a given call."""

    def __init__(self) -> None:
        self.calls = []
        self.fail_at = None
        self.version = "1"
        self.overspends = False

    def fit_predict(
        self, problem, train_X, train_y, test_X, *, epsilon, seed, n_jobs, shift=0.0
    ) -> Result:
        if len(self.calls) == self.fail_at:
            raise ArithmeticError("out of luck")
        self.calls.append((problem.name, epsilon, seed, n_jobs, shift))
        prediction = np.full(len(test_X), np.mean(train_y) + shift)
        spent = None if epsilon is None else epsilon + self.overspends
        return Result(prediction=prediction, fit_seconds=0.25, n_trees=3, epsilon_spent=spent)

    def versions(self) -> dict[str, str]:
        return {"fake": self.version}


def _no_files(paths):
    return pd.DataFrame({"x": np.arange(20.0)}), np.arange(20.0)


@pytest.fixture
def problem() -> Problem:
    return Problem(
        name="ramp",
        task="regression",
        files=(),
        dictionary=DataDictionary(bounds={"x": (0, 20)}, categories={}, label_bounds=(0, 20)),
        read=_no_files,
        source="https://example.org/ramp",
    )


@pytest.fixture
def library() -> FakeLibrary:
    return FakeLibrary()


@pytest.fixture
def bench(problem, library) -> Bench:
    return Bench(problems={problem.name: problem}, load_library={"fake": library}.__getitem__)


@pytest.fixture
def experiment() -> Experiment:
    return Experiment(
        name="trial",
        problems=("ramp",),
        methods=(
            Method(name="constant", library="fake", private=False),
            Method(name="shifted", library="fake", settings={"shift": 50.0}),
        ),
        epsilons=(0.5, 2.0),
        splits=(0, 1),
        title="Accuracy of a trial",
        description="A trial.",
    )


def measured(experiment: Experiment, bench: Bench, **request) -> list[Row]:
    """Every fit of an experiment, measured."""
    units = as_run(experiment, bench).plan(Request(**request)).units
    return rows_of([result for unit in units for result in unit.measure()])
