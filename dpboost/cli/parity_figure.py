"""How near the engine comes to LightGBM when its noise is switched off."""

from __future__ import annotations

import math
import warnings
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from dpboost.data.table import read_table
from dpboost.estimators.boosting_estimators import DPBoostClassifier
from dpboost.training.privacy_params import NotPrivateWarning

N_ROWS, N_FEATURES, HELD_OUT = 20_000, 6, 5_000
_DEPTH = 3
_TREES: dict[str, Any] = {
    "n_estimators": 200,
    "max_depth": _DEPTH,
    "learning_rate": 0.2,
    "reg_lambda": 1.0,
    "verbosity": -1,
}
_LIGHTGBM: dict[str, Any] = {"num_leaves": 2**_DEPTH, "min_child_samples": 1, "max_bin": 256}


def parity_figure(seed: int = 0) -> str:
    """Return the areas under the ROC curve as lines of text.

    Parameters
    ----------
    seed : int
        Of the made-up rows.
    """
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (N_ROWS, N_FEATURES))
    score = 3 * X[:, 0] + 2 * np.sin(4 * X[:, 1]) + 3 * X[:, 2] * X[:, 3]
    y = (score + rng.logistic(size=N_ROWS) > 0).astype(int)
    known, new = slice(HELD_OUT, None), slice(HELD_OUT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        model = DPBoostClassifier(
            epsilon=math.inf,
            delta=0,
            recipe="seq",
            max_bin=255,
            schema={"bounds": dict.fromkeys(range(N_FEATURES), (-1, 1)), "classes": [0, 1]},
            **_TREES,
        ).fit(X[known], y[known])
    binner = model.ensemble_.binner
    bins = binner.transform(read_table(X, schema=model.schema_)).T.astype(np.float64)
    found = {
        "LightGBM": _of_lightgbm(X, y, known)[new],
        "LightGBM on the same bins": _of_lightgbm(bins, y, known)[new],
        "dpboost, recipe='seq' without noise": model.predict_proba(X[new])[:, 1],
    }
    width = max(map(len, found))
    areas = {name: roc_auc_score(y[new], predicted) for name, predicted in found.items()}
    return "\n".join(f"{name:<{width}}  AUC {area:.4f}" for name, area in areas.items())


def _of_lightgbm(X: NDArray[np.float64], y: NDArray[np.int64], known: slice) -> NDArray[np.float64]:
    """Return what LightGBM predicts of all rows."""
    model = lightgbm.LGBMClassifier(**_TREES, **_LIGHTGBM)
    model.fit(X[known], y[known])
    return np.asarray(model.predict_proba(X))[:, 1]
