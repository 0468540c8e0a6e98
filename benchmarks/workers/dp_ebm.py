"""Fits interpret's private additive model; runs in an environment of its own.

It gets train_X, train_y, test_X, bounds of shape (n_features, 2), and is_category of shape
(n_features,).
"""

import warnings

from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

from benchmarks.meter import Meter
from benchmarks.serving import serve

# Categories are numbers of a declared list here, and all else is declared: the library warns
# only of what it has looked up in the rows.
warnings.filterwarnings("error", message=".*rivacy violation.*")


def fit(arrays, settings):
    """Fit on the training rows and return the predictions of the others."""
    binary = settings.pop("binary")
    label_bounds = settings.pop("label_bounds")
    if label_bounds is not None:
        settings["privacy_target_min"], settings["privacy_target_max"] = label_bounds
    estimator = DPExplainableBoostingClassifier if binary else DPExplainableBoostingRegressor
    model = estimator(
        feature_types=["nominal" if flag else "continuous" for flag in arrays["is_category"]],
        privacy_bounds=arrays["bounds"],
        **settings,
    )
    with Meter() as meter:
        model.fit(arrays["train_X"], arrays["train_y"])
    test_X = arrays["test_X"]
    return {
        "prediction": model.predict_proba(test_X)[:, 1] if binary else model.predict(test_X),
        "fit_seconds": meter.seconds,
        "peak_mb": meter.peak_mb,
        "n_trees": 0,
    }


if __name__ == "__main__":
    serve(fit)
