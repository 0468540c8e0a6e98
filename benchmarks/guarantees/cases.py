"""The pairs of tables on which each library is audited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """A library, two tables that differ in one row, and what is looked at.

    Attributes
    ----------
    name : str
        Name in the result file.
    method : str
        Name of the method in ``run peers``.
    environment : str or None
        Requirement file of the library; ``None`` for dpboost itself.
    script : str
        Script in ``benchmarks/workers``, or the estimator of `benchmarks.guarantees.ours`.
    settings : mapping of str to object
        Given to the script.
    tables : str
        What the tables hold and how the library is called, in words.
    looked_at : str
        What is reported of a model, in words.
    X : ndarray of shape (n_rows, 1)
        The table with the row, which is its last one.
    y : ndarray of shape (n_rows,)
        Its labels.
    replacement : (row, label), optional
        What the other table has instead of the row; by default it is one row shorter.
    removed : int
        Which row the shorter table lacks.
    bounds : ndarray of shape (1, 2)
        Declared bounds of the column.
    epsilon, delta : float
        What the library is reported to keep.
    runs, quick_runs : int
        Fits on each table.
    """

    name: str
    method: str
    environment: str | None
    script: str
    tables: str
    looked_at: str
    X: np.ndarray
    y: np.ndarray
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    replacement: tuple[Any, Any] | None = None
    removed: int = -1
    bounds: np.ndarray = field(default_factory=lambda: np.array([[0.0, 1.0]]))
    epsilon: float = 1.0
    delta: float = 0.0
    runs: int
    quick_runs: int

    @property
    def relation(self) -> str:
        """What is done to a table to get its neighbor."""
        return "one row less" if self.replacement is None else "one row replaced"

    @property
    def row(self) -> int:
        """Position of the row in which the tables differ."""
        return self.removed % len(self.y)

    def neighbor(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the other table."""
        if self.replacement is None:
            return np.delete(self.X, self.row, axis=0), np.delete(self.y, self.row)
        X, y = self.X.copy(), self.y.copy()
        X[self.row], y[self.row] = self.replacement
        return X, y


def _column(*parts: tuple[int, float]) -> np.ndarray:
    return np.concatenate([np.full(count, value) for count, value in parts])[:, np.newaxis]


def _labels(*parts: tuple[int, float]) -> np.ndarray:
    return _column(*parts)[:, 0]


_OFFSET = {
    "tables": "60 rows; the label is declared to lie in [1000, 1001] and is 1000, that of the "
    "last row 1001",
    "looked_at": "the prediction for the last row",
    "X": _column((59, 0.2), (1, 0.9)),
    "y": _labels((59, 1000.0), (1, 1001.0)),
}
_CATEGORY = {
    "tables": "51 rows, one categorical column; the last row alone has the second category",
    "X": _column((50, 0.0), (1, 1.0)),
    "y": _labels((25, 0.0), (26, 1.0)).astype(np.int64),
    "delta": 1e-5,
}
_SMALLEST_NODE = {
    "X": _column((500, 0.5)),
    "y": _labels((500, 0.9)),
    "looked_at": "the prediction for these rows",
}

CASES: tuple[Case, ...] = (
    Case(
        name="DP-EBM, offset labels",
        method="DP-EBM",
        environment="dp_ebm",
        script="audit_dp_ebm",
        settings={"case": "offset labels", "label_bounds": (1000.0, 1001.0), "max_rounds": 3},
        delta=1e-5,
        runs=300,
        quick_runs=100,
        **{**_OFFSET, "tables": f"{_OFFSET['tables']}; 3 rounds of boosting"},
    ),
    Case(
        name="DP-EBM, a category of one row",
        method="DP-EBM",
        environment="dp_ebm",
        script="audit_dp_ebm",
        settings={"case": "category"},
        looked_at="whether the model lists the second category",
        runs=600,
        quick_runs=150,
        **_CATEGORY,
    ),
    Case(
        name="dp-xgboost, a node of the smallest size",
        method="dp-xgboost",
        environment="sarus_xgboost",
        script="audit_sarus_xgboost",
        tables="500 rows alike, which is the smallest node that may have a value (the parameter "
        "min_child_weight). One tree on all rows, the other settings as measured. One fit a "
        "second, for the noise is seeded by the clock",
        runs=120,
        quick_runs=40,
        **_SMALLEST_NODE,
    ),
    Case(
        name="diffprivlib forest, as measured",
        method="diffprivlib forest",
        environment="diffprivlib_forest",
        script="audit_diffprivlib_forest",
        # Two rows go to the first and the fifth tree, three to the first, fourth and seventh.
        settings={"shuffle": True, "expected_votes": [*[None] * 3, 1, 0, None, 1, *[None] * 3]},
        tables="3 rows alike for 10 trees; the rows are shuffled as in the run",
        looked_at="how many of three trees vote as they would if two rows had been assigned",
        X=_column((3, 0.5)),
        y=_labels((3, 0.0)).astype(np.int64),
        runs=3_000,
        quick_runs=400,
    ),
    Case(
        name="diffprivlib forest, rows in their order",
        method="diffprivlib forest",
        environment="diffprivlib_forest",
        script="audit_diffprivlib_forest",
        settings={"shuffle": False, "expected_votes": [0, 1] * 5},
        tables="20 rows alike for 10 trees, the labels in turn twice 0 and twice 1; the first row "
        "is missing in the other table. Rows are not shuffled, which is the default",
        looked_at="how many trees vote for the label of the rows at their position",
        X=_column((20, 0.5)),
        y=np.tile([0, 0, 1, 1], 5),
        removed=0,
        runs=400,
        quick_runs=100,
    ),
    Case(
        name="diffprivlib forest, a row replaced",
        method="diffprivlib forest",
        environment="diffprivlib_forest",
        script="audit_diffprivlib_forest",
        settings={"shuffle": True, "expected_votes": [1]},
        tables="2 rows alike for one tree with labels 0 and 1; in the other table both have 0",
        looked_at="the vote of the tree",
        X=_column((2, 0.5)),
        y=np.array([0, 1]),
        replacement=([0.5], 0),
        runs=1_000,
        quick_runs=200,
    ),
    Case(
        name="best, offset labels",
        method="best",
        environment=None,
        script="regressor",
        settings={"recipe": "best", "label_bounds": (1000.0, 1001.0)},
        delta=1e-5,
        runs=200,
        quick_runs=50,
        **_OFFSET,
    ),
    Case(
        name="best, a category of one row",
        method="best",
        environment=None,
        script="classifier",
        settings={"recipe": "best", "categories": [0, 1]},
        looked_at="the predictions for eight rows, the last one among them",
        runs=200,
        quick_runs=50,
        **_CATEGORY,
    ),
    Case(
        name="dpboost, 500 rows alike",
        method="dpboost",
        environment=None,
        script="regressor",
        settings={"recipe": "dpboost", "label_bounds": (-1.0, 1.0)},
        tables="500 rows alike",
        runs=200,
        quick_runs=50,
        **_SMALLEST_NODE,
    ),
    Case(
        name="dpboost, ten rows",
        method="dpboost",
        environment=None,
        script="classifier",
        settings={"recipe": "dpboost"},
        tables="10 rows alike, the last one with the other label",
        looked_at="the predictions for eight rows, the last one among them",
        X=_column((10, 0.5)),
        y=_labels((9, 0.0), (1, 1.0)).astype(np.int64),
        runs=200,
        quick_runs=50,
    ),
)
