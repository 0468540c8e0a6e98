"""Tables of the run, and the directions that are known of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import lightgbm
import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.problems import ALL_PROBLEMS
from benchmarks.problems.problem import take
from dpboost import DPBoostClassifier, DPBoostRegressor

EPSILON, DELTA = 1.0, 1e-5

#: What the codebook, physics or the law of a generated table says.
DIRECTIONS: dict[str, dict[str, int]] = {
    "line": {"Column_0": 1, "Column_1": -1},
    "product": {"Column_0": 1, "Column_2": 1},
    "fried": {"X4": 1, "X5": 1},
    "ccpp": {"temperature": -1},
    "adult": {"education_num": 1, "capital_gain": 1},
    "kc_house": {"sqft_living": 1, "grade": 1},
    "diamonds": {"carat": 1},
    "default_credit": {"PAY_0": 1, "LIMIT_BAL": -1},
    "telco_churn": {"tenure": -1},
    "wine_quality": {"alcohol": 1, "volatile_acidity": -1},
}
#: Tables of bands and spreads.
FOUR = ("line", "product", "adult", "ccpp")
#: Bounds of the features of generated tables, and of their labels.
GENERATED = {"bounds": dict.fromkeys(range(6), (0, 1)), "label_bounds": (-4, 7)}


@dataclass(frozen=True, kw_only=True, eq=False)
class Parts:
    """A table in two parts, and how its estimators are made.

    Attributes
    ----------
    task : str
    schema : object
    train_X, train_y, test_X, test_y : table and labels
    """

    task: str
    schema: Any
    train_X: Any  # noqa: N815 - the field's name for a table
    train_y: np.ndarray
    test_X: Any  # noqa: N815
    test_y: np.ndarray

    @property
    def measure(self) -> str:
        """What is measured of a model."""
        return "AUC" if self.task == "binary" else "RMSE"

    def fitted(
        self, *, seed: int = 0, fit: Mapping[str, Any] | None = None, **settings: Any
    ) -> Any:
        """Return a fitted estimator; the noise comes from the operating system."""
        kind = DPBoostRegressor if self.task == "regression" else DPBoostClassifier
        common = {"epsilon": EPSILON, "delta": DELTA, "schema": self.schema, "verbosity": 0}
        model = kind(random_state=seed, n_jobs=1, **{**common, **settings})
        return model.fit(self.train_X, self.train_y, **(fit or {}))

    def stock(self, known: Mapping[str, int] | None = None) -> Any:
        """Return a fitted estimator of LightGBM, which keeps no privacy, with known directions."""
        kind = lightgbm.LGBMRegressor if self.task == "regression" else lightgbm.LGBMClassifier
        names = getattr(self.train_X, "columns", None)
        if names is None:
            names = [f"Column_{position}" for position in range(self.train_X.shape[1])]
        signs = None if known is None else [known.get(name, 0) for name in names]
        model = kind(monotone_constraints=signs, n_jobs=1, verbosity=-1)
        return model.fit(self.train_X, self.train_y)

    def of(self, model: Any) -> float:
        """Return the AUC, or the root mean squared error."""
        if self.task == "binary":
            return float(roc_auc_score(self.test_y, model.predict_proba(self.test_X)[:, 1]))
        return float(np.sqrt(np.mean((model.predict(self.test_X) - self.test_y) ** 2)))


def generated(name: str, n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels of a law of single features, or of one with a product."""
    random = np.random.default_rng(seed)
    X = random.uniform(size=(n_rows, 6))
    signal = 2 * X[:, 0] - X[:, 1] ** 2 + np.sin(6 * X[:, 3])
    if name == "product":
        signal = signal + 3 * X[:, 0] * X[:, 2]
    return X, signal + 0.3 * random.normal(size=n_rows)


def parts(name: str, seed: int, *, n_rows: int = 20_000) -> Parts:
    """Return a table in two parts, by a public seed."""
    if name in ("line", "product"):
        X, y = generated(name, n_rows + 10_000, seed)
        return Parts(
            task="regression",
            schema=GENERATED,
            train_X=X[:n_rows],
            train_y=y[:n_rows],
            test_X=X[n_rows:],
            test_y=y[n_rows:],
        )
    problem = ALL_PROBLEMS[name]
    X, y = problem.load()
    train, test = problem.split.indices(y, seed)
    return Parts(
        task=problem.task,
        schema=problem.dictionary.schema(),
        train_X=take(X, train),
        train_y=y[train],
        test_X=take(X, test),
        test_y=y[test],
    )


def head(X: Any, n_rows: int) -> Any:
    """Return the first rows of a table."""
    return X.iloc[:n_rows] if hasattr(X, "iloc") else X[:n_rows]
