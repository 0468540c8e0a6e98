"""One small fitted model for all tests of explanations."""

import warnings

import numpy as np
import pandas as pd
import pytest

from dpboost import DPBoostClassifier, DPBoostRegressor

TOWNS = ["north", "south", "west"]
SCHEMA = {
    "bounds": {"age": (0, 1), "pay": (0, 1), "idle": (0, 1)},
    "categories": {"town": TOWNS},
    "label_bounds": (-3, 4),
}


def table(n_rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(size=(n_rows, 3)), columns=["age", "pay", "idle"])
    X["town"] = pd.Categorical.from_codes(rng.choice(3, n_rows, p=[0.6, 0.3, 0.1]), TOWNS)
    signal = 2 * X.age - X.pay + 3 * (X.age - 0.5) * (X.pay - 0.5) + 0.5 * (X.town == "north")
    return X, (signal + 0.2 * rng.normal(size=n_rows)).to_numpy()


def fitted(kind=DPBoostRegressor, label=lambda y: y, **parameters):
    X, y = table()
    common = {"schema": SCHEMA, "n_estimators": 80, "epsilon": 2.0, "noise_seed": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(verbosity=0, random_state=0, **{**common, **parameters}).fit(X, label(y))


@pytest.fixture(scope="session")
def model():
    return fitted()


@pytest.fixture(scope="session")
def classifier():
    schema = {**SCHEMA, "label_bounds": None, "classes": [0, 1]}
    return fitted(DPBoostClassifier, lambda y: (y > 0.7).astype(int), schema=schema)


@pytest.fixture(scope="session")
def of_three():
    schema = {**SCHEMA, "label_bounds": None, "classes": [0, 1, 2]}
    return fitted(DPBoostClassifier, lambda y: np.digitize(y, [0.3, 1.2]), schema=schema)
