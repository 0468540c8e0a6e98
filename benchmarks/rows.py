"""Fits of an experiment: which one, what it has shown, and the same as results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from benchmarks.harness.results import Result

_FIT_SECONDS = "fit seconds"
_TREES = "trees"
_SPENT = "epsilon spent"
_TRAINED = "training rows"
_HELD_OUT = "held-out rows"
_ACCURACY = "accuracy"
_PEAK = "peak MB"
_OTHERS = (_FIT_SECONDS, _TREES, _SPENT, _TRAINED, _HELD_OUT, _PEAK)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One fit of an experiment.

    Attributes
    ----------
    problem, method : str
        Names.
    epsilon : float or None
        Budget; ``None`` where there is no privacy.
    split : int
        Public seed of the division of the rows.
    """

    problem: str
    method: str
    epsilon: float | None
    split: int

    @property
    def name(self) -> str:
        """Return what tells it from the other fits."""
        return f"{self.problem}, {self.method}, {self.epsilon}, split {self.split}"


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one fit has shown.

    Attributes
    ----------
    cell : Cell
        Which fit.
    metric : str
        Name of the measure.
    value : float
        The measure on the held-out rows.
    fit_seconds : float
        Wall time of the fit.
    n_trees : int
        Trees in the model.
    epsilon_spent : float or None
        What the library says that the fit has spent; ``None`` where there is no privacy.
    n_train_rows, n_test_rows : int
        Sizes of the division.
    accuracy : float or None
        Share of held-out rows whose class is right; ``None`` of a regression.
    peak_mb : float or None
        Memory that the fit took at most; ``None`` where it had no process of its own.
    """

    cell: Cell
    metric: str
    value: float
    fit_seconds: float
    n_trees: int
    epsilon_spent: float | None
    n_train_rows: int
    n_test_rows: int
    accuracy: float | None = None
    peak_mb: float | None = None

    @property
    def result(self) -> Result:
        """The measure alone as a result."""
        return self._result(self.metric, self.value)

    def results(self) -> list[Result]:
        """Return the same as results, one for each number."""
        numbers = {
            self.metric: self.value,
            _FIT_SECONDS: self.fit_seconds,
            _TREES: self.n_trees,
            _SPENT: self.epsilon_spent,
            _TRAINED: self.n_train_rows,
            _HELD_OUT: self.n_test_rows,
            _PEAK: self.peak_mb,
        }
        if self.metric != _ACCURACY:
            numbers[_ACCURACY] = self.accuracy
        return [
            self._result(measure, value) for measure, value in numbers.items() if value is not None
        ]

    def _result(self, measure: str, value: float) -> Result:
        return Result(
            data=self.cell.problem,
            method=self.cell.method,
            epsilon=self.cell.epsilon,
            repeat=self.cell.split,
            measure=measure,
            value=float(value),
        )


def rows_of(results: Iterable[Result]) -> list[Row]:
    """Return the fits that results are of, in their order."""
    found: dict[Cell, dict[str, float]] = {}
    for row in results:
        cell = Cell(problem=row.data, method=row.method, epsilon=row.epsilon, split=row.repeat)
        found.setdefault(cell, {})[row.measure] = row.value
    return [_row(cell, numbers) for cell, numbers in found.items()]


def _row(cell: Cell, numbers: Mapping[str, float]) -> Row:
    metric = next(name for name in numbers if name not in _OTHERS)
    return Row(
        cell=cell,
        metric=metric,
        value=numbers[metric],
        fit_seconds=numbers[_FIT_SECONDS],
        n_trees=int(numbers[_TREES]),
        epsilon_spent=numbers.get(_SPENT),
        n_train_rows=int(numbers[_TRAINED]),
        n_test_rows=int(numbers[_HELD_OUT]),
        accuracy=numbers.get(_ACCURACY),
        peak_mb=numbers.get(_PEAK),
    )
