"""A trained ensemble: released trees, the public bins they speak of, and the report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import predict
from dpboost.boosting.forest import Forest
from dpboost.data.binner import Binner
from dpboost.data.table import Table
from dpboost.tree.structure import Tree


@dataclass(frozen=True, kw_only=True, eq=False)
class Ensemble:
    """Everything that leaves training.

    Parameters
    ----------
    trees : tuple of Tree
        Round by round.
    binner : Binner
        The public map from raw values to bins.
    start : float
        Start value, a multiple of ``unit``; every raw score begins there.
    unit : float
        A power of two; leaf values are integers in this unit, so that a raw score is an exact
        double however its trees are summed.
    objective : str
        LightGBM's objective string, for instance ``"binary sigmoid:1"``.
    report : dict
        ``PrivacyReport.to_dict()``: released and public values only.
    """

    trees: tuple[Tree, ...]
    binner: Binner
    start: float
    unit: float
    objective: str
    report: dict[str, Any] = field(default_factory=dict)

    def predict_raw(self, table: Table, n_threads: int = 1) -> NDArray[np.float64]:
        """Raw score of every row: the start value plus one leaf of each tree.

        Parameters
        ----------
        table : Table
            Rows with the training columns.
        n_threads : int
            Threads of the kernels; the result does not depend on it.

        Returns
        -------
        ndarray of shape (n_rows,), float64
            Exactly what LightGBM predicts from the model text with ``raw_score=True``.
        """
        forest = Forest(self.binner.is_categorical)
        for tree in self.trees:
            forest.append(tree)
        bins = self.binner.transform(table, n_threads)
        n_rows = bins.shape[1]
        scores = np.zeros(n_rows, dtype=np.int64)
        rows = np.arange(n_rows, dtype=np.int32)
        forest.add_to(scores, bins, rows, np.zeros(n_rows, dtype=np.int32), n_threads)
        return np.asarray(self.start + scores * self.unit, dtype=np.float64)

    def predict(self, table: Table, n_threads: int = 1) -> NDArray[np.float64]:
        """Return raw scores through the link: values, or probabilities of the second class."""
        raw = self.predict_raw(table, n_threads)
        if not self.objective.startswith("binary"):
            return raw
        probability = np.empty_like(raw)
        predict.logistic(raw, probability)
        return probability
