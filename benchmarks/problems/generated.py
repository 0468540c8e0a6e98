"""Sets that scikit-learn generates: as many rows as one likes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.problems.problem import DataDictionary, Problem

#: Rows of the runs; the DPBoost paper has a million.
N_ROWS = 200_000
N_FEATURES = 400
_SEED = 0
_SOURCE = "https://scikit-learn.org/stable/datasets/sample_generators.html"
# Normal columns, and of the classes combinations of them.
_BOUNDS = dict.fromkeys(range(N_FEATURES), (-6.0, 6.0))
# Ten columns count, with coefficients of 0 to 100.
_LABEL_BOUNDS = (-1_000.0, 1_000.0)


def synthetic_cls(n_rows: int = N_ROWS) -> Problem:
    """Return two classes of ``make_classification``: 400 columns, of which two tell and two repeat.

    Parameters
    ----------
    n_rows : int
    """

    def read(paths: Mapping[str, Path]) -> tuple[np.ndarray, np.ndarray]:
        from sklearn.datasets import make_classification

        X, y = make_classification(n_rows, N_FEATURES, random_state=_SEED)
        return X.astype(np.float32), y.astype(np.int64)

    return Problem(
        name="synthetic_cls",
        task="binary",
        files=(),
        dictionary=DataDictionary(bounds=_BOUNDS, classes=(0, 1)),
        read=read,
        source=_SOURCE,
        made_by=f"make_classification, {n_rows} rows, seed {_SEED}",
    )


def synthetic_reg(n_rows: int = N_ROWS) -> Problem:
    """Return the labels of ``make_regression``: 400 columns, of which ten tell, without noise.

    Parameters
    ----------
    n_rows : int
    """

    def read(paths: Mapping[str, Path]) -> tuple[np.ndarray, np.ndarray]:
        from sklearn.datasets import make_regression

        X, y = make_regression(n_rows, N_FEATURES, random_state=_SEED)
        return X.astype(np.float32), y

    return Problem(
        name="synthetic_reg",
        task="regression",
        files=(),
        dictionary=DataDictionary(bounds=_BOUNDS, label_bounds=_LABEL_BOUNDS),
        read=read,
        source=_SOURCE,
        made_by=f"make_regression, {n_rows} rows, seed {_SEED}",
    )


SYNTHETIC_CLS = synthetic_cls()
SYNTHETIC_REG = synthetic_reg()
