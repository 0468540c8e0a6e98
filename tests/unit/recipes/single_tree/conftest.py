"""Tables and trees of the recipes of single trees."""

import warnings

import numpy as np
import pytest

from dpboost import DPTreeClassifier, NotPrivateWarning

N_VALUES = 6


@pytest.fixture
def whole_numbers():
    """Rows of small whole numbers, and labels of which a depth-3 rule explains the most."""

    def build(n_rows=3000, n_classes=2, n_features=5, seed=0):
        random = np.random.default_rng(seed)
        X = random.integers(0, N_VALUES, (n_rows, n_features)).astype(float)
        rule = (X[:, 0] > 2) * 2 + (X[:, 1] > 3) + (X[:, 2] * X[:, 0] > 9)
        noise = random.integers(0, n_classes, n_rows)
        y = np.where(random.random(n_rows) < 0.75, rule.astype(int) % n_classes, noise)
        return X, y

    return build


@pytest.fixture
def fit():
    """Fit a tree with everything declared; silent where there is no privacy."""

    def build(X, y, *, nominal=(), **options):
        positions = set(range(X.shape[1]))
        values = tuple(range(N_VALUES))
        schema = {
            # Cells of width one around each whole number.
            "bounds": dict.fromkeys(positions - set(nominal), (-0.5, N_VALUES - 0.5)),
            "categories": dict.fromkeys(nominal, values),
            "classes": sorted(set(y.tolist())),
        }
        settings = {"epsilon": float("inf"), "n_jobs": 1, **options}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotPrivateWarning)
            return DPTreeClassifier(schema=schema, **settings).fit(X, y)

    return build


@pytest.fixture
def same_partition():
    """Tell whether two trees put the same rows of a table together."""

    def tell(first, second, X, X_of_second=None):
        one = first.apply(X).tolist()
        other = second.apply(X if X_of_second is None else X_of_second).tolist()
        return len(set(zip(one, other, strict=True))) == len(set(one)) == len(set(other))

    return tell
