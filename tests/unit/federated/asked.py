"""Small questions and orders for the tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpboost.federated.party.admission import admit
from dpboost.privacy.sensitivity.bound import Sensitivity
from dpboost.privacy.sensitivity.constants import counts


@dataclass(frozen=True, kw_only=True)
class ClassCounts:
    """Rows of each label 0..n-1."""

    n_classes: int
    units: int = 1
    branch: tuple[str, ...] = ()

    @property
    def unit(self):
        return 1 / self.units

    @property
    def shape(self):
        return (self.n_classes,)

    def evaluate(self, rows):
        found = np.bincount(rows.labels.astype(np.intp), minlength=self.n_classes)
        return found.astype(np.int64) * self.units

    def bounds(self, neighbours):
        return counts(neighbours, self.units)


@dataclass(frozen=True, kw_only=True)
class OwnScores:
    """Scores of a choice that every party makes for itself."""

    n_candidates: int

    unit = 1.0

    @property
    def shape(self):
        return (1, self.n_candidates)

    def evaluate(self, rows):
        found = np.bincount(rows.labels.astype(np.intp), minlength=self.n_candidates)
        return found[np.newaxis].astype(np.int64)

    def bounds(self, neighbours):
        return (Sensitivity("range", neighbours.rows, "one row counts once"),)


@dataclass(frozen=True, kw_only=True)
class Keep:
    """An order that changes nothing."""

    word: str

    def execute(self, rows):
        return rows


for name, kind in {"test counts": ClassCounts, "test scores": OwnScores, "test keep": Keep}.items():
    admit(name, kind, object)
