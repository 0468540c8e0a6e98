"""Without noise ``recipe="seq"`` must agree with stock LightGBM on the same bins."""

import lightgbm
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from dpboost import DPBoostClassifier, DPBoostRegressor

pytestmark = pytest.mark.filterwarnings("ignore::dpboost.NotPrivateWarning")

N_BINS = 16
N_FEATURES = 6
# Every whole number has its own bin in both libraries.
BOUNDS = {"bounds": dict.fromkeys(range(N_FEATURES), (0, N_BINS))}


def bin_numbers(n_rows, seed):
    """Rows of bin numbers, and a signal in them whose splits do not tie."""
    random = np.random.default_rng(seed)
    X = random.integers(0, N_BINS, (n_rows, N_FEATURES)).astype(float)
    waves = np.sin(X[:, 0] / 3) + (X[:, 1] > 6) * X[:, 2] / N_BINS + 0.1 * X[:, 3] * (X[:, 4] < 9)
    return X, waves - waves.mean(), random


def stock(objective, X, y, *, n_trees, depth, reg_lambda, learning_rate, least_hessian=0.0):
    parameters = {
        "objective": objective,
        "learning_rate": learning_rate,
        "max_depth": depth,
        "num_leaves": 2**depth,
        "lambda_l2": reg_lambda,
        "min_data_in_leaf": 1,
        "min_sum_hessian_in_leaf": least_hessian,
        "min_data_in_bin": 1,
        "max_bin": 255,
        "boost_from_average": False,
        "feature_pre_filter": False,
        "num_threads": 1,
        "deterministic": True,
        "force_col_wise": True,
        "verbosity": -1,
    }
    return lightgbm.train(parameters, lightgbm.Dataset(X, y), num_boost_round=n_trees)


def ours(estimator, X, y, *, n_trees, depth, reg_lambda, learning_rate, **schema):
    return estimator(
        recipe="seq",
        epsilon=float("inf"),
        schema={**BOUNDS, **schema},
        max_bin=N_BINS,
        n_estimators=n_trees,
        max_depth=depth,
        reg_lambda=reg_lambda,
        learning_rate=learning_rate,
        n_jobs=1,
    ).fit(X, y)


@pytest.mark.parametrize("seed", range(3))
def test_squared_loss_gives_the_same_trees(seed):
    X, signal, random = bin_numbers(4000, seed)
    y = np.clip(0.4 * signal + 0.05 * random.normal(size=len(X)), -0.9, 0.9)
    options = {"n_trees": 12, "depth": 3, "reg_lambda": 0.1, "learning_rate": 0.3}
    theirs = stock("regression", X, y, **options)
    mine = ours(DPBoostRegressor, X, y, label_bounds=(-1, 1), **options)
    for number in range(options["n_trees"]):
        one = {"start_iteration": number, "num_iteration": 1}
        expected = theirs.predict(X, **one)
        assert len(np.unique(expected)) == 8, "LightGBM has grown a complete tree"
        assert np.abs(mine.predict(X, **one) - expected).max() < 2e-5
    assert np.abs(mine.predict(X) - theirs.predict(X)).max() < 1e-4
    assert mine.score(X, y) > 0.7


@pytest.mark.parametrize(("depth", "reg_lambda"), [(3, 0.1), (6, 10.0)])
def test_logistic_loss_is_as_good(depth, reg_lambda):
    X, signal, random = bin_numbers(12_000, seed=5)
    y = (random.random(len(X)) < 1 / (1 + np.exp(-3 * signal))).astype(int)
    options = {
        "n_trees": 50,
        "depth": depth,
        "reg_lambda": reg_lambda,
        "learning_rate": 0.1,
    }
    train, test = slice(0, 8000), slice(8000, None)
    # LightGBM derives counts from hessians: at 0 it can take an empty child for the best one, and
    # raises.
    theirs = stock("binary", X[train], y[train], least_hessian=1e-3, **options)
    mine = ours(DPBoostClassifier, X[train], y[train], classes=[0, 1], **options)
    expected = roc_auc_score(y[test], theirs.predict(X[test]))
    found = roc_auc_score(y[test], mine.predict_proba(X[test])[:, 1])
    assert expected > 0.8
    assert abs(found - expected) < 0.005
