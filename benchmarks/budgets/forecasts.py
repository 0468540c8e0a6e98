"""How near ``dpboost.forecast`` from 1,000 public rows comes to the fit of private ones."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import mean_squared_error, roc_auc_score

import dpboost
from benchmarks.problems import ALL_PROBLEMS
from benchmarks.problems.problem import take

TABLES = (
    "adult",
    "bank",
    "cod_rna",
    "ijcnn1",
    "default_credit",
    "telco_churn",
    "abalone",
    "kin8nm",
    "diamonds",
    "protein",
)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
DELTA = 1e-5
PUBLIC_ROWS = 1000
MOST_ROWS = 10_000
#: How near is near: AUC, and part of the RMSE.
NEAR_AUC, NEAR_RMSE = 0.015, 0.06


@dataclass(frozen=True, kw_only=True)
class Case:
    """One table at one epsilon.

    Attributes
    ----------
    table, metric : str
    n_rows : int
        Private rows that were trained on.
    epsilon, forecast, low, high, fitted : float
        Expected, and what a fit has on rows it has not seen.
    """

    table: str
    metric: str
    n_rows: int
    epsilon: float
    forecast: float
    low: float
    high: float
    fitted: float
    on_public: float

    @property
    def near(self) -> bool:
        """Whether the forecast is near enough."""
        return self._is_near(self.forecast)

    @property
    def public_near(self) -> bool:
        """Whether the fit itself, on the public rows, would have been near enough."""
        return self._is_near(self.on_public)

    def _is_near(self, value: float) -> bool:
        gap = abs(value - self.fitted)
        return gap <= NEAR_AUC if self.metric == "auc" else gap <= NEAR_RMSE * self.fitted

    @property
    def inside(self) -> bool:
        """Whether the band holds the fit."""
        return self.low <= self.fitted <= self.high


def cases(table: str, seed: int = 0) -> list[Case]:
    """Forecast and fit one table at all epsilons."""
    problem = ALL_PROBLEMS[table]
    X, y = problem.load()
    order = np.random.default_rng(seed).permutation(len(y))
    public, rest = order[:PUBLIC_ROWS], order[PUBLIC_ROWS:]
    n_test = len(rest) // 4
    test, private = rest[:n_test], rest[n_test:][:MOST_ROWS]
    schema = problem.dictionary.schema()
    classes = problem.task == "binary"
    kind: Any = dpboost.DPBoostClassifier if classes else dpboost.DPBoostRegressor
    plan = kind(delta=DELTA, n_jobs=1, verbosity=-1)
    expected = dpboost.forecast(
        schema=schema,
        n_rows=len(private),
        epsilon=EPSILONS,
        like=(take(X, public), y[public]),
        estimator=plan,
        random_state=seed,
    )
    found = []
    for position, epsilon in enumerate(EPSILONS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = kind(epsilon=epsilon, delta=DELTA, schema=schema, n_jobs=1, verbosity=-1)
            model.fit(take(X, private), y[private])
        found.append(
            Case(
                table=table,
                metric=str(expected.metric),
                n_rows=len(private),
                epsilon=epsilon,
                forecast=expected.value[position],
                low=expected.low[position],
                high=expected.high[position],
                fitted=_score(model, take(X, test), y[test], classes=classes),
                on_public=_score(model, take(X, public), y[public], classes=classes),
            )
        )
    return found


def _score(model: Any, X: Any, y: Any, *, classes: bool) -> float:
    """Return the AUC of a classifier, the RMSE of a regressor."""
    if classes:
        return float(roc_auc_score(y, model.predict_proba(X)[:, 1]))
    return math.sqrt(mean_squared_error(y, model.predict(X)))
