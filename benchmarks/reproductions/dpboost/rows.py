"""The fits of the DPBoost paper, the folds of their rows, and their results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import KFold

from benchmarks.harness.results import Result, pick

SECONDS = "seconds"
N_FOLDS = 5


@dataclass(frozen=True, kw_only=True)
class Job:
    """One fit.

    Attributes
    ----------
    data : str
        Name of the set.
    method : str
    epsilon : float or None
        None where there is no privacy.
    n_trees : int
        Trees asked for.
    fold : int
        Which of five; the same fold has the same rows for all methods.
    draw : int
        Number of the fit among those on the same rows, each with fresh noise.
    trees_per_ensemble : int
        Of DPBoost, at most.
    """

    data: str
    method: str
    epsilon: float | None
    n_trees: int
    fold: int
    draw: int = 0
    trees_per_ensemble: int = 50

    @property
    def name(self) -> str:
        """Return what tells it from the other fits of a run."""
        return (
            f"{self.data}, {self.method}, {self.epsilon}, {self.n_trees} trees, fold {self.fold}, "
            f"draw {self.draw}"
        )

    def result(self, measure: str, value: float, stage: int | None = None) -> Result:
        """Return a number that the fit has shown, after so many trees or of the whole model."""
        return Result(
            part=part_of(self.n_trees),
            data=self.data,
            method=self.method,
            epsilon=self.epsilon,
            x="" if stage is None else str(stage),
            repeat=self.fold,
            draw=self.draw,
            measure=measure,
            value=float(value),
        )


def fold_rows(n_rows: int, fold: int) -> tuple[np.ndarray, np.ndarray]:
    """Return training and held-out rows of one of five folds, by a public seed."""
    folds = KFold(N_FOLDS, shuffle=True, random_state=0).split(np.arange(n_rows))
    train, test = list(folds)[fold]
    return train, test


def part_of(n_trees: int) -> str:
    """Return the part of the results of models of so many trees."""
    return f"{n_trees} trees"


def n_trees_of(rows: Sequence[Result]) -> int:
    """Return the trees of the models of some results."""
    return int(rows[0].part.removesuffix(" trees"))


def errors(rows: Iterable[Result]) -> list[Result]:
    """Return the results that are errors."""
    return [row for row in rows if row.measure in ("test error", "RMSE")]


def present(rows: Iterable[Result]) -> list[str]:
    """Return the sets in their order."""
    return list(dict.fromkeys(row.data for row in rows))


def of_stage(rows: Iterable[Result], stage: int) -> list[Result]:
    """Return the results after so many trees."""
    return pick(rows, x=str(stage))
