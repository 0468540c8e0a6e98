"""A trained ensemble: released trees, public bins, and the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import predict
from dpboost.data.binner import Binner
from dpboost.data.table import Table
from dpboost.trees.forest import Forest
from dpboost.trees.tree import Tree


@dataclass(frozen=True, kw_only=True, eq=False)
class Ensemble:
    """The result of training."""

    #: Round by round, one tree for each output in a round.
    trees: tuple[Tree, ...]
    #: The public map from raw values to bins.
    binner: Binner
    #: Start value of each output, multiples of ``unit``; its raw scores begin there.
    start: tuple[float, ...]
    #: A power of two; leaf values are integers in this unit, so that a raw score is an exact
    #: double however its trees are summed.
    unit: float
    #: LightGBM's objective string, for instance ``"binary sigmoid:1"``.
    objective: str
    #: ``PrivacyReport.to_dict()``: released and public values only.
    report: dict[str, Any] = field(default_factory=dict)
    #: Released number of rows, or of their weights; None if the recipe releases none.
    n_rows: float | None = None
    #: Released rows in each bin of the features whose bins were released, each of shape
    #: (n_bins + 1,), missing last.
    masses: Mapping[int, NDArray[np.float64]] = field(default_factory=dict)
    #: The trees as they were released, where they were brought into order afterwards.
    released: tuple[Tree, ...] = ()

    @property
    def n_outputs(self) -> int:
        """Raw scores of a row: one, or one for each class."""
        return len(self.start)

    def predict_raw(self, table: Table, n_threads: int = 1) -> NDArray[np.float64]:
        """Return raw scores of every row: the start value plus one leaf of each tree.

        The table has the training columns. Scores are exactly what LightGBM predicts from the model
        text with ``raw_score=True``, of shape (n_rows,), or (n_rows, n_outputs) for several
        outputs; they do not depend on the number of threads.
        """
        bins = table.bins(self.binner, n_threads)
        n_rows = bins.shape[1]
        rows = np.arange(n_rows, dtype=np.int32)
        nothing_seen = np.zeros(n_rows, dtype=np.int32)
        scores = np.zeros((self.n_outputs, n_rows), dtype=np.int64)
        for forest, own in zip(self._forests, np.split(scores, len(self._forests)), strict=True):
            forest.add_to(own, bins, rows, nothing_seen, n_threads)
        raw = scores * self.unit
        raw += np.array(self.start)[:, np.newaxis]
        return raw[0] if self.n_outputs == 1 else np.ascontiguousarray(raw.T)

    @cached_property
    def _forests(self) -> tuple[Forest, ...]:
        """One of all outputs where they share their nodes, otherwise one of each."""
        outputs = [self.trees[k :: self.n_outputs] for k in range(self.n_outputs)]
        if all(_same_nodes(trees) for trees in zip(*outputs, strict=True)):
            return (Forest.of(*outputs),)
        return tuple(Forest.of(trees) for trees in outputs)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_forests"}

    def predict(self, table: Table, n_threads: int = 1) -> NDArray[np.float64]:
        """Return raw scores through the link: values, means, or class probabilities.

        Of two classes it is the probability of the second one, of more an array of shape
        (n_rows, n_outputs), as LightGBM's.
        """
        return self.link(self.predict_raw(table, n_threads))

    def link(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn raw scores into values, means or probabilities, in place.

        They are contiguous, of shape (n_rows,) or (n_rows, n_outputs). Several quantiles of a row
        are sorted: they may cross as scores, and sorted ones are never further from the quantiles
        (Chernozhukov, Fernandez-Val and Galichon 2010).
        """
        name = self.objective.split(" ")[0]
        if name in ("binary", "cross_entropy", "multiclassova"):
            predict.logistic(raw.reshape(-1), raw.reshape(-1))
            return raw
        if name in ("poisson", "gamma", "tweedie"):
            predict.exponential(raw.reshape(-1), raw.reshape(-1))
            return raw
        if name == "multiclass":
            predict.softmax(raw)
        if name == "quantile" and raw.ndim == 2:
            raw.sort(axis=1)
        return raw


def _same_nodes(trees: tuple[Tree, ...]) -> bool:
    """Return whether the trees of a round differ in their leaf values alone."""
    return all(
        getattr(tree, name) is getattr(trees[0], name)
        or np.array_equal(getattr(tree, name), getattr(trees[0], name))
        for tree in trees[1:]
        for name in ("feature", "left_bins", "left", "right")
    )
