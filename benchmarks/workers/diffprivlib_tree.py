"""Fits diffprivlib's decision tree; runs in an environment of its own.

It gets train_X, train_y, test_X and bounds of shape (2, n_features).
"""

import warnings

from diffprivlib.models import DecisionTreeClassifier
from diffprivlib.utils import PrivacyLeakWarning

from benchmarks.meter import Meter
from benchmarks.serving import serve

warnings.filterwarnings("error", category=PrivacyLeakWarning)


def fit(arrays, settings):
    """Fit on the training rows and return the class probabilities of the others."""
    n_classes = settings.pop("n_classes")
    model = DecisionTreeClassifier(
        bounds=tuple(arrays["bounds"]), classes=list(range(n_classes)), **settings
    )
    with Meter() as meter:
        model.fit(arrays["train_X"], arrays["train_y"])
    return {
        "prediction": model.predict_proba(arrays["test_X"]),
        "fit_seconds": meter.seconds,
        "peak_mb": meter.peak_mb,
        "n_trees": 1,
    }


if __name__ == "__main__":
    serve(fit)
