"""What a run measures: fits in their order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.harness.run import digest as of_settings
from benchmarks.reproductions.dpboost.methods import METHODS, TREES_PER_ENSEMBLE, Method
from benchmarks.reproductions.dpboost.rows import N_FOLDS, Job
from benchmarks.reproductions.dpboost.sets import CLASSIFICATION, SETS, PaperSet

_SIDE_DRAWS = 1


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The fits of a run.

    Attributes
    ----------
    sets : tuple of str
        Names in `SETS`.
    methods : tuple of Method
    epsilons : tuple of float
        Budgets of the private methods; a set may have fewer.
    n_trees : tuple of int
        Numbers of trees, and of trees in an ensemble.
    side_methods : tuple of str
        Methods that run for every number of trees; the others for the first one alone.
    folds : int
        Folds of five that are run at most.
    draws : int
        Fits with fresh noise on the rows of a fold at most.
    fits : mapping of str, or of (str, str), to int
        Fits with fresh noise at least, over the folds of a set together, of a method with either
        loss, or of a set and a method; draws are as many as that takes.
    too_slow : frozenset of (str, str)
        Sets and methods that are not run together.
    stages : tuple of int
        Numbers of trees at which errors are taken, beside the whole model.
    trees_per_ensemble : int
        Of DPBoost.
    """

    sets: tuple[str, ...]
    methods: tuple[Method, ...]
    epsilons: tuple[float, ...]
    n_trees: tuple[int, ...] = (50,)
    side_methods: tuple[str, ...] = ()
    folds: int = N_FOLDS
    draws: int = 5
    fits: Mapping[str | tuple[str, str], int] = field(default_factory=dict)
    too_slow: frozenset[tuple[str, str]] = frozenset()
    stages: tuple[int, ...] = ()
    trees_per_ensemble: int = TREES_PER_ENSEMBLE

    def jobs(self, name: str) -> Iterator[Job]:
        """Yield the fits on a set."""
        own = SETS[name]
        epsilons = [epsilon for epsilon in self.epsilons if epsilon not in own.left_out]
        n_folds = min(self.folds, own.folds)
        for fold in range(n_folds):
            for n_trees in self.n_trees if own.appendix else self.n_trees[:1]:
                for method in self.methods:
                    if not method.runs_on(name, is_classes=name in CLASSIFICATION):
                        continue
                    if (name, method.name) in self.too_slow:
                        continue
                    if n_trees != self.n_trees[0] and method.name not in self.side_methods:
                        continue
                    draws = min(self.draws, own.draws, method.draws)
                    if n_trees != self.n_trees[0]:
                        draws = min(draws, _SIDE_DRAWS)
                    either_loss = method.name.removesuffix(", logistic")
                    fits = self.fits.get((name, either_loss), self.fits.get(either_loss, 0))
                    draws = max(draws, math.ceil(fits / n_folds))
                    for epsilon, draw in itertools.product(
                        epsilons if method.private else (None,), range(draws)
                    ):
                        yield Job(
                            data=name,
                            method=method.name,
                            epsilon=epsilon,
                            n_trees=n_trees,
                            fold=fold,
                            draw=draw,
                            trees_per_ensemble=self.trees_per_ensemble,
                        )

    def stages_of(self, job: Job) -> list[int]:
        """Return the numbers of trees at which errors of a fit are taken."""
        return [*(stage for stage in self.stages if stage < job.n_trees), job.n_trees]


def settings_of(job: Job, own: PaperSet, data: Mapping[str, Any], more: Mapping[str, Any]) -> str:
    """Return what tells one state of everything a value depends on from another.

    Parameters
    ----------
    job : Job
    own : PaperSet
    data : mapping
        Digests of the files, and declarations.
    more : mapping
        What the run adds.
    """
    method = METHODS[job.method]
    settings = {
        "data": dict(data),
        "rows": [own.n_rows, own.sampled, own.max_bin, own.bounds],
        "method": [method.kind, method.loss, dict(method.settings), job.trees_per_ensemble],
        "versions": method.versions(),
        **more,
    }
    return of_settings(settings)
