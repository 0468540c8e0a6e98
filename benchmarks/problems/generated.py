"""Sets that are generated, by scikit-learn or here: as many rows as one likes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks._compat import import_pandas
from benchmarks.problems.problem import DataDictionary, Problem

if TYPE_CHECKING:
    import pandas as pd

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


def _read_delays(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(_SEED)
    month, weekday = random.integers(1, 13, N_DELAYS), random.integers(1, 8, N_DELAYS)
    hour = np.minimum(random.poisson(13, N_DELAYS), 23)
    distance = np.minimum(np.rint(random.lognormal(6.4, 0.7, N_DELAYS)), 5_000)
    carrier = random.integers(0, len(_CARRIERS), N_DELAYS)
    airport = np.minimum(random.geometric(0.03, N_DELAYS), len(_AIRPORTS)) - 1
    late = random.normal(0, 4, len(_CARRIERS))[carrier]
    late += random.normal(0, 5, len(_AIRPORTS))[airport]
    busy = np.where(np.isin(month, (6, 7, 12)) & (hour >= 15), 9.0, 0.0)
    middle = late + busy + 0.8 * (hour - 13) + np.where(weekday >= 6, -3.0, 0.0) - distance / 900
    # Most are about on time; some wait for hours, the later in the day the more of them.
    waits = random.random(N_DELAYS) < 0.04 + 0.006 * np.maximum(hour - 10, 0) + 0.02 * (busy > 0)
    delay = middle + random.normal(0, 12, N_DELAYS) + waits * random.lognormal(3.6, 0.8, N_DELAYS)
    pandas = import_pandas()
    columns = {"month": month, "weekday": weekday, "hour": hour, "distance": distance}
    X = pandas.DataFrame({name: column.astype(float) for name, column in columns.items()})
    X["carrier"] = pandas.Categorical.from_codes(carrier, categories=list(_CARRIERS))
    X["airport"] = pandas.Categorical.from_codes(airport, categories=list(_AIRPORTS))
    return X, np.clip(np.rint(delay), -120.0, 2_000.0)


def interactions(n_columns: int) -> Problem:
    """Return two classes that two columns tell apart together, and neither of them alone.

    Parameters
    ----------
    n_columns : int
        Uniform columns in [0, 1], at least four. In the upper half of the third one, the class
        follows the sign of the product of the first two less a half each; the fourth one counts a
        little alone, and the others do not.
    """

    def read(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
        random = np.random.default_rng(_SEED)
        X = random.random((N_INTERACTIONS, n_columns))
        score = 4 * np.sign((X[:, 0] - 0.5) * (X[:, 1] - 0.5)) * (X[:, 2] > 0.5) + X[:, 3] - 0.5
        y = random.random(N_INTERACTIONS) < 1 / (1 + np.exp(-score))
        names = [f"x{position}" for position in range(n_columns)]
        return import_pandas().DataFrame(X, columns=names), y.astype(np.int64)

    return Problem(
        name=f"interactions_{n_columns}",
        task="binary",
        files=(),
        dictionary=DataDictionary(
            bounds={f"x{position}": (0.0, 1.0) for position in range(n_columns)}, classes=(0, 1)
        ),
        read=read,
        source="benchmarks/problems/generated.py",
        made_by=f"{N_INTERACTIONS} rows of {n_columns} columns, two of which count together where "
        f"a third one is large, seed {_SEED}",
    )


#: Rows of `interactions`.
N_INTERACTIONS = 40_000
N_DELAYS = 180_000
_CARRIERS = tuple(f"C{position}" for position in range(16))
_AIRPORTS = tuple(f"A{position}" for position in range(200))
_FLIGHTS = {"month": (1, 12), "weekday": (1, 7), "hour": (0, 23), "distance": (0, 5_000)}
DELAYS = Problem(
    name="delays",
    task="regression",
    files=(),
    dictionary=DataDictionary(
        bounds=_FLIGHTS,
        categories={"carrier": _CARRIERS, "airport": _AIRPORTS},
        integer=tuple(_FLIGHTS),
        label_bounds=(-120, 2_000),  # minutes
    ),
    read=_read_delays,
    source="benchmarks/problems/generated.py",
    made_by=f"{N_DELAYS} flights whose delay depends on hour, season, carrier, airport and chance, "
    f"seed {_SEED}",
)
SYNTHETIC_CLS = synthetic_cls()
SYNTHETIC_REG = synthetic_reg()
