"""Fits the released package of the LPDT paper; runs in an environment of its own.

It gets public_X, public_y, train_X, train_y and test_X, features in [0, 1].
"""

import secrets

from LPDT.tree import LPDTreeRegressor

from benchmarks.meter import Meter
from benchmarks.serving import serve


def fit(arrays, settings):
    """Fit on the training rows and return the predictions of the others."""
    settings.pop("n_jobs")
    model = LPDTreeRegressor(
        public_X=arrays["public_X"],
        public_Y=arrays["public_y"],
        min_samples_split=2 * settings["min_samples_leaf"],
        range_x="unit",
        # It seeds the generator that its noise is drawn from.
        random_state=secrets.randbits(32),
        **settings,
    )
    with Meter() as meter:
        model.fit(arrays["train_X"], arrays["train_y"])
    return {
        "prediction": model.predict(arrays["test_X"]),
        "fit_seconds": meter.seconds,
        "peak_mb": meter.peak_mb,
        "n_trees": 1,
    }


if __name__ == "__main__":
    serve(fit)
