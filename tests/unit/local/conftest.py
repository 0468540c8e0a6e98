"""Public and private rows for the tests of local reports."""

import numpy as np
import pytest

from dpboost.local import LPDTPartition


@pytest.fixture
def rows():
    """A function that draws rows whose label grows with the first feature."""

    def draw(seed, n=500, n_features=2):
        random = np.random.default_rng(seed)
        X = random.uniform(size=(n, n_features))
        return X, X[:, 0] + random.normal(scale=0.1, size=n)

    return draw


@pytest.fixture
def partition(rows):
    """Four cells, labels between -1 and 2."""
    X, y = rows(0)
    return LPDTPartition.from_public(
        X, y, max_depth=2, min_samples_leaf=20, n_levels=3, label_bounds=(-1, 2)
    )
