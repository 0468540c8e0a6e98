"""A small table and a model of it."""

import numpy as np
import pytest

from dpboost import DPBoostClassifier


@pytest.fixture(scope="module")
def table():
    X = np.random.default_rng(0).normal(size=(300, 3))
    return X, (X[:, 0] > 0).astype(int)


@pytest.fixture(scope="module")
def model(table):
    return DPBoostClassifier(epsilon=2, delta=1e-5, n_estimators=5).fit(*table)
