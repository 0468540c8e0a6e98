"""LPDT with settings, as the experiments run it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpboost import LPDTAggregator, LPDTPartition
from dpboost.local.leaves import raw_scores
from dpboost.local.plan import ReportPlan

RULES = {"LPDT-M": "max_edge", "LPDT-V": "variance"}


@dataclass(frozen=True)
class Sizes:
    """Depth and leaf size; None is the default, which looks at public rows only."""

    max_depth: int | None = None
    min_samples_leaf: int | None = None


@dataclass(frozen=True)
class Split:
    """Public, private and test rows of a table, and its number among the repeats.

    Attributes
    ----------
    X_public, y_public, X, y, X_test, y_test : ndarray
    """

    X_public: np.ndarray
    y_public: np.ndarray
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, seed: int) -> Split:
        """Divide a table 1 : 7 : 2, as the paper does, by a public seed."""
        order = np.random.default_rng(seed).permutation(len(y))
        public, private, test = np.split(order, [len(y) // 10, len(y) * 8 // 10])
        return cls(X[public], y[public], X[private], y[private], X[test], y[test])

    @cached_property
    def _partitions(self) -> dict[object, LPDTPartition]:
        return {}

    def error(self, predicted: np.ndarray) -> float:
        """Return the mean squared error on the test rows."""
        return float(np.mean((predicted - self.y_test[: len(predicted)]) ** 2))

    def lpdt_error(self, method: str, mechanism: str, epsilon: float, sizes: Sizes) -> float:
        """Return the mean squared error of LPDT with fresh noise.

        Parameters
        ----------
        method : {"LPDT-M", "LPDT-V"}
        mechanism : str
            Of the reports. ``ratio`` is the paper's with the paper's estimate: noisy sum over
            noisy count of each leaf, clipped to the label range.
        epsilon : float
        sizes : Sizes
        """
        drawn = "paper" if mechanism == "ratio" else mechanism
        key = (method, drawn, epsilon, sizes)
        if key not in self._partitions:
            self._partitions[key] = LPDTPartition.from_public(
                self.X_public,
                self.y_public,
                rule=RULES[method],
                epsilon=epsilon,
                n_reports=len(self.y),
                mechanism=drawn,
                max_depth=sizes.max_depth,
                min_samples_leaf=sizes.min_samples_leaf,
            )
        partition = self._partitions[key]
        server = LPDTAggregator(partition, epsilon, mechanism=drawn)
        server.add_many(ReportPlan.of(partition, epsilon, drawn).encode(self.X, self.y))
        table = partition.read(self.X_test)
        if mechanism == "ratio":
            estimates = server.estimates()
            positive = np.maximum(estimates.counts, 1.0)[:, np.newaxis]
            leaves = raw_scores(estimates.sums / positive, partition.labels)[:, 0]
            return self.error(leaves[partition.cells(table)])
        return self.error(server.to_ensemble().predict(table))
