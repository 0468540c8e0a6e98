"""LPDT with settings, as the experiments run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpboost import LPDTAggregator, LPDTPartition
from dpboost.local.collection import ReportPlan

Predict = Callable[[np.ndarray], np.ndarray]

RULES = {"LPDT-M": "max_edge", "LPDT-V": "variance"}


def drawn_by(mechanism: str) -> str:
    """Return the mechanism of the library that draws the reports."""
    return "paper" if mechanism == "ratio" else mechanism


def collected(
    partition: LPDTPartition, mechanism: str, epsilon: float, X: np.ndarray, y: np.ndarray
) -> Predict:
    """Return what predicts after all private rows have reported, with fresh noise.

    Parameters
    ----------
    partition : LPDTPartition
    mechanism : str
        Of the library, or ``ratio``: the paper's mechanism with the paper's estimate, noisy sum
        over noisy count of each leaf, clipped to the label range.
    epsilon : float
    X, y : ndarray
        Private rows.
    """
    drawn = drawn_by(mechanism)
    estimate = "paper" if mechanism == "ratio" else "shrunken"
    server = LPDTAggregator(partition, epsilon, mechanism=drawn, estimate=estimate)
    server.add_many(ReportPlan.of(partition, epsilon, drawn).encode(X, y))
    ensemble = server.to_ensemble()
    return lambda rows: ensemble.predict(partition.read(rows))


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
            As in `collected`.
        epsilon : float
        sizes : Sizes
        """
        drawn = drawn_by(mechanism)
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
        predict = collected(self._partitions[key], mechanism, epsilon, self.X, self.y)
        return self.error(predict(self.X_test))
