"""Fits Sarus' fork of XGBoost again and again; runs in its environment."""

import time

import dp_xgboost

from benchmarks.retraining import retrain
from benchmarks.serving import serve


def next_second():
    """Wait: the library seeds its noise by the second of the clock, which no one else sees."""
    time.sleep(1 - time.time() % 1 + 0.01)


def answer(arrays, settings):
    """Fit one tree on all rows, with the other settings of the library's own examples."""
    low, high = arrays["bounds"].T.tolist()
    parameters = {
        "objective": "reg:squarederror",
        "tree_method": "approxDP",
        "dp_epsilon_per_tree": settings["epsilon"],
        "max_depth": 6,
        "learning_rate": 0.3,
        "lambda": 0.1,
        "min_child_weight": 500,
        "base_score": 0.0,
        "nthread": 1,
        "verbosity": 0,
    }

    def table(X, **label):
        return dp_xgboost.DMatrix(X, feature_min=low, feature_max=high, **label)

    def fit(X, y):
        return dp_xgboost.train(parameters, table(X, label=y), num_boost_round=1)

    def prediction(model):
        return model.predict(table(arrays["X"][-1:]))

    return retrain(
        fit, prediction, arrays, settings["runs"], fingerprint=prediction, pause=next_second
    )


if __name__ == "__main__":
    serve(answer)
