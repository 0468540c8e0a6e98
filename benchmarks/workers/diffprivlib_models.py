"""Fits diffprivlib's linear models and naive Bayes; runs in the environment of its forest.

It gets train_X, train_y, test_X and bounds of shape (2, n_features). These models take no list of
classes: they read from the labels which there are.
"""

import warnings

import numpy as np
from diffprivlib.models import GaussianNB, LinearRegression, LogisticRegression
from diffprivlib.utils import PrivacyLeakWarning

from benchmarks.meter import Meter
from benchmarks.serving import serve

warnings.filterwarnings("error", category=PrivacyLeakWarning)


def fit(arrays, settings):
    """Fit on the training rows and return probabilities of classes, or labels, of the others."""
    kind, n_classes = settings.pop("kind"), settings.pop("n_classes")
    norm, label_bounds = settings.pop("norm"), settings.pop("label_bounds")
    settings.pop("n_jobs")
    bounds, train_X, train_y = tuple(arrays["bounds"]), arrays["train_X"], arrays["train_y"]
    if kind == "naive Bayes":
        model = GaussianNB(bounds=bounds, **settings)
    elif n_classes:
        model = LogisticRegression(data_norm=norm, **settings)
    else:
        model = LinearRegression(bounds_X=bounds, bounds_y=tuple(label_bounds), **settings)
    with Meter() as meter:
        model.fit(train_X, train_y)
    if n_classes:
        found = np.zeros((len(arrays["test_X"]), n_classes))
        found[:, model.classes_] = model.predict_proba(arrays["test_X"])
    else:
        found = model.predict(arrays["test_X"])
    return {
        "prediction": found,
        "fit_seconds": meter.seconds,
        "peak_mb": meter.peak_mb,
        "n_trees": 0,
    }


if __name__ == "__main__":
    serve(fit)
