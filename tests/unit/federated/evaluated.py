"""Released models and agreements on their evaluation, for the tests."""

import warnings
from functools import lru_cache

import numpy as np

from dpboost import DPBoostClassifier, DPBoostRegressor
from dpboost.federated import evaluation_agreement

BOUNDS = {"age": (-3, 3), "dose": (-3, 3)}
FEATURES = ("age", "dose")
KINDS = ("two classes", "three classes", "numbers", "quantile")
_LEARNED = {
    "two classes": (DPBoostClassifier, {"classes": [0, 1]}, {}),
    "three classes": (DPBoostClassifier, {"classes": [0, 1, 2]}, {}),
    "numbers": (DPBoostRegressor, {"label_bounds": (-2.0, 2.0)}, {}),
    "quantile": (DPBoostRegressor, {"label_bounds": (-2.0, 2.0)}, {"objective": "quantile"}),
}


def labels(kind, X, seed=0):
    score = X[:, 0] + np.random.default_rng(seed).normal(0, 0.3, len(X))
    if kind == "two classes":
        return (score > 0).astype(int)
    return np.digitize(score, [-0.5, 0.5]) if kind == "three classes" else np.clip(score, -2, 2)


@lru_cache
def model_of(kind):
    estimator, public, learned = _LEARNED[kind]
    pandas = __import__("pandas")
    X = np.random.default_rng(1).normal(size=(500, 2))
    settings = {"n_estimators": 4, "max_depth": 2, "noise_seed": 1, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = estimator(schema={"bounds": BOUNDS, **public}, epsilon=20, **settings, **learned)
        return model.fit(pandas.DataFrame(X, columns=FEATURES), labels(kind, X))


def terms_of(kind, n_parties=3, **options):
    return evaluation_agreement(model_of(kind), n_parties, **({"epsilon": 2.0} | options))


def tables_of(kind, sizes, seed=0):
    rng = np.random.default_rng(seed)
    found = []
    for size in sizes:
        X = rng.normal(size=(size, 2))
        found.append((X, labels(kind, X, seed)))
    return found
