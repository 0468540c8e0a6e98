"""Fits Sarus' fork of XGBoost; runs in an environment of its own.

It gets train_X, train_y, test_X and bounds of shape (2, n_features). Labels lie in [-1, 1] or are
0 and 1: the library drops rows whose gradient is larger.
"""

import secrets

import dp_xgboost

from benchmarks.meter import Meter
from benchmarks.serving import serve


def fit(arrays, settings):
    """Fit on the training rows and return the predictions of the others."""
    n_trees = settings.pop("n_estimators")
    low, high = arrays["bounds"].tolist()
    parameters = {
        # The library's own examples fit classes too by their squared error.
        "objective": "reg:squarederror",
        "tree_method": "approxDP",
        "nthread": settings.pop("n_jobs"),
        # Its default is 0, and a sample of rows that anyone can draw again hides nobody.
        "seed": secrets.randbits(31),
        "verbosity": 0,
        **settings,
    }
    known = {"feature_min": low, "feature_max": high}
    with Meter() as meter:
        table = dp_xgboost.DMatrix(arrays["train_X"], label=arrays["train_y"], **known)
        model = dp_xgboost.train(parameters, table, num_boost_round=n_trees)
    return {
        "prediction": model.predict(dp_xgboost.DMatrix(arrays["test_X"], **known)),
        "fit_seconds": meter.seconds,
        "peak_mb": meter.peak_mb,
        "n_trees": n_trees,
    }


if __name__ == "__main__":
    serve(fit)
